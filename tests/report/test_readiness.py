from __future__ import annotations

import pytest

from ascend_migrate.model import Finding, Fix, Span
from ascend_migrate.report import readiness


def at(line: int, level, fix: str = "", path: str = "a.py", code: str = "NPU101") -> Finding:
    return Finding(path, Span(line, 1, line, 5), code, level, "said", fix=Fix(fix, ()) if fix else None)


@pytest.mark.parametrize(
    ("finding", "wanted"),
    [
        (at(1, "error", "safe"), "automatic"),
        (at(1, "info", "safe"), "automatic"),
        (at(1, "error", "review"), "review"),
        (at(1, "warning"), "review"),
        (at(1, "error"), "work"),
        (at(1, "info"), None),
        (at(1, "error", "safe", code="NPU160"), None),
    ],
)
def test_what_a_finding_needs(finding: Finding, wanted: str | None) -> None:
    assert readiness.need(finding) == wanted


def test_the_worst_finding_decides_for_its_site() -> None:
    found = readiness.of([at(1, "error", "safe"), at(1, "warning"), at(2, "error", "safe"), at(3, "info")])
    assert (found.automatic, found.review, found.work, found.sites) == (1, 1, 0, 2)
    assert found.percent == 50
    assert found.blocking == ()


def test_rounded_down_so_that_100_means_all() -> None:
    almost = readiness.of([*(at(line, "error", "safe") for line in range(1, 1000)), at(1000, "error", code="NPU102")])
    assert almost.percent == 99
    assert almost.to_json() == {
        "percent": 99,
        "sites": 1000,
        "automatic": 999,
        "review": 0,
        "work": 1,
        "blocking": {"NPU102": 1},
    }
    assert almost.sentence == ("Readiness 99 %: of 1000 sites 999 convert automatically, 0 want a review, 1 need work.")
    assert readiness.of([]).percent == 100
    assert "nothing touches the device" in readiness.of([at(1, "info")]).sentence


def test_modules_are_directories() -> None:
    found = [at(1, "error", path="train.py"), at(1, "error", "safe", path="pkg/a.py"), at(2, "info", path="doc/x.py")]
    parts = readiness.by_module(found)
    assert {name: part.percent for name, part in parts.items()} == {".": 0, "pkg": 100}


def test_a_large_project_is_told_apart_less_finely() -> None:
    found = [at(1, "error", path=f"pkg/{half}/d{number}/a.py") for half in ("one", "two") for number in range(20)]
    assert list(readiness.by_module(found)) == ["pkg/one", "pkg/two"]
    assert sum(part.work for part in readiness.by_module(found).values()) == 40
