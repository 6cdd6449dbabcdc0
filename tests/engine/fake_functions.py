"""Stand-ins for the functions of the engine. In a module of their own, so that worker processes find them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ascend_migrate.engine.index import FileFacts, ProjectIndex
from ascend_migrate.model import FileReport, Finding, Span


def gather(path: str, data: bytes) -> FileFacts | None:
    if b"GATHER-FAILS" in data:
        raise ValueError("cannot gather")
    return FileFacts(path, uses_cuda=True) if b"CUDA" in data else None


class Index(ProjectIndex):
    """An index that knows which files contributed."""

    names: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return ",".join(self.names)


def build(facts) -> Index:
    index = Index()
    object.__setattr__(index, "names", tuple(sorted(fact.path for fact in facts)))
    return index


def process(path: str, data: bytes, options, index) -> FileReport:
    """One finding that tells all that the engine was given."""
    if b"RAISE" in data:
        raise KeyError("no such thing")
    if b"DIE" in data:
        os._exit(11)
    if b"RECURSE" in data:
        return process(path, data, options, index)
    if b"SLOWLY" in data:
        time.sleep(0.2)
    text = f"{data.decode()} | {','.join(index.names)} | {','.join(options.ignore)} | {os.getpid()}"
    note = os.environ.get("FAKE_ENGINE_LOG")
    if note:
        with Path(note).open("a") as stream:
            stream.write(f"{path}\n")
    return FileReport(path, (Finding(path, Span(1, 1, 1, 2), "NPU1", "error", text),))
