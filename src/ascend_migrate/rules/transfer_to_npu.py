"""The shim ``torch_npu.contrib.transfer_to_npu``, which patches PyTorch while the program runs.

It lets unchanged CUDA code run on the NPU as far as names go. Converted code does not need it, and it has a price: it
turns ``torch.jit.script`` off, and ``channels_last`` is not supported under it. It does not reach comparisons such as
``device.type == "cuda"``, environment variables, and what is not called by name.

Source: torch_npu/contrib/transfer_to_npu.py of torch_npu 2.7.1 and 2.13.0; Ascend's migration guide (PT_LMTMOG_0016).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule

_SHIM = "torch_npu.contrib.transfer_to_npu"
_SCRIPT = ("torch.jit.script", "torch.jit.script_method")
_FORMATS = ("torch.channels_last", "torch.channels_last_3d")


class TransferToNpu(Rule):
    code = "NPU502"
    name = "transfer-to-npu"
    level = "warning"
    markers = ("transfer_to_npu",)
    examples = (
        Example("import torch\nimport torch_npu\n\nstep = torch.jit.script(step)\n", codes=()),
        Example("from torch_npu.contrib import transfer_to_npu\n", codes=("NPU502",)),
        Example(
            "import torch\nfrom torch_npu.contrib import transfer_to_npu\n\nstep = torch.jit.script(step)\n",
            codes=("NPU502", "NPU502"),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        shim = self._import(context)
        if shim is None:
            return
        yield context.finding(
            self,
            shim,
            "transfer_to_npu patches PyTorch while the program runs; converted code does not need it.",
            "Remove it after the conversion.",
            level="info",
        )
        for reference in context.references:
            if reference.qualname in _SCRIPT:
                yield context.finding(
                    self,
                    reference.node,
                    say("transfer_to_npu turns {name} off.", name=reference.qualname),
                    "Convert the code and remove the shim.",
                )
            elif reference.qualname in _FORMATS:
                yield context.finding(
                    self,
                    reference.node,
                    say("{name} is not supported under transfer_to_npu.", name=reference.qualname),
                    "Convert the code and remove the shim, or leave the memory format as it is.",
                )

    def _import(self, context: Context) -> ast.stmt | None:
        """The statement that loads the shim."""
        for statement in context.tree.nodes(ast.ImportFrom):
            module = statement.module or ""
            if module.startswith(_SHIM) or any(f"{module}.{alias.name}" == _SHIM for alias in statement.names):
                return statement
        for plain in context.tree.nodes(ast.Import):
            if any(alias.name == _SHIM for alias in plain.names):
                return plain
        return None
