"""Runs ``ascend-migrate run`` as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ascend_migrate

Launcher = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def launch() -> Launcher:
    """``launch(*arguments, cwd=..., **environment)`` starts the command line and returns the process."""

    def start(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.Popen[str]:
        source_root = str(Path(ascend_migrate.__file__).parent.parent)
        paths = [source_root, *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.Popen(
            [sys.executable, "-m", "ascend_migrate", "run", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", **environment},
        )

    return start


@pytest.fixture(scope="session")
def simulated_npu() -> None:
    """The build, for the torch of this environment."""
    from ascend_migrate.simulator import find_torch, prepare

    if find_torch() is None:
        pytest.skip("the simulated NPU needs torch")
    prepare(lambda line: print(line, file=sys.stderr))
