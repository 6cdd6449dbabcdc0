"""The lines of the analyzed files, for reports that quote them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ascend_migrate.report.result import ProjectResult
from ascend_migrate.syntax.text import DecodeError, SourceText


class Sources:
    """Reads the files of a result as they are now. What cannot be read, the standard input say, has no lines."""

    def __init__(self, result: ProjectResult) -> None:
        self._result = result
        self._read = lru_cache(maxsize=4)(self._lines)  # findings come file by file

    def lines(self, path: str) -> Sequence[str]:
        """The lines of the file, without their ends; line ``n`` of a finding is at ``n - 1``."""
        return self._read(path)

    def _lines(self, path: str) -> tuple[str, ...]:
        try:
            source = SourceText.decode(Path(self._result.shown(path)).read_bytes())
        except (OSError, ValueError, DecodeError):
            return ()
        starts = source.line_starts
        return tuple(source.text[start : source.line_end(start)] for start in starts)


def printable(text: str) -> str:
    """Text that any stream and parser takes: file names that are not UTF-8 show their bytes, and control
    characters their codes."""
    if text.isprintable():
        return text
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() or c in "\n\t " else c.encode("unicode_escape").decode() for c in shown)
