"""Remember what an analysis gave, so that the next one looks only at what changed.

One file for each set of paths analyzed, in the user's cache directory. It holds, for every source file, its
state (time, size, hash), its contribution to the project index, and its report. A cache counts for one *key*:
the tool, its own files, Python, and the options. Anything wrong with a cache file means there is no cache.

Only names that a cache needs can be loaded from one, so a manipulated file cannot run code.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_migrate.model import FileReport, Target

if TYPE_CHECKING:
    from ascend_migrate.engine.index import FileFacts

DIRECTORY_VARIABLE = "ASCEND_MIGRATE_CACHE_DIR"

_KEEP_SECONDS = 30 * 24 * 3600
"""Caches that nobody has used for this long are removed."""

_RACY_NS = 2_000_000_000
"""A file changed this short a time before the cache was written may change again without a new time, on a
file system with coarse times. It is compared by content the next time."""


@dataclass(frozen=True)
class Entry:
    """What is known of one source file. ``mtime_ns`` is -1 when only the content can tell.

    ``facts`` are packed (:func:`pack`): a run in which nothing changed does not need them, nor the module
    that they are defined in.
    """

    mtime_ns: int
    size: int
    sha256: bytes
    facts: bytes
    report: FileReport


@dataclass(frozen=True)
class Cache:
    """The content of a cache file."""

    key: str
    target: Target
    index_digest: str
    entries: dict[str, Entry] = field(default_factory=dict)


def directory() -> Path:
    """Where the caches lie: ``ASCEND_MIGRATE_CACHE_DIR``, or the user's cache directory."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("ascend-migrate", appauthor=False)


def location(paths: Iterable[str]) -> Path:
    """The cache file for an analysis of these paths from this directory."""
    places = "\0".join((str(Path.cwd()), *paths))
    return directory() / "analyze" / f"{_digest(places)}.pickle"


def key(parts: Sequence[object]) -> str:
    """A key from all that decides a result besides the sources: the tool, Python, and ``parts``."""
    import sys

    from ascend_migrate import __version__

    return _digest(repr((__version__, sys.version_info, _own_files(), *parts)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _own_files() -> tuple[int, int, int]:
    """Number, size and newest time of the tool's own files, so that a development copy has no stale
    results."""
    number = size = newest = 0
    waiting = [str(Path(__file__).parent.parent)]
    while waiting:
        with os.scandir(waiting.pop()) as scan:
            for entry in scan:
                if entry.name == "__pycache__":
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                else:
                    status = entry.stat()
                    number, size, newest = number + 1, size + status.st_size, max(newest, status.st_mtime_ns)
    return number, size, newest


class _Unpickler(pickle.Unpickler):
    _ALLOWED = frozenset({"ascend_migrate.model", __name__, "ascend_migrate.engine.index"})

    def find_class(self, module: str, name: str) -> Any:
        if (module in self._ALLOWED and "." not in name) or (module, name) in {
            ("builtins", "frozenset"),
            ("builtins", "set"),
            ("builtins", "str"),  # what a message that knows its template is pickled as
        }:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in a cache")


def pack(facts: FileFacts | None) -> bytes:
    """What a file contributes to the project index, as bytes."""
    return pickle.dumps(facts, protocol=5)


def unpack(data: bytes) -> FileFacts | None:
    """The inverse of :func:`pack`."""
    facts: FileFacts | None = _Unpickler(io.BytesIO(data)).load()
    return facts


def load(path: Path, wanted_key: str) -> Cache | None:
    """The cache in ``path``, or None when there is none, it is damaged, or it is for another key."""
    try:
        with path.open("rb") as stream:
            # The key comes first, so that a cache for another version is not unpickled at all.
            if stream.readline().strip() != wanted_key.encode():
                return None
            found = _Unpickler(stream).load()
    except Exception:
        # Whatever the damage (pickle raises nearly anything), the answer is to do the work anew.
        return None
    return found if isinstance(found, Cache) and found.key == wanted_key else None


def save(path: Path, cache: Cache) -> None:
    """Write the cache, replacing the old in one step. A place that cannot be written to only costs time
    later."""
    now = time.time_ns()
    entries = {
        name: replace(entry, mtime_ns=-1) if entry.mtime_ns > now - _RACY_NS else entry
        for name, entry in cache.entries.items()
    }
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(cache.key.encode() + b"\n")
            pickle.dump(replace(cache, entries=entries), stream, protocol=5)
        temporary.replace(path)
        _remove_old(path.parent, now // 1_000_000_000 - _KEEP_SECONDS)
    except OSError:
        with suppress(OSError):
            temporary.unlink()


def _remove_old(place: Path, before: float) -> None:
    for path in place.iterdir():
        with suppress(FileNotFoundError):  # another process may be faster
            if path.stat().st_mtime < before:
                path.unlink()


def without_edits(report: FileReport) -> FileReport:
    """A report as an analysis needs it: what to write is left out."""
    findings = tuple(
        finding if finding.fix is None else replace(finding, fix=replace(finding.fix, edits=()))
        for finding in report.findings
    )
    return replace(report, findings=findings, new_bytes=None)
