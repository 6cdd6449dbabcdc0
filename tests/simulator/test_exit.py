"""Two ranks end cleanly right after their last step, with and without destroy_process_group().

The worker threads of gloo and of autograd must be gone when the interpreter finalizes, or the process aborts
with "terminate called without an active exception" in a part of the runs. The script provokes it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.sim

SCRIPT = """
import os, sys, time
import torch
import torch.distributed as dist


class Slow:
    # Something in Python that a worker thread of gloo may be the last to let go of, and takes its time to.
    def __del__(self):
        for _ in range(300):
            time.sleep(0.001)


rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).npu(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 64).npu()).pow(2).mean().backward()
    optimizer.step()
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # so that the script is ahead of gloo's thread
total = torch.ones(4).npu()
for _ in range(4):
    torch._C._stash_obj_in_tls("test", Slow())  # every work takes it along
    dist.all_reduce(total)
    torch._C._stash_obj_in_tls("test", None)
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
