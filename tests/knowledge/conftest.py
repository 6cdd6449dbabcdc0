"""The collected facts, where a copy of them is beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def facts() -> Path:
    """The folder of facts: ASCEND_MIGRATE_FACTS, else ``shared/facts`` beside the checkout."""
    given = os.environ.get("ASCEND_MIGRATE_FACTS")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "facts"
    if not folder.is_dir():
        pytest.skip(f"no facts at {folder}")
    return folder
