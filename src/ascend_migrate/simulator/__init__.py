"""The simulated NPU: PyTorch's device ``npu`` and the package ``torch_npu`` on a machine without Ascend cards.

`prepare` compiles the device once for the installed torch and returns what a child process needs to import
it; `ascend_migrate.launch` starts such children. It is a stand-in for running code, not for the chip's
numerics or speed.
"""

from __future__ import annotations

from ascend_migrate.simulator.cache import SimulatedNpu, cache_folder, prepare
from ascend_migrate.simulator.errors import SimulatorError
from ascend_migrate.simulator.torch_installation import TorchInstallation, find_torch

__all__ = ["SimulatedNpu", "SimulatorError", "TorchInstallation", "cache_folder", "find_torch", "prepare"]
