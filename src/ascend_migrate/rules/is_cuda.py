"""``tensor.is_cuda`` is False for a tensor on the NPU; ``tensor.is_npu`` is the question meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule


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
        own = "is_cuda" in context.tree.attribute_bindings or any(
            node.name == "is_cuda" for node in context.tree.nodes(ast.FunctionDef)
        )
        for attribute in context.tree.nodes(ast.Attribute):
            if attribute.attr != "is_cuda" or not isinstance(attribute.ctx, ast.Load):
                continue
            parent = context.tree.parent(attribute)
            if isinstance(parent, ast.Call) and parent.func is attribute:
                continue  # a function of the project: the tensors' is_cuda is not callable
            if own and not (context.qualname(attribute) or "").startswith("torch."):
                continue
            if not context.knows_npu(attribute):
                yield context.finding(
                    self,
                    attribute,
                    ".is_cuda is False on the NPU; the question is .is_npu",
                    edits=[context.edit_attribute(attribute, "is_npu")],
                )
