"""The package ``torch_npu`` of a simulated run: same names, and the device ``npu`` on the CPU.

It is put first on the import path by ``ascend-migrate run --sim``, so it is found even where a real torch_npu
is installed. What it offers is made in ``_simulation``; which names it shows is decided by the torch_npu
version it stands for, see ``_simulation/surface.py``.
"""

from __future__ import annotations

import os

# Importing torch would load this very package (through the entry point torch.backends) before it is complete.
_setting = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
try:
    import torch  # noqa: F401
finally:
    if _setting is None:
        del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
    else:
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = _setting

from torch_npu._simulation import start  # noqa: E402 - it needs torch

__version__ = start.VERSION
start.install()


def _autoload() -> None:
    """What torch calls when it loads its backends. Importing this package has done everything."""
