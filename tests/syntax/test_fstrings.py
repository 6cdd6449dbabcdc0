"""Places inside f-strings are exact on every Python; before 3.12 ``ast`` gives wrong ones."""

from __future__ import annotations

import ast

import pytest

from ascend_migrate.syntax.text import SourceText
from ascend_migrate.syntax.tree import parse

SOURCES = {
    "plain": ("x = f'a{one}b{two}'\n", ["one", "two"]),
    "doubled braces": ("x = f'{{{one}}} {{two}}'\n", ["one"]),
    "conversion and spec": ("x = f'{one!r:>{two}} {three:.3f}'\n", ["one", "two", "three"]),
    "self-documenting": ("x = f'{one = } {two=!r:10}'\n", ["one", "two"]),
    "comparisons": (
        "x = f'{a == b} {c != d} {e <= f} {g >= h} {i<j}'\n",
        ["a == b", "c != d", "e <= f", "g >= h", "i<j"],
    ),
    "brackets": ("x = f'{one[a:b]} {two(k=1)} {({1: 2}[1])}'\n", ["one[a:b]", "two(k=1)", "{1: 2}[1]"]),
    "lambda and walrus": ("x = f'{(lambda a: a)(1)} {(y := 2)}'\n", ["(lambda a: a)(1)", "y := 2"]),
    "quotes inside": ("x = f'{one[\"}\"]} {two}'\n", ['one["}"]', "two"]),
    "nested": ("x = f'{one + f\"{two}\"}'\n", ['one + f"{two}"', "two"]),
    "escapes": ("x = f'\\'{one}\\\\{two} \\N{BULLET} {three}'\n", ["one", "two", "three"]),
    "raw": ("x = rf'\\d{one} \\{two}'\n", ["one", "two"]),
    "side by side": ("x = ('{no}' f'{one}'  # {comment}\n     'plain' f'{two}')\n", ["one", "two"]),
    "many lines": ("x = f'''\n  {one}\n\té {\n two }\n'''\n", ["one", "two"]),
    "not ASCII": ("x = f'é{one}ü' + f'日本{two}'\n", ["one", "two"]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_expressions_stand_where_the_tree_says(name: str) -> None:
    source, expected = SOURCES[name]
    tree = parse(SourceText(source), ("",))
    assert [tree.text(node.value) for node in tree.nodes(ast.FormattedValue)] == expected
