"""``torch.set_default_tensor_type`` with a CUDA type, which makes new tensors be born on the GPU.

It does not take the NPU's types. ``torch.set_default_device`` (PyTorch 2.0) says the same for float32, the usual
default; for another type the default dtype has to be set as well, and that is left to a person.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules.base import Context, Example, Rule

_FUNCTION = "torch.set_default_tensor_type"
_FLOAT = "torch.cuda.FloatTensor"


def sets_default_type(context: Context, argument: ast.AST) -> bool:
    """Whether ``argument`` is what a call of ``set_default_tensor_type`` gets."""
    parent = context.tree.parent(argument)
    return isinstance(parent, ast.Call) and argument in parent.args and context.qualname(parent.func) == _FUNCTION


class DefaultTensorType(Rule):
    code = "NPU124"
    name = "default-tensor-type"
    level = "error"
    markers = ("set_default_tensor_type",)
    examples = (
        Example(
            "import torch\n\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')\n",
            "import torch\nimport torch_npu  # noqa: F401\n\ntorch.set_default_device('npu')\n",
        ),
        Example(
            "import torch\n\ntorch.set_default_tensor_type(torch.cuda.FloatTensor)\n",
            'import torch\nimport torch_npu  # noqa: F401\n\ntorch.set_default_device("npu")\n',
        ),
        Example("import torch\n\ntorch.set_default_tensor_type('torch.cuda.HalfTensor')\n", codes=("NPU124",)),
        Example("import torch\n\ntorch.set_default_tensor_type(torch.DoubleTensor)\n", codes=()),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in context.tree.nodes(ast.Call):
            if context.qualname(call.func) != _FUNCTION or len(call.args) != 1 or context.knows_npu(call):
                continue
            (argument,) = call.args
            if isinstance(argument, ast.Constant):
                given = str(argument.value)
                quote = context.tree.text(argument)[-1]
            else:
                given = context.qualname(argument) or ""
                text = context.source.text
                quote = "'" if text.count("'") > text.count('"') else '"'
            if not given.startswith("torch.cuda."):
                continue
            edits: list[Edit] = []
            if given == _FLOAT and isinstance(call.func, ast.Attribute):
                edits = [
                    context.edit_attribute(call.func, "set_default_device"),
                    context.edit_node(argument, f"{quote}npu{quote}"),
                ]
            yield context.finding(
                self,
                call,
                "set_default_tensor_type does not take the NPU's types",
                "Call torch.set_default_device('npu') and, for other types than float32, torch.set_default_dtype.",
                edits=edits,
                safety="review",
            )
