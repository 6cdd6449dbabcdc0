"""The progress bar. It appears only when the work takes a while, and rich is imported only then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 0.5
"""Seconds of work before a bar appears."""


class LazyBar:
    """Call it with the amount done and the amount in all."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None or self._task is None:
            if time.monotonic() - self._start < _PATIENCE or done >= total:
                return
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._text, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
