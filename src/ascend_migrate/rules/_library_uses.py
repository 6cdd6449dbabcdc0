"""Where a file uses a library of the knowledge base, and how much it depends on it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from ascend_migrate import knowledge
from ascend_migrate.rules._values import calls_of

if TYPE_CHECKING:
    from ascend_migrate.knowledge import Library
    from ascend_migrate.rules.base import Context
    from ascend_migrate.syntax.names import Reference

Dependence = Literal["guarded", "lazy", "needed"]
"""``guarded``: the code has another way; ``lazy``: inside a function, which may never be called; else ``needed``."""

_ORDER: tuple[Dependence, ...] = ("needed", "lazy", "guarded")
_IMPORTERS = frozenset({"importlib.import_module", "__import__"})
_IMPORT_FAILURES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_ASKS = re.compile(
    r"available|installed|find_spec|^_?(?:has|have|use|with|enable|support)s?_|_(?:enabled|found)$", re.I
)


@dataclass(frozen=True)
class LibraryUse:
    """The place where a file depends most on a library."""

    node: ast.AST
    library: Library
    dependence: Dependence
    is_string: bool = False
    """The library is only asked for by a string, and goes on without what it asks for."""


@cache
def library_markers() -> tuple[str, ...]:
    """What a file must hold to use one of the libraries: every part of a name as a whole word, however it is
    imported. The word ``cuda`` is in every second file; names with it are looked for in the lines that import."""
    rows = [row for row in knowledge.libraries().values() if row.status != "works"]
    tops = {name for row in rows for name in row.imports if "." not in name}
    markers = {f"={text}" for row in rows for text in row.strings}
    for parts in (name.split(".") for row in rows for name in row.imports):
        if "cuda" in parts:
            markers.update((f"import {parts[0]}", f"from {parts[0]}"))
        else:
            words = parts[:1] if parts[0] in tops else parts
            markers.add("&".join(f"={word}" for word in sorted(set(words))))
    return tuple(sorted(markers))


def library_uses(context: Context) -> list[LibraryUse]:
    """One use of every library in the file, in source order; cached on the context."""
    cached: list[LibraryUse] | None = context.memo.get("library_uses")
    if cached is None:
        cached = context.memo["library_uses"] = _collect(context)
    return cached


def _collect(context: Context) -> list[LibraryUse]:
    imported = frozenset(name.split(".")[0] for name in _imported_names(context))
    own = frozenset(context.path.replace("\\", "/").split("/")[:-1])
    best: dict[str, LibraryUse] = {}
    for node, library, name in _candidates(context, imported):
        if library.status == "works" or name.split(".")[0] in own or not imported.isdisjoint(library.adapters):
            continue
        if context.knows_npu(node) or _only_for_types(context, node):
            continue
        use = LibraryUse(node, library, _dependence(context, node, library), isinstance(node, ast.Constant))
        known = best.get(library.name)
        if known is None or _ORDER.index(use.dependence) < _ORDER.index(known.dependence):
            best[library.name] = use
    for use in list(best.values()):
        # What is said of a part of a library makes the general remark superfluous.
        if any(n.startswith(f"{use.library.imports[0]}.") for n in best if use.library.imports):
            del best[use.library.name]
    return sorted(best.values(), key=lambda use: context.tree.start(use.node))


def _imported_names(context: Context) -> Iterator[str]:
    for scope in context.tree.scopes.values():
        for bindings in scope.bindings.values():
            yield from (binding.qualname for binding in bindings if binding.qualname)


def _candidates(context: Context, imported: frozenset[str]) -> Iterator[tuple[ast.AST, Library, str]]:
    """Everything that imports or uses a library, with the row and the name in it that fits."""
    tree = context.tree
    for plain in tree.nodes(ast.Import):
        for alias in plain.names:
            yield from _row(plain, alias.name)
    for statement in tree.nodes(ast.ImportFrom):
        if statement.level == 0 and statement.module:
            for alias in statement.names:
                dotted = statement.module if alias.name == "*" else f"{statement.module}.{alias.name}"
                yield from _row(statement, dotted)
    if not imported.isdisjoint(_tops_with_members()):
        for reference in context.references:
            if reference.attributes and reference.parts[0] in _tops_with_members():
                yield from _member(context, reference)
    for call in calls_of(context, _IMPORTERS):
        name = call.args[0] if call.args else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield from _row(call, name.value)
    strings = _strings()
    if any(text in context.source.text for text in strings):
        for constant in tree.nodes(ast.Constant):
            if isinstance(constant.value, str) and constant.value in strings:
                yield constant, strings[constant.value], constant.value


def _member(context: Context, reference: Reference) -> Iterator[tuple[ast.AST, Library, str]]:
    """A use of a member of a module whose import is no finding by itself."""
    home = context.tree.scope_of_name.get(reference.root, context.tree.scope).find(reference.root.id)
    imports = [b for b in home.bindings[reference.root.id] if b.qualname] if home is not None else []
    if not imports or any(knowledge.library_of_import(b.qualname or "") for b in imports):
        return
    if _is_annotation(context, reference.node):
        return
    for node, library, name in _row(reference.node, reference.qualname):
        guarded = all(_dependence(context, b.node, library) == "guarded" for b in imports)
        yield imports[0].node if guarded else node, library, name


def _is_annotation(context: Context, node: ast.AST) -> bool:
    child = node
    for parent in context.tree.ancestors(node):
        if isinstance(parent, (ast.arg, ast.AnnAssign)):
            return child is parent.annotation
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return child is parent.returns
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False


def _row(node: ast.AST, dotted: str) -> Iterator[tuple[ast.AST, Library, str]]:
    found = knowledge.library_of_import(dotted)
    if found is not None:
        yield node, found[0], found[1]


@cache
def _tops_with_members() -> frozenset[str]:
    return frozenset(
        name.split(".")[0] for row in knowledge.libraries().values() for name in row.imports if "." in name
    )


@cache
def _strings() -> dict[str, Library]:
    return {text: row for row in knowledge.libraries().values() for text in row.strings}


def _only_for_types(context: Context, node: ast.AST) -> bool:
    """Whether a type checker is the only one who reads it."""
    return any(
        isinstance(ancestor, ast.If) and (context.qualname(ancestor.test) or "").endswith("TYPE_CHECKING")
        for ancestor in context.tree.ancestors(node)
    )


def _dependence(context: Context, node: ast.AST, library: Library) -> Dependence:
    lazy = False
    child = node
    if isinstance(node, ast.Constant) and isinstance(context.tree.parents[node], ast.Compare):
        return "guarded"
    for parent in context.tree.ancestors(node):
        if isinstance(parent, ast.Try) and child in parent.body and _has_another_way(parent):
            return "guarded"
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test and _asks(parent.test, library):
            return "guarded"
        if isinstance(parent, ast.With) and any(_suppresses(item.context_expr) for item in parent.items):
            return "guarded"
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            lazy = True
        if _left_before(parent, child, library):
            return "guarded"
        child = parent
    return "lazy" if lazy else "needed"


def _left_before(parent: ast.AST, child: ast.AST, library: Library) -> bool:
    """An earlier ``if not is_x_available(): return`` in the same block."""
    block = getattr(parent, "body", None)
    return (
        isinstance(block, list)
        and child in block
        and any(
            isinstance(statement, ast.If)
            and isinstance(statement.body[-1], (ast.Return, ast.Continue))
            and _asks(statement.test, library)
            for statement in block[: block.index(child)]
        )
    )


def _has_another_way(statement: ast.Try) -> bool:
    """Whether a ``try`` goes on when an import in it fails."""
    for handler in statement.handlers:
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {getattr(c, "attr", getattr(c, "id", None)) for c in caught}
        if None in names or not names.isdisjoint(_IMPORT_FAILURES):
            return not isinstance(handler.body[-1], ast.Raise)
    return False


def _suppresses(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and "suppress" in ast.dump(expression.func) and bool(expression.args)


def _asks(test: ast.expr, library: Library) -> bool:
    """Whether a condition asks for the library: its name, or a word such as available."""
    own = {name.split(".")[0].lower() for name in library.imports}
    for part in ast.walk(test):
        name = part.id if isinstance(part, ast.Name) else getattr(part, "attr", None)
        if name is None and isinstance(part, ast.Constant) and isinstance(part.value, str):
            name = part.value
        if isinstance(name, str) and (_ASKS.search(name) or any(o in name.lower() for o in own)):
            return True
    return False
