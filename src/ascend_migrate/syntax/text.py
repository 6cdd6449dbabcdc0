"""Bytes <-> text, exactly: encoding cookie, BOM, line ends, and the three ways to name a place.

A file is decoded as Python would decode it and must encode back to the very same bytes; everything the
engine does afterwards is replacing ranges of characters, so bytes outside the edits cannot change.
"""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable

from ascend_migrate.model import Edit, Span

_BOM = b"\xef\xbb\xbf"
_NEWLINE = re.compile(r"\r\n|\r|\n")
_COOKIE = re.compile(rb"coding[:=]", re.ASCII)


class DecodeError(ValueError):
    """The bytes are not text in the encoding the file declares."""


class SourceText:
    """The decoded text of one file and its line table.

    Lines are split where Python splits them: at ``\\n``, ``\\r\\n`` and ``\\r``, never at a form feed.
    """

    def __init__(self, text: str, encoding: str = "utf-8", bom: bool = False) -> None:
        self.text = text
        self.encoding = encoding
        self.bom = bom
        self.line_starts = [0, *(m.end() for m in _NEWLINE.finditer(text))]
        self._ascii = text.isascii()

    @classmethod
    def decode(cls, data: bytes) -> SourceText:
        """Decode ``data`` by its BOM or cookie. Raises :class:`DecodeError`."""
        bom = data.startswith(_BOM)
        body = data[len(_BOM) :] if bom else data
        encoding = "utf-8"
        head = body.split(b"\n", 2)[:2]
        if any(_COOKIE.search(line) for line in head):
            try:
                encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            except SyntaxError as error:
                raise DecodeError(str(error)) from None
            if encoding == "utf-8-sig":
                encoding = "utf-8"
        try:
            text = body.decode(encoding)
            same = text.encode(encoding) == body
        except (UnicodeError, LookupError) as error:
            raise DecodeError(f"not valid {encoding}: {error}") from None
        if not same:
            raise DecodeError(f"the text does not encode back to the same bytes in {encoding}")
        return cls(text, encoding, bom)

    def encode(self, text: str) -> bytes:
        """``text`` as bytes in this file's encoding, with its BOM."""
        return (_BOM if self.bom else b"") + text.encode(self.encoding)

    def offset(self, line: int, utf8_column: int) -> int:
        """The character offset of an ``ast`` position (line from 1, column in UTF-8 bytes from 0)."""
        start = self.line_starts[line - 1]
        if self._ascii:
            return start + utf8_column
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        row = self.text[start:end]
        if row.isascii():
            return start + utf8_column
        return start + len(row.encode("utf-8")[:utf8_column].decode("utf-8", "replace"))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1 and in characters, of a character offset."""
        row = bisect_right(self.line_starts, offset) - 1
        return row + 1, offset - self.line_starts[row] + 1

    def span(self, start: int, end: int) -> Span:
        return Span(*self.position(start), *self.position(end))

    def line_end(self, offset: int) -> int:
        """The offset just before the line break (or the end of text) of the line that holds ``offset``."""
        match = _NEWLINE.search(self.text, offset)
        return match.start() if match else len(self.text)

    def newline_after(self, offset: int) -> str:
        """The line break that ends the line of ``offset``; the file's first one at the end of the text."""
        match = _NEWLINE.search(self.text, offset) or _NEWLINE.search(self.text)
        return match.group() if match else "\n"

    def indent_of(self, offset: int) -> str | None:
        """The white space before ``offset`` on its line, or None when something else stands there."""
        start = self.line_starts[bisect_right(self.line_starts, offset) - 1]
        before = self.text[start:offset].lstrip("\f")
        return before if not before.strip() else None


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all ``edits`` applied. Edits must not overlap (equal ones count once)."""
    parts: list[str] = []
    at = 0
    for edit in sorted(set(edits)):
        if edit.start < at:
            raise ValueError(f"overlapping edits at offset {edit.start}")
        parts.append(text[at : edit.start])
        parts.append(edit.text)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)
