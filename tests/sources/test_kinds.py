from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.sources.kinds import is_python


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.py", b"", True),
        ("a.PY", b"", True),
        ("a.pyi", b"", True),
        ("a.pyw", b"", True),
        ("a.pyc", b"", False),
        ("a.txt", b"#!/usr/bin/env python\n", False),
        ("tool", b"#!/usr/bin/env python3\nimport torch\n", True),
        ("tool", b"#! /usr/bin/python2.7 -u\n", True),
        ("tool", b"#!/bin/sh\n# python\n", False),
        ("tool", b"#!/usr/bin/env pythonic\n", False),
        ("Makefile", b"all:\n\tpython train.py\n", False),
        ("empty", b"", False),
        (".py", b"", False),
    ],
)
def test_kind(tmp_path: Path, name: str, content: bytes, expected: bool) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert is_python(path) is expected


def test_what_cannot_be_read_is_not_python(tmp_path: Path) -> None:
    assert not is_python(tmp_path / "missing")
