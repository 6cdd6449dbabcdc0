"""Python tracebacks, put together line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_START = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s+File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_EXCEPTION = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?$")
_CHAIN = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_NOT_PROJECT = re.compile(r"site-packages|dist-packages|/lib/python3[.\d]*/|<frozen |<string>")
_LONGEST = 400


@dataclass(frozen=True)
class Frame:
    """One step of a traceback."""

    file: str
    line: int
    function: str
    code: str = ""


@dataclass(frozen=True)
class Traceback:
    """An exception and where it was raised. ``project`` is the last frame of the user's own code."""

    type: str
    message: str
    last: Frame | None
    project: Frame | None

    @property
    def summary(self) -> str:
        """``ValueError: what it says``."""
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass
class _Open:
    last: Frame | None = None
    project: Frame | None = None


@dataclass
class Builder:
    """Takes the lines of one stream; :meth:`feed` hands out the exceptions of a chain when it has ended."""

    _open: _Open | None = None
    _chain: list[Traceback] = field(default_factory=list)
    _joined: bool = False

    @property
    def busy(self) -> bool:
        """Whether the next lines may belong to a traceback."""
        return self._open is not None or bool(self._chain)

    @property
    def raised(self) -> int:
        """How many exceptions the chain holds so far."""
        return len(self._chain)

    def feed(self, text: str) -> tuple[list[Traceback], bool]:
        """The chain that ends before this line, first exception first (often empty), and whether the line is part
        of a traceback."""
        if text.strip() == _START:
            done = [] if self._joined else self._take()
            self._open, self._joined = _Open(), False
            return done, True
        if self._open is not None:
            return self._inside(text)
        if not self._chain:
            return [], False
        if not text.strip():
            return [], True
        if text.strip() in _CHAIN:
            self._joined = True
            return [], True
        return self._take(), False

    def finish(self) -> list[Traceback]:
        """The chain that the end of the log leaves."""
        self._open = None
        return self._take()

    def _inside(self, text: str) -> tuple[list[Traceback], bool]:
        frame = self._open
        assert frame is not None
        match = _FRAME.match(text)
        if match is not None:
            frame.last = Frame(match["file"], int(match["line"]), match["function"])
            if not _NOT_PROJECT.search(match["file"]):
                frame.project = frame.last
            return [], True
        if not text.strip() or text[:1].isspace():
            if frame.last is not None and not frame.last.code and text.strip():
                filled = Frame(frame.last.file, frame.last.line, frame.last.function, text.strip()[:_LONGEST])
                if frame.project is frame.last:
                    frame.project = filled
                frame.last = filled
            return [], True
        self._open = None
        match = _EXCEPTION.match(text.rstrip())
        if match is None:  # cut off, or lines of several processes got mixed
            return self._take(), False
        message = (match["message"] or "")[:_LONGEST]
        self._chain.append(Traceback(match["type"].rpartition(".")[2], message, frame.last, frame.project))
        return [], False  # the line itself may hold a code

    def _take(self) -> list[Traceback]:
        chain, self._chain, self._joined = self._chain, [], False
        return chain
