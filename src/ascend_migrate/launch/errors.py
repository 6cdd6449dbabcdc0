"""What stops a launch before the script starts."""

from __future__ import annotations


class LaunchError(Exception):
    """The script cannot be started; the message says why and what to do."""
