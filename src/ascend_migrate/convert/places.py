"""Where a finding lies after the conversion, which adds and joins lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from ascend_migrate.model import Edit, FileReport, Finding, Span
from ascend_migrate.syntax.text import SourceText, apply_edits


def relocate(report: FileReport, old: bytes) -> FileReport:
    """A report whose findings name their places in the converted file; ``old`` are the bytes before.

    A place inside a text that was replaced becomes the start of the replacement. When the edits do not lead from
    ``old`` to the new bytes, because someone wrote to the file meanwhile, the places stay as they are.
    """
    if report.new_bytes is None:
        return report
    edits = sorted({edit for finding in report.findings if finding.fix is not None for edit in finding.fix.edits})
    after = SourceText.decode(report.new_bytes)
    try:
        before = SourceText.decode(old)
        same = apply_edits(before.text, edits) == after.text
    except ValueError:
        same = False
    if not same:
        return report
    moved = _Moved(edits)

    def there(line: int, column: int) -> tuple[int, int]:
        return after.position(min(moved.offset(before.line_starts[line - 1] + column - 1), len(after.text)))

    def relocated(finding: Finding) -> Finding:
        span = finding.span
        start = there(span.line, span.column)
        return replace(finding, span=Span(*start, *max(start, there(span.end_line, span.end_column))))

    return replace(report, findings=tuple(relocated(finding) for finding in report.findings))


class _Moved:
    """The offsets after some edits, which are sorted and do not overlap."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = edits
        self._ends = [edit.end for edit in edits]
        grown = accumulate(len(edit.text) - (edit.end - edit.start) for edit in edits)
        self._shift = [0, *grown]

    def offset(self, old: int) -> int:
        """An insertion at the very place goes before it."""
        index = bisect_left(self._ends, old + 1)
        shift = self._shift[index]
        if index < len(self._edits) and self._edits[index].start < old:
            return self._edits[index].start + shift
        return old + shift
