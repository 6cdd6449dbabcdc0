"""Unified diffs of bytes, which ``patch`` and ``git apply`` take as they are.

Lines end at ``\\n`` alone, as for those two tools: a carriage return belongs to its line. The bytes pass
through whatever their encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_CONTEXT = 3

_WINDOW = 100
"""Lines looked ahead for the place where two texts agree again."""

_REFINABLE = 40_000
"""Lines times lines: what ``difflib`` does in some milliseconds."""

_AGREE = 3
"""Lines that must be equal there, if there are so many."""

_TO_QUOTE = re.compile(r'[\x00-\x1f"\\\x7f]')
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}


class _Change(NamedTuple):
    """Lines ``old_start`` to ``old_stop`` (exclusive, from 0) became lines ``new_start`` to ``new_stop``."""

    old_start: int
    old_stop: int
    new_start: int
    new_stop: int


def unified(name: str, old: bytes, new: bytes) -> bytes:
    """The diff of the file ``name``, headed ``a/name`` and ``b/name``. Empty when nothing differs."""
    if old == new:
        return b""
    parts = [f"--- {_header('a/' + name)}\n+++ {_header('b/' + name)}\n".encode("utf-8", "surrogateescape")]
    for hunk in _hunks(_lines(old), _lines(new)):
        parts += hunk
    return b"".join(parts)


_COLOURS = ((b"--- ", b"1"), (b"+++ ", b"1"), (b"@@ ", b"36"), (b"-", b"31"), (b"+", b"32"))
"""How a line starts, and the number of its colour: as git does it."""


def coloured(diff: bytes) -> bytes:
    """A diff for a terminal."""

    def line(text: bytes) -> bytes:
        for start, number in _COLOURS:
            if text.startswith(start):
                return b"\x1b[%sm%s\x1b[m" % (number, text)
        return text

    return b"\n".join(map(line, diff.split(b"\n")))


def _header(path: str) -> str:
    """A path as git writes it: quoted as in C when it must be, a tab behind it when it has a blank."""
    if _TO_QUOTE.search(path):
        quoted = _TO_QUOTE.sub(_escape, path)
        return f'"{quoted}"'
    return f"{path}\t" if " " in path else path


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char in '"\\':
        return f"\\{char}"
    return _ESCAPES.get(char, f"\\{ord(char):03o}")


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[list[bytes]]:
    """The hunks: changes that are close to each other, with the lines around them."""
    for group in _groups(_changes(old, new)):
        start, stop = max(0, group[0].old_start - _CONTEXT), min(len(old), group[-1].old_stop + _CONTEXT)
        new_start = group[0].new_start - (group[0].old_start - start)
        new_stop = group[-1].new_stop + (stop - group[-1].old_stop)
        hunk = [b"@@ -%s +%s @@\n" % (_range(start, stop), _range(new_start, new_stop))]
        at = start
        for change in group:
            hunk += [_marked(b" ", line) for line in old[at : change.old_start]]
            hunk += [_marked(b"-", line) for line in old[change.old_start : change.old_stop]]
            hunk += [_marked(b"+", line) for line in new[change.new_start : change.new_stop]]
            at = change.old_stop
        hunk += [_marked(b" ", line) for line in old[at:stop]]
        yield hunk


def _groups(changes: Iterable[_Change]) -> Iterator[list[_Change]]:
    """Changes whose contexts touch belong to one hunk."""
    group: list[_Change] = []
    for change in changes:
        if group and change.old_start - group[-1].old_stop > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[_Change]:
    """What differs, in order.

    A conversion makes many small changes and keeps the order, so the texts are walked side by side; where they part,
    the nearest place is looked for where they agree again. That is linear. ``difflib`` is not: it takes hours for
    a large table of equal lines.
    """
    stop_old, stop_new = len(old), len(new)
    while stop_old and stop_new and old[stop_old - 1] == new[stop_new - 1]:
        stop_old, stop_new = stop_old - 1, stop_new - 1
    i = j = 0
    while i < stop_old or j < stop_new:
        if i < stop_old and j < stop_new and old[i] == new[j]:
            i, j = i + 1, j + 1
            continue
        skip_old, skip_new = _resume(old[i : min(i + _WINDOW, stop_old)], new[j : min(j + _WINDOW, stop_new)])
        if skip_old is None or skip_new is None:
            skip_old, skip_new = stop_old - i, stop_new - j
        yield from _refined(old, new, _Change(i, i + skip_old, j, j + skip_new))
        i, j = i + skip_old, j + skip_new


def _refined(old: list[bytes], new: list[bytes], change: _Change) -> Iterator[_Change]:
    """The same without the equal lines in its midst, where it is small enough for ``difflib`` to find them."""
    lines, new_lines = old[change.old_start : change.old_stop], new[change.new_start : change.new_stop]
    if len(lines) * len(new_lines) > _REFINABLE:
        yield change
        return
    from difflib import SequenceMatcher

    for kind, start, stop, new_start, new_stop in SequenceMatcher(None, lines, new_lines, False).get_opcodes():
        if kind != "equal":
            i, j = change.old_start, change.new_start
            yield _Change(i + start, i + stop, j + new_start, j + new_stop)


def _resume(old: list[bytes], new: list[bytes]) -> tuple[int, int] | tuple[None, None]:
    """How many lines of each to skip so that the next ones agree: few, and rather as many of both, because a line
    is changed more often than added. None when none do."""
    for most in range(1, max(len(old), len(new))):
        skips = [(most, most), *((most, few) for few in range(most)), *((few, most) for few in range(most))]
        for skip_old, skip_new in skips:
            ahead = old[skip_old : skip_old + _AGREE]
            if ahead and ahead == new[skip_new : skip_new + _AGREE]:
                return skip_old, skip_new
    return None, None


def _range(start: int, stop: int) -> bytes:
    length = stop - start
    if length == 1:
        return b"%d" % (start + 1)
    # An empty range names the line before it.
    return b"%d,%d" % (start + 1 if length else start, length)


def _marked(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"
