"""``torch.npu.streams``: streams and events. Work is done when the call returns, so none of them ever waits."""

from __future__ import annotations

import time
from typing import Any

import torch

from torch_npu._simulation.devices import Device, device_index

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "set_stream",
    "stream",
]


class Stream(torch.Stream):
    """A stream of a card (the current one for None)."""

    def __new__(cls, device: Device = None, priority: int = 0, **kwargs: Any) -> Stream:
        if "stream_id" in kwargs:
            return super().__new__(cls, **kwargs)
        return super().__new__(cls, torch.device("npu", device_index(device)), priority=priority)

    @property
    def npu_stream(self) -> int:
        return self.stream_id

    def wait_event(self, event: Any) -> None:
        """Everything recorded so far has happened."""

    def wait_stream(self, stream: Any) -> None:
        """Everything in the other stream has happened."""

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={self.stream_id:#x}>"


class Event(torch.Event):
    """A point in time. `elapsed_time` needs ``enable_timing=True`` on both events."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Event:
        event = super().__new__(cls, "npu", enable_timing=enable_timing)
        event.enable_timing = enable_timing
        return event

    def record(self, stream: Any = None) -> None:
        super().record(current_stream() if stream is None else stream)
        self._recorded_at = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to the other. Raises RuntimeError unless both can and did record."""
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("both events must be created with enable_timing=True")
        try:
            return (end_event._recorded_at - self._recorded_at) * 1000
        except AttributeError:
            raise RuntimeError("both events must be recorded before calculating elapsed time") from None

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """The event has happened."""

    def wait(self, stream: Any = None) -> None:
        """The event has happened."""

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {id(self):#x}>"


def _as_npu_stream(plain: torch.Stream) -> Stream:
    return Stream(stream_id=plain.stream_id, device_index=plain.device_index, device_type=plain.device_type)


def current_stream(device: Device = None) -> Stream:
    return _as_npu_stream(torch.accelerator.current_stream(torch.device("npu", device_index(device))))


def default_stream(device: Device = None) -> Stream:
    probe = current_stream(device)
    return Stream(stream_id=0, device_index=probe.device_index, device_type=probe.device_type)


def set_stream(stream: Stream | None) -> None:
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager that changes the current stream. None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._previous: list[Stream] = []
        self._device: list[int] = []

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._device.append(device_index(None))
        self._previous.append(current_stream(self.stream.device))
        set_stream(self.stream)

    def __exit__(self, *details: object) -> None:
        if self.stream is None:
            return
        set_stream(self._previous.pop())
        torch.npu.set_device(self._device.pop())


def stream(stream: Stream | None) -> StreamContext:
    return StreamContext(stream)
