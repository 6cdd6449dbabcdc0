"""``torch_npu.distributed`` and the c10d backend ``hccl``, which forwards to gloo (see hccl.cpp)."""

from __future__ import annotations

import datetime

import _simulated_npu as native
import torch.distributed as dist

__all__ = ["is_available", "is_hccl_available"]


def is_available() -> bool:
    return dist.is_available()


def is_hccl_available() -> bool:
    return True


def _create(store: dist.Store, rank: int, size: int, timeout: datetime.timedelta) -> dist.Backend:
    from torch._C._distributed_c10d import ProcessGroupGloo

    # The wrapper must be the only owner of the gloo group, so that ending it ends gloo's threads.
    return native.make_hccl(ProcessGroupGloo(store, rank, size, timeout=timeout))


def register() -> None:
    """Makes ``init_process_group("hccl")`` work, and hccl the default for tensors on ``npu``."""
    if dist.is_available():
        dist.Backend.register_backend("hccl", _create, devices=["npu"])
        dist.is_hccl_available = is_hccl_available
