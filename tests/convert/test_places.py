from __future__ import annotations

import pytest

from ascend_migrate.convert.places import relocate
from ascend_migrate.model import Edit, FileReport, Finding, Fix, Span
from ascend_migrate.syntax.text import SourceText, apply_edits

OLD = "import torch\r\nx = 'é'\nabc.cuda(); stuck()\nlast"
EDITS = (Edit(14, 14, "import torch_npu\r\n"), Edit(OLD.index("cuda"), OLD.index("cuda") + 4, "npu"))


def place(text: str, word: str) -> Span:
    return SourceText(text).span(text.index(word), text.index(word) + len(word))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("word", ["import torch", "x = ", "abc", "stuck", "last"])
def test_a_finding_keeps_its_word(word: str, encoding: str) -> None:
    new = apply_edits(OLD, EDITS)
    fixed = Finding("a.py", place(OLD, "cuda"), "NPU1", "error", "no", fix=Fix("safe", EDITS))
    left = Finding("a.py", place(OLD, word), "NPU2", "error", "no")
    report = FileReport("a.py", (left, fixed), new_bytes=new.encode(encoding))
    moved = relocate(report, OLD.encode(encoding))
    assert moved.findings[0].span == place(new, word)
    assert moved.findings[1].span == SourceText(new).span(new.index(".npu(") + 1, new.index(".npu(") + 4)


def test_a_place_inside_a_replacement_becomes_its_start() -> None:
    old, edit = "aa bbbb cc", Edit(3, 7, "x")
    fixed = Finding("a.py", Span(1, 4, 1, 8), "NPU1", "error", "no", fix=Fix("safe", (edit,)))
    inside = Finding("a.py", Span(1, 6, 1, 7), "NPU2", "error", "no")
    moved = relocate(FileReport("a.py", (fixed, inside), new_bytes=b"aa x cc"), old.encode())
    assert [finding.span for finding in moved.findings] == [Span(1, 4, 1, 5), Span(1, 4, 1, 4)]


def test_nothing_changed() -> None:
    report = FileReport("a.py", (Finding("a.py", Span(1, 1, 1, 2), "NPU2", "error", "no"),))
    assert relocate(report, b"ab") is report


@pytest.mark.parametrize("meanwhile", [b"other", b"", b"# coding: gbk\n\xff\xff"])
def test_a_file_written_to_meanwhile_keeps_its_places(meanwhile: bytes) -> None:
    finding = Finding("a.py", Span(9, 9, 9, 10), "NPU1", "error", "no", fix=Fix("safe", (Edit(50, 60, "x"),)))
    report = FileReport("a.py", (finding,), new_bytes=b"new")
    assert relocate(report, meanwhile) == report
