"""Exact positions inside f-strings for Python 3.9 to 3.11, whose ``ast`` gives wrong ones.

A scan of the f-string finds where each ``{expression}`` stands; its own text is parsed again and, when that gives
the tree that was there, put in its place with its true position. Before 3.12 an expression holds neither
backslashes nor comments nor the quotes around it, so that a scan by brackets and quotes is enough.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_migrate.syntax.tree import Tree

_OPENING = re.compile(r"([A-Za-z]{0,2})(\"\"\"|'''|\"|')")
_SPACE = re.compile(r"\s*")
_COMPARISON = re.compile(r"[=!<>]=")
_CONVERSION = re.compile(r"!\s*\w+\s*")


class Corrector:
    """Gives the f-strings of a tree exact positions while the tree is walked, before their insides are reached."""

    def __init__(self, markers: tuple[str, ...]) -> None:
        """``markers``: only f-strings whose text holds one of them (of ``a&=b``, the ``b``) are worth it."""
        self._markers = tuple(marker.rpartition("&")[2].lstrip("=") for marker in markers)
        self._placed: set[ast.JoinedStr] = set()

    def correct(self, tree: Tree, node: ast.JoinedStr) -> None:
        """Correct ``node`` in place. What stands in an f-string that was not corrected is left alone."""
        if node not in self._placed and any(isinstance(a, ast.JoinedStr) for a in tree.ancestors(node)):
            return
        text = tree.text(node)
        if not any(marker in text for marker in self._markers):
            return
        spans = _expression_spans(text)
        values = list(_formatted_values(node))
        if spans is None or len(spans) != len(values):
            return
        base = tree.start(node)
        for value, (start, end) in zip(values, spans):
            expression = _parse_at(tree, base + start, base + end)
            if expression is not None and ast.dump(expression) == ast.dump(value.value):
                value.value = expression
                self._placed.update(n for n in ast.walk(expression) if isinstance(n, ast.JoinedStr))


def _formatted_values(node: ast.JoinedStr) -> Iterator[ast.FormattedValue]:
    """The ``{expression}`` parts in source order, those of format specs behind the part they belong to."""
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            yield part
            if isinstance(part.format_spec, ast.JoinedStr):
                yield from _formatted_values(part.format_spec)


def _expression_spans(text: str) -> list[tuple[int, int]] | None:
    """Character ranges in ``text`` (an f-string, or several strings side by side) of its expressions."""
    spans: list[tuple[int, int]] = []
    at = 0
    try:
        while at < len(text):
            opening = _OPENING.match(text, at)
            if opening is not None:
                at = _scan_string(text, opening, spans)
            elif text[at] == "#":
                at = text.index("\n", at)
            else:
                at += 1
    except (IndexError, ValueError):
        return None
    return spans


def _scan_string(text: str, opening: re.Match[str], spans: list[tuple[int, int]]) -> int:
    """Scan one string; the offset behind it. Raises IndexError when it does not end."""
    prefix, quote = opening.group(1).lower(), opening.group(2)
    at = opening.end()
    while not text.startswith(quote, at):
        character = text[at]
        if character == "\\":
            if "r" not in prefix and text.startswith("N{", at + 1):
                at = text.index("}", at) + 1
            else:
                at += 1 if text[at + 1] == "{" else 2
        elif character == "{" and "f" in prefix:
            at = at + 2 if text[at + 1] == "{" else _scan_field(text, at, spans)
        else:
            at += 1
    return at + len(quote)


def _scan_field(text: str, at: int, spans: list[tuple[int, int]]) -> int:
    """Scan ``{expression!r:spec}`` from its brace; the offset behind it."""
    start = at = _behind(_SPACE, text, at + 1)
    depth = 0
    while True:
        comparison = _COMPARISON.match(text, at)
        character = text[at]
        if comparison is not None:
            at = comparison.end()
        elif not depth and character in "=!:}":
            break
        elif character in "\"'":
            quote = character * 3 if text.startswith(character * 3, at) else character
            at = text.index(quote, at + len(quote)) + len(quote)
        else:
            depth += (character in "([{") - (character in ")]}")
            at += 1
    spans.append((start, at))
    if text[at] == "=":  # `{x = }`
        at = _behind(_SPACE, text, at + 1)
    if text[at] == "!":
        at = _behind(_CONVERSION, text, at)
    if text[at] == ":":
        at += 1
        while text[at] != "}":
            at = _scan_field(text, at, spans) if text[at] == "{" else at + 1
    return at + 1


def _behind(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


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
