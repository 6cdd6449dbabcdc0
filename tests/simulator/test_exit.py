"""Two ranks end cleanly right after their last step, with and without destroy_process_group().

The worker threads of gloo and of autograd must be gone when the interpreter finalizes, or the process aborts
with "terminate called without an active exception" in a part of the runs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.sim

SCRIPT = """
import os, sys
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).npu(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 64).npu()).pow(2).mean().backward()
    optimizer.step()
total = torch.ones(1 << 16).npu()
dist.all_reduce(total, async_op=True).wait()
assert total[0].item() == 2
if sys.argv[1] == "destroy":
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("ending", ["forget", "destroy"])
@pytest.mark.parametrize("repetition", range(3))
def test_ranks_end_cleanly(
    ending: str,
    repetition: int,
    run_sim: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = run_sim("--nproc", "2", "train.py", ending, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "terminate called" not in done.stderr
