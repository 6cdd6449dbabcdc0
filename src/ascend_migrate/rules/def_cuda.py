"""A class of the project that defines ``cuda`` and moves tensors in it.

The public name stays; its body is converted like any other code; and the class gains the alias ``npu = cuda``,
so that both spellings work on its instances, as they do on tensors and modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.cuda_method import cuda_method_of, moves_tensors


class DefCuda(Rule):
    code = "NPU112"
    name = "def-cuda"
    level = "error"
    markers = ("def cuda",)
    examples = (
        Example(
            "class Batch:\n    def cuda(self):\n        self.x = self.x.cuda()\n        return self\n",
            "class Batch:\n    def cuda(self):\n        self.x = self.x.npu()\n        return self\n\n    npu = cuda\n",
        ),
        Example("class Garage:\n    def cuda(self):\n        return 'Plymouth Barracuda'\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for owner in context.tree.nodes(ast.ClassDef):
            method = cuda_method_of(owner)
            if method is None or not moves_tensors(context, owner, method):
                continue
            if "npu" in context.tree.scopes[owner].bindings:
                continue
            start = context.tree.start(method)
            indent = context.source.indent_of(start)
            edit = None
            if indent is not None:
                end = context.source.line_end(context.tree.end(method))
                newline = context.source.newline_after(start)
                edit = Edit(end, end, f"{newline}{newline}{indent}npu = cuda")
            yield context.finding(
                self,
                method,
                say("{owner}.cuda moves tensors, and converted code calls .npu() on its instances", owner=owner.name),
                edits=[edit],
                uses_npu=False,
                place=(start, start + len("def cuda")),
            )
