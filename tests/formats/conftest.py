"""One file through the engine's dispatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ascend_migrate import knowledge
from ascend_migrate.engine import dispatch, index
from ascend_migrate.engine.pipeline import EngineOptions
from ascend_migrate.model import FileReport


@pytest.fixture
def process_file() -> Callable[..., FileReport]:
    """``process_file(path, text, others={path: text}, select=...)`` gives the report of one file of a project."""

    def run(
        path: str, text: str | bytes, others: Mapping[str, str] | None = None, select: tuple[str, ...] = ()
    ) -> FileReport:
        data = text if isinstance(text, bytes) else text.encode()
        files = {path: data, **{name: content.encode() for name, content in (others or {}).items()}}
        facts = [dispatch.gather(name, content) for name, content in files.items()]
        options = EngineOptions(knowledge.resolve_target(None, "2.7.1", None), select)
        report = dispatch.process(path, data, options, index.build(fact for fact in facts if fact is not None))
        assert report.new_bytes is None, "formats only find"
        return report

    return run
