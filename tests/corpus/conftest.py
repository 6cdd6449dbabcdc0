"""Real packages from PyPI, kept between runs in the user's cache (or in ``$ASCEND_MIGRATE_CORPUS``)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

DEPENDENCIES = ("einops==0.8.2", "einx==0.4.3", "frozendict==2.5.1", "loguru==0.7.3")
"""What the two trained packages need besides torch, numpy and what these need."""


@pytest.fixture(scope="session")
def corpus() -> ModuleType:
    """The script ``scripts/corpus.py`` as a module."""
    spec = importlib.util.spec_from_file_location("corpus", ROOT / "scripts" / "corpus.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def dependencies(corpus: ModuleType) -> Path:
    """A folder for the import path that holds :data:`DEPENDENCIES`."""
    place: Path = corpus.default_cache() / "-".join(d.replace("==", "-") for d in DEPENDENCIES)
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part")
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--upgrade"]
        subprocess.run([*command, "--target", str(part), *DEPENDENCIES], check=True)
        part.rename(place)
    return place
