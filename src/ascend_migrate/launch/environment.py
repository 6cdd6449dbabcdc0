"""What this environment has to run on, found out without importing torch (importing costs seconds)."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from ascend_migrate.launch.errors import LaunchError
from ascend_migrate.simulator import SimulatedNpu

_DEVICE_NODES = Path("/dev")


def has_npu(devices: Path = _DEVICE_NODES) -> bool:
    """Whether the Ascend driver shows a card: /dev/davinci0, davinci1, ... (davinci_manager is no card)."""
    return any(node.name[len("davinci") :].isdigit() for node in devices.glob("davinci*"))


def require_real_npu() -> None:
    """Checks what a run on a card needs. Raises LaunchError."""
    offer = "To try the script without a card, add --sim: it runs on a simulated NPU on the CPU."
    if importlib.util.find_spec("torch") is None:
        raise LaunchError("PyTorch is not installed in this environment (pip install torch torch-npu).")
    if importlib.util.find_spec("torch_npu") is None:
        raise LaunchError(
            "torch_npu is not installed in this environment. Install the torch-npu of the same version as "
            f"your torch. {offer}"
        )
    if not has_npu():
        raise LaunchError(f"no Ascend NPU found on this machine (no /dev/davinci*). {offer}")


def simulated(environment: Mapping[str, str], simulator: SimulatedNpu, devices: int, processes: int) -> dict[str, str]:
    """The environment of a child that runs on `devices` simulated cards and sees no CUDA."""
    child = dict(environment)
    paths = [str(path) for path in simulator.import_path]
    if child.get("PYTHONPATH"):
        paths.append(child["PYTHONPATH"])
    child["PYTHONPATH"] = os.pathsep.join(paths)
    child["ASCEND_MIGRATE_SIM_DEVICES"] = str(devices)
    child["CUDA_VISIBLE_DEVICES"] = ""
    if processes > 1:
        # The ranks share the CPU. (torchrun would choose one thread each, and warn.)
        child.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    return child
