"""What does this Name or Attribute mean? Qualified names through imports, aliases and scopes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ascend_migrate.syntax.tree import Binding, Scope, Tree

_MAX_ALIAS_DEPTH = 8


@dataclass(frozen=True)
class Reference:
    """A dotted expression and what it means: ``tc.Stream`` after ``import torch.cuda as tc`` is
    ``torch.cuda.Stream`` with one written part, ``Stream``.

    ``root_parts`` parts of ``parts`` come from the name at the root, the others are written as attributes.
    """

    node: ast.Name | ast.Attribute
    root: ast.Name
    parts: tuple[str, ...]
    root_parts: int

    @property
    def qualname(self) -> str:
        return ".".join(self.parts)

    @property
    def attributes(self) -> list[ast.Attribute]:
        """The written attribute nodes, from the root outwards; one for each part behind ``root_parts``."""
        chain: list[ast.Attribute] = []
        node: ast.expr = self.node
        while isinstance(node, ast.Attribute):
            chain.append(node)
            node = node.value
        return chain[::-1]


class Names:
    """Resolves names in one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._known: dict[tuple[str, int], str | None] = {}

    def qualname(self, node: ast.AST | None) -> str | None:
        """The full dotted name that ``node`` stands for; None when it is local or not a dotted name.

        A name that nothing in the file binds means itself (``getattr``; ``torch`` after a star import).
        """
        reference = self.reference(node)
        return reference.qualname if reference else None

    def reference(self, node: ast.AST | None) -> Reference | None:
        name = node
        while isinstance(name, ast.Attribute):
            name = name.value
        if not isinstance(name, ast.Name):
            return None
        scope = self.tree.scope_of_name.get(name, self.tree.scope)
        key = (name.id, id(scope))
        if key not in self._known:
            self._known[key] = self._name(name.id, scope, 0)
        base = self._known[key]
        if base is None:  # most are local: nothing but this look-up is done for them
            return None
        attributes: list[str] = []
        part = node
        while isinstance(part, ast.Attribute):
            attributes.append(part.attr)
            part = part.value
        root = tuple(base.split("."))
        assert isinstance(node, (ast.Name, ast.Attribute))
        return Reference(node, name, root + tuple(reversed(attributes)), len(root))

    def _name(self, name: str, scope: Scope, depth: int) -> str | None:
        home = scope.find(name)
        if home is None:
            return name
        imports: list[str] = []
        others: list[Binding] = []
        for binding in home.bindings[name]:
            if binding.qualname is not None:
                imports.append(binding.qualname)
            else:
                others.append(binding)
        if imports:
            if any(not self._is_fallback(b) for b in others):
                return None
            return next((q for q in imports if q.split(".")[0] in ("torch", "torch_npu")), imports[0])
        if len(others) == 1 and others[0].kind == "assign" and depth < _MAX_ALIAS_DEPTH:
            value = others[0].value
            parts: list[str] = []
            while isinstance(value, ast.Attribute):
                parts.append(value.attr)
                value = value.value
            if isinstance(value, ast.Name) and value.id != name:
                value_scope = self.tree.scope_of_name.get(value, home)
                base = self._name(value.id, value_scope, depth + 1)
                # Only names of packages: `x = y` between locals says nothing.
                if base and base.split(".")[0] in ("torch", "torch_npu") and self._is_imported(value, value_scope):
                    return ".".join([base, *reversed(parts)])
        return None

    def _is_imported(self, root: ast.Name, scope: Scope) -> bool:
        home = scope.find(root.id)
        return home is None or any(b.qualname or b.kind == "assign" for b in home.bindings[root.id])

    def _is_fallback(self, binding: Binding) -> bool:
        """Whether a binding beside an import only stands in for a missing package (``except: x = None``)."""
        if isinstance(binding.value, ast.Constant) and binding.value.value in (None, False):
            return True
        child = binding.node
        for ancestor in self.tree.ancestors(binding.node):
            if isinstance(ancestor, ast.ExceptHandler):
                return True
            if isinstance(ancestor, (ast.If, ast.Try)) and child in ancestor.orelse:
                return True
            child = ancestor
        return False

    def references(self, nodes: Iterable[ast.AST]) -> Iterator[Reference]:
        """The maximal dotted expressions among ``nodes`` that mean something outside this file."""
        for node in nodes:
            parent = self.tree.parents.get(node)
            if isinstance(parent, ast.Attribute):
                continue
            reference = self.reference(node)
            if reference is not None:
                yield reference
