"""Starts a script or module, on one card or on several, so that it is as if the user had started it.

One process: this process becomes the script (exec), so exit code, signals, terminal and output are the
script's own. Several: this process becomes PyTorch's torchrun, see `ascend_migrate.launch.ranks`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_migrate.launch import environment
from ascend_migrate.launch.errors import LaunchError
from ascend_migrate.simulator import SimulatorError, prepare

MAX_SIMULATED_DEVICES = 64


@dataclass(frozen=True)
class Launch:
    """What to run: a script's path or, with `is_module`, a module's name, and the arguments that belong to it.

    `devices` is the number of simulated cards, by default one for each process.
    """

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    processes: int | None = None
    simulate: bool = False
    devices: int | None = None
    quiet: bool = False


def command_of(launch: Launch) -> list[str]:
    """The command line that runs it."""
    if launch.processes is not None:
        kind = "module" if launch.is_module else "script"
        ranks = ["-m", "ascend_migrate.launch.ranks", str(launch.processes), kind]
        return [sys.executable, *ranks, launch.target, *launch.arguments]
    program = ["-m", launch.target] if launch.is_module else [launch.target]
    return [sys.executable, *program, *launch.arguments]


def start(launch: Launch, say: Callable[[str], None]) -> None:
    """Replaces this process by the script. Returns never; raises LaunchError when it cannot be started."""
    if not launch.is_module and not Path(launch.target).exists():
        raise LaunchError(f"no such script: {launch.target}")
    if launch.processes is not None and launch.processes < 1:
        raise LaunchError(f"--nproc must be at least 1, not {launch.processes}")
    child_environment = dict(os.environ)
    if launch.simulate:
        devices = max(1, launch.processes or 1) if launch.devices is None else launch.devices
        if not 1 <= devices <= MAX_SIMULATED_DEVICES:
            raise LaunchError(f"the simulated machine has 1 to {MAX_SIMULATED_DEVICES} NPUs, not {devices}")
        try:
            simulator = prepare(say)
        except SimulatorError as error:
            raise LaunchError(str(error)) from error
        say(
            f"simulated NPU on the CPU (as torch_npu {simulator.torch_npu}, {devices} "
            f"device{'s' if devices > 1 else ''}): for running code, not for the chip's numerics or speed"
        )
        child_environment = environment.simulated(child_environment, simulator, devices, launch.processes or 1)
        child_environment["ASCEND_MIGRATE_SIM_QUIET"] = str(int(launch.quiet))
    else:
        environment.require_real_npu()
    _become(command_of(launch), child_environment)


def _become(command: Sequence[str], child_environment: dict[str, str]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], list(command), child_environment)
