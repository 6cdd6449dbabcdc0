"""A test for the text of CUDA's out-of-memory error.

torch_npu says ``NPU out of memory``, so a test for ``"CUDA out of memory"`` never matches and the handler is
dead. A test by ``in`` asks for ``"out of memory"``, which holds on both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.literals import edit_constant

_MESSAGE = re.compile(r"CUDA( error:)? out of memory")
_SEARCHES = frozenset({"find", "index", "count", "search", "findall"})
_PREFIXES = frozenset({"startswith", "match", "fullmatch", "removeprefix"})


class OutOfMemory(Rule):
    code = "NPU150"
    name = "out-of-memory-message"
    level = "error"
    markers = ("CUDA out of memory", "CUDA error: out of memory")
    examples = (
        Example(
            "try:\n    step()\nexcept RuntimeError as error:\n    if 'CUDA out of memory' not in str(error):\n"
            "        raise\n",
            "try:\n    step()\nexcept RuntimeError as error:\n    if 'out of memory' not in str(error):\n"
            "        raise\n",
        ),
        Example(
            "if str(error).startswith('CUDA out of memory.'):\n    pass\n",
            "if str(error).startswith('NPU out of memory.'):\n    pass\n",
        ),
        Example("raise RuntimeError('CUDA out of memory')\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in context.tree.nodes(ast.Constant):
            if not isinstance(node.value, str) or not _MESSAGE.search(node.value) or context.knows_npu(node):
                continue
            start = self._new_start(context, node)
            if start is None:
                continue
            new = _MESSAGE.sub(f"{start}out of memory", node.value)
            edit: Edit | None = edit_constant(context.tree, node, node.value, new)
            yield context.finding(
                self,
                node,
                "the NPU's error does not say 'CUDA out of memory', so this test never holds",
                edits=[edit],
                uses_npu=False,
            )

    def _new_start(self, context: Context, node: ast.Constant) -> str | None:
        """What the message begins with after conversion; None when the text is not a test."""
        parent = context.tree.parent(node)
        if isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
            parent = context.tree.parent(parent)
        if isinstance(parent, ast.Compare):
            exact = any(isinstance(op, (ast.Eq, ast.NotEq)) for op in parent.ops)
            return None if exact else ""
        if isinstance(parent, ast.Call):
            func = parent.func
            name = func.attr if isinstance(func, ast.Attribute) else ""
            if name in _PREFIXES:
                return "NPU "
            if name in _SEARCHES:
                return ""
        return None
