"""Files that are not Python, one module for each kind: requirements, native CUDA sources.

A module of this package is a format when it has two functions: ``applies(path)`` tells from the name alone whether a
file is its own, and ``process(path, data, options, index)`` gives the report of one file, as
:func:`ascend_migrate.engine.pipeline.process` does for Python. Like a rule, a format is found by walking the package.
Modules load what they need when they process: ``applies`` is asked for every file of a project.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ascend_migrate.engine.index import ProjectIndex
    from ascend_migrate.engine.pipeline import EngineOptions
    from ascend_migrate.model import FileReport


class Format(Protocol):
    """What a module of this package offers."""

    def applies(self, path: str) -> bool:
        """Whether a file is of this format, told from its path (with ``/``) alone."""

    def process(self, path: str, data: bytes, options: EngineOptions, index: ProjectIndex) -> FileReport:
        """The report of one file. Never raises for what the bytes are."""


@cache
def all_formats() -> tuple[Format, ...]:
    """Every format, in the order of the names of the modules."""
    import importlib
    import pkgutil

    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(cast(Format, importlib.import_module(f"{__name__}.{name}")) for name in names)


def format_of(path: str) -> Format | None:
    """The format that a file belongs to, by its path; None for Python and for what nothing reads."""
    return next((found for found in all_formats() if found.applies(path)), None)
