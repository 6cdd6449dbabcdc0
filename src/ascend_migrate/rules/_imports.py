"""Places inside import statements, which ``ast`` does not give (or only from Python 3.10 on)."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING

from ascend_migrate.syntax.text import SourceText

if TYPE_CHECKING:
    from ascend_migrate.rules.base import Context

_Place = tuple[int, int]


def _dotted_names(context: Context, statement: ast.stmt) -> list[tuple[str, _Place]]:
    """The names, dotted ones joined, of an import statement with their character ranges in the file."""
    text = context.tree.text(statement)
    lines = SourceText(text)
    base = context.tree.start(statement)
    found: list[tuple[str, _Place]] = []
    dotted = False
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.NAME:
            row = base + lines.line_starts[token.start[0] - 1]
            start, end = row + token.start[1], row + token.end[1]
            if dotted and found:
                name, place = found.pop()
                found.append((f"{name}.{token.string}", (place[0], end)))
            else:
                found.append((token.string, (start, end)))
            dotted = False
        elif token.type == tokenize.OP and token.string == ".":
            dotted = bool(found) and found[-1][0] not in ("from", "import")
    return found


def from_module_place(context: Context, statement: ast.ImportFrom) -> _Place | None:
    """The character range of the module in ``from module import ...``."""
    names = _dotted_names(context, statement)
    if len(names) > 1 and names[0][0] == "from" and names[1][0] == statement.module:
        return names[1][1]
    return None


def alias_places(context: Context, statement: ast.Import | ast.ImportFrom) -> dict[ast.alias, _Place]:
    """For each imported name the range of the name itself, without ``as x``."""
    names = _dotted_names(context, statement)
    at = next((i for i, (name, _) in enumerate(names) if name == "import"), None)
    places: dict[ast.alias, _Place] = {}
    if at is None:
        return places
    rest = names[at + 1 :]
    for alias in statement.names:
        if not rest or rest[0][0] != alias.name:
            return {}
        places[alias] = rest[0][1]
        rest = rest[3:] if alias.asname else rest[1:]
    return places


def statement_stands_alone(context: Context, statement: ast.stmt) -> str | None:
    """The indentation of a statement that has its lines for itself; None when it shares them."""
    start, end = context.tree.start(statement), context.tree.end(statement)
    indent = context.source.indent_of(start)
    rest = context.source.text[end : context.source.line_end(end)].strip()
    if indent is None or (rest and not rest.startswith("#")):
        return None
    return indent
