from __future__ import annotations

import pytest

from ascend_migrate.engine import pragmas
from ascend_migrate.model import Finding, Span


def ignored(found: pragmas.Pragmas, code: str = "NPU102", lines: int = 12) -> list[int]:
    """The lines on which a finding of this code is left out."""
    place = [Finding("a.py", Span(line, 1, line, 2), code, "error", "said") for line in range(1, lines)]
    return [finding.span.line for finding in place if found.ignores(finding)]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a\nb  # ascend-migrate: ignore[NPU102]\nc\n", [2]),
        ("a\nb  # ascend-migrate: ignore\nc\n", [2]),
        ("a\nb  #ascend-migrate:ignore[ npu102 ,NPU5]\nc\n", [2]),
        ("a\nb  # noqa: E501  # ascend-migrate: ignore[NPU1]\nc\n", [2]),
        ("a\nb  # ascend-migrate: ignore[NPU103]\nc\n", []),
        ("a\nf(  # ascend-migrate: ignore\n    b,\n    c,\n)\nd\n", [2, 3, 4, 5]),
        ("a\nf(\n    b,\n    c,\n)  # ascend-migrate: ignore\nd\n", [2, 3, 4, 5]),
        ("a\nf(\n    b,  # ascend-migrate: ignore\n    c,\n)\nd\n", [3]),
        ("if a(\n    b\n):  # ascend-migrate: ignore\n    c\n", [1, 2, 3]),
        ("a\n# ascend-migrate: ignore\n\n# more\nf(\n    b\n)\nc\n", [5, 6, 7]),
        ("def f():\n    # ascend-migrate: ignore[NPU1]\n    a\n    b\n", [3]),
        ("x = '''\n# ascend-migrate: ignore\n'''\ny\n", []),
        ("a; b  # ascend-migrate: ignore\n", [1]),
        ("a\n# ascend-migrate: ignore", []),
        ("a  # ascend-migrate: ignored\nb  # ascend-migrate: ignore-all\n", []),
        ("a  # ascend-migrate: ignore[]\nb  # ascend-migrate: ignore[E501]\nc  # ascend-migrate: ignore[NPU102\n", []),
        ("a  # ascend-migrate: ignore\nb = (\n", [1]),
        ("a = 1 \\\n  + b  # ascend-migrate: ignore\nc\n", [1, 2]),
        ("# ascend-migrate: ignore-file[NPU5, NPU102]\na\n", list(range(1, 12))),
    ],
)
def test_python(source: str, lines: list[int]) -> None:
    assert ignored(pragmas.of_python(source)) == lines


def test_whole_files() -> None:
    assert pragmas.of_python("import a\n\nb  # ascend-migrate: ignore-file\n").ignores_file
    some = pragmas.of_python("# ascend-migrate: ignore-file[NPU1]\n")
    assert not some.ignores_file
    assert ignored(some, "NPU102") and not ignored(some, "NPU202")


def test_other_languages() -> None:
    text = "torch\n# ascend-migrate: ignore[NPU6]\nflash-attn\napex  # ascend-migrate: ignore\n"
    text += "int x; // ascend-migrate: ignore\n"
    assert ignored(pragmas.of_lines(text), "NPU601") == [3, 4, 5]
    assert ignored(pragmas.of_lines(text), "NPU102") == [4, 5]


CUDA = "import torch\n\nx = torch.ones(2).cuda(){}\ntorch.cuda.nvtx.range_pop(){}\n"


def test_what_is_ignored_is_neither_shown_nor_converted(convert) -> None:
    result = convert(CUDA.format("  # ascend-migrate: ignore", "  # ascend-migrate: ignore[NPU102]"))
    assert result.findings == ()
    assert "import torch_npu" not in result.text, "nothing in the file uses the NPU"


def test_the_rest_is(convert) -> None:
    result = convert(CUDA.format("", "  # ascend-migrate: ignore"))
    assert result.codes == ["NPU160", "NPU110"]
    assert "x = torch.ones(2).npu()\n" in result.text and "torch.cuda.nvtx" in result.text


def test_an_ignored_file(convert) -> None:
    source = "# ascend-migrate: ignore-file\n" + CUDA.format("", "")
    assert convert(source).findings == ()
    assert convert(source.replace("-file", "-file[NPU110]")).codes == ["NPU102"]


def test_a_string_is_no_comment(convert) -> None:
    assert convert(CUDA.format("; y = '# ascend-migrate: ignore'", "")).codes == ["NPU160", "NPU110", "NPU102"]
