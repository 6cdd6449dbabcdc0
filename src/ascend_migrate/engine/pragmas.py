"""Comments in which the source itself says what to leave alone.

``# ascend-migrate: ignore[NPU102]`` leaves out findings whose code starts so, ``# ascend-migrate: ignore`` all of
them. At the end of the first or last line of a statement it counts for the whole statement (of a compound one, for its
header), on another line of it for that line, and on a line of its own for the statement that follows. ``#
ascend-migrate: ignore-file``, with codes or without, counts for the file. What is left out is neither shown nor
converted. A comment whose codes cannot be read leaves out nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass, field

from ascend_migrate.model import Finding

MARKER = b"ascend-migrate:"
"""Only a file that holds this is looked through for comments."""

_PRAGMA = re.compile(
    r"(?:#|//)\s*ascend-migrate:\s*(?P<what>ignore-file|ignore)(?![\w-])(?:\s*\[(?P<codes>[^\]]*)\])?(?P<open>\s*\[)?",
    re.IGNORECASE,
)
_CODE = re.compile(r"NPU\d{0,3}")
_EVERYTHING = ("",)
_LAYOUT = frozenset({tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING})


@dataclass
class Pragmas:
    """The code prefixes to leave out: in the whole file, and line by line."""

    file: tuple[str, ...] = ()
    lines: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def ignores_file(self) -> bool:
        """Whether there is nothing left to look for."""
        return "" in self.file

    def ignores(self, finding: Finding) -> bool:
        """Whether a comment asks to leave this finding out: one that counts for the line where it begins."""
        return finding.code.startswith((*self.file, *self.lines.get(finding.span.line, ())) or ("\0",))

    def _add(self, lines: Iterable[int], codes: tuple[str, ...]) -> None:
        for line in lines:
            self.lines[line] = (*self.lines.get(line, ()), *codes)


def of_python(text: str) -> Pragmas:
    """The pragmas of Python source. Text that cannot be tokenized has those before the fault."""
    found = Pragmas()
    statement: list[tuple[int, tuple[str, ...]]] = []
    waiting: tuple[str, ...] = ()
    first: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                what, codes = _read(token.string)
                if what == "file":
                    found.file += codes
                elif what == "line" and first is None:
                    waiting += codes
                elif what == "line":
                    statement.append((token.start[0], codes))
            elif token.type == tokenize.NEWLINE and first is not None:
                last = token.start[0]
                found._add(range(first, last + 1), waiting)
                for line, codes in statement:
                    found._add(range(first, last + 1) if line in (first, last) else (line,), codes)
                statement, waiting, first = [], (), None
            elif token.type not in _LAYOUT and token.type != tokenize.NEWLINE and first is None:
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser says what is wrong with the file
    return found


def of_lines(text: str) -> Pragmas:
    """The pragmas of a file in another language, with ``#`` or ``//`` comments: each counts for its line, or, on a
    line of its own, for the next."""
    found = Pragmas()
    for number, line in enumerate(text.splitlines(), start=1):
        what, codes = _read(line)
        if what == "file":
            found.file += codes
        elif what == "line":
            found._add((number + 1 if line.lstrip().startswith(("#", "//")) else number,), codes)
    return found


def _read(comment: str) -> tuple[str, tuple[str, ...]]:
    """``file``, ``line`` or nothing, and the code prefixes."""
    match = _PRAGMA.search(comment)
    if match is None or match["open"]:
        return "", ()
    codes: tuple[str, ...] = _EVERYTHING
    if match["codes"] is not None:
        codes = tuple(code for code in re.split(r"[\s,]+", match["codes"].upper()) if code)
        if not codes or not all(_CODE.fullmatch(code) for code in codes):
            return "", ()
    return ("file" if match["what"].lower() == "ignore-file" else "line"), codes
