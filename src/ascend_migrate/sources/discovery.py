"""Find the files of a project.

Two questions with two answers:

* **What is to be analyzed?** (:func:`find`) The files that are the project's own and that something reads. What
  ``.gitignore`` names is not, nor are virtual environments, caches and version control. A file named on the
  command line is always taken, whatever the rules say.
* **What does a complete copy hold?** (:func:`walk` without rules) Everything but version control, caches and
  virtual environments: a git-ignored data set or a generated Python module is needed to *run* the copy.

Generated Python files get no special treatment: the copy must run, so they are converted like any other.

Symbolic links found on the way are never followed. What a link inside the tree points to is found on its own;
what lies outside the tree is not the project's. A link named on the command line is followed.

Names are text with ``surrogateescape``, so names that are not UTF-8 survive. The order is that of the names
and does not depend on the file system.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ascend_migrate.model import FileError
from ascend_migrate.sources.ignores import GitIgnore, gitignore_above
from ascend_migrate.sources.kinds import PYTHON_SUFFIXES, is_source

MARKER = ".ascend-migrate-unfinished"
"""The directory that marks an unfinished conversion; see :mod:`ascend_migrate.convert.output`."""

EXCLUDED_NAMES = frozenset(
    {
        MARKER,
        # Version control.
        ".git",
        ".hg",
        ".svn",
        ".bzr",
        # Caches of Python and its tools.
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".pytype",
        ".hypothesis",
        ".ipynb_checkpoints",
        # Environments, and what builds them.
        ".venv",
        ".tox",
        ".nox",
        ".eggs",
        ".direnv",
        "__pypackages__",
        "node_modules",
    }
)
"""Names never entered nor copied. ``venv`` and ``env`` are not here: a directory is a virtual environment
when it holds one (:func:`_is_environment`), and not because of its name."""

TEMPORARY_PATTERN = ".*.ascend-migrate-*.tmp"
"""Files that an interrupted conversion may leave; see :mod:`ascend_migrate.convert.atomic`."""

EntryKind = Literal["directory", "file", "link", "special"]


class SourcesError(ValueError):
    """The paths given on the command line cannot be worked on. The message is for the user."""


@dataclass(frozen=True)
class SourceFile:
    """A file that the engine reads. ``name`` stands for it in reports and to the engine, ``path`` opens it."""

    name: str
    path: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Entry:
    """Something in a directory tree. ``name`` is its path from the root of the walk, with ``/``."""

    name: str
    path: Path
    kind: EntryKind
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True)
class Tree:
    """The files that some command-line arguments mean.

    ``prefix`` put before the name of a file gives a path that opens from the working directory. ``notes`` are
    things a user should know that are not failures.
    """

    files: tuple[SourceFile, ...]
    prefix: str = ""
    errors: tuple[FileError, ...] = ()
    notes: tuple[str, ...] = ()
    stale: tuple[Path, ...] = field(default=(), repr=False)


def _is_environment(directory: str) -> bool:
    """Whether a directory is a virtual environment (PEP 405) or a conda environment."""
    return os.path.lexists(f"{directory}/pyvenv.cfg") or os.path.lexists(f"{directory}/conda-meta/history")


def excluded_directory(entry: os.DirEntry[str]) -> bool:
    """Whether a directory is version control, a cache or an environment."""
    return entry.name in EXCLUDED_NAMES or _is_environment(entry.path)


def walk(
    root: Path,
    *,
    gitignore: bool = False,
    on_error: Callable[[FileError], None],
    on_stale: Callable[[Path], None] | None = None,
) -> Iterator[Entry]:
    """Everything below ``root`` that counts, directories before what they hold.

    ``gitignore`` leaves out what git would ignore. Directories that cannot be listed go to ``on_error``, the
    left-overs of an interrupted conversion to ``on_stale``.
    """
    rules, inside = gitignore_above(root) if gitignore else (None, "")

    def visit(directory: Path, name: str, rules: GitIgnore | None) -> Iterator[Entry]:
        from_top = "/".join(part for part in (inside, name) if part)
        try:
            with os.scandir(directory) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            on_error(FileError(name or ".", 1, f"cannot list the directory: {error.strerror}"))
            return
        if rules is not None:
            rules = rules.enter(directory, from_top)
        for found in entries:
            below = f"{name}/{found.name}" if name else found.name
            here = directory / found.name
            is_directory = found.is_dir(follow_symlinks=False)
            if found.name in EXCLUDED_NAMES or (is_directory and excluded_directory(found)):
                continue
            if rules is not None and rules.ignores(
                f"{from_top}/{found.name}" if from_top else found.name, directory=is_directory
            ):
                continue
            if is_directory:
                yield Entry(below, here, "directory")
                yield from visit(here, below, rules)
            elif found.is_symlink():
                yield Entry(below, here, "link")
            elif fnmatch.fnmatchcase(found.name, TEMPORARY_PATTERN):
                if on_stale is not None:
                    on_stale(here)
            else:
                try:
                    status = found.stat(follow_symlinks=False)
                except OSError as error:
                    on_error(FileError(below, 1, f"cannot be read: {error.strerror}"))
                    continue
                kind: EntryKind = "file" if stat.S_ISREG(status.st_mode) else "special"
                yield Entry(below, here, kind, status.st_size, status.st_mtime_ns)

    yield from visit(root, "", rules)


def link_leaves(root: Path, entry: Entry) -> bool:
    """Whether the link ``entry`` points out of the tree at ``root``. Links on the way are not looked
    through."""
    top = os.path.realpath(root)
    target = os.path.normpath(os.path.join(top, os.path.dirname(entry.name), os.readlink(entry.path)))  # noqa: PTH115, PTH118, PTH120
    return target != top and not target.startswith(top.rstrip(os.sep) + os.sep)


def find(
    arguments: Sequence[str], *, excluded: Callable[[Path], bool] | None = None, force_exclude: bool = False
) -> Tree:
    """The files that command-line arguments mean and the engine reads, sorted by name.

    With a single directory the names are relative to it. Otherwise they are the arguments as typed, so that
    they are distinct and open from the working directory. ``excluded`` tells which of the files found in
    directories the configuration leaves out; with ``force_exclude`` it leaves out files named as arguments too, for
    callers such as pre-commit that name every file.

    Raises:
        SourcesError: an argument does not exist, or is neither a file nor a directory.
    """
    single = len(arguments) == 1 and Path(arguments[0]).is_dir()
    prefix = _typed(arguments[0]) if single else ""
    files: dict[str, SourceFile] = {}
    seen: set[str] = set()
    errors: list[FileError] = []
    notes: list[str] = []
    stale: list[Path] = []

    def add(name: str, path: Path, size: int, mtime_ns: int) -> None:
        # The same file may be reached by two arguments.
        identity = os.path.abspath(path)  # noqa: PTH100 - Path.absolute() keeps `..`
        if identity not in seen:
            seen.add(identity)
            files[name] = SourceFile(name, path, size, mtime_ns)

    for argument in arguments:
        path = Path(argument)
        try:
            status = path.stat()
        except OSError as error:
            raise SourcesError(_missing(argument, error)) from error
        if stat.S_ISREG(status.st_mode):
            if force_exclude and excluded is not None and excluded(path):
                continue
            if is_source(path, _typed(argument)) or not path.suffix:
                add(_typed(argument), path, status.st_size, status.st_mtime_ns)
            else:
                known = ", ".join(sorted(PYTHON_SUFFIXES))
                notes.append(f"{argument}: skipped, not a Python file ({known})")
        elif stat.S_ISDIR(status.st_mode):
            shown = "" if single else _typed(argument)
            # `shown` is bound early: the functions are called while this argument is walked.

            def report(error: FileError, shown: str = shown) -> None:
                errors.append(FileError(_join(shown, error.path), error.line, error.message))

            for entry in walk(path, gitignore=True, on_error=report, on_stale=stale.append):
                if entry.kind == "link":
                    if link_leaves(path, entry):
                        notes.append(f"{_join(_typed(argument), entry.name)}: link out of the tree, not followed")
                elif (
                    entry.kind == "file"
                    and is_source(entry.path, entry.name)
                    and not (excluded is not None and excluded(entry.path))
                ):
                    add(_join(shown, entry.name), entry.path, entry.size, entry.mtime_ns)
        else:
            raise SourcesError(f"{argument}: neither a file nor a directory")
    ordered = tuple(files[name] for name in sorted(files))
    return Tree(ordered, prefix, tuple(sorted(errors, key=lambda e: e.path)), tuple(notes), tuple(stale))


def _typed(argument: str) -> str:
    """An argument as the start of a name: ``.`` is nothing, ``./a/`` is ``a``."""
    name = Path(os.path.normpath(argument)).as_posix()
    return "" if name == "." else name


def _join(prefix: str, name: str) -> str:
    if name == ".":
        return prefix or "."
    return f"{prefix.rstrip('/')}/{name}" if prefix else name


def _missing(argument: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{argument}: no such file or directory"
    return f"{argument}: {error.strerror}"
