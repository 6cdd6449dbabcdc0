"""An engine for the tests of what is around it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from ascend_migrate.engine.runner import Engine
from ascend_migrate.sources.discovery import SourceFile


@pytest.fixture
def fake_functions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("fake_functions")


@pytest.fixture
def fake_engine(fake_functions: ModuleType) -> Engine:
    return Engine(fake_functions.process, fake_functions.gather, fake_functions.build)


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., SourceFile]:
    """``source("a.py", "text")`` writes a file and describes it."""

    def make(name: str, text: str) -> SourceFile:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        status = path.stat()
        return SourceFile(name, path, status.st_size, status.st_mtime_ns)

    return make
