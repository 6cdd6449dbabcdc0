"""Run the command line with an engine whose answers are known: in this process, or in one of its own."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import ascend_migrate
from ascend_migrate import cli as command_line

LAUNCHER = Path(__file__).parent / "with_fake_engine.py"

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="session")
def fake_engine() -> ModuleType:
    """The module of the fake engine; workers find its functions by this name."""
    spec = importlib.util.spec_from_file_location("with_fake_engine", LAUNCHER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["with_fake_engine"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def cli_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables for a run: nothing from outside that changes the output, a cache of the test's own."""
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    variables["PYTHONPATH"] = str(Path(ascend_migrate.__file__).parent.parent)
    variables["ASCEND_MIGRATE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    variables["COLUMNS"] = "200"
    return variables


@pytest.fixture
def cli(
    tmp_path: Path, cli_environment: dict[str, str], fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """``cli("analyze", "repo", stdin=b"")`` runs in this process, in ``tmp_path``: the quick way."""

    def call(*arguments: object, stdin: bytes = b"", cwd: Path = tmp_path) -> subprocess.CompletedProcess[bytes]:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setattr(os, "environ", {**cli_environment})
            patch.setattr("ascend_migrate.engine.runner.Engine.default", lambda: fake_engine.ENGINE)
            patch.setattr("ascend_migrate.engine.project.Request.target", fake_engine.target)
            patch.setattr("ascend_migrate.sources.versions._installed", lambda: None)
            words = [str(argument) for argument in arguments]
            streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")]
            patch.setattr(sys, "argv", ["ascend-migrate", *words])
            for name, stream in zip(("stdin", "stdout", "stderr"), streams):
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as ended:
                command_line.main()
        for stream in streams[1:]:
            stream.flush()
        out, err = (stream.buffer.getvalue() for stream in streams[1:])  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(words, ended.value.code, out, err)  # type: ignore[arg-type]

    return call


@pytest.fixture
def spawn(tmp_path: Path, cli_environment: dict[str, str]) -> Cli:
    """The same in a process of its own, for what only such a process shows."""

    def call(
        *arguments: object, stdin: bytes = b"", cwd: Path = tmp_path, **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, str(LAUNCHER), *(str(argument) for argument in arguments)],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={**cli_environment, **variables},
        )

    return call


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small project, in the words of the fake engine."""
    root = tmp_path / "repo"
    (root / "pkg").mkdir(parents=True)
    (root / "train.py").write_text("a = OLD\nif __name__ == '__main__':\n    STUCK\n")
    (root / "pkg" / "__init__.py").write_text("")
    (root / "pkg" / "model.py").write_text("x = 1\ny = SLOW + OLD\n")
    (root / "data.txt").write_text("OLD stays here\n")
    return root
