"""Packages from PyPI train on the simulated NPU once they are converted, with the losses of the CPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ascend_migrate

pytestmark = [pytest.mark.network, pytest.mark.sim]

SCRIPTS = Path(__file__).parent / "scripts"
SOURCE_ROOT = Path(ascend_migrate.__file__).parents[1]

_LOSS = re.compile(r"(.*step \d+) loss (\S+)")


def _run(script: Path, paths: list[Path], *command: str, **variables: str) -> dict[str, float]:
    """Run the script with the folders on its path; the losses it prints by step."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONWARNINGS": "ignore::FutureWarning",
        "OMP_NUM_THREADS": "1",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, *command, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    device = "npu" if "--sim" in command else "cpu"
    assert done.stdout.startswith(f"device {device}"), done.stdout
    return {step: float(loss) for step, loss in _LOSS.findall(done.stdout)}


def _convert(source: Path, out: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "ascend_migrate", "convert", str(source), "-o", str(out), "--quiet"],
        env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT)},
        check=True,
    )


@pytest.mark.parametrize(
    ("name", "script", "steps"), [("vit-pytorch", "train_vit.py", 8), ("x-transformers", "train_transformer.py", 4)]
)
def test_training(corpus: ModuleType, dependencies: Path, tmp_path: Path, name: str, script: str, steps: int) -> None:
    package = next(package for package in corpus.PACKAGES if package.name == name)
    tree = corpus.sources(package, corpus.default_cache())
    # vit_pytorch.dino imports torchvision's augmentations, which these scripts do not use.
    torchvision = tmp_path / "shared" / "torchvision"
    torchvision.mkdir(parents=True)
    for module in ("__init__.py", "transforms.py"):
        (torchvision / module).touch()
    shared = [torchvision.parent, dependencies]
    on_cpu = _run(SCRIPTS / script, [tree, *shared])
    _convert(tree, tmp_path / "package")
    _convert(SCRIPTS, tmp_path / "scripts")
    on_npu = _run(
        tmp_path / "scripts" / script,
        [SOURCE_ROOT, tmp_path / "package", *shared],
        *("-m", "ascend_migrate", "run", "--sim"),
        ASCEND_MIGRATE_SIM_STRICT_CUDA="1",
    )
    assert len(on_cpu) == steps
    assert on_npu == pytest.approx(on_cpu, rel=1e-5, abs=0)
