"""What can go wrong with the simulated NPU before the script starts."""

from __future__ import annotations


class SimulatorError(Exception):
    """The simulated NPU cannot be made ready; the message says what to install or change."""
