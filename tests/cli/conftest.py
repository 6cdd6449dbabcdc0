"""Run the real command line in a process of its own, with an engine whose answers are known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ascend_migrate

LAUNCHER = Path(__file__).parent / "with_fake_engine.py"

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


def environment(cache: Path) -> dict[str, str]:
    """The variables for a run: nothing from outside that changes the output, a cache of the test's own."""
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    variables["PYTHONPATH"] = str(Path(ascend_migrate.__file__).parent.parent)
    variables["ASCEND_MIGRATE_CACHE_DIR"] = str(cache)
    variables["COLUMNS"] = "200"
    return variables


@pytest.fixture
def cli_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def cli(tmp_path: Path, cli_environment: dict[str, str]) -> Cli:
    """``cli("analyze", "repo", stdin=b"")`` runs in ``tmp_path``."""

    def call(*arguments: object, stdin: bytes = b"", cwd: Path = tmp_path, **variables: str):
        return subprocess.run(
            [sys.executable, str(LAUNCHER), *map(os.fspath, map(_plain, arguments))],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={**cli_environment, **variables},
        )

    return call


def _plain(argument: object) -> str | bytes | Path:
    return argument if isinstance(argument, (str, bytes, Path)) else str(argument)


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
