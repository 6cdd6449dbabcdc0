"""Files for a newer Python: the mask keeps every position, and edits are made in the real text."""

from __future__ import annotations

import ast
import sys

import pytest

from ascend_migrate.syntax.newer import mask
from ascend_migrate.syntax.text import SourceText

MATCH = (
    "match device.type:\n"
    "    case 'cuda' | 'xpu' if x.is_cuda:\n"
    "        x.cuda()\n"
    "    case 'cpu':\n"
    "        match = case = 1\n"
    "    case Point(x=0) as p:\n"
    "        pass\n"
)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            MATCH,
            "while device.type:\n"
            "    with 'cuda' | 'xpu' or x.is_cuda:\n"
            "        x.cuda()\n"
            "    with 'cpu':\n"
            "        match = case = 1\n"
            "    with Point(x=0) as p:\n"
            "        pass\n",
        ),
        ("try: f()\nexcept* ValueError: g()\n", "try: f()\nexcept  ValueError: g()\n"),
        ("def f[T: int](x: T) -> T: ...\n", "def f        (x: T) -> T: ...\n"),
        ("class A[T](B): ...\n", "class A   (B): ...\n"),
        ("if a:\n    type X = int\n", "if a:\n    type;X = int\n"),
    ],
)
def test_mask(text: str, masked: str) -> None:
    result = mask(SourceText(text))
    assert result is not None
    assert result.text == masked
    ast.parse(masked)
    assert {text[offset : offset + 4] for offset in result.cases} <= {"case"}


@pytest.mark.parametrize("text", ["x = 1\n", "print 'x'\n", "x = (\n", "(" * 500 + ")" * 500])
def test_nothing_to_mask(text: str) -> None:
    assert mask(SourceText(text)) is None


def test_match_is_converted_on_every_python(convert) -> None:
    result = convert(MATCH)
    assert result.errors == ()
    assert result.text == MATCH.replace("'cuda'", "'npu'").replace("is_cuda", "is_npu").replace(".cuda()", ".npu()")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this interpreter reads it")
def test_type_parameters_are_converted_on_older_pythons(convert) -> None:
    source = "import torch\n\ntype X = int\n\ndef f[T](x: T) -> T:\n    return x.cuda()\n"
    result = convert(source)
    assert result.errors == ()
    assert result.text == source.replace("import torch\n", "import torch\nimport torch_npu  # noqa: F401\n").replace(
        ".cuda()", ".npu()"
    )


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this interpreter reads it")
def test_what_cannot_be_masked_says_so(convert) -> None:
    source = 'x = f"{y.to("cuda")}"\n'
    result = convert(source)
    assert result.text == source
    assert "newer Python" in result.errors[0].message
