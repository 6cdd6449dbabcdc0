"""Write a complete, converted copy of the input.

While a conversion is under way, OUT holds a directory (``MARKER``) with a description of the conversion and
the temporary files. It goes when all is written. So a conversion that was killed leaves no half-written file,
and the next run of the same conversion sees that OUT is its own unfinished work and completes it, without
``--force``.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ascend_migrate.convert import atomic
from ascend_migrate.model import FileError
from ascend_migrate.sources.discovery import (
    MARKER,
    Entry,
    SourceFile,
    SourcesError,
    link_leaves,
    walk,
)
from ascend_migrate.sources.kinds import PYTHON_SUFFIXES, is_source


class OutputError(ValueError):
    """OUT cannot be used. The message is for the user."""


@dataclass(frozen=True)
class Root:
    """One argument: ``source`` goes to ``target``. ``is_file``: a single file, not a directory."""

    source: Path
    target: Path
    is_file: bool


@dataclass
class Inventory:
    """Everything that goes to OUT. Names are relative to OUT, with ``/``.

    ``python`` files go through the engine; ``copies`` are copied as they are.
    """

    python: list[SourceFile] = field(default_factory=list)
    copies: list[SourceFile] = field(default_factory=list)
    directories: list[tuple[str, Path]] = field(default_factory=list)
    links: list[tuple[str, Path, str]] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan(arguments: Sequence[str], out: str) -> tuple[Path, list[Root]]:
    """Where each argument goes, and the directory that holds it all.

    One directory becomes OUT itself. One file becomes OUT when that is named like a Python file, and
    otherwise goes into it. Several arguments go into OUT under their own names, as with ``cp -r``.

    Raises:
        SourcesError: an argument does not exist.
        OutputError: two arguments have one name, or OUT and the input hold each other.
    """
    target = Path(out)
    sources = [Path(argument) for argument in arguments]
    for source in sources:
        if not source.exists():
            raise SourcesError(f"{source}: no such file or directory")
    if len(sources) == 1 and sources[0].is_dir():
        roots = [Root(sources[0], target, is_file=False)]
        base = target
    elif len(sources) == 1 and _names_a_file(out):
        roots = [Root(sources[0], target, is_file=True)]
        base = target.parent
    else:
        base = target
        roots = []
        for source in sources:
            name = source.name or source.resolve().name
            if any(root.target.name == name for root in roots):
                raise OutputError(f"two inputs are called `{name}` and would be written to the same place")
            roots.append(Root(source, target / name, is_file=source.is_file()))
    for root in roots:
        _refuse_nesting(root.source, root.target if root.is_file else target, is_file=root.is_file)
    return base, roots


def _names_a_file(out: str) -> bool:
    path = Path(out)
    return path.suffix in PYTHON_SUFFIXES and not out.endswith(os.sep) and not path.is_dir()


def _refuse_nesting(source: Path, out: Path, *, is_file: bool) -> None:
    """Refuse OUT in the input, and the input in OUT, however they are spelled.

    Compared are the files themselves and not their names, so links, ``..`` and case do not matter.
    """
    real_source, real_out = source.resolve(), out.resolve()
    if _same(real_source, real_out):
        raise OutputError(f"{out}: is the input itself; --in-place converts it where it is")
    if is_file:
        return
    if any(_same(real_source, above) for above in real_out.parents):
        raise OutputError(f"{out}: lies inside the input {source}; choose a place outside")
    if any(_same(real_out, above) for above in real_source.parents):
        raise OutputError(f"{source}: lies inside the output {out}; choose another output")


def _same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return False


def take_inventory(roots: Sequence[Root], base: Path, *, excluded: Callable[[Path], bool] | None = None) -> Inventory:
    """Look at all that is to be written. Files found in directories that are ``excluded`` are not converted."""
    inventory = Inventory()
    for root in roots:
        name = "" if root.target == base else root.target.name
        if root.is_file:
            status = root.source.stat()
            python = is_source(root.source, root.source.name) or not root.source.suffix
            found = SourceFile(name, root.source, status.st_size, status.st_mtime_ns)
            (inventory.python if python else inventory.copies).append(found)
        else:
            inventory.directories.append((name, root.source))
            _add_directory(inventory, root.source, name, excluded)
    inventory.python.sort(key=lambda file: file.name)
    return inventory


def _add_directory(inventory: Inventory, source: Path, prefix: str, excluded: Callable[[Path], bool] | None) -> None:
    def below(name: str) -> str:
        return f"{prefix}/{name}" if prefix else name

    def report(error: FileError) -> None:
        inventory.errors.append(FileError(below(error.path), error.line, error.message))

    for entry in walk(source, on_error=report):
        name = below(entry.name)
        if entry.kind == "directory":
            inventory.directories.append((name, entry.path))
        elif entry.kind == "file":
            found = SourceFile(name, entry.path, entry.size, entry.mtime_ns)
            python = is_source(entry.path, entry.name) and not (excluded is not None and excluded(entry.path))
            (inventory.python if python else inventory.copies).append(found)
        elif entry.kind == "link":
            text = os.readlink(entry.path)  # noqa: PTH115 - the text itself is wanted
            if link_leaves(source, entry):
                inventory.notes.append(f"{name}: link out of the tree, kept; {text} is not converted")
            inventory.links.append((name, entry.path, _retarget(source, entry, text)))
        else:
            inventory.notes.append(f"{name}: not a regular file, left out")


def _retarget(source: Path, entry: Entry, text: str) -> str:
    """The text of a link in the copy.

    Relative links inside the tree stay as they are. An absolute link into the tree becomes relative, or it
    would lead back to the original. A relative link out of the tree becomes absolute, or it would lead
    elsewhere.
    """
    leaves = link_leaves(source, entry)
    top = os.path.realpath(source)
    directory = os.path.join(top, os.path.dirname(entry.name))  # noqa: PTH118, PTH120
    if leaves:
        return os.path.normpath(os.path.join(directory, text))  # noqa: PTH118
    if os.path.isabs(text):  # noqa: PTH117
        return os.path.relpath(text, directory)
    return text


class Output:
    """The place that is written to: a directory, or a single file.

    Args:
        base: the directory that all names are relative to.
        description: what tells this conversion from another; kept in the marker. None for a single file,
        which
            needs no marker: it is written at once or not at all.
    """

    def __init__(self, base: Path, description: dict[str, object] | None) -> None:
        self.base = base
        self.resumed = False
        self._marker = base / MARKER
        self._record = self._marker / "conversion.json"
        self._description = None if description is None else json.dumps(description, indent=2)

    @property
    def _stage(self) -> Path | None:
        return None if self._description is None else self._marker

    def prepare(self, inventory: Inventory, *, force: bool) -> None:
        """Make OUT, or take up an unfinished conversion in it.

        Raises:
            OutputError: OUT holds something, and is not the unfinished work of this conversion.
        """
        if self._description is None:
            for file in (*inventory.python, *inventory.copies):
                if (self.base / file.name).exists() and not force:
                    raise OutputError(f"{self.base / file.name}: exists; --force writes over it")
            self.base.mkdir(parents=True, exist_ok=True)
            return
        if self.base.exists() and not self.base.is_dir():
            raise OutputError(f"{self.base}: is a file; the output of a directory is a directory")
        self.base.mkdir(parents=True, exist_ok=True)
        self.resumed = self._is_ours()
        if not force and not self.resumed and any(self.base.iterdir()):
            if self._record.exists():
                other = "holds an unfinished conversion of something else"
            else:
                other = "exists and is not empty"
            raise OutputError(f"{self.base}: {other}; --force writes over it")
        self._marker.mkdir(exist_ok=True)
        for left in self._marker.iterdir():
            if left != self._record:
                left.unlink()
        atomic.write_text(self._record, self._description)

    def _is_ours(self) -> bool:
        """Whether OUT holds this very conversion, unfinished.

        The record is the first thing made in the marker and the last thing removed, so a marker without it
        stands alone in OUT (nothing is written yet) or is all that an otherwise finished conversion has left
        to remove.
        """
        if self._record.exists():
            return self._record.read_text(encoding="utf-8") == self._description
        if self._marker.is_dir():
            if all(path == self._marker for path in self.base.iterdir()):
                return True
            shutil.rmtree(self._marker)
        return False

    def make_directories(self, inventory: Inventory) -> None:
        """Make the directories, writable for now."""
        for name, _ in inventory.directories:
            path = self.base / name
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                path.unlink()
            path.mkdir(parents=True, exist_ok=True)
            mode = path.stat().st_mode
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                path.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)

    def write(self, file: SourceFile, data: bytes) -> None:
        """Write converted bytes, with the permissions of the original."""
        atomic.replace(self._place(file.name), data, like=file.path, stage=self._stage)

    def copy(self, file: SourceFile) -> None:
        """Copy a file with permissions and times. One that an interrupted run has copied is not copied
        again."""
        target = self._place(file.name)
        if not (self.resumed and _is_copy(file, target)):
            atomic.copy(file.path, target, stage=self._stage)

    def link(self, name: str, text: str) -> None:
        """Make a symbolic link."""
        atomic.link(text, self._place(name), stage=self._stage)

    def _place(self, name: str) -> Path:
        """The path for ``name``. A directory in its place, possible under ``--force``, is not removed."""
        path = self.base / name
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(errno.EISDIR, "the output has a directory of this name", str(path))
        return path

    def finish(self, inventory: Inventory) -> None:
        """Give the directories the permissions and times of the originals, and take the marker away."""
        for name, source in reversed(inventory.directories):
            if name:
                shutil.copystat(source, self.base / name)
        if self._description is not None:
            self._record.unlink()
            self._marker.rmdir()
        for name, source in inventory.directories:
            if not name:
                shutil.copystat(source, self.base)


def _is_copy(file: SourceFile, target: Path) -> bool:
    try:
        status = target.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns)
