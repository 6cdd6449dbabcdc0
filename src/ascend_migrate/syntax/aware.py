"""Code that already knows the NPU: a branch, table or list that has an npu member beside the cuda one."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ascend_migrate.syntax.tree import Tree

_NPU_NAME = re.compile(
    r"(?:^|_)(?:npu|NPU|ascend|ASCEND|hccl|HCCL|torchnpu)(?:$|_|s$|\d)|[a-z](?:Npu|NPU|Ascend)|^Npu|^NPU"
)
_NPU_TEXT = re.compile(r"npu(?::.*)?|hccl|ascend", re.IGNORECASE)
_MATCH: tuple[type, ...] = (ast.Match,) if sys.version_info >= (3, 10) else ()
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def mentions_npu(node: ast.AST) -> bool:
    """Whether any name or string inside ``node`` speaks of the NPU."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            if _NPU_NAME.search(part.id):
                return True
        elif isinstance(part, ast.Attribute):
            if _NPU_NAME.search(part.attr):
                return True
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and _NPU_TEXT.fullmatch(part.value):
            return True
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in part.names] + [getattr(part, "module", None) or ""]
            if any(name.split(".")[0] == "torch_npu" for name in names):
                return True
    return False


class NpuAwareness:
    """Answers, for nodes of one tree, whether the code around them has its NPU side already."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        text = tree.source.text.lower()
        self._possible = "npu" in text or "ascend" in text or "hccl" in text
        self._mentions: dict[ast.AST, bool] = {}

    def covers(self, node: ast.AST) -> bool:
        """True when ``node`` is the CUDA side of something whose NPU side stands beside it."""
        if not self._possible:
            return False
        child = node
        for parent in self.tree.ancestors(node):
            if self._covered_by(child, parent):
                return True
            child = parent
        return False

    def speaks(self, node: ast.AST) -> bool:
        """Whether ``node`` itself mentions the NPU."""
        if node not in self._mentions:
            self._mentions[node] = self._possible and mentions_npu(node)
        return self._mentions[node]

    def _any_speaks(self, nodes: Iterable[ast.AST]) -> bool:
        return any(self.speaks(node) for node in nodes)

    def _covered_by(self, child: ast.AST, parent: ast.AST) -> bool:
        if isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
            return self._any_speaks(e for e in parent.elts if e is not child)
        if isinstance(parent, ast.Dict):
            return self._dict_knows(child, parent)
        if isinstance(parent, ast.BoolOp):
            return self._any_speaks(v for v in parent.values if v is not child)
        if isinstance(parent, ast.IfExp):
            return self._any_speaks(p for p in (parent.test, parent.body, parent.orelse) if p is not child)
        if isinstance(parent, ast.If) and self._chain_knows(child, parent):
            return True
        if isinstance(parent, ast.Try) and not isinstance(child, ast.expr) and child not in parent.body:
            return self._any_speaks(parent.body)
        if isinstance(parent, _MATCH):
            cases: list[Any] = parent.cases  # type: ignore[attr-defined]
            return self._any_speaks(case.pattern for case in cases if case is not child)
        return isinstance(child, ast.stmt) and self._left_before(child, parent)

    def _dict_knows(self, child: ast.AST, table: ast.Dict) -> bool:
        return self._any_speaks(k for k in table.keys if k is not None and k is not child)

    def _chain_knows(self, child: ast.AST, branch: ast.If) -> bool:
        """``child`` is the test of, or a statement in, a branch of an if/elif/else chain."""
        if child is not branch.test and child in branch.body and _negates_npu(branch.test):
            return True
        if child in branch.orelse and len(branch.orelse) == 1 and isinstance(child, ast.If) and self._is_elif(child):
            return False  # the elif itself is asked as a branch of its own chain, from the inside
        for test, body in self._branches(branch):
            if test is child or child in body:
                continue
            if test is not None and not _negates_npu(test) and self._any_speaks([test]):
                return True
            if self._any_speaks(s.value for s in body if isinstance(s, (ast.Assign, ast.Return)) and s.value):
                # `if cuda: device = "cuda"` / `else: device = "npu"`
                return True
        return False

    def _branches(self, branch: ast.If) -> Iterator[tuple[ast.expr | None, Sequence[ast.stmt]]]:
        top: ast.If = branch
        while self._is_elif(top):
            top = self.tree.parents[top]  # type: ignore[assignment]
        while True:
            yield top.test, top.body
            if len(top.orelse) == 1 and isinstance(top.orelse[0], ast.If):
                top = top.orelse[0]
                continue
            if top.orelse:
                yield None, top.orelse
            return

    def _is_elif(self, node: ast.If) -> bool:
        parent = self.tree.parents.get(node)
        return isinstance(parent, ast.If) and len(parent.orelse) == 1 and parent.orelse[0] is node

    def _left_before(self, child: ast.stmt, parent: ast.AST) -> bool:
        """An earlier ``if npu: return ...`` in the same block: what follows is the other side."""
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and child in block:
                for statement in block[: block.index(child)]:
                    if (
                        isinstance(statement, ast.If)
                        and isinstance(statement.body[-1], _LEAVING)
                        and not _negates_npu(statement.test)
                        and self._any_speaks([statement.test])
                    ):
                        return True
        return False


def _negates_npu(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and mentions_npu(test.operand)
