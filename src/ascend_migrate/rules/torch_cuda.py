"""A name of ``torch.cuda`` that the NPU has too.

``torch.npu`` offers most of ``torch.cuda`` under the same names. Where the target version of torch_npu has the
name (or, for the few that were renamed, its new name), the reference is rewritten; it is never rewritten to a
name that does not exist there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules._native import guard_of_cuda_build
from ascend_migrate.rules._translate import edits_for, name_markers, uses
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.default_tensor_type import sets_default_type


class TorchCuda(Rule):
    code = "NPU101"
    name = "torch-cuda"
    level = "error"
    examples = (
        Example(
            "import torch\n\nif torch.cuda.is_available():\n    torch.cuda.set_device(0)\n",
            "import torch\nimport torch_npu  # noqa: F401\n\n"
            "if torch.npu.is_available():\n    torch.npu.set_device(0)\n",
        ),
        Example(
            "import torch\n\ntry:\n    step()\nexcept torch.cuda.OutOfMemoryError:\n    shrink()\n",
            "import torch\nimport torch_npu  # noqa: F401\n\n"
            "try:\n    step()\nexcept torch.OutOfMemoryError:\n    shrink()\n",
        ),
        Example(
            "import torch as th\n\ncuda = th.cuda\ngraph = cuda.CUDAGraph()\n",
            "import torch as th\nimport torch_npu  # noqa: F401\n\ncuda = th.npu\ngraph = cuda.NPUGraph()\n",
        ),
        Example("class torch:\n    cuda = None\n\n\ntorch.cuda\n"),
        Example("import torch\n\nprint('torch.cuda.is_available() says no')\n"),
    )

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return name_markers()

    def check(self, context: Context) -> Iterator[Finding]:
        for use in uses(context):
            new = use.translation.npu
            node = use.reference.node
            if new is None or context.knows_npu(node) or sets_default_type(context, node):
                continue
            if guard_of_cuda_build(context, node):
                continue  # reported for what it is
            old, said = use.reference.qualname, use.translation
            row_speaks = said.safety == "review" or said.own
            yield context.finding(
                self,
                use.reference.node,
                said.message if row_speaks else say("{old} is {new} on the NPU", old=old, new=new),
                said.help if row_speaks else "",
                edits=edits_for(context, use),
                safety=said.safety,
                uses_npu=said.uses_npu,
            )
