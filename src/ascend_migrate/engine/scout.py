"""Which markers do a file's bytes hold? The look that spares most files from being parsed.

A marker is a text; ``a&b`` asks for both ``a`` and ``b``, and ``=a`` for the whole word ``a``. There are some two
hundred of them, and a search for each in every file would cost as much as parsing a third of the files. So a text
is only searched for where one that it contains was found (``CUDA`` before ``CUDA_HOME``), whole words are looked
up in the set of all words, and ``import x`` and ``from x`` are searched for in the lines that import.
"""

from __future__ import annotations

from collections.abc import Iterable

_STEMS = (b"CUDA", b"NCCL", b"NVIDIA")
"""Texts searched for because many markers contain them."""

_TO_BLANKS = bytes(byte if chr(byte).isalnum() or chr(byte) == "_" or byte >= 128 else 32 for byte in range(256))
_IMPORTS = (b"import ", b"from ")


class Scout:
    """Looks for a fixed set of markers in one file after the other."""

    def __init__(self, markers: Iterable[str]) -> None:
        self._parts = {marker: tuple(part.encode() for part in marker.split("&")) for marker in markers}
        parts = {part for parts in self._parts.values() for part in parts}
        self._words = frozenset(part[1:] for part in parts if part.startswith(b"="))
        self._imports = tuple(sorted(part for part in parts if part.startswith(_IMPORTS)))
        texts = sorted(
            parts.difference(self._imports).difference(b"=" + word for word in self._words).union(_STEMS), key=len
        )
        self._first: list[bytes] = []
        self._inside: dict[bytes, list[bytes]] = {}
        for text in texts:  # the shorter ones first, so that the stem of each is known before it
            stem = next((first for first in self._first if first in text), None)
            if stem is None:
                self._first.append(text)
            else:
                self._inside.setdefault(stem, []).append(text)

    def held(self, data: bytes) -> set[str]:
        """The markers that ``data`` holds."""
        found = {text for text in self._first if text in data}
        for text in self._first:
            if text in found and text in self._inside:
                found.update(inside for inside in self._inside[text] if inside in data)
        if self._words:
            words = self._words.intersection(data.translate(_TO_BLANKS).split())
            found.update(b"=" + word for word in words)
        if self._imports:
            lines = _import_lines(data)
            found.update(text for text in self._imports if text in lines)
        return {marker for marker, parts in self._parts.items() if found.issuperset(parts)}


def _import_lines(data: bytes) -> bytes:
    """The lines that hold the word ``import``."""
    lines = []
    at = data.find(b"import")
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        lines.append(data[data.rfind(b"\n", 0, at) + 1 : end])
        at = data.find(b"import", end)
    return b"\n".join(lines)
