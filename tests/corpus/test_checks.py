"""The checks of ``scripts/corpus.py`` find what they are for."""

from __future__ import annotations

from types import ModuleType

import pytest

from ascend_migrate import knowledge
from ascend_migrate.model import Edit, FileError, FileReport, Finding, Fix, Span

BEFORE = b"import torch\ntorch.cuda.synchronize()\n"
RENAMED = Edit(19, 23, "npu")


def _report(new: bytes | None, *edits: Edit, errors: tuple[FileError, ...] = ()) -> FileReport:
    fix = Fix("safe", edits) if edits else None
    finding = Finding("a.py", Span(2, 1, 2, 2), "NPU101", "error", "message", "", fix)
    return FileReport("a.py", (finding,), errors, new)


def _broken(corpus: ModuleType, before: bytes, report: FileReport) -> list[str]:
    return list(corpus.broken_promises(before, report, knowledge.resolve_target(None, None, None)))


def test_a_right_conversion_breaks_nothing(corpus: ModuleType) -> None:
    after = b"import torch\ntorch.npu.synchronize()\n"
    assert _broken(corpus, BEFORE, _report(after, RENAMED)) == []
    assert _broken(corpus, BEFORE, _report(None)) == []


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (_report(b"import torch\ntorch.npu.synchronize( )\n", RENAMED), ["changed bytes that belong to no edit"]),
        (_report(None, RENAMED), ["changed bytes that belong to no edit"]),
        (_report(b"import torch\ntorch.np(.synchronize()\n", Edit(19, 23, "np(")), ["does not parse after conversion"]),
        (_report(None, RENAMED, Edit(20, 24, "x")), ["edits overlap"]),
        (
            _report(b"import torch\ntorch.npu.no_such.synchronize()\n", Edit(19, 23, "npu.no_such")),
            ["torch.npu.no_such.synchronize does not exist in torch_npu 2.7.1"],
        ),
        (
            _report(None, errors=(FileError("a.py", 1, "not valid Python 3.11: x"),)),
            ["line 1: parses, but the tool says: not valid Python 3.11: x"],
        ),
        (
            _report(None, errors=(FileError("a.py", 1, "internal error, please report it: KeyError: 1"),)),
            ["line 1: internal error, please report it: KeyError: 1"],
        ),
    ],
)
def test_a_wrong_one_is_found(corpus: ModuleType, report: FileReport, expected: list[str]) -> None:
    assert _broken(corpus, BEFORE, report) == expected


def test_what_is_left_is_code_that_no_finding_speaks_of(corpus: ModuleType) -> None:
    source = b'"""cuda."""\nx = torch.cuda  # cuda\n# cuda\ny = apex.amp\nz = "a cuda card"\n'
    outcome = corpus.Outcome(corpus.PACKAGES[0], originals={"a.py": source}, reports=[_report(None)])
    assert [place.line for place in corpus.left_behind(outcome)] == [4, 5]


def test_packages_are_pinned_and_distinct(corpus: ModuleType) -> None:
    names = [package.name for package in corpus.PACKAGES]
    assert len(set(names)) == len(names) >= 12
