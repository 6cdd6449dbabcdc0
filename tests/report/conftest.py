"""A result to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.model import FileError, FileReport, Finding, Fix, Span, Target
from ascend_migrate.report.result import ProjectResult

TARGET = Target("910b", "2.7.1", "2.7.1")


def make_finding(path: str, line: int, code: str, level, fix: str = "", **more) -> Finding:
    made = Fix(fix, (), "before", "after") if fix else None
    return Finding(path, Span(line, 5, line, 9), code, level, f"{code} is wrong", fix=made, **more)


@pytest.fixture
def finding():
    """``finding(path, line, code, level, fix)`` makes one."""
    return make_finding


@pytest.fixture
def result() -> ProjectResult:
    reports = [
        FileReport(
            "b.py", (make_finding("b.py", 9, "NPU2", "warning"), make_finding("b.py", 1, "NPU1", "error", "safe"))
        ),
        FileReport(
            "a.py", (make_finding("a.py", 3, "NPU1", "error", "review"), make_finding("a.py", 2, "NPU3", "info"))
        ),
        FileReport("c.py"),
        FileReport("d.py", errors=(FileError("d.py", 7, "invalid syntax"), FileError("d.py", 1, "more"))),
    ]
    errors = [FileError("closed", 1, "cannot list the directory")]
    return ProjectResult.of(TARGET, reports, errors=errors, prefix="repo")


@pytest.fixture
def real_result(tmp_path: Path) -> ProjectResult:
    """What the real rules find in two small files, one of them not in UTF-8, which lie where the result says."""
    from ascend_migrate.engine.index import build, gather
    from ascend_migrate.engine.pipeline import EngineOptions, process

    files = {
        "train.py": b"import torch\n\nx = torch.ones(2).cuda()\ntorch.cuda.nvtx.range_push('</script><b>')\n",
        "pkg/模型.py": "# coding: gbk\nimport torch\n\nprint('模型', torch.cuda.is_available())\n".encode("gbk"),
    }
    reports = []
    for name, data in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        facts = gather(name, data)
        reports.append(process(name, data, EngineOptions(TARGET), build([facts] if facts else [])))
    return ProjectResult.of(TARGET, reports, prefix=str(tmp_path))
