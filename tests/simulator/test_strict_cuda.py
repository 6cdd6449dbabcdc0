"""With ASCEND_MIGRATE_SIM_STRICT_CUDA=1 a CUDA use that survives without CUDA is an error."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.sim

SURVIVORS = [
    "torch.cuda.manual_seed(1)",
    "torch.cuda.manual_seed_all(1)",
    "torch.cuda.empty_cache()",
    "torch.cuda.memory_allocated()",
    "torch.cuda.max_memory_allocated()",
    "torch.cuda.get_rng_state_all()",
    "torch.cuda.synchronize()",
    "torch.cuda.is_bf16_supported()",
    "torch.cuda.stream(None)",
    "torch.cuda.amp.autocast()",
    "torch.cuda.amp.GradScaler()",
    "torch.autocast('cuda')",
    "torch.autocast(device_type='cuda', dtype=torch.float16)",
    "torch.amp.GradScaler()",
    "torch.amp.GradScaler(device='cuda')",
    "torch.amp.custom_fwd(lambda x: x, device_type='cuda')",
    "torch.set_default_device('cuda:0')",
    "torch.random.fork_rng()",
    "torch.distributed.is_nccl_available()",
    "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])",
    "torch.utils.data.DataLoader([1], pin_memory=True, pin_memory_device='cuda')",
]

HARMLESS = [
    "torch.cuda.is_available()",
    "torch.cuda.device_count()",
    "torch.cuda.is_initialized()",
    "torch.autocast('npu')",
    "torch.autocast('cpu')",
    "torch.amp.GradScaler('npu')",
    "torch.npu.amp.GradScaler()",
    "torch.manual_seed(1)",
    "torch.seed()",
    "torch.random.fork_rng(device_type='npu')",
    "torch.set_default_device('npu')",
    "torch.set_default_device('cpu')",
    "torch.profiler.profile()",
    "torch.utils.data.DataLoader([1], pin_memory=True)",
]

SCRIPT = """
import json, sys, warnings
import torch, torch.distributed, torch.profiler, torch.utils.data
warnings.simplefilter("ignore")
results = {}
for use in json.loads(sys.argv[1]):
    try:
        exec(compile(use, "train.py", "exec"))
        results[use] = ""
    except Exception as error:
        results[use] = f"{type(error).__name__}: {error}"
print(json.dumps(results))
"""


def outcomes(run_sim: Callable[..., subprocess.CompletedProcess[str]], folder: Path, strict: str) -> dict[str, str]:
    (folder / "uses.py").write_text(SCRIPT)
    uses = json.dumps([*SURVIVORS, *HARMLESS])
    done = run_sim("uses.py", uses, cwd=folder, ASCEND_MIGRATE_SIM_STRICT_CUDA=strict)
    assert done.returncode == 0, done.stderr
    results: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return results


def test_strict(run_sim: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    results = outcomes(run_sim, tmp_path, "1")
    for use in SURVIVORS:
        assert results[use].startswith("CudaLeftBehindError: a CUDA use was left behind: "), (use, results[use])
        assert results[use].endswith(" at train.py:1"), results[use]
    assert {use: results[use] for use in HARMLESS} == dict.fromkeys(HARMLESS, "")


def test_not_strict(run_sim: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    results = outcomes(run_sim, tmp_path, "0")
    survived = [use for use in SURVIVORS if not results[use]]
    # Without CUDA this one fails by itself.
    assert [use for use in SURVIVORS if use not in survived] == ["torch.cuda.synchronize()"]
