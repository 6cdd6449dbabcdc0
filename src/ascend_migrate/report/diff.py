"""Unified diffs of bytes, which ``patch`` and ``git apply`` take as they are.

Lines end at ``\\n`` alone, as for those two tools: a carriage return belongs to its line. The bytes pass
through whatever their encoding.
"""

from __future__ import annotations

import difflib
import re

_CONTEXT = 3

_TO_QUOTE = re.compile(r'[\x00-\x1f"\\\x7f]')
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}


def unified(name: str, old: bytes, new: bytes) -> bytes:
    """The diff of the file ``name``, headed ``a/name`` and ``b/name``. Empty when nothing differs."""
    if old == new:
        return b""
    parts = [f"--- {_header('a/' + name)}\n+++ {_header('b/' + name)}\n".encode("utf-8", "surrogateescape")]
    for group in _groups(_lines(old), _lines(new)):
        parts += group
    return b"".join(parts)


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


def _groups(old: list[bytes], new: list[bytes]) -> list[list[bytes]]:
    """The hunks. What both ends have in common is cut off first, because the matcher's cost grows with
    length."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    start = max(0, head - _CONTEXT)
    stop_old, stop_new = len(old) - max(0, tail - _CONTEXT), len(new) - max(0, tail - _CONTEXT)
    matcher = difflib.SequenceMatcher(None, old[start:stop_old], new[start:stop_new], autojunk=False)
    hunks = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        old_start, old_stop = group[0][1] + start, group[-1][2] + start
        new_start, new_stop = group[0][3] + start, group[-1][4] + start
        hunk = [b"@@ -%s +%s @@\n" % (_range(old_start, old_stop), _range(new_start, new_stop))]
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                hunk += [_marked(b" ", line) for line in old[start + i1 : start + i2]]
                continue
            hunk += [_marked(b"-", line) for line in old[start + i1 : start + i2]]
            hunk += [_marked(b"+", line) for line in new[start + j1 : start + j2]]
        hunks.append(hunk)
    return hunks


def _common(one: list[bytes], other: list[bytes]) -> int:
    """The number of equal lines that both start with."""
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _range(start: int, stop: int) -> bytes:
    length = stop - start
    if length == 1:
        return b"%d" % (start + 1)
    # An empty range names the line before it.
    return b"%d,%d" % (start + 1 if length else start, length)


def _marked(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"
