"""A result to show."""

from __future__ import annotations

import pytest

from ascend_migrate.model import FileError, FileReport, Finding, Fix, Span, Target
from ascend_migrate.report.result import ProjectResult


def finding(path: str, line: int, code: str, level, fix: str = "", **more) -> Finding:
    made = Fix(fix, (), "before", "after") if fix else None
    return Finding(path, Span(line, 5, line, 9), code, level, f"{code} is wrong", fix=made, **more)


@pytest.fixture
def result() -> ProjectResult:
    reports = [
        FileReport("b.py", (finding("b.py", 9, "NPU2", "warning"), finding("b.py", 1, "NPU1", "error", "safe"))),
        FileReport("a.py", (finding("a.py", 3, "NPU1", "error", "review"), finding("a.py", 2, "NPU3", "info"))),
        FileReport("c.py"),
        FileReport("d.py", errors=(FileError("d.py", 7, "invalid syntax"), FileError("d.py", 1, "more"))),
    ]
    errors = [FileError("closed", 1, "cannot list the directory")]
    return ProjectResult.of(Target("910b", "2.7.1", "2.7.1"), reports, errors=errors, prefix="repo")
