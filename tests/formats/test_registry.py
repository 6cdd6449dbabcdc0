"""Which format a file belongs to, and how a project is walked with formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.formats import all_formats, format_of
from ascend_migrate.sources.discovery import find


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("requirements.txt", "requirements"),
        ("requirements-dev.txt", "requirements"),
        ("docs/requirements.txt", "requirements"),
        ("requirements/gpu.txt", "requirements"),
        ("test_requirements.in", "requirements"),
        ("pyproject.toml", "requirements"),
        ("pkg/setup.cfg", "requirements"),
        ("environment.yml", "requirements"),
        ("conda_env.yaml", "requirements"),
        ("ops/src/kernel.cu", "native"),
        ("ops/src/kernel.cuh", "native"),
        ("train.py", None),
        ("notes.txt", None),
        ("configs/model.yaml", None),
        ("poetry.toml", None),
        ("kernel.cu.py", None),
    ],
)
def test_format_of(path: str, name: str | None) -> None:
    found = format_of(path)
    assert (found and found.__name__.rpartition(".")[2]) == name


def test_no_file_belongs_to_two_formats() -> None:
    for path in ("requirements.txt", "pyproject.toml", "a.cu"):
        assert sum(found.applies(path) for found in all_formats()) == 1


def test_a_walk_finds_them(tmp_path: Path) -> None:
    for name in ("a.py", "requirements.txt", "notes.txt", "ops/k.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n")
    assert [file.name for file in find([str(tmp_path)]).files] == ["a.py", "ops/k.cu", "requirements.txt"]
