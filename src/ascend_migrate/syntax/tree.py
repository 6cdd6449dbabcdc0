"""Text -> ``ast`` with exact positions, parents and scopes: one walk over the tree.

Positions. ``ast`` gives exact ones for everything but the inside of f-strings before Python 3.12. Those few
f-strings that hold something of interest are located with libcst and their expressions parsed again in place,
so that everything behind this module can trust every position.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union

from ascend_migrate.syntax.fstrings import Corrector
from ascend_migrate.syntax.text import SourceText

N = TypeVar("N", bound=ast.AST)

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
ScopeNode = Union[ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.expr]

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
FSTRINGS_ARE_EXACT = sys.version_info >= (3, 12)


class ParseError(ValueError):
    """The text is not Python that this interpreter can read."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Binding:
    """One place that gives a name a value in a scope.

    ``value`` is the assigned expression where there is exactly one; ``qualname`` is set for imports.
    """

    kind: Literal["import", "assign", "param", "def", "class", "other"]
    node: ast.AST
    value: ast.expr | None = None
    qualname: str | None = None


@dataclass
class Scope:
    """A module, class, function, lambda or comprehension and the names bound in it."""

    node: ScopeNode
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[str, list[ast.Name]] = field(default_factory=lambda: defaultdict(list))
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)
    star_import: bool = False

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def find(self, name: str) -> Scope | None:
        """The scope in which ``name``, used here, is bound, by Python's rules; None for built-ins."""
        if name in self.declared_global:
            module = self.module
            return module if name in module.bindings else None
        scope: Scope | None = self
        first = True
        while scope is not None:
            if (first or not scope.is_class) and name in scope.bindings:
                return scope
            if not isinstance(scope.node, _COMPREHENSIONS):
                first = False
            scope = scope.parent
        return None


def parse(source: SourceText, markers: tuple[str, ...] = ()) -> Tree:
    """Parse and index ``source``. f-strings that hold one of ``markers`` get exact positions on every Python.

    Raises :class:`ParseError`.
    """
    module, cases = read(source)
    return Tree(source, module, None if FSTRINGS_ARE_EXACT else Corrector(markers), cases)


def read(source: SourceText) -> tuple[ast.Module, frozenset[int]]:
    """The bare ``ast`` of ``source``, and the offsets of the ``case`` that had to be masked for it.

    Raises :class:`ParseError`.
    """
    try:
        return _parse(source.text), frozenset()
    except SyntaxError as error:
        from ascend_migrate.syntax.newer import mask

        masked = mask(source)
        try:
            if masked is None:
                raise error
            return _parse(masked.text), masked.cases
        except SyntaxError:
            raise ParseError(error.msg or "invalid syntax", error.lineno or 1) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise ParseError(f"cannot be parsed: {error or type(error).__name__}", 1) from None


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class Tree:
    """A parsed file: nodes by type in source order, the parent of every node, scopes and bindings."""

    def __init__(
        self,
        source: SourceText,
        module: ast.Module,
        fstrings: Corrector | None = None,
        masked_cases: frozenset[int] = frozenset(),
    ) -> None:
        self.source = source
        self._masked_cases = masked_cases
        self.module = module
        self._fstrings = fstrings
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes_by_type: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self.scope_of_name: dict[ast.Name, Scope] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.attribute_bindings: dict[str, list[Binding]] = defaultdict(list)
        self.scope = Scope(module, None)
        self._index()

    def nodes(self, kind: type[N]) -> list[N]:
        """All nodes of exactly this type, in source order (pre-order)."""
        return self.nodes_by_type.get(kind, [])  # type: ignore[return-value]

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that ``node`` is, or is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def match_subject(self, node: ast.AST) -> ast.expr | None:
        """The subject of the ``match`` statement whose pattern ``node`` is, or is part of."""
        for ancestor in self.ancestors(node):
            if type(ancestor).__name__ == "Match":
                subject: ast.expr = ancestor.subject  # type: ignore[attr-defined]
                return subject
            if isinstance(ancestor, ast.With):  # a case in the mask of a newer Python's file
                outer = self.parents[ancestor]
                masked = self.start(ancestor) in self._masked_cases and isinstance(outer, ast.While)
                return outer.test if masked and isinstance(outer, ast.While) else None
            if isinstance(ancestor, ast.stmt):
                return None
        return None

    def enclosing(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        return next((a for a in self.ancestors(node) if isinstance(a, kinds)), None)

    def start(self, node: ast.AST) -> int:
        """Character offset of the first character of ``node``."""
        return self.source.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Character offset just behind ``node``."""
        return self.source.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        return self.source.text[self.start(node) : self.end(node)]

    def _index(self) -> None:
        self.scopes[self.module] = self.scope
        self._walk(self.module, self.scope)

    def _walk(self, root: ast.AST, root_scope: Scope) -> None:
        """Pre-order walk with an explicit stack: deep trees must not meet the recursion limit."""
        stack: list[tuple[ast.AST, Scope]] = [(root, root_scope)]
        parents, by_type, scopes = self.parents, self.nodes_by_type, self.scopes
        while stack:
            node, scope = stack.pop()
            kind = type(node)
            by_type[kind].append(node)
            inner = scope
            handler = _BINDERS.get(kind)
            if handler is not None:
                handler(self, node, scope)
                inner = scopes.get(node, scope)
            # What is pushed last is walked first.
            for name in _CHILD_FIELDS[kind]:
                value = getattr(node, name, None)
                here = scope if inner is not scope and name in _EVALUATED_OUTSIDE else inner
                if isinstance(value, list):
                    for item in reversed(value):
                        if isinstance(item, ast.AST):
                            parents[item] = node
                            stack.append((item, here))
                elif isinstance(value, ast.AST):
                    parents[value] = node
                    stack.append((value, here))

    # -- names and what binds them ---------------------------------------------------------------------------

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        if name in scope.declared_global:
            scope = scope.module
        elif name in scope.declared_nonlocal:
            outer = scope.parent.find(name) if scope.parent else None
            scope = outer or scope
        while isinstance(scope.node, _COMPREHENSIONS) and isinstance(binding.node, ast.NamedExpr):
            scope = scope.parent or scope  # a walrus binds in the function around the comprehension
        scope.bindings[name].append(binding)

    def _name(self, node: ast.Name, scope: Scope) -> None:
        self.scope_of_name[node] = scope
        if isinstance(node.ctx, ast.Load):
            scope.uses[node.id].append(node)
        else:
            kind, value = self._assigned_value(node)
            self._bind(scope, node.id, Binding(kind, self.parents[node], value))

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Store):
            kind, value = self._assigned_value(node)
            self.attribute_bindings[node.attr].append(Binding(kind, self.parents[node], value))

    def _assigned_value(self, target: ast.expr) -> tuple[Literal["assign", "other"], ast.expr | None]:
        parent = self.parents[target]
        if isinstance(parent, ast.Assign) or (isinstance(parent, ast.AnnAssign) and parent.value is not None):
            return "assign", parent.value
        if isinstance(parent, ast.NamedExpr):
            return "assign", parent.value
        if isinstance(parent, (ast.Tuple, ast.List)):
            assign = self.parents.get(parent)
            if (
                isinstance(assign, ast.Assign)
                and isinstance(assign.value, (ast.Tuple, ast.List))
                and len(assign.value.elts) == len(parent.elts)
                and not any(isinstance(e, ast.Starred) for e in (*parent.elts, *assign.value.elts))
            ):
                return "assign", assign.value.elts[parent.elts.index(target)]
        return "other", None

    def _function(self, node: FunctionNode, scope: Scope) -> None:
        if not isinstance(node, ast.Lambda):
            self._bind(scope, node.name, Binding("def", node))
        inner = self.scopes[node] = Scope(node, scope)
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
        pairs = [*zip(positional, [*defaults, *args.defaults]), *zip(args.kwonlyargs, args.kw_defaults)]
        for arg, default in pairs:
            inner.bindings[arg.arg].append(Binding("param", arg, default))
        for rest in (args.vararg, args.kwarg):
            if rest is not None:
                inner.bindings[rest.arg].append(Binding("param", rest))

    def _fstring(self, node: ast.JoinedStr, scope: Scope) -> None:
        if self._fstrings is not None:
            self._fstrings.correct(self, node)

    def _global(self, node: ast.Global, scope: Scope) -> None:
        # Python wants the declaration before any use in its scope, and so does this walk.
        scope.declared_global.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.declared_nonlocal.update(node.names)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._bind(scope, node.name, Binding("class", node))
        self.scopes[node] = Scope(node, scope)

    def _comprehension(self, node: ast.expr, scope: Scope) -> None:
        self.scopes[node] = Scope(node, scope)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self._bind(scope, name, Binding("import", node, qualname=alias.name if alias.asname else name))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                scope.star_import = True
                continue
            dotted = f"{base}{alias.name}" if base.endswith(".") else f"{base}.{alias.name}"
            self._bind(scope, alias.asname or alias.name, Binding("import", node, qualname=dotted))

    def _except(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name:
            self._bind(scope, node.name, Binding("other", node))

    def _captures(self, node: ast.AST, scope: Scope) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            self._bind(scope, name, Binding("other", node))


_EVALUATED_OUTSIDE = frozenset({"args", "decorator_list", "returns", "bases", "keywords"})
"""Fields of a function or class that are evaluated in the scope around it. (Parameter names are bound by
:meth:`Tree._function`, so that ``args`` can be walked outside, where defaults and annotations belong.)"""

_PLAIN_FIELDS = frozenset(
    {"ctx", "op", "ops", "id", "attr", "kind", "module", "level", "asname", "conversion", "is_async", "simple"}
)
"""Fields that hold no node, or an operator or context: those are objects shared by the whole tree."""


class _ChildFields(dict[type[ast.AST], tuple[str, ...]]):
    """For each type of node the fields to walk into, the last first."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        constant = issubclass(kind, ast.Constant)
        fields = () if constant else tuple(f for f in reversed(kind._fields) if f not in _PLAIN_FIELDS)
        self[kind] = fields
        return fields


_CHILD_FIELDS = _ChildFields()

_BINDERS: dict[type[ast.AST], Callable[[Tree, Any, Scope], None]] = {
    ast.Name: Tree._name,
    ast.Attribute: Tree._attribute,
    ast.FunctionDef: Tree._function,
    ast.AsyncFunctionDef: Tree._function,
    ast.Lambda: Tree._function,
    ast.ClassDef: Tree._class,
    **dict.fromkeys(_COMPREHENSIONS, Tree._comprehension),
    ast.Import: Tree._import,
    ast.ImportFrom: Tree._import_from,
    ast.ExceptHandler: Tree._except,
    ast.JoinedStr: Tree._fstring,
    ast.Global: Tree._global,
    ast.Nonlocal: Tree._nonlocal,
}
for _pattern in ("MatchAs", "MatchStar", "MatchMapping"):
    if hasattr(ast, _pattern):
        _BINDERS[getattr(ast, _pattern)] = Tree._captures
