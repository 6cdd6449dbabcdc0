from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.convert import summary
from ascend_migrate.convert.session import Conversion
from ascend_migrate.model import FileReport, Finding, Fix, Span, Target
from ascend_migrate.report.result import ProjectResult

GUARD = 'import torch\nif __name__ == "__main__":\n    main()\n'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"train.py": GUARD, "model.py": ""}, "train.py"),
        ({"go.py": GUARD, "model.py": "if __name__ == 'main': pass"}, "go.py"),
        ({"train.py": GUARD, "sample.py": GUARD}, "train.py"),
        ({"train.py": GUARD, "main.py": GUARD}, None),
        ({"a.py": GUARD, "b.py": GUARD}, None),
        ({"a.py": "x = 1"}, None),
        ({"tools/train.py": GUARD, "lib/net.py": "x = 1"}, "tools/train.py"),
        ({"go.py": GUARD, "tools/train.py": GUARD}, "go.py"),
        ({"gan.py": "opt = parser.parse_args()", "net.py": ""}, "gan.py"),
        ({}, None),
    ],
)
def test_entry_script(tmp_path: Path, files: dict[str, str], expected: str | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert summary.entry_script(tmp_path, sorted(files)) == expected


def test_next_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GUARD)
    assert summary.next_command(tmp_path, ["train.py"]) == f"ascend-migrate run --sim {tmp_path}/train.py"
    assert summary.next_command(Path("my out"), []) == "ascend-migrate run --sim 'my out/YOUR_SCRIPT.py'"


def test_what_is_left_is_listed_worst_first_and_cut() -> None:
    def finding(line: int, level, fix: Fix | None = None) -> Finding:
        return Finding("a.py", Span(line, 1, line, 2), "NPU1", level, "wrong", fix=fix)

    findings = [
        *(finding(n, "warning") for n in range(1, 10)),
        *(finding(n, "error") for n in range(10, 14)),
        finding(20, "info"),
        finding(21, "error", Fix("review", ())),
        finding(22, "error", Fix("safe", ())),
    ]
    reports = [FileReport("a.py", tuple(findings)), FileReport("b.py")]
    result = ProjectResult.of(Target("910b", "2.7.1", "2.7.1"), reports, prefix="out")
    said = summary.lines(Conversion(result, ("a.py",), copied=3))
    assert said[:3] == [
        "1 file changed of 2 scanned, 3 copied as they are.",
        "Edits by code: NPU1 2.",
        "1 place made, but look at:",
    ]
    assert said[3] == "  error: out/a.py:21:1 NPU1 wrong"
    assert said[4] == "13 places left for a person:"
    assert said[5:9] == [f"  error: out/a.py:{n}:1 NPU1 wrong" for n in range(10, 14)]
    assert said[9:15] == [f"  warning: out/a.py:{n}:1 NPU1 wrong" for n in range(1, 7)]
    assert said[15:] == ["  and 3 more", "What to do about each: ascend-migrate analyze out"]


def test_fixes_of_a_file_that_was_not_written_are_left() -> None:
    fixable = Finding("a.py", Span(1, 1, 1, 2), "NPU1", "error", "wrong", fix=Fix("safe", ()))
    result = ProjectResult.of(Target("910b", "2.7.1", "2.7.1"), [FileReport("a.py", (fixable,))])
    conversion = Conversion(result, ())
    assert (conversion.applied, conversion.left) == ((), (fixable,))
