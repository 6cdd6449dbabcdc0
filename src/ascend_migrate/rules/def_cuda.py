"""A class of the project that defines ``cuda`` and moves tensors in it.

The public name stays; its body is converted like any other code; and the class gains the alias ``npu = cuda``,
so that both spellings work on its instances, as they do on tensors and modules. A property ``is_cuda`` gains the
alias ``is_npu`` in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.cuda_method import cuda_method_of, is_cuda_property_of, moves_tensors


class DefCuda(Rule):
    code = "NPU112"
    name = "def-cuda"
    level = "error"
    markers = ("def cuda", "def is_cuda")
    examples = (
        Example(
            "class Batch:\n    def cuda(self):\n        self.x = self.x.cuda()\n        return self\n",
            "class Batch:\n    def cuda(self):\n        self.x = self.x.npu()\n        return self\n\n    npu = cuda\n",
        ),
        Example(
            "class Batch:\n    @property\n    def is_cuda(self):\n        return self.x.is_cuda\n",
            "class Batch:\n    @property\n    def is_cuda(self):\n        return self.x.is_npu\n\n"
            "    is_npu = is_cuda\n",
        ),
        Example("class Garage:\n    def cuda(self):\n        return 'Plymouth Barracuda'\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for owner in context.tree.nodes(ast.ClassDef):
            method = cuda_method_of(owner)
            if method is not None and moves_tensors(context, owner, method):
                message = say(
                    "{owner}.cuda moves tensors, and converted code calls .npu() on its instances", owner=owner.name
                )
                yield from self._alias(context, owner, method, "npu", message)
            answer = is_cuda_property_of(owner)
            if answer is not None:
                message = say(
                    "{owner}.is_cuda is a property, and converted code asks its instances .is_npu", owner=owner.name
                )
                yield from self._alias(context, owner, answer, "is_npu", message)

    def _alias(
        self, context: Context, owner: ast.ClassDef, method: ast.FunctionDef, new: str, message: str
    ) -> Iterator[Finding]:
        if new in context.tree.scopes[owner].bindings:
            return
        start = context.tree.start(method)
        first = context.tree.start(method.decorator_list[0]) - 1 if method.decorator_list else start
        indent = context.source.indent_of(first)
        edit = None
        if indent is not None:
            end = context.source.line_end(context.tree.end(method))
            newline = context.source.newline_after(start)
            edit = Edit(end, end, f"{newline}{newline}{indent}{new} = {method.name}")
        place = (start, start + len(f"def {method.name}"))
        yield context.finding(self, method, message, edits=[edit], uses_npu=False, place=place)
