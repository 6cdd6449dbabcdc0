from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from ascend_migrate.model import Finding
from ascend_migrate.report import FORMATS, render, text
from ascend_migrate.report.result import ProjectResult


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders(result: ProjectResult, name: str) -> None:
    assert render(result, name).endswith("\n")


def test_text_is_one_line_a_finding(result: ProjectResult) -> None:
    first, *others = result.findings
    result = replace(result, findings=(replace(first, message="two\n  lines"), *others))
    assert render(result, "text").splitlines() == [
        "repo/a.py:2:5 NPU3 two lines",
        "repo/a.py:3:5 NPU1 NPU1 is wrong",
        "repo/b.py:1:5 NPU1 NPU1 is wrong",
        "repo/b.py:9:5 NPU2 NPU2 is wrong",
    ]


def test_summary(result: ProjectResult) -> None:
    assert text.summary(result) == [
        "4 findings (2 errors, 1 warning, 1 info) in 2 files; 4 files scanned.",
        "By code: NPU1 2, NPU2 1, NPU3 1.",
        "A conversion fixes 2 of 4: ascend-migrate convert",
        "2 files could not be processed.",
    ]
    clean = replace(result, findings=(), errors=(), scanned=1)
    assert text.summary(clean) == ["Nothing to migrate; 1 file scanned."]


def test_json_is_ascii_and_keeps_every_name(result: ProjectResult) -> None:
    first, *others = result.findings
    result = replace(result, findings=(replace(first, path="caf\udce9 模型.py"), *others))
    rendered = render(result, "json")
    assert rendered.isascii()
    document = json.loads(rendered)
    assert document["findings"][0]["path"] == "caf\udce9 模型.py"
    assert Finding.from_json(document["findings"][1]) == result.findings[1]
    assert document["errors"] == [
        {"path": "closed", "line": 1, "message": "cannot list the directory"},
        {"path": "d.py", "line": 1, "message": "more"},
        {"path": "d.py", "line": 7, "message": "invalid syntax"},
    ]


def test_terminal_groups_by_file_and_tells_advice_once(result: ProjectResult) -> None:
    from rich.console import Console

    from ascend_migrate.report import terminal

    findings = tuple(replace(f, help="Do [bold]this[/bold]\nor that") for f in result.findings)
    findings = (replace(findings[0], message="[red] is not markup :smile:", path="caf\udce9.py"), *findings[1:])
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="truecolor", width=20, highlight=False)
    terminal.show(replace(result, findings=findings), console)
    shown = stream.getvalue()
    assert "\x1b[1;31mNPU1" in shown, "errors are red"
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\n\n") == [
        "repo/caf\\xe9.py:2:5 NPU3 [red] is not markup :smile:\n    Do [bold]this[/bold]\n    or that",
        "repo/a.py:3:5 NPU1 [*] NPU1 is wrong\n    Do [bold]this[/bold]\n    or that",
        "repo/b.py:1:5 NPU1 [*] NPU1 is wrong\n    Do [bold]this[/bold]\n    or that\nrepo/b.py:9:5 NPU2 NPU2 is wrong",
        "",
    ]


def test_piped_text_does_not_import_rich() -> None:
    code = "import sys; import ascend_migrate.report.text; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
