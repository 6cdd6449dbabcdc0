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
_DEVICES = {"torch.cuda.FloatTensor": "npu", "torch.FloatTensor": "cpu"}


def sets_default_type(context: Context, argument: ast.AST) -> bool:
    """Whether ``argument`` is what a call of ``set_default_tensor_type`` gets, perhaps on a condition."""
    parent = context.tree.parent(argument)
    while isinstance(parent, ast.IfExp) and argument is not parent.test:
        argument, parent = parent, context.tree.parent(parent)
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
        Example(
            "import torch\n\n"
            "torch.set_default_tensor_type('torch.cuda.FloatTensor' if args.cuda else 'torch.FloatTensor')\n",
            "import torch\nimport torch_npu  # noqa: F401\n\ntorch.set_default_device('npu' if args.cuda else 'cpu')\n",
        ),
        Example("import torch\n\ntorch.set_default_tensor_type(torch.DoubleTensor)\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in context.tree.nodes(ast.Call):
            if context.qualname(call.func) != _FUNCTION or len(call.args) != 1 or context.knows_npu(call):
                continue
            types = list(_branches(call.args[0]))
            named = [self._type(context, node) for node in types]
            if not any(name.startswith("torch.cuda.") for name in named):
                continue
            edits: list[Edit] = []
            if isinstance(call.func, ast.Attribute) and all(name in _DEVICES for name in named):
                edits.append(context.edit_attribute(call.func, "set_default_device"))
                for node, name in zip(types, named):
                    quote = self._quote(context, node)
                    edits.append(context.edit_node(node, f"{quote}{_DEVICES[name]}{quote}"))
            yield context.finding(
                self,
                call,
                "set_default_tensor_type does not take the NPU's types",
                "Call torch.set_default_device('npu') and, for other types than float32, torch.set_default_dtype.",
                edits=edits,
                safety="review",
            )

    def _type(self, context: Context, node: ast.expr) -> str:
        return str(node.value) if isinstance(node, ast.Constant) else context.qualname(node) or ""

    def _quote(self, context: Context, node: ast.expr) -> str:
        """The quote of the literal, or the one that the file uses more often."""
        if isinstance(node, ast.Constant):
            return context.tree.text(node)[-1]
        text = context.source.text
        return "'" if text.count("'") > text.count('"') else '"'


def _branches(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from _branches(node.body)
        yield from _branches(node.orelse)
    else:
        yield node
