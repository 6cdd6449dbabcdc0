"""Strict mode: makes a CUDA use that a conversion left behind fail where torch without CUDA lets it pass.

On a machine without CUDA most uses of it fail by themselves (``x.cuda()``, ``device="cuda"``). Some survive:
``torch.cuda.amp.autocast()`` and ``GradScaler()`` switch themselves off, ``torch.cuda.manual_seed`` waits for
a CUDA that never comes, ``torch.cuda.memory_allocated`` is 0, ``is_nccl_available()`` is False and so gloo is
chosen. With ``ASCEND_MIGRATE_SIM_STRICT_CUDA=1`` these raise `CudaLeftBehindError` when the script or the
project's own modules call them. Calls by torch, by the standard library and by installed packages pass.

Not caught, because they are ordinary comparisons: ``device.type == "cuda"``, ``x.is_cuda``.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

PURE_QUERIES = frozenset(
    {"device_count", "get_arch_list", "get_gencode_flags", "is_available", "is_built", "is_initialized"}
)
"""What code that supports several accelerators asks on every machine."""

_CUDA_MODULES = ("amp", "comm", "graphs", "memory", "nvtx", "profiler", "random", "streams")


class CudaLeftBehindError(RuntimeError):
    """Code that should run on the NPU used CUDA, on a machine where that has silently no effect."""

    def __init__(self, what: str, file: str, line: int) -> None:
        super().__init__(f"a CUDA use was left behind: {what} at {file}:{line}")


def _foreign_folders() -> tuple[str, ...]:
    """Where code lies that is not the project's: the standard library, installed packages, torch."""
    folders = {str(Path(torch.__file__).parent), str(Path(__file__).parent.parent)}
    folders.update(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(folder + os.sep for folder in folders)


_FOREIGN = _foreign_folders()


def _is_projects(file: str) -> bool:
    return not file.startswith((*_FOREIGN, "<frozen")) and "site-packages" not in file


def _guard(
    owner: Any, name: str, label: str, concerns_cuda: Callable[..., bool] = lambda *args, **kwargs: True
) -> None:
    """Replaces ``owner.name`` by a function that first looks at who calls it."""
    original = getattr(owner, name, None)
    if not callable(original):
        return  # this version of torch does not have it

    @functools.wraps(original)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        if _is_projects(caller.f_code.co_filename) and concerns_cuda(*args, **kwargs):
            raise CudaLeftBehindError(label, caller.f_code.co_filename, caller.f_lineno)
        return original(*args, **kwargs)

    setattr(owner, name, guarded)


def _names_cuda(parameter: str, default: object = None, position: int = 0) -> Callable[..., bool]:
    """Whether the argument `parameter` names a CUDA device. `position` counts a method's ``self``."""

    def concerns(*args: Any, **kwargs: Any) -> bool:
        value = args[position] if len(args) > position else kwargs.get(parameter, default)
        return str(getattr(value, "type", value)).split(":")[0] == "cuda"

    return concerns


def _profiles_cuda(*args: Any, **kwargs: Any) -> bool:
    asked = kwargs.get("use_cuda") or kwargs.get("use_device") == "cuda"
    activities = kwargs.get("activities") or ()
    return bool(asked) or torch.profiler.ProfilerActivity.CUDA in activities


def _pins_for_cuda(*args: Any, **kwargs: Any) -> bool:
    return str(kwargs.get("pin_memory_device", "")).startswith("cuda")


def _device_type_is_cuda(*args: Any, **kwargs: Any) -> bool:
    return kwargs.get("device_type") == "cuda"


def _guard_torch_cuda() -> None:
    """Every public function of torch.cuda, and the classes that work without CUDA."""
    done: dict[int, Any] = {}
    modules = [torch.cuda, *(getattr(torch.cuda, name, None) for name in _CUDA_MODULES)]
    for module in modules:
        if module is None:
            continue
        prefix = module.__name__
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name, None)
            if name in PURE_QUERIES or not getattr(value, "__module__", "").startswith("torch.cuda"):
                continue
            if isinstance(value, types.FunctionType):
                # One function may be in several modules; it stays one function.
                if id(value) not in done:
                    _guard(module, name, f"{prefix}.{name}")
                    done[id(value)] = getattr(module, name)
                else:
                    setattr(module, name, done[id(value)])
            elif isinstance(value, type) and "__init__" in vars(value) and id(value) not in done:
                done[id(value)] = value
                _guard(value, "__init__", f"{prefix}.{name}")


def install() -> None:
    """Turns strict mode on when the environment asks for it."""
    if os.environ.get("ASCEND_MIGRATE_SIM_STRICT_CUDA", "0") in ("", "0"):
        return
    import torch.distributed
    import torch.profiler
    import torch.utils.data

    _guard_torch_cuda()
    of_device_type = _names_cuda("device_type", position=1)
    _guard(torch.amp.autocast, "__init__", "torch.autocast('cuda')", of_device_type)
    with_cuda_default = _names_cuda("device", default="cuda", position=1)
    _guard(torch.amp.GradScaler, "__init__", "torch.amp.GradScaler('cuda'), its default", with_cuda_default)
    for name in ("custom_fwd", "custom_bwd"):
        _guard(torch.amp, name, f"torch.amp.{name}(device_type='cuda')", _device_type_is_cuda)
    for name in ("get_autocast_gpu_dtype", "set_autocast_gpu_dtype"):
        _guard(torch, name, f"torch.{name}")
    _guard(torch, "set_default_device", "torch.set_default_device('cuda')", _names_cuda("device"))
    fork_rng = _names_cuda("device_type", default="cuda", position=4)
    _guard(torch.random, "fork_rng", "torch.random.fork_rng(device_type='cuda'), its default", fork_rng)
    _guard(torch.distributed, "is_nccl_available", "torch.distributed.is_nccl_available")
    for owner in (torch.profiler.profile, torch.autograd.profiler.profile):
        _guard(owner, "__init__", "profiling of CUDA", _profiles_cuda)
    _guard(torch.utils.data.DataLoader, "__init__", "DataLoader(pin_memory_device='cuda')", _pins_for_cuda)
