"""Many files: the project index first, then every file, in as many processes as pay for themselves.

The order of the reports is that of the files, whatever the number of processes. A file that makes the engine
raise becomes a :class:`FileError`, and so does one whose worker process dies; the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ascend_migrate.model import FileError, FileReport
from ascend_migrate.sources.discovery import SourceFile

if TYPE_CHECKING:
    import multiprocessing.context

    from ascend_migrate.engine.index import FileFacts, ProjectIndex
    from ascend_migrate.engine.pipeline import EngineOptions

    Process = Callable[[str, bytes, EngineOptions, ProjectIndex], FileReport]
    Gather = Callable[[str, bytes], FileFacts | None]
    Build = Callable[[Iterable[FileFacts]], ProjectIndex]

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""

BYTES_PER_PROCESS = 600_000
"""Source for which one more process pays. The engine does some 10 MB/s, a process costs 30 to 60 ms."""

CHUNK_BYTES = 200_000
"""Source handed to a worker at a time: small enough that the workers end together."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Engine:
    """The functions of the engine that a run calls. Tests put their own in their place.

    ``warm_up`` is called before worker processes are forked: what it loads, they need not load again.
    """

    process: Process
    gather: Gather
    build: Build
    warm_up: Callable[[EngineOptions], object] | None = None

    @staticmethod
    def default() -> Engine:
        """The real ones. Imported here, because a run answered from the cache needs none of them."""
        from ascend_migrate.engine import dispatch, index

        def warm_up(options: EngineOptions) -> None:
            dispatch.process("warm_up.py", b"import torch\ntorch.zeros(1).cuda()\n", options, index.build(()))

        return Engine(dispatch.process, dispatch.gather, index.build, warm_up)


@dataclass(frozen=True)
class Outcome:
    """What became of one file. ``crashed``: not a result of the engine, so not worth remembering."""

    report: FileReport
    crashed: bool = False


def automatic_jobs(total_bytes: int) -> int:
    """The number of processes for this much source: one for small projects, at most the usable processors."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, total_bytes // BYTES_PER_PROCESS))


class Runner:
    """Runs the engine over files, with a pool of processes or without. A context manager: it ends its
    processes.

    Args:
        total_bytes: the size of the whole input; decides the number of processes when ``jobs`` is None.
        options: what to look for, and the target.
        jobs: the number of processes, or None.
        engine: what to call; the real engine when None.
    """

    def __init__(
        self, total_bytes: int, options: EngineOptions, *, jobs: int | None = None, engine: Engine | None = None
    ) -> None:
        self.engine = engine or Engine.default()
        self._options = options
        self.jobs = automatic_jobs(total_bytes) if jobs is None else max(1, jobs)
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Runner:
        if self.jobs > 1:
            # Before any thread exists (a progress bar has one): forking a process with threads is not safe.
            if self.engine.warm_up is not None:
                self.engine.warm_up(self._options)
            self._pool = _new_pool(self.jobs)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def gather(self, files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, FileFacts | None]]:
        """What each file contributes to the project index."""
        items = [(file.name, str(file.path)) for file in files]
        yield from zip(files, self._map(_gather_chunk, self.engine.gather, items, files, (), lambda *_: None))

    def process(
        self,
        files: Sequence[SourceFile],
        index: ProjectIndex,
        *,
        ignored_in: Callable[[Path], tuple[str, ...]] | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Outcome]:
        """The outcome of every file, in order. ``ignored_in`` adds codes to ignore in single files."""
        total = sum(file.size for file in files)
        done = 0
        items = [(file.name, str(file.path), ignored_in(file.path) if ignored_in else ()) for file in files]
        outcomes = self._map(_process_chunk, self.engine.process, items, files, (self._options, index), _worker_died)
        for file, outcome in zip(files, outcomes):
            yield outcome
            done += file.size
            if progress is not None:
                progress(done, total)

    def _map(
        self,
        function: Callable[..., list[Result]],
        engine_function: Callable[..., Any],
        items: Sequence[Any],
        files: Sequence[SourceFile],
        common: tuple[Any, ...],
        lost: Callable[[str], Result],
    ) -> Iterator[Result]:
        """``function(engine_function, part of items, *common)`` over all items, joined in order.

        ``lost`` gives the result for a file whose worker died.
        """
        if self._pool is None:
            for item in items:
                yield from function(engine_function, [item], *common)
            return
        chunks = list(_chunks(items, files))
        futures = [self._pool.submit(function, engine_function, chunk, *common) for chunk in chunks]
        broken = False
        for chunk, future in zip(chunks, futures):
            try:
                results: Iterable[Result] = future.result()
            except BrokenProcessPool:
                # Some worker died, killed from outside or out of memory, and took the whole pool with it.
                broken = True
                results = _one_by_one(function, engine_function, chunk, common, lost)
            yield from results
        if broken:
            self._pool.shutdown()
            self._pool = _new_pool(self.jobs)


def _one_by_one(
    function: Callable[..., list[Result]],
    engine_function: Callable[..., Any],
    chunk: Sequence[Any],
    common: tuple[Any, ...],
    lost: Callable[[str], Result],
) -> Iterator[Result]:
    """The chunk again, each file in a process of its own, so that the one that kills it is found."""
    for item in chunk:
        with _new_pool(1) as pool:
            future = pool.submit(function, engine_function, [item], *common)
            try:
                results = future.result()
            except BrokenProcessPool:
                results = [lost(item[0])]
        yield from results


def _chunks(items: Sequence[Any], files: Sequence[SourceFile]) -> Iterator[list[Any]]:
    """Cut the items into runs of about :data:`CHUNK_BYTES` of source."""
    chunk: list[Any] = []
    size = 0
    for item, file in zip(items, files):
        chunk.append(item)
        size += file.size
        if size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _new_pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_start_worker)


def _context() -> multiprocessing.context.BaseContext:
    """Fork where that is sound: a forked worker has the engine already, a spawned one imports it for 0.3
    s."""
    import multiprocessing
    import sys
    import threading

    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent is gone."""
    import multiprocessing
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _gather_chunk(gather: Gather, items: Sequence[tuple[str, str]]) -> list[FileFacts | None]:
    return [_gather_file(gather, name, Path(path)) for name, path in items]


def _gather_file(gather: Gather, name: str, path: Path) -> FileFacts | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None  # process_file() will report it
    return gather_one(gather, name, data)


def gather_one(gather: Gather, name: str, data: bytes) -> FileFacts | None:
    """A file that makes the engine raise contributes nothing; it is no reason to stop."""
    try:
        return gather(name, data)
    except Exception:
        return None


def _process_chunk(
    process: Process,
    items: Sequence[tuple[str, str, tuple[str, ...]]],
    options: EngineOptions,
    index: ProjectIndex,
) -> list[Outcome]:
    return [process_file(process, name, Path(path), more, options, index) for name, path, more in items]


def process_file(
    process: Process,
    name: str,
    path: Path,
    ignored: tuple[str, ...],
    options: EngineOptions,
    index: ProjectIndex,
) -> Outcome:
    """One file, read and processed. Whatever goes wrong becomes an error in its report."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        return Outcome(FileReport(name, errors=(FileError(name, 1, message),)), crashed=True)
    return process_bytes(process, name, data, ignored, options, index)


def process_bytes(
    process: Process,
    name: str,
    data: bytes,
    ignored: tuple[str, ...],
    options: EngineOptions,
    index: ProjectIndex,
) -> Outcome:
    """Like :func:`process_file`, for bytes at hand."""
    if ignored:
        from dataclasses import replace

        options = replace(options, ignore=(*options.ignore, *ignored))
    try:
        return Outcome(process(name, data, options, index))
    except Exception as error:
        return Outcome(FileReport(name, errors=(FileError(name, 1, _internal(error)),)), crashed=True)


def _internal(error: Exception) -> str:
    """A fault of ours, with what a bug report needs: the error and where it was raised."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    return f"internal error, please report it: {type(error).__name__}: {text}{place}"


def _worker_died(name: str) -> Outcome:
    message = "the process that worked on this file died, perhaps for lack of memory"
    return Outcome(FileReport(name, errors=(FileError(name, 1, message),)), crashed=True)
