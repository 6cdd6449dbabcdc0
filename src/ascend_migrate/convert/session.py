"""Convert files and write what comes of it; keep account of what was done and what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ascend_migrate.convert import atomic
from ascend_migrate.convert.places import relocate
from ascend_migrate.engine.cache import without_edits
from ascend_migrate.engine.runner import Runner
from ascend_migrate.model import FileError, FileReport, Finding, Target
from ascend_migrate.report.result import ProjectResult
from ascend_migrate.sources.discovery import SourceFile

if TYPE_CHECKING:
    from ascend_migrate.convert.output import Inventory, Output
    from ascend_migrate.engine.project import IgnoredIn, Request
    from ascend_migrate.engine.runner import Engine, Progress


@dataclass(frozen=True)
class Work:
    """How to convert: the target and options, and how many processes.

    ``ignored_in`` adds codes to ignore in single files.
    """

    request: Request
    target: Target
    jobs: int | None = None
    ignored_in: IgnoredIn | None = None
    progress: Progress | None = None
    engine: Engine | None = None


@dataclass(frozen=True)
class Conversion:
    """What a conversion did. ``changed`` are the names of the files that differ from the input."""

    result: ProjectResult
    changed: tuple[str, ...]
    copied: int = 0
    notes: tuple[str, ...] = ()

    @cached_property
    def applied(self) -> tuple[Finding, ...]:
        """The findings that the conversion fixed."""
        changed = frozenset(self.changed)
        return tuple(f for f in self.result.findings if f.fix is not None and f.path in changed)

    @cached_property
    def left(self) -> tuple[Finding, ...]:
        """The findings that are still there after the conversion."""
        changed = frozenset(self.changed)
        return tuple(f for f in self.result.findings if f.fix is None or f.path not in changed)

    @cached_property
    def edits_by_code(self) -> dict[str, int]:
        """How many findings of each code were fixed."""
        return dict(sorted(Counter(finding.code for finding in self.applied).items()))


class _Account:
    """Collects what happens to the files."""

    def __init__(self, errors: Sequence[FileError]) -> None:
        self.reports: list[FileReport] = []
        self.changed: list[str] = []
        self.errors = list(errors)

    def add(self, report: FileReport, *, changed: bool) -> None:
        # The new bytes are written by now: a large project must not stay in memory.
        self.reports.append(without_edits(report))
        if changed:
            self.changed.append(report.path)

    def close(self, work: Work, *, prefix: str = "", copied: int = 0, notes: Sequence[str] = ()) -> Conversion:
        language = work.request.language
        result = ProjectResult.of(work.target, self.reports, errors=self.errors, prefix=prefix, language=language)
        return Conversion(result, tuple(self.changed), copied, tuple(notes))


def _reports(files: Sequence[SourceFile], work: Work) -> Iterator[tuple[SourceFile, FileReport]]:
    """Each file with its report, in order."""
    size = sum(file.size for file in files)
    with Runner(size, work.request.options(work.target), jobs=work.jobs, engine=work.engine) as runner:
        index = runner.engine.build(fact for _, fact in runner.gather(files) if fact is not None)
        outcomes = runner.process(files, index, ignored_in=work.ignored_in, progress=work.progress)
        for file, outcome in zip(files, outcomes):
            yield file, outcome.report


def to_output(inventory: Inventory, output: Output, work: Work) -> Conversion:
    """Write a complete, converted copy. ``output`` is prepared already."""
    account = _Account(inventory.errors)

    def attempt(name: str, action: Callable[..., None], *arguments: object) -> bool:
        try:
            action(*arguments)
        except OSError as error:
            verb = "copied" if action == output.copy else "written"
            account.errors.append(FileError(name, 1, f"cannot be {verb}: {error.strerror or error}"))
            return False
        return True

    output.make_directories(inventory)
    for file, report in _reports(inventory.python, work):
        if report.new_bytes is None:
            attempt(file.name, output.copy, file)
            account.add(report, changed=False)
            continue
        try:
            moved = relocate(report, file.path.read_bytes())
        except OSError as error:
            account.errors.append(FileError(file.name, 1, f"cannot be read: {error.strerror or error}"))
            account.add(report, changed=False)
            continue
        written = attempt(file.name, output.write, file, report.new_bytes)
        account.add(moved if written else report, changed=written)
    for file in inventory.copies:
        attempt(file.name, output.copy, file)
    for name, _, text in inventory.links:
        attempt(name, output.link, name, text)
    output.finish(inventory)
    copied = len(inventory.python) + len(inventory.copies) - len(account.changed)
    return account.close(work, prefix=str(output.base), copied=copied, notes=inventory.notes)


def in_place(files: Sequence[SourceFile], work: Work, *, prefix: str, errors: Sequence[FileError]) -> Conversion:
    """Convert the files where they are. One that changes under our hands is left alone and reported."""
    account = _Account(errors)
    for file, report in _reports(files, work):
        try:
            old = _overwrite(file, report.new_bytes) if report.new_bytes is not None else None
        except (OSError, ChangedError) as error:
            message = f"cannot be written: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            account.errors.append(FileError(file.name, 1, message))
            account.add(report, changed=False)
        else:
            account.add(report if old is None else relocate(report, old), changed=old is not None)
    return account.close(work, prefix=prefix)


class ChangedError(Exception):
    """A file is no longer the one that was converted."""


def _overwrite(file: SourceFile, data: bytes) -> bytes:
    """Replace the content of a file, and return what it was.

    Raises:
        ChangedError: it is no longer the file that was read.
    """
    path = file.path.resolve()  # a link named on the command line stays a link
    old = path.read_bytes()
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns):
        raise ChangedError("changed while it was being converted, and was left as it is; convert again")
    atomic.replace(path, data, like=path)
    return old


def preview(
    files: Sequence[SourceFile],
    work: Work,
    *,
    prefix: str,
    errors: Sequence[FileError],
    show: Callable[[SourceFile, bytes], None],
) -> Conversion:
    """Convert without writing; ``show`` is called with each file that would change and its new bytes."""
    account = _Account(errors)
    for file, report in _reports(files, work):
        if report.new_bytes is not None:
            show(file, report.new_bytes)
        account.add(report, changed=report.new_bytes is not None)
    return account.close(work, prefix=prefix)
