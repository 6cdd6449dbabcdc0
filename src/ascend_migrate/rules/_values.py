"""Where the value of an expression is used: directly, or through one variable."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ascend_migrate.model import Level

if TYPE_CHECKING:
    from ascend_migrate.rules.base import Context


_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_PARSERS = frozenset({"int", "float", "len", "tuple", "list", "Version", "parse", "LooseVersion", "StrictVersion"})


def calls_of(context: Context, names: Iterable[str]) -> Iterator[ast.Call]:
    """The calls of functions with these dotted names."""
    names = frozenset(names)
    by_last: dict[str, list[ast.Call]] | None = context.memo.get("calls")
    if by_last is None:
        by_last = context.memo["calls"] = {}
        for call in context.tree.nodes(ast.Call):
            func = call.func
            last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            by_last.setdefault(last, []).append(call)
    for last in sorted({name.rpartition(".")[2] for name in names} | _renamed(context, names)):
        for call in by_last.get(last, ()):
            if context.qualname(call.func) in names:
                yield call


def _renamed(context: Context, names: frozenset[str]) -> set[str]:
    """What the file calls these functions when it imports them under another name."""
    found: set[str] = set()
    for statement in context.tree.nodes(ast.ImportFrom):
        for alias in statement.names:
            if alias.asname and f"{statement.module}.{alias.name}" in names:
                found.add(alias.asname)
    return found


def places_of(context: Context, node: ast.expr) -> Iterator[ast.expr]:
    """``node`` itself, and where a variable that is assigned nothing else gives its value again."""
    yield node
    parent = context.tree.parents[node]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        yield from reads(context, parent.targets[0])


def reads(context: Context, target: ast.Name) -> Iterator[ast.Name]:
    """The reads of a variable that give what ``target`` was assigned.

    When it is assigned elsewhere too, only reads in the same block before the next assignment are certain.
    """
    tree = context.tree
    scope = tree.scope_of_name.get(target)
    if scope is None:
        return
    bindings = scope.bindings[target.id]
    start, limit, block = 0, len(context.source.text) + 1, None
    if len(bindings) != 1:
        here = tree.statement(target)
        start, block = tree.end(here), tree.parents[here]
        later = sorted(tree.end(b.node) for b in bindings if hasattr(b.node, "lineno") and tree.start(b.node) > start)
        limit = later[0] if later else limit
    for use in tree.nodes(ast.Name):
        if use.id != target.id or not isinstance(use.ctx, ast.Load):
            continue
        if tree.scope_of_name[use].find(use.id) is not scope:
            continue
        if block is None or (start <= tree.start(use) < limit and block in tree.ancestors(use)):
            yield use


def others_of(compare: ast.Compare, node: ast.expr) -> Iterator[tuple[ast.cmpop, ast.expr]]:
    """The operators and expressions that ``node`` is compared with."""
    sides = [compare.left, *compare.comparators]
    at = sides.index(node)
    if at > 0:
        yield compare.ops[at - 1], sides[at - 1]
    if at < len(compare.ops):
        yield compare.ops[at], sides[at + 1]


def is_tested_for_none(context: Context, node: ast.expr) -> bool:
    """Whether the code asks whether a value is there before it uses it at ``node``: ``v and v > 1``,
    ``if v is not None: ... v > 1``."""
    text = ast.unparse(_base(node))
    child: ast.AST = node
    for parent in context.tree.ancestors(node):
        if isinstance(parent, ast.BoolOp) and any(
            value is not child and _asks(value, text) for value in parent.values[: _index(parent, child)]
        ):
            return True
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is not parent.test and _asks(parent.test, text):
            return True
        if isinstance(parent, ast.Try) and child in parent.body:
            return True
        if _left_when_missing(parent, child, text):
            return True
        child = parent
    return False


def _base(node: ast.expr) -> ast.expr:
    """The variable, or the call, that ``node`` reads a part of."""
    while isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute) and not isinstance(node.value, (ast.Call, ast.Name)):
            break
        if isinstance(node, ast.Attribute):
            break
        node = node.value
    return node


def _index(parent: ast.BoolOp, child: ast.AST) -> int:
    return parent.values.index(child) if child in parent.values else 0


def _asks(test: ast.expr, text: str) -> bool:
    """Whether a condition, or a part of it that must hold too, is the truth of ``text`` or its being not None."""
    if isinstance(test, ast.BoolOp):
        return any(_asks(value, text) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks(test.operand, text)
    if isinstance(test, ast.Compare):
        return ast.unparse(test.left) == text and any(
            isinstance(c, ast.Constant) and c.value is None for c in test.comparators
        )
    return ast.unparse(test) == text


def _left_when_missing(parent: ast.AST, child: ast.AST, text: str) -> bool:
    """An earlier ``if v is None: return`` (or raise) in the same block."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and child in block:
            return any(
                isinstance(s, ast.If)
                and isinstance(s.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
                and _asks(s.test, text)
                for s in block[: block.index(child)]
            )
    return False


def _fails_on_none(context: Context, node: ast.expr) -> Level | None:
    """What the place that uses a value does when the value is None; None when nothing happens there."""
    parent = context.tree.parents[node]
    if isinstance(parent, ast.Compare):
        for operator, other in others_of(parent, node):
            if isinstance(operator, _ORDER):
                return "error"
            if isinstance(operator, (ast.In, ast.NotIn)) and other is parent.left:
                return "error"
            if isinstance(operator, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) and not _is_none(other):
                return "warning"
    elif isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Subscript) and parent.value is node):
        return "error"
    elif isinstance(parent, (ast.BinOp, ast.UnaryOp)):
        if isinstance(parent, ast.UnaryOp):
            return None if isinstance(parent.op, ast.Not) else "error"
        text = isinstance(parent.op, ast.Mod) and isinstance(parent.left, (ast.Constant, ast.JoinedStr))
        return None if text else "error"
    elif isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Tuple, ast.List)):
        return "error" if parent.value is node else None
    elif isinstance(parent, ast.Starred):
        return "error"
    elif isinstance(parent, ast.FormattedValue):
        joined = context.tree.parents[parent]
        call = context.tree.parents[joined]
        # `parse(f"{major}.{minor}")`: a version that reads None.None
        if isinstance(joined, ast.JoinedStr) and isinstance(call, ast.Call) and joined in call.args:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            return "error" if name in _PARSERS - {"len", "tuple", "list"} else None
    elif isinstance(parent, ast.Call) and node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        return "error" if name in _PARSERS else None
    return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def first_failure(context: Context, node: ast.expr) -> tuple[ast.expr, Level] | None:
    """The first place where a value that is None fails, else the first where it misleads."""
    found: tuple[ast.expr, Level] | None = None
    for place in places_of(context, node):
        level = _fails_on_none(context, place)
        if level is None or context.knows_npu(place) or is_tested_for_none(context, place):
            continue
        if level == "error":
            return place, level
        found = found or (place, level)
    return found


def cuda_version_failures(context: Context) -> list[tuple[ast.expr, ast.expr, Level]]:
    """Every read of ``torch.version.cuda``, which is None, that something is done with: the expression read, the place
    that fails or misleads, and how; cached on the context."""
    found: list[tuple[ast.expr, ast.expr, Level]] | None = context.memo.get("cuda_version")
    if found is None:
        found = []
        for reference in context.references_under("torch.version.cuda"):
            node: ast.expr = reference.node
            for _ in range(len(reference.parts) - 3):
                if isinstance(node, ast.Attribute):
                    node = node.value  # below the version stands a method of the string
            failure = None if context.knows_npu(node) else first_failure(context, node)
            if failure is not None:
                found.append((reference.node, *failure))
        context.memo["cuda_version"] = found
    return found
