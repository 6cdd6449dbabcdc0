from __future__ import annotations

import csv
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
        "Readiness 33 %: of 3 sites 1 convert automatically, 2 want a review, 0 need work.",
        "A conversion fixes 2 of 4: ascend-migrate convert",
        "2 files could not be processed.",
    ]
    clean = replace(result, findings=(), errors=(), scanned=1)
    assert text.summary(clean) == ["Nothing to migrate; 1 file scanned."]


def test_csv(result: ProjectResult) -> None:
    first, *others = result.findings
    result = replace(result, findings=(replace(first, message='says "a", and\nb', help="Do."), *others))
    rows = list(csv.reader(io.StringIO(render(result, "csv"))))
    assert rows[:3] == [
        ["path", "line", "column", "end_line", "end_column", "code", "level", "fix", "message", "help"],
        ["repo/a.py", "2", "5", "2", "9", "NPU3", "info", "", 'says "a", and\nb', "Do."],
        ["repo/a.py", "3", "5", "3", "9", "NPU1", "error", "review", "NPU1 is wrong", ""],
    ]
    assert len(rows) == 5


def test_github_annotations(result: ProjectResult) -> None:
    first, second, *_ = result.findings
    first = replace(first, path="a,b:100%.py", message="50 %", help="Do\nthis.")
    second = replace(second, span=replace(second.span, end_line=5))
    assert render(replace(result, findings=(first, second)), "github").splitlines() == [
        "::notice file=repo/a%2Cb%3A100%25.py,line=2,endLine=2,title=ascend-migrate NPU3,col=5,endColumn=9"
        "::50 %25%0ADo%0Athis.",
        "::error file=repo/a.py,line=3,endLine=5,title=ascend-migrate NPU1::NPU1 is wrong",
        "::error file=repo/closed,line=1::cannot list the directory",
        "::error file=repo/d.py,line=1::more",
        "::error file=repo/d.py,line=7::invalid syntax",
    ]


def test_markdown(result: ProjectResult, finding) -> None:
    stuck = finding("a.py", 8, "NPU4", "error", help="Ask @someone")
    result = replace(result, findings=tuple(sorted([*result.findings, stuck], key=lambda f: f.sort_key)))
    shown = render(result, "markdown")
    assert "🟩🟩🟩🟩🟩🟨🟨🟨🟨🟨🟨🟨🟨🟨🟨🟥🟥🟥🟥🟥" in shown
    assert "Readiness 25 %: of 4 sites" in shown
    blocking = shown.partition("### Blocks a first run\n\n")[2].partition("\n\n")[0]
    assert blocking == "- `repo/a.py:8` **NPU4** NPU4 is wrong — Ask @\u200bsomeone"
    assert "| NPU1 | error | 2 | 2 |" in shown
    assert "- `3` **NPU1** 🔧 NPU1 is wrong" in shown
    assert "- `repo/d.py:7` invalid syntax" in shown


def test_markdown_fits_a_comment_and_escapes(result: ProjectResult, finding) -> None:
    first = replace(result.findings[0], message="__init__ of <b> [x](y) | `z`")
    shown = render(replace(result, findings=(first,)), "markdown")
    assert "\\_\\_init\\_\\_ of \\<b\\> \\[x\\](y) \\| \\`z\\`" in shown
    many = tuple(finding("a.py", line, "NPU1", "error") for line in range(1, 5000))
    shown = render(replace(result, findings=many), "markdown")
    assert len(shown) < 65_536
    assert "and 4979 more" in shown and "and 4699 more" in shown


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
