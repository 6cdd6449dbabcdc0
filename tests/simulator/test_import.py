"""Which torch_npu a simulated run finds, and who finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ascend_migrate

pytestmark = pytest.mark.sim

SimRunner = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_real_torch_npu_without_cann_is_not_touched(run_sim: SimRunner, tmp_path: Path) -> None:
    real = tmp_path / "site"
    (real / "torch_npu").mkdir(parents=True)
    (real / "torch_npu" / "__init__.py").write_text("raise ImportError('libhccl.so: cannot open shared object')\n")
    metadata = real / "torch_npu-2.13.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.13.0\n")
    (metadata / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    (tmp_path / "script.py").write_text(
        "import torch, torch_npu\nprint(torch_npu.__version__.endswith('+sim'), torch.ones(2).npu().sum().item())\n"
    )
    source_root = str(Path(ascend_migrate.__file__).parent.parent)
    done = run_sim("script.py", cwd=tmp_path, PYTHONPATH=os.pathsep.join([source_root, str(real)]))
    assert (done.returncode, done.stdout) == (0, "True 2.0\n"), done.stderr


def test_importing_torch_npu_first_works(run_sim: SimRunner, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import torch_npu\nimport torch\nprint(torch.npu.device_count())\n")
    done = run_sim("script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_visible_devices(run_sim: SimRunner, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import os, sys\n"
        "import torch\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = sys.argv[1]\n"
        "print(torch.npu.device_count())\n"
        "torch.npu.set_device(0)\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'\n"  # too late
        "print(torch.npu.device_count())\n"
    )
    for visible, count in (("1,3", 2), ("0,1,9,2", 2), ("2,1", 1)):
        done = run_sim("--sim-devices", "4", "script.py", visible, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"{count}\n{count}\n"), done.stderr


def test_processes_that_a_script_spawns(run_sim: SimRunner, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\n"
        "import torch.distributed as dist\n"
        "import torch.multiprocessing as mp\n"
        "def worker(rank, path):\n"
        "    torch.npu.set_device(rank)\n"
        "    dist.init_process_group('hccl', init_method=f'file://{path}', rank=rank, world_size=2)\n"
        "    x = torch.full((2,), rank + 1.0, device='npu', requires_grad=True)\n"
        "    y = (x * x).sum()\n"
        "    y.backward()\n"
        "    dist.all_reduce(x.grad)\n"
        "    assert x.grad.tolist() == [6.0, 6.0] and x.device.index == rank\n"
        "if __name__ == '__main__':\n"
        "    import sys\n"
        "    mp.spawn(worker, args=(sys.argv[1],), nprocs=2)\n"
        "    print('done')\n"
    )
    done = run_sim("--sim-devices", "2", "script.py", str(tmp_path / "store"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_stand_in_alone_says_how_to_start_it(tmp_path: Path) -> None:
    from ascend_migrate.simulator.cache import STAND_IN

    done = subprocess.run(
        [sys.executable, "-c", "import torch_npu"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(STAND_IN)},
        check=False,
    )
    assert done.returncode == 1
    assert "runs under `ascend-migrate run --sim` only" in done.stderr
