"""``torch.npu``: cards and settings."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from types import SimpleNamespace
from typing import Any, Union

import _simulated_npu as native
import torch

__all__ = [
    "_get_device_index",
    "_is_in_bad_fork",
    "_is_internal_in_bad_fork",
    "_lazy_call",
    "_lazy_init",
    "can_device_access_peer",
    "config",
    "conv",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_soc_version",
    "get_sync_debug_mode",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "matmul",
    "set_compile_mode",
    "set_device",
    "set_option",
    "set_sync_debug_mode",
    "synchronize",
    "utilization",
]

Device = Union[torch.device, str, int, None]


def _get_device_index(device: Device, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a card. None is the current card when `optional`. Raises ValueError for another device."""
    index: int | None
    if device is None or isinstance(device, int):
        index = device
    else:
        given = torch.device(device)
        if allow_cpu and given.type == "cpu":
            return -1
        if given.type != "npu":
            raise ValueError(f"Expected a npu device, but got: {given}")
        index = given.index
    if index is None and not optional:
        raise ValueError("Expected a npu device with a specified index or an integer")
    return int(native.current_device()) if index is None or index < 0 else index


def device_index(device: Device) -> int:
    """The index of a card that exists; the current one for None. Raises RuntimeError for a wrong one."""
    index = _get_device_index(device, optional=True)
    native.check_device(index)
    return index


def is_available() -> bool:
    return bool(native.device_count() > 0)


def device_count() -> int:
    return int(native.device_count())


def current_device() -> int:
    return int(native.current_device())


def set_device(device: Device) -> None:
    index = _get_device_index(device, optional=True)
    if index >= 0:
        native.set_device(index)


def init() -> None:
    """Nothing to initialise."""


_lazy_init = init


def _lazy_call(function: Any, **_: Any) -> None:
    function()


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


_is_internal_in_bad_fork = _is_in_bad_fork


def synchronize(device: Device = None) -> None:
    device_index(device)


class device(contextlib.ContextDecorator):  # noqa: N801
    """Context manager that changes the current card. None and negative indices change nothing."""

    def __init__(self, device: Device) -> None:
        self.idx = -1 if device is None else _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = native.current_device()
        if self.idx >= 0:
            native.set_device(self.idx)

    def __exit__(self, *details: object) -> None:
        native.set_device(self.prev_idx)


class device_of(device):  # noqa: N801
    """Context manager that changes the current card to that of a tensor or storage on an NPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.device.type == "npu" else None)


# ---- what the card is -----------------------------------------------------------------------------------------

_NAME = "Ascend910B1"
_SOC_VERSION = 220


def get_device_name(device_name: Device = None) -> str:
    device_index(device_name)
    return _NAME


def get_device_properties(device_name: Device = None) -> Any:
    """Name and memory as a 910B1 reports them; memory in bytes."""
    index = device_index(device_name)
    return SimpleNamespace(
        name=_NAME,
        total_memory=native.memory_capacity(index),
        L2_cache_size=192 << 20,
        cube_core_num=24,
        vector_core_num=48,
    )


def get_device_capability(device: Device = None) -> tuple[int, int] | None:
    """None, as on a card, unless TORCH_NPU_DEVICE_CAPABILITY is set ("8.0")."""
    text = os.environ.get("TORCH_NPU_DEVICE_CAPABILITY")
    if not text:
        warnings.warn("get_device_capability returns None unless TORCH_NPU_DEVICE_CAPABILITY is set", stacklevel=2)
        return None
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    if match is None:
        warnings.warn(f"TORCH_NPU_DEVICE_CAPABILITY is not like 8.0: {text}", stacklevel=2)
        return None
    return int(match.group(1)), int(match.group(2))


def get_soc_version() -> int:
    return _SOC_VERSION


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16, torch.float32]


def can_device_access_peer(device_id: Device, peer_device_id: Device) -> bool:
    return device_index(device_id) != device_index(peer_device_id)


def utilization(device: Device = None) -> int:
    device_index(device)
    return 0


# ---- settings: kept, without effect ---------------------------------------------------------------------------


class _Settings(SimpleNamespace):
    """Attributes that a script may set and read back."""


config = _Settings(allow_internal_format=False)
matmul = _Settings(allow_hf32=False)
conv = _Settings(allow_hf32=True)
_sync_debug_mode = 0


def set_compile_mode(jit_compile: bool = False) -> None:
    """Chooses between compiled and prebuilt kernels on a card. Nothing is compiled here."""


def set_option(option: dict[str, Any]) -> None:
    """Sets options of the runtime. Raises TypeError for anything but a dict."""
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")


def get_sync_debug_mode() -> int:
    return _sync_debug_mode


def set_sync_debug_mode(debug_mode: int | str) -> None:
    global _sync_debug_mode
    names = {"default": 0, "warn": 1, "error": 2}
    _sync_debug_mode = names[debug_mode] if isinstance(debug_mode, str) else debug_mode


def is_current_stream_capturing() -> bool:
    return False
