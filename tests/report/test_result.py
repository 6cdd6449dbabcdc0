from __future__ import annotations

from ascend_migrate.model import Target
from ascend_migrate.report.result import ProjectResult


def test_sorted_and_counted(result: ProjectResult) -> None:
    assert [(f.path, f.span.line) for f in result.findings] == [("a.py", 2), ("a.py", 3), ("b.py", 1), ("b.py", 9)]
    assert [(e.path, e.line) for e in result.errors] == [("closed", 1), ("d.py", 1), ("d.py", 7)]
    assert (result.scanned, result.with_findings, result.failed, result.fixable) == (4, 2, 2, 2)
    assert result.by_code == {"NPU1": 2, "NPU2": 1, "NPU3": 1}
    assert list(result.by_level.items()) == [("error", 2), ("warning", 1), ("info", 1)]
    assert result.shown("a.py") == "repo/a.py"


def test_nothing() -> None:
    empty = ProjectResult.of(Target("910b", "2.7.1", "2.7.1"), [])
    assert (empty.scanned, empty.with_findings, empty.failed, empty.fixable) == (0, 0, 0, 0)
    assert empty.by_level == {"error": 0, "warning": 0, "info": 0}
    assert empty.shown("a.py") == "a.py"
