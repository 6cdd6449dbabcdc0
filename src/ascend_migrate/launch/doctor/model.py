"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "warning", "problem", "unknown"]
STATUSES: tuple[Status, ...] = ("ok", "warning", "problem", "unknown")
"""``problem``: training on the NPU fails or gets wrong; ``warning``: it may; ``unknown``: it cannot be found out."""


@dataclass(frozen=True)
class Check:
    """The answer to one question about the environment."""

    group: str
    """What it is about: Hardware, Driver, CANN, Python, Access, Collectives, Resources, Settings, Project."""
    name: str
    status: Status
    reason: str
    """What was found, and why it is good or bad; for ``unknown``, why it cannot be known."""
    fix: tuple[str, ...] = ()
    """Shell commands that cure it; what is in CAPITALS must be filled in."""
    help: str = ""
    """What to do beside, or in place of, the commands."""

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "name": self.name,
            "status": self.status,
            "reason": self.reason,
            "fix": list(self.fix),
            "help": self.help,
        }


@dataclass(frozen=True)
class Group:
    """Makes the checks of one group."""

    name: str

    def ok(self, name: str, reason: str) -> Check:
        return Check(self.name, name, "ok", reason)

    def warning(self, name: str, reason: str, *fix: str, help: str = "") -> Check:
        return Check(self.name, name, "warning", reason, fix, help)

    def problem(self, name: str, reason: str, *fix: str, help: str = "") -> Check:
        return Check(self.name, name, "problem", reason, fix, help)

    def unknown(self, name: str, reason: str, *fix: str, help: str = "") -> Check:
        return Check(self.name, name, "unknown", reason, fix, help)

    def bad(self, serious: bool, name: str, reason: str, *fix: str, help: str = "") -> Check:
        """A problem where it matters, else a warning."""
        return Check(self.name, name, "problem" if serious else "warning", reason, fix, help)
