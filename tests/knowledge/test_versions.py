from __future__ import annotations

import pytest

from ascend_migrate.knowledge._versions import base_version, version_key


def test_orders_as_pep_440_does() -> None:
    ordered = [
        "1.8.1.rc3",
        "1.8.1",
        "2.1.0.dev20230901",
        "2.1.0.rc1",
        "2.1.0",
        "2.1.0.post8",
        "2.1.0.post10",
        "2.7.1",
        "2.7.1.post2",
        "2.8.0",
        "2.10.0",
    ]
    assert sorted(set(ordered), key=version_key) == ordered


@pytest.mark.parametrize(
    ("one", "other"), [("2.7", "2.7.0"), ("2.7.1+cpu", "2.7.1"), ("v2.7.1", "2.7.1"), ("2.1.0rc1", "2.1.0.rc1")]
)
def test_the_same_version_written_differently(one: str, other: str) -> None:
    assert version_key(one) == version_key(other)


@pytest.mark.parametrize("text", ["", "latest", "2.x", "2.7.1 or newer", "cuda11", "2..1"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a version number"):
        version_key(text)
    with pytest.raises(ValueError, match="not a version number"):
        base_version(text)


@pytest.mark.parametrize("text", ["2.7.1", "2.7.1.post2", "2.7.1+cu126", "2.7.1rc2", "v2.7.1.dev3"])
def test_base_version(text: str) -> None:
    assert base_version(text) == "2.7.1"
