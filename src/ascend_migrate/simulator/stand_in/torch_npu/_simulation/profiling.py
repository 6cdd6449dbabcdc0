"""``torch_npu.profiler`` over torch.profiler, with its own names, and ``torch.npu.mstx``.

Only the CPU side is recorded: there is no device whose kernels could be timed.
"""

from __future__ import annotations

import enum
import functools
import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
import torch.profiler
from torch.profiler import ProfilerAction

from torch_npu._simulation.surface import VERSION

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "Schedule",
    "_ExperimentalConfig",
    "annotate",
    "mstx",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    CPU = 0
    NPU = 1


class ProfilerLevel:
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    Db = "db"
    Text = "text"


class HostSystem:
    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class _ExperimentalConfig:
    """Settings of the device profiler. They are kept and have no effect."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


class Schedule:
    """Which step is skipped, warmed up or recorded."""

    def __init__(
        self,
        wait: int,
        active: int,
        warmup: int = 0,
        repeat: int = 0,
        skip_first: int = 0,
        skip_first_wait: int = 0,
    ) -> None:
        self._action = torch.profiler.schedule(
            wait=wait,
            active=active,
            warmup=warmup,
            repeat=repeat,
            skip_first=skip_first,
            skip_first_wait=skip_first_wait,
        )

    def __call__(self, step: int) -> ProfilerAction:
        return self._action(step)


schedule = Schedule


class profile:  # noqa: N801
    """Records a stretch of code. The methods are those of torch_npu, which are fewer than torch's."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        **other: Any,
    ) -> None:
        wrong = [item for item in activities or () if not isinstance(item, ProfilerActivity)]
        if wrong:
            raise TypeError(f"activities must be of torch_npu.profiler.ProfilerActivity, not {wrong[0]!r}")
        handler = None if on_trace_ready is None else lambda _: on_trace_ready(self)
        self._torch = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=schedule,
            on_trace_ready=handler,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )

    def start(self) -> None:
        self._torch.start()

    def stop(self) -> None:
        self._torch.stop()

    def step(self) -> None:
        self._torch.step()

    def export_chrome_trace(self, output_path: str) -> None:
        self._torch.export_chrome_trace(output_path)

    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        self._torch.export_stacks(output_path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        self._torch.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        json.loads(value)  # as torch_npu: only JSON
        self._torch.add_metadata_json(key, value)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[profile], None]:
    """Writes ``<dir>/<worker>_<time>_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json``, where torch_npu does."""
    folder = Path(dir_name or os.environ.get("ASCEND_WORK_PATH") or ".")
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(profiler: profile) -> None:
        stamp = time.strftime("%Y%m%d%H%M%S") + f"{time.time_ns() // 1000 % 1000000:06d}"
        output = folder / f"{worker}_{stamp}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        profiler.export_chrome_trace(str(output / "trace_view.json"))

    return write


# ---- marks in a trace -----------------------------------------------------------------------------------------

_range_ids = itertools.count(1)
_open_ranges: dict[str, list[str]] = {}


class mstx:  # noqa: N801
    """Marks and ranges for Huawei's profiler. Nothing reads them here."""

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A moment."""

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begins a range; returns its id."""
        return next(_range_ids)

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """Ends a range."""

    if tuple(map(int, VERSION.split(".")[:2])) >= (2, 11):

        @staticmethod
        def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
            """Begins a nested range; returns its depth."""
            _open_ranges.setdefault(domain, []).append(message)
            return len(_open_ranges[domain]) - 1

        @staticmethod
        def range_pop(domain: str = "default") -> int:
            """Ends the innermost range; returns its depth, -1 when there is none."""
            ranges = _open_ranges.get(domain, [])
            if ranges:
                ranges.pop()
                return len(ranges)
            return -1

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Callable[[Any], Any]:
        """Decorator: the function is a range."""
        return lambda function: function


class annotate:  # noqa: N801
    """Context manager and decorator: the code in it is a range."""

    def __init__(self, message: str = "", stream: Any = None, domain: str = "default") -> None:
        self.message, self.stream, self.domain = message, stream, domain

    def __enter__(self) -> annotate:
        return self

    def __exit__(self, *details: object) -> None:
        """The range ends."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner
