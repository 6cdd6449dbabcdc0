"""Processes, threads and devices: what one file proves, and what it does not."""

from __future__ import annotations

import pytest


def _codes(result) -> list[tuple[str, int]]:
    return [(f.code, f.span.line) for f in result.findings if f.code.startswith("NPU8")]


FORK = """import torch
import torch.multiprocessing as mp


def work(i):
    {worker}


def main():
    {before}
    mp.Process(target=work, args=(0,)).start()
"""


@pytest.mark.parametrize(
    ("before", "worker", "found"),
    [
        ("torch.npu.synchronize()", "x = torch.zeros(1).npu()", True),
        ("x = torch.zeros(1, device='npu')", "torch.npu.set_device(i)", True),
        ("n = torch.npu.get_device_name()", "x = torch.zeros(1).to('npu')", True),
        ("n = torch.npu.device_count()", "x = torch.zeros(1).npu()", False),
        ("ok = torch.npu.is_available()", "x = torch.zeros(1).npu()", False),
        ("torch.npu.synchronize()", "print(i)", False),
        ("if i: torch.npu.synchronize()", "x = torch.zeros(1).npu()", False),
        ("f = lambda: torch.npu.synchronize()", "x = torch.zeros(1).npu()", False),
        ("torch.npu.synchronize(); mp.set_start_method('spawn')", "x = torch.zeros(1).npu()", False),
    ],
)
def test_fork(convert, before: str, worker: str, found: bool) -> None:
    source = FORK.format(before=before, worker=worker)
    assert _codes(convert(source)) == ([("NPU801", 11)] if found else [])


@pytest.mark.parametrize(
    ("worker", "found"),
    [
        ("return batch.npu()", True),
        ("return batch.to('npu')", True),
        ("return batch.npu(index)", False),
        ("return batch.to('npu:1')", False),
        ("torch.npu.set_device(index); return batch.npu()", False),
        ("return batch + 1", False),
    ],
)
def test_thread(convert, worker: str, found: bool) -> None:
    source = (
        "import threading\nimport torch\n\ntorch.npu.set_device(index)\n\n\ndef load(batch):\n    "
        f"{worker}\n\n\nthreading.Thread(target=load).start()\n"
    )
    assert _codes(convert(source)) == ([("NPU802", 11)] if found else [])


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("model = net.npu()\ntorch.npu.set_device(local)\n", [("NPU803", 3)]),
        ("x = torch.zeros(2, device='npu')\ntorch.npu.set_device(local)\n", [("NPU803", 3)]),
        ("x = torch.zeros(2, device=torch.device('npu'))\ntorch.npu.set_device(local)\n", [("NPU803", 3)]),
        ("x = torch.zeros(2, device=f'npu:{local}')\ntorch.npu.set_device(local)\n", []),
        ("torch.npu.set_device(local)\nmodel = net.npu()\ntorch.npu.set_device(local)\n", []),
        ("model = net.npu()\ntorch.npu.set_device(0)\n", []),
        ("def f():\n    return net.npu()\n\n\ntorch.npu.set_device(local)\n", []),
    ],
)
def test_tensor_before_set_device(convert, code: str, found: list[tuple[str, int]]) -> None:
    assert _codes(convert(f"import torch\n\n{code}")) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = torch.ones(1).npu()\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\n", [("NPU804", 4)]),
        ("torch.npu.set_device(0)\nif many:\n    os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\n", [("NPU804", 5)]),
        ("os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\nx = torch.ones(1).npu()\n", []),
        ("n = torch.npu.device_count()\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\n", []),
        ("if a:\n    torch.npu.init()\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\n", []),
        ("torch.npu.init()\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\nsubprocess.run(['a'])\n", []),
        ("torch.npu.init()\nos.environ['OMP_NUM_THREADS'] = '1'\n", []),
    ],
)
def test_visible_devices(convert, code: str, found: list[tuple[str, int]]) -> None:
    assert _codes(convert(f"import os\nimport torch\n{code}")) == found


def test_visible_devices_of_cuda_code(convert) -> None:
    source = "import os\nimport torch\ntorch.cuda.set_device(0)\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
    assert _codes(convert(source)) == [("NPU804", 4)]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("rank = dist.get_rank()\ntorch.npu.set_device(rank)\n", 1),
        ("rank = dist.get_rank()\ndevice = f'npu:{rank}'\nx.to(device)\n", 1),
        ("rank = dist.get_rank()\nx = x.to('npu:%d' % rank)\n", 1),
        ("rank = dist.get_rank()\nx = x.to(f'cuda:{rank}')\n", 1),
        ("rank = int(os.environ['RANK'])\nmodel = model.npu(rank)\n", 1),
        ("rank = int(os.getenv('RANK', 0))\ndevice = torch.device('npu', rank)\n", 1),
        ("torch.npu.set_device(dist.get_rank())\n", 1),
        ("rank = int(os.environ['LOCAL_RANK'])\ntorch.npu.set_device(rank)\n", 0),
        ("rank = dist.get_rank()\ntorch.npu.set_device(rank % 8)\n", 0),
        ("rank = dist.get_rank()\nrank = 0\ntorch.npu.set_device(rank)\n", 0),
        ("rank = dist.get_rank(group)\ntorch.npu.set_device(rank)\n", 0),
        ("rank = dist.get_rank()\nprint(f'cuda:{rank} is ready')\n", 0),
    ],
)
def test_global_rank(convert, code: str, count: int) -> None:
    result = convert(f"import os\nimport torch\nimport torch.distributed as dist\n\n{code}")
    assert len(result.of("NPU805")) == count


@pytest.mark.parametrize(
    ("call", "level"),
    [
        ("dist.all_reduce(x.t())", "error"),
        ("dist.all_reduce(x.T)", "error"),
        ("dist.broadcast(x.permute(1, 0), src=0)", "error"),
        ("dist.all_reduce(tensor=x.transpose(0, 1))", "error"),
        ("dist.all_gather(out, x.expand(3, 4))", "error"),
        ("dist.send(x[:, 0], 1)", "warning"),
        ("dist.all_reduce(x[:, 2:4])", "warning"),
        ("dist.all_reduce(x[0])", None),
        ("dist.all_reduce(x[:, :])", None),
        ("dist.all_reduce(x[0, :])", None),
        ("dist.all_reduce(x.t().contiguous())", None),
        ("dist.all_reduce(x.view(-1))", None),
        ("dist.barrier()", None),
        ("comm.all_reduce(x.t())", None),
    ],
)
def test_contiguity(convert, call: str, level: str | None) -> None:
    findings = convert(f"import torch.distributed as dist\n\n{call}\n").of("NPU806")
    assert [f.level for f in findings] == ([] if level is None else [level])
