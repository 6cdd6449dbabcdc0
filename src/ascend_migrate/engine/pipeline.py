"""One Python file: bytes in, findings and new bytes out. Pure: no I/O, no globals."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_migrate.engine.index import ProjectIndex
from ascend_migrate.model import FileReport, Target


@dataclass(frozen=True)
class EngineOptions:
    """What decides a result besides the bytes: the target, and the code prefixes wanted and not wanted."""

    target: Target
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def process(path: str, data: bytes, options: EngineOptions, index: ProjectIndex) -> FileReport:
    """Analyze and convert one Python file. Never raises for what the bytes are."""
    return FileReport(path)
