"""What kind of file is this? Told from its name, and from its first line where the name does not say."""

from __future__ import annotations

import re
from pathlib import Path

PYTHON_SUFFIXES = frozenset({".py", ".pyi", ".pyw"})

_PYTHON_SHEBANG = re.compile(rb"#![^\n]*\bpython[0-9.]*\b")

_SHEBANG_LIMIT = 256
"""Bytes read of a file without suffix; Linux itself reads no more of a ``#!`` line."""


def is_source(path: Path, name: str) -> bool:
    """Whether something of the tool reads the file: Python, or one of the formats. ``name`` is its path from the root
    of the project, with ``/``."""
    from ascend_migrate.formats import format_of

    return is_python(path) or format_of(name) is not None


def is_python(path: Path) -> bool:
    """Whether ``path`` is Python source: by suffix, or, for a file without one, by a ``#!... python`` line.

    A file that cannot be read is not Python here; whoever reads it for real reports the failure.
    """
    suffix = path.suffix.lower()
    if suffix:
        return suffix in PYTHON_SUFFIXES
    try:
        with path.open("rb") as stream:
            head = stream.read(_SHEBANG_LIMIT)
    except OSError:
        return False
    return _PYTHON_SHEBANG.match(head) is not None
