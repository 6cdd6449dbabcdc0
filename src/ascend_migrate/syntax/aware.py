"""Code that already knows the NPU: a branch, table or list that has an npu member beside the cuda one."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ascend_migrate.syntax.tree import Scope, Tree

_NPU_NAME = re.compile(
    r"(?:^|_)(?:npu|NPU|ascend|ASCEND|hccl|HCCL|torchnpu)(?:$|_|s$|\d)|[a-z](?:Npu|NPU|Ascend)|^Npu|^NPU"
)
_NPU_TEXT = re.compile(r"npu(?::.*)?|hccl|ascend", re.IGNORECASE)
_TWINS = {"cuda": "npu", "CUDA": "NPU", "Cuda": "Npu", "nccl": "hccl", "NCCL": "HCCL", "Nccl": "Hccl"}
_CUDA_WORD = re.compile("|".join(_TWINS))
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
        self._names: frozenset[str] | None = None

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
        if isinstance(child, ast.stmt) and self._has_twin(child):
            return True
        if isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
            return self._any_speaks(e for e in parent.elts if e is not child)
        if isinstance(parent, ast.Dict):
            return self._dict_knows(child, parent)
        if isinstance(parent, ast.BoolOp):
            return self._any_speaks(v for v in parent.values if v is not child)
        if isinstance(parent, ast.IfExp):
            if child is parent.body and self._guard_has_twin(parent.test):
                return True
            return self._any_speaks(p for p in (parent.test, parent.body, parent.orelse) if p is not child)
        if isinstance(parent, ast.Call) and child in parent.args:
            # `{"npu": "hccl"}.get(device, "nccl")`
            table = parent.func.value if isinstance(parent.func, ast.Attribute) else None
            return isinstance(table, ast.Dict) and self._dict_knows(child, table)
        if isinstance(parent, ast.If):
            if self._chain_knows(child, parent) or self._is_asked_again(parent):
                return True
            if child is not parent.test and child in parent.body and self._guard_has_twin(parent.test):
                return True
        if isinstance(parent, ast.Try) and not isinstance(child, ast.expr) and child not in parent.body:
            return self._any_speaks(parent.body)
        if isinstance(parent, _MATCH):
            cases: list[Any] = parent.cases  # type: ignore[attr-defined]
            return self._any_speaks(case.pattern for case in cases if case is not child)
        return isinstance(child, ast.stmt) and self._left_before(child, parent)

    def _has_twin(self, statement: ast.stmt) -> bool:
        """The statement defines a name whose NPU twin is defined beside it: ``CUDA = ...`` and ``NPU = ...``,
        ``def is_cuda_available`` and ``def is_npu_available``, ``self.is_cuda = ...`` and ``self.is_npu = ...``."""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            twin = _twin(statement.name)
            bindings = self._scope(statement).bindings.get(twin, ()) if twin else ()
            return any(binding.kind in ("def", "class") for binding in bindings)
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                twin = _twin(target.id)
                if twin and twin in self._scope(statement).bindings:
                    return True
            elif isinstance(target, ast.Attribute):
                twin = _twin(target.attr)
                if twin and twin in self.tree.attribute_bindings:
                    return True
        return False

    def _scope(self, node: ast.AST) -> Scope:
        """The scope that ``node`` stands in."""
        return next(self.tree.scopes[a] for a in self.tree.ancestors(node) if a in self.tree.scopes)

    def _guard_has_twin(self, test: ast.expr) -> bool:
        """``if is_cuda_available(): ...`` in a file that asks ``is_npu_available()`` too."""
        if self._names is None:
            names = {node.id for node in self.tree.nodes(ast.Name)}
            self._names = frozenset(names.union(node.attr for node in self.tree.nodes(ast.Attribute)))
        for part in ast.walk(test):
            name = part.id if isinstance(part, ast.Name) else getattr(part, "attr", None)
            # `cuda` and `is_cuda` belong to torch: they say nothing of the project.
            if name is not None and name not in ("cuda", "is_cuda") and _twin(name) in self._names:
                return True
        return False

    def _is_asked_again(self, branch: ast.If) -> bool:
        """``if kind == "cuda": ...`` with an ``if kind == "npu": ...`` before or behind it in the same block."""
        twin = _twin(ast.unparse(branch.test))
        if twin is None:
            return False
        block = self._block(branch)
        return any(
            test is not None and ast.unparse(test) == twin
            for other in block
            if isinstance(other, ast.If) and other is not branch
            for test, _ in self._branches(other)
        )

    def _block(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        """The statements that ``statement`` stands among."""
        parent = self.tree.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return (statement,)

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


def _twin(text: str) -> str | None:
    """The text with the NPU's names in place of CUDA's; None when it has none of these."""
    twin = _CUDA_WORD.sub(lambda match: _TWINS[match.group()], text)
    return None if twin == text else twin


def _negates_npu(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and mentions_npu(test.operand)
