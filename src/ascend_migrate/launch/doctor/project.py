"""The project: what is left of the run-time shim, and libraries that fare differently on the NPU."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ascend_migrate.launch.doctor.facts import Machine
from ascend_migrate.launch.doctor.model import Check, Group

_PROJECT = Group("Project")

_MOST_FILES = 3000
_MOST_BYTES = 1_000_000
_NOT_ENTERED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "env"})
_SHIM = re.compile(
    rb"^\s*(?:from\s+torch_npu\.contrib\s+import\b.*|import\s+torch_npu\.contrib\.)transfer_to_npu", re.M
)
_OLD_SHIM = re.compile(rb"^\s*(?:import\s+transfer_to_npu|from\s+transfer_to_npu\b)", re.M)


def checks(machine: Machine, project: Path) -> Iterator[Check]:
    """The checks of the project in a folder."""
    yield from _shim(project)
    yield from _libraries(machine)


def _shim(project: Path) -> Iterator[Check]:
    new, old, whole = [], [], True
    for number, path in enumerate(_python_files(project)):
        if number >= _MOST_FILES:
            whole = False
            break
        try:
            text = path.read_bytes()[:_MOST_BYTES]
        except OSError:
            continue
        if b"transfer_to_npu" not in text:
            continue
        if _OLD_SHIM.search(text):
            old.append(path)
        elif _SHIM.search(text):
            new.append(path)
    name = "transfer_to_npu"
    if old:
        yield _PROJECT.problem(
            name,
            f"{_shown(old, project)} imports CANN's old transfer_to_npu, which newer torch_npu does not go with",
            f"sed -i 's/^import transfer_to_npu/from torch_npu.contrib import transfer_to_npu/' {old[0]}",
            help="Better: convert the source with ascend-migrate convert, and use no shim.",
        )
    if new:
        yield _PROJECT.warning(
            name,
            f"{_shown(new, project)} patches torch at run time: torch.jit.script is off, and comparisons with "
            '"cuda" and "nccl" stay wrong',
            f"ascend-migrate convert {project} -o OUT",
            help="Then remove the import.",
        )
    if not old and not new:
        rest = "" if whole else f" in the first {_MOST_FILES} files"
        yield _PROJECT.ok(name, f"not used{rest}")


def _libraries(machine: Machine) -> Iterator[Check]:
    from ascend_migrate.knowledge import libraries

    system = machine.system
    for library in libraries().values():
        if library.status == "works" or library.level == "info":
            continue
        for distribution in library.distributions:
            version = None if distribution.endswith("*") else system.package(distribution)
            if version is None:
                continue
            if any(system.package(adapter.partition(".")[0]) for adapter in library.adapters):
                yield _PROJECT.ok(library.name, f"{version}, with its adapter for the NPU")
            else:
                yield _PROJECT.warning(library.name, f"{version}: {library.message}", help=library.help)
            break


def _python_files(project: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_ENTERED)
        if "pyvenv.cfg" in files:
            folders[:] = []
            continue
        for name in sorted(files):
            if name.endswith(".py"):
                yield Path(folder, name)


def _shown(paths: list[Path], project: Path) -> str:
    names = [str(path.relative_to(project)) for path in paths]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
