"""Where PyTorch is and which version it is, found out without importing it (importing costs seconds)."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from ascend_migrate.simulator.errors import SimulatorError

OLDEST = (2, 7)
"""The oldest torch the simulated NPU is built for. Older ones lack parts of the PrivateUse1 interface."""


@dataclass(frozen=True)
class TorchInstallation:
    """An installed torch: its full version (``2.13.0+cpu``) and its package folder."""

    version: str
    root: Path

    @property
    def release(self) -> tuple[int, ...]:
        """The numeric part: ``(2, 13, 0)``."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version.split("+")[0])[:3])


def find_torch() -> TorchInstallation | None:
    """The torch that ``import torch`` would import here, or None when there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    try:
        text = (root / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return TorchInstallation(match.group(1), root) if match else None


def require_torch() -> TorchInstallation:
    """The installed torch. Raises SimulatorError when there is none, or one too old to simulate."""
    torch = find_torch()
    if torch is None:
        raise SimulatorError(
            "PyTorch is not installed in this environment. The simulated NPU needs it: "
            'pip install "ascend-migrate[sim]"'
        )
    if torch.release < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SimulatorError(
            f"the simulated NPU needs torch {oldest} or newer, and torch {torch.version} is installed here"
        )
    return torch
