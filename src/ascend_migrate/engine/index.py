"""What the files of a project must know of each other, gathered before any of them is converted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class FileFacts:
    """What one Python file contributes to the :class:`ProjectIndex`. Picklable and cheap to gather."""

    path: str
    uses_cuda: bool = False


@dataclass(frozen=True)
class ProjectIndex:
    """The project seen from above. ``digest`` changes when anything does that could change a file's result."""

    uses_cuda: bool = False

    @property
    def digest(self) -> str:
        return str(int(self.uses_cuda))


def gather(path: str, data: bytes) -> FileFacts | None:
    """The facts of one Python file, or None when it contributes nothing. Never raises."""
    return None


def build(facts: Iterable[FileFacts]) -> ProjectIndex:
    """Merge the facts of all files; the order does not matter."""
    return ProjectIndex()
