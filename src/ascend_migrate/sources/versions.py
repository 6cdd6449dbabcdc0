"""Which torch and torch_npu a project runs with, as far as that can be told without importing anything.

What counts, the first that is there: an installed torch_npu (this is a machine with NPUs), a version that the project
itself pins, an installed torch. Installed is what a directory of the active environments holds metadata of: those on
``sys.path``, and an activated virtual environment that this tool does not run in.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANIFESTS = ("requirements*.txt", "requirements/*.txt", "pyproject.toml", "setup.cfg", "setup.py", "environment*.y*ml")
_INSTALLED = re.compile(r"(torch|torch_npu)-([0-9][^-]*)\.dist-info", re.IGNORECASE)
_PIN = re.compile(
    rb"""^[^#\n]*? (?<![\w.-]) (?P<name>torch|torch[-_]npu|pytorch) (?P<extra>\[[^\]]*\])? [ \t]*
    (?: ={1,3} | ~= ) [ \t]* v? (?P<version>[0-9]+ (?:\.[0-9]+)+ (?:[.-]?post[0-9]+|rc[0-9]+)?)""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_MOST_LEVELS = 6
_MOST_BYTES = 200_000


@dataclass(frozen=True)
class Versions:
    """Versions found, one of them at least. ``origin`` is the file that pins them; empty for installed ones."""

    torch: str | None = None
    torch_npu: str | None = None
    origin: str = ""


def detect(start: Path) -> Versions | None:
    """The versions for the project that ``start``, a file or directory, belongs to; None when nothing tells."""
    installed = _installed()
    if installed is not None and installed.torch_npu is not None:
        return installed
    return _pinned(start) or installed


def _installed() -> Versions | None:
    found: dict[str, str] = {}
    for place in _site_directories():
        try:
            names = [path.name for path in Path(place).iterdir()]
        except OSError:
            continue
        for name in names:
            match = _INSTALLED.fullmatch(name)
            if match is not None:
                found.setdefault(match[1].lower(), match[2])
    return Versions(found.get("torch"), found.get("torch_npu")) if found else None


def _site_directories() -> Iterator[str]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        if prefix:
            yield from (str(path) for path in Path(prefix).glob("lib/python*/site-packages"))
    yield from (place for place in sys.path if place.endswith("-packages"))


def _pinned(start: Path) -> Versions | None:
    """What the nearest manifest upward says. A project's manifests end the search, and so does its repository."""
    directory = start.resolve()
    if not directory.is_dir():
        directory = directory.parent
    for place in [directory, *directory.parents][:_MOST_LEVELS]:
        manifests = [path for pattern in MANIFESTS for path in sorted(place.glob(pattern))]
        for path in manifests:
            versions = _pins_of(path)
            if versions is not None:
                return versions
        if manifests or (place / ".git").exists():
            return None
    return None


def _pins_of(path: Path) -> Versions | None:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES)
    except OSError:
        return None
    found: dict[str, str] = {}
    for match in _PIN.finditer(data):
        name = match["name"].decode().lower().replace("-", "_")
        found.setdefault("torch" if name == "pytorch" else name, match["version"].decode())
    return Versions(found.get("torch"), found.get("torch_npu"), path.name) if found else None
