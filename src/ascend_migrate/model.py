"""The few frozen types that every part of the tool speaks. Imports nothing of ours.

Offsets are characters in the decoded text of a file; lines and columns count from 1, in characters, as
editors show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["error", "warning", "info"]
"""What happens on the NPU to the code as it stands: ``error`` it fails, ``warning`` it runs but differs
(slower, on the CPU, with other precision) or must be looked at, ``info`` it has no effect."""

LEVELS: tuple[Level, ...] = ("info", "warning", "error")
"""From harmless to fatal."""

Safety = Literal["safe", "review"]
"""``safe``: the meaning is known to be kept. ``review``: applied too, but a person should look at it."""


@dataclass(frozen=True)
class Target:
    """What a project is migrated to: a chip family (``910b``) and a pair of package versions."""

    soc: str
    torch: str
    torch_npu: str


@dataclass(frozen=True, order=True)
class Span:
    """A place in a file. The end is exclusive, as in LSP and SARIF."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the characters ``start`` to ``end`` (exclusive) of the decoded text by ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Fix:
    """A change that ``convert`` makes. ``before`` and ``after`` are whole source lines, for people."""

    safety: Safety
    edits: tuple[Edit, ...]
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing at one place that the rule ``code`` has to say. ``help`` tells what to do about it."""

    path: str
    span: Span
    code: str
    level: Level
    message: str
    help: str = ""
    fix: Fix | None = None

    @property
    def sort_key(self) -> tuple[str, Span, str, str]:
        return (self.path, self.span, self.code, self.message)

    def to_json(self) -> dict[str, Any]:
        """The public JSON form (schema 1)."""
        fix = None
        if self.fix is not None:
            fix = {"safety": self.fix.safety, "before": self.fix.before, "after": self.fix.after}
        return {
            "path": self.path,
            "line": self.span.line,
            "column": self.span.column,
            "end_line": self.span.end_line,
            "end_column": self.span.end_column,
            "code": self.code,
            "level": self.level,
            "message": self.message,
            "help": self.help,
            "fix": fix,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Finding:
        """The inverse of :meth:`to_json`. The edits of a fix are not part of the public form and stay empty."""
        fix = data["fix"]
        return Finding(
            path=data["path"],
            span=Span(data["line"], data["column"], data["end_line"], data["end_column"]),
            code=data["code"],
            level=data["level"],
            message=data["message"],
            help=data["help"],
            fix=None if fix is None else Fix(fix["safety"], (), fix["before"], fix["after"]),
        )


@dataclass(frozen=True)
class FileError:
    """A file, or a part of one, that could not be processed. It is never changed."""

    path: str
    line: int
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "line": self.line, "message": self.message}


@dataclass(frozen=True)
class FileReport:
    """What one file gave: findings, failures, and the converted bytes where they differ from the input."""

    path: str
    findings: tuple[Finding, ...] = ()
    errors: tuple[FileError, ...] = ()
    new_bytes: bytes | None = field(default=None, repr=False)
