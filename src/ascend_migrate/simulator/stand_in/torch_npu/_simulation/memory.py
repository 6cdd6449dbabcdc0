"""``torch.npu.memory``: what is allocated on the simulated cards. All sizes in bytes."""

from __future__ import annotations

from typing import Any

import _simulated_npu as native

from torch_npu._simulation.devices import Device, device_index

__all__ = [
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_empty_cache",
    "ipc_collect",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

_fractions: dict[int, float] = {}
_total: dict[int, int] = {}
_accumulated_base: dict[int, dict[str, int]] = {}


def _total_memory(index: int) -> int:
    """The memory of the card, whatever fraction of it this process may use."""
    return int(_total.setdefault(index, native.memory_capacity(index)))


def _statistics(device: Device) -> dict[str, int]:
    statistics: dict[str, int] = native.memory_statistics(device_index(device))
    return statistics


def memory_allocated(device: Device = None) -> int:
    return _statistics(device)["current"]


def max_memory_allocated(device: Device = None) -> int:
    return _statistics(device)["peak"]


# There is no cache of freed blocks: reserved is what is allocated.
memory_reserved = memory_cached = memory_allocated
max_memory_reserved = max_memory_cached = max_memory_allocated


def reset_peak_memory_stats(device: Device = None) -> None:
    native.reset_peak_memory(device_index(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Device = None) -> None:
    _accumulated_base[device_index(device)] = _statistics(device)


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    now = _statistics(device)
    base = _accumulated_base.get(device_index(device), {})
    size = {
        "current": now["current"],
        "peak": now["peak"],
        "allocated": now["allocated"] - base.get("allocated", 0),
        "freed": now["freed"] - base.get("freed", 0),
    }
    allocations = now["allocations"] - base.get("allocations", 0)
    blocks = {
        "current": now["live"],
        "peak": now["live"],
        "allocated": allocations,
        "freed": allocations - now["live"] + base.get("live", 0),
    }
    return {
        "allocated_bytes": {"all": size},
        "reserved_bytes": {"all": dict(size)},
        "active_bytes": {"all": dict(size)},
        "allocation": {"all": blocks},
        "num_alloc_retries": 0,
        "num_ooms": 0,
    }


def memory_stats(device: Device = None) -> dict[str, int]:
    """The same as flat names: ``allocated_bytes.all.current``."""
    flat: dict[str, int] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        else:
            flat[prefix] = value

    walk("", memory_stats_as_nested_dict(device))
    return flat


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    index = device_index(device)
    rows = [f"{name:<32} {value:>16,}" for name, value in memory_stats(index).items()]
    return "\n".join([f"Simulated NPU {index}, memory in bytes", *rows])


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) of a card."""
    index = device_index(device)
    total = _total_memory(index)
    return total - memory_allocated(index), total


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = device_index(device)
    _fractions[index] = fraction
    native.set_memory_capacity(index, int(_total_memory(index) * fraction))


def get_per_process_memory_fraction(device: Device = None) -> float:
    return _fractions.get(device_index(device), 1.0)


def get_allocator_backend() -> str:
    return "native"


def empty_cache() -> None:
    """There is no cache."""


def host_empty_cache() -> None:
    """There is no cache."""


def ipc_collect() -> None:
    """There is nothing to collect."""
