"""What becomes of the libraries that CUDA projects use beside PyTorch: rows of ``data/libraries.yaml``.

A row is checked when it is read: a wrong one is a :class:`DataError` that names the file, the row and the field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

from ascend_migrate.knowledge.mappings import DataError, _rows
from ascend_migrate.model import Level

__all__ = [
    "DataError",
    "Library",
    "libraries",
    "library_of_distribution",
    "library_of_import",
    "parse_libraries",
]

Status = Literal["works", "needs", "replaced", "unavailable", "unknown"]
STATUSES: tuple[Status, ...] = ("works", "needs", "replaced", "unavailable", "unknown")

_FILE = Path(__file__).parent / "data" / "libraries.yaml"
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\*?")
_STRING = re.compile(r"\w+")
_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True)
class Library:
    """A library, or a part of one that fares differently from the rest."""

    name: str
    imports: tuple[str, ...]
    """Dotted names of packages, modules or members. A member limits the row to code that uses it."""
    distributions: tuple[str, ...]
    """Normalized names of distributions; with ``*`` at the end, all that begin so."""
    status: Status
    """``works``, ``needs`` (a plugin, another build, a newer version), ``replaced``, ``unavailable``, ``unknown``."""
    level: Level
    """What an unguarded use does on the NPU."""
    message: str
    help: str
    source: str
    adapters: tuple[str, ...] = ()
    """Packages whose import says that the need is met."""
    strings: tuple[str, ...] = ()
    """String constants that ask for the CUDA part of the library."""
    min_version: str | None = None
    """The first release that knows the NPU, where that is known."""


@cache
def libraries() -> Mapping[str, Library]:
    """Name of the library -> row, in the order of the file. Raises :class:`DataError` for a wrong row."""
    return parse_libraries(_FILE.read_text(encoding="utf-8"), _FILE.name)


def parse_libraries(text: str, filename: str) -> dict[str, Library]:
    """The rows of a YAML text by name. Raises :class:`DataError`; ``filename`` is for its message."""
    rows: dict[str, Library] = {}
    imports: dict[str, str] = {}
    for row in _rows(text, filename, "name", set()):
        library = Library(
            name=row.key,
            imports=row.texts("imports", _DOTTED),
            distributions=tuple(normalize(name) for name in row.texts("distributions", _DISTRIBUTION)),
            status=cast(Status, row.choice("status", STATUSES)),
            level=row.level(),
            message=row.sentence("message"),
            help=row.text("help"),
            source=row.text("source"),
            adapters=row.texts("adapters", _DOTTED),
            strings=row.texts("strings", _STRING),
            min_version=row.version("min_version"),
        )
        if not (library.imports or library.distributions or library.strings):
            row.fail("imports", "a row must say how the library is recognized")
        for name in library.imports:
            if name in imports:
                row.fail("imports", f"{name} belongs to {imports[name]} already")
            imports[name] = row.key
        row.finish()
        rows[row.key] = library
    return rows


def normalize(distribution: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return _SEPARATORS.sub("-", distribution).lower()


def library_of_import(dotted: str) -> tuple[Library, str] | None:
    """The row for an imported name or a use, and the name in it that fits: the longest at or above ``dotted``."""
    by_import = _by_import()
    name = dotted
    while name:
        if name in by_import:
            return by_import[name], name
        name = name.rpartition(".")[0]
    return None


def library_of_distribution(name: str) -> Library | None:
    """The row for a distribution, whatever the spelling of its name."""
    name = normalize(name)
    exact, prefixes = _by_distribution()
    if name in exact:
        return exact[name]
    return next((library for prefix, library in prefixes if name.startswith(prefix)), None)


@cache
def _by_import() -> dict[str, Library]:
    return {name: library for library in libraries().values() for name in library.imports}


@cache
def _by_distribution() -> tuple[dict[str, Library], list[tuple[str, Library]]]:
    exact: dict[str, Library] = {}
    prefixes: list[tuple[str, Library]] = []
    for library in libraries().values():
        for name in library.distributions:
            if name.endswith("*"):
                prefixes.append((name[:-1], library))
            else:
                exact[name] = library
    return exact, prefixes
