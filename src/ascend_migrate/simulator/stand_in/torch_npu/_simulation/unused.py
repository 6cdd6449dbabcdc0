"""Says at the end when a script never used the card: a comparison with ``"cuda"`` that a conversion left behind
sends it to the CPU without a word, and that would look like success."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys

import _simulated_npu as native

MESSAGE = "ascend-migrate: nothing was put on the simulated NPU: what ran, ran on the CPU"


def install() -> None:
    """Called in every process that loads the simulation; only the script's own process and its ranks speak."""
    if multiprocessing.parent_process() is None and os.environ.get("ASCEND_MIGRATE_SIM_QUIET") != "1":
        atexit.register(_tell)


def _tell() -> None:
    started = getattr(sys.modules.get("__main__"), "__spec__", None)
    if started is not None and started.name == "ascend_migrate.launch.ranks":
        return  # the launcher of the ranks
    if not any(native.memory_statistics(index)["allocations"] for index in range(native.device_count())):
        print(MESSAGE, file=sys.stderr)
