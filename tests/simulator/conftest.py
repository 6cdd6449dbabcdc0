"""Runs scripts on the simulated NPU, which is built once into the user's cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import ascend_migrate

CHECKS = Path(__file__).parent / "checks"
SimRunner = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def simulated_npu() -> None:
    """The build, for the torch of this environment."""
    from ascend_migrate.simulator import find_torch, prepare

    if find_torch() is None:
        pytest.skip("the simulated NPU needs torch")
    prepare(lambda line: print(line, file=sys.stderr))


@pytest.fixture(scope="session")
def run_sim(simulated_npu: None) -> SimRunner:
    """``run_sim(*arguments, **environment)``: ``ascend-migrate run --sim -q`` with these arguments."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        source_root = str(Path(ascend_migrate.__file__).parent.parent)
        paths = [source_root, *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, "-m", "ascend_migrate", "run", "--sim", "-q", *arguments],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", **environment},
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def outcome_of(run_sim: SimRunner, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """``outcome_of(module, check, options, ranks)``: empty, or the traceback of a rank where it failed.

    The checks of a module run in one process (one for each rank), once.
    """

    @cache
    def results_of(module: str, options: tuple[str, ...], ranks: int) -> list[dict[str, str]]:
        output = tmp_path_factory.mktemp(module) / "results.json"
        done = run_sim(*options, str(CHECKS / "harness.py"), module, str(output))
        if done.returncode != 0:
            pytest.exit(f"the checks of {module} did not run through:\n{done.stderr}", returncode=1)
        return [json.loads(Path(f"{output}.{rank}").read_text(encoding="utf-8")) for rank in range(ranks)]

    def outcome(module: str, check: str, options: tuple[str, ...] = (), ranks: int = 1) -> str:
        return "\n".join(
            f"rank {rank}: {results[check]}"
            for rank, results in enumerate(results_of(module, options, ranks))
            if results[check]
        )

    return outcome
