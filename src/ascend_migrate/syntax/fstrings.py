"""Exact positions inside f-strings for Python 3.9 to 3.11, whose ``ast`` gives wrong ones.

libcst tells where each ``{expression}`` of the f-string stands; the expression's own text is parsed again and
put into the tree with its true position.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_migrate.syntax.tree import Tree


def make_exact(tree: Tree, markers: tuple[str, ...]) -> bool:
    """Correct every f-string of ``tree`` whose text holds one of ``markers``, in place; True if any did."""
    work = [
        node
        for node in tree.nodes(ast.JoinedStr)
        if not any(isinstance(a, ast.JoinedStr) for a in tree.ancestors(node))
    ]
    changed = False
    while work:
        node = work.pop()
        text = tree.text(node)
        if not any(marker in text for marker in markers):
            continue
        spans = _expression_spans(text)
        values = list(_formatted_values(node))
        if spans is None or len(spans) != len(values):
            continue
        changed = True
        base = tree.start(node)
        for value, (start, end) in zip(values, spans):
            expression = _parse_at(tree, base + start, base + end)
            if expression is None:
                continue
            value.value = expression
            work.extend(n for n in ast.walk(expression) if isinstance(n, ast.JoinedStr))
    return changed


def _formatted_values(node: ast.JoinedStr) -> Iterator[ast.FormattedValue]:
    """The ``{expression}`` parts in source order, those of format specs behind the part they belong to."""
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            yield part
            if isinstance(part.format_spec, ast.JoinedStr):
                yield from _formatted_values(part.format_spec)


def _expression_spans(text: str) -> list[tuple[int, int]] | None:
    """Character ranges in ``text`` (an f-string, or several strings side by side) of its expressions."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    from ascend_migrate.syntax.text import SourceText

    code = f"({text})"
    try:
        wrapper = MetadataWrapper(cst.parse_module(code), unsafe_skip_copy=True)
    except cst.ParserSyntaxError:
        return None
    positions = wrapper.resolve(PositionProvider)
    lines = SourceText(code)
    spans: list[tuple[int, int]] = []

    def offset(line: int, column: int) -> int:
        return lines.line_starts[line - 1] + column - 1  # - 1: the parenthesis put in front

    def visit(parts: object) -> None:
        for part in parts:  # type: ignore[attr-defined]
            if isinstance(part, cst.FormattedStringExpression):
                place = positions[part.expression]
                spans.append((offset(place.start.line, place.start.column), offset(place.end.line, place.end.column)))
                visit(part.format_spec or ())

    def strings(node: cst.CSTNode) -> None:
        if isinstance(node, cst.ConcatenatedString):
            strings(node.left)
            strings(node.right)
        elif isinstance(node, cst.FormattedString):
            visit(node.parts)

    statement = wrapper.module.body[0]
    assert isinstance(statement, cst.SimpleStatementLine)
    expression = statement.body[0]
    assert isinstance(expression, cst.Expr)
    strings(expression.value)
    return spans


def _parse_at(tree: Tree, start: int, end: int) -> ast.expr | None:
    """Parse the characters ``start`` to ``end`` as an expression whose positions are those in the file."""
    source = tree.source
    try:
        expression = ast.parse(f"({source.text[start:end]}\n)", mode="eval").body
    except SyntaxError:
        return None
    line, column = source.position(start)
    row_start = source.line_starts[line - 1]
    column_bytes = len(source.text[row_start : row_start + column - 1].encode("utf-8"))
    for node in ast.walk(expression):
        if hasattr(node, "lineno"):
            for row, col in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
                if getattr(node, row) == 1:
                    setattr(node, col, getattr(node, col) - 1 + column_bytes)
                setattr(node, row, getattr(node, row) + line - 1)
    return expression
