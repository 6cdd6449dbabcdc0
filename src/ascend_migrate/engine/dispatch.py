"""Hands every file to what reads it: Python to the pipeline, everything else to its format."""

from __future__ import annotations

from ascend_migrate.engine import index as project_index
from ascend_migrate.engine import pipeline
from ascend_migrate.engine.index import FileFacts, ProjectIndex
from ascend_migrate.engine.pipeline import EngineOptions
from ascend_migrate.formats import format_of
from ascend_migrate.model import FileReport


def process(path: str, data: bytes, options: EngineOptions, index: ProjectIndex) -> FileReport:
    """Analyze and convert one file. Never raises for what the bytes are."""
    found = format_of(path)
    if found is not None:
        return found.process(path, data, options, index)
    return pipeline.process(path, data, options, index)


def gather(path: str, data: bytes) -> FileFacts | None:
    """What a file contributes to the project index; only Python files do."""
    return None if format_of(path) is not None else project_index.gather(path, data)
