"""``tensor.is_cuda`` is False for a tensor on the NPU; ``tensor.is_npu`` is the question meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.cuda_method import class_of, is_cuda_property_of


class IsCuda(Rule):
    code = "NPU111"
    name = "is-cuda"
    level = "error"
    markers = ("is_cuda",)
    examples = (
        Example(
            "import torch\n\nassert torch.ones(1).is_cuda\n",
            "import torch\nimport torch_npu  # noqa: F401\n\nassert torch.ones(1).is_npu\n",
        ),
        Example("class Config:\n    def __init__(self):\n        self.is_cuda = True\n\n\nprint(Config().is_cuda)\n"),
        Example("from project import env\n\nprint(env.is_cuda())\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        own = self._own(context)
        for attribute in context.tree.nodes(ast.Attribute):
            if attribute.attr != "is_cuda" or not isinstance(attribute.ctx, ast.Load) or context.knows_npu(attribute):
                continue
            parent = context.tree.parent(attribute)
            if isinstance(parent, ast.Call) and parent.func is attribute:
                continue  # a function of the project: the tensors' is_cuda is not callable
            owner = class_of(context, attribute.value)
            if owner is not None and owner in own:
                continue
            message = ".is_cuda is False on the NPU; the question is .is_npu"
            if own and owner is None and not (context.qualname(attribute) or "").startswith("torch."):
                help = say(
                    "Write .is_npu by hand if it is a tensor; {classes} has an is_cuda of its own.",
                    classes=", ".join(sorted(own)),
                )
                yield context.finding(self, attribute, message, help, level="warning")
            else:
                yield context.finding(self, attribute, message, edits=[context.edit_attribute(attribute, "is_npu")])

    def _own(self, context: Context) -> set[str]:
        """The classes of the file with an ``is_cuda`` of their own that is no property: it keeps its name."""
        owners: set[str] = set()
        bindings = context.tree.attribute_bindings.get("is_cuda", [])
        functions = [f for f in context.tree.nodes(ast.FunctionDef) if f.name == "is_cuda"]
        for node in (*(binding.node for binding in bindings), *functions):
            owner = context.tree.enclosing(node, ast.ClassDef)
            if isinstance(owner, ast.ClassDef) and is_cuda_property_of(owner) is None:
                owners.add(owner.name)
        return owners
