"""Write files so that at every moment, also when the process is killed, a file is the old one or the new one.

The new content goes to a temporary file in the same file system, which then takes the place of the old. There
is no ``fsync``: this guards against a killed process, not against a power cut.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def replace(path: Path, data: bytes, *, like: Path, stage: Path | None = None) -> None:
    """Make ``data`` the content of ``path``, with the permissions of ``like``.

    ``stage`` is a directory in the same file system for the temporary file; None takes that of ``path``.
    """
    with _staged(path, stage) as temporary:
        temporary.write_bytes(data)
        shutil.copymode(like, temporary)


def write_text(path: Path, text: str) -> None:
    """Make ``text`` the content of ``path``, in UTF-8, with the permissions of a new file."""
    with _staged(path, None) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")


def copy(source: Path, path: Path, *, stage: Path | None = None) -> None:
    """Copy a file with its permissions and times."""
    with _staged(path, stage) as temporary:
        shutil.copy2(source, temporary)


def link(text: str, path: Path, *, stage: Path | None = None) -> None:
    """Make ``path`` a symbolic link that reads ``text``."""
    with _staged(path, stage) as temporary:
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(text)


@contextmanager
def _staged(path: Path, stage: Path | None) -> Iterator[Path]:
    """A temporary path that takes the place of ``path`` in the end, or is removed when something fails."""
    # The name fits discovery.TEMPORARY_PATTERN. It must not be longer than a file name may be.
    stem = path.name if len(os.fsencode(path.name)) <= 200 else "long"
    temporary = (stage or path.parent) / f".{stem}.ascend-migrate-{os.getpid()}.tmp"
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_stale(paths: Iterable[Path]) -> None:
    """Remove the temporary files of processes that are no more."""
    for path in paths:
        owner = path.name[: -len(".tmp")].rpartition("-")[2]
        if owner.isdigit() and not _alive(int(owner)):
            path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # os.kill(pid, 0) would end the process there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to someone else
        return True
    return True
