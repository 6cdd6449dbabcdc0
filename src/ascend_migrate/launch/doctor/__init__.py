"""Looks at a machine and says what keeps PyTorch from running on its NPUs, and how to cure it.

Reads files and asks ``npu-smi`` and ``hccn_tool``; never changes anything, needs no root, imports no torch.
"""

from __future__ import annotations

import threading
from pathlib import Path

from ascend_migrate.launch.doctor import access, collectives, hardware, project, resources, software
from ascend_migrate.launch.doctor.facts import Machine
from ascend_migrate.launch.doctor.model import STATUSES, Check, Status
from ascend_migrate.launch.doctor.system import Interpreter, System, environment_python, interpreter_at

__all__ = [
    "STATUSES",
    "Check",
    "Interpreter",
    "Machine",
    "Status",
    "System",
    "environment_python",
    "examine",
    "interpreter_at",
]


def examine(system: System | None = None, folder: Path | None = None) -> list[Check]:
    """All checks of a machine (this one unless another is given), and of the project in ``folder``."""
    machine = Machine(system or System())
    if machine.has_card:
        # npu-smi takes its time on a machine with many cards: ask while the version table is read.
        asked = threading.Thread(target=lambda: machine.smi)
        asked.start()
        _ = machine.torch, machine.cann, machine.row
        asked.join()
    found = [
        *hardware.checks(machine),
        *software.checks(machine),
        *access.checks(machine),
        *collectives.checks(machine),
        *resources.checks(machine),
    ]
    if folder is not None:
        found += project.checks(machine, folder)
    return found
