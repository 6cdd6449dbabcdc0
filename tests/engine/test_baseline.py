from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_migrate.engine.baseline import Baseline, BaselineError, fingerprint, load
from ascend_migrate.model import Finding, Span


def findings(source: str, path: str = "a.py") -> list[Finding]:
    """One for each line that holds OLD or SLOW."""
    return [
        Finding(path, Span(number, 1, number, 4), code, "error", f"{code} on line {number}")
        for number, line in enumerate(source.splitlines(), start=1)
        for word, code in (("OLD", "NPU101"), ("SLOW", "NPU201"))
        if word in line
    ]


def new(before: str, after: str, directory: Path, known_path: str = "a.py", path: str = "a.py") -> list[int]:
    """The lines of ``after`` with a new finding, ``before`` being known; through the file."""

    def place(name: str) -> str:
        return str(directory / name)

    made = Baseline.of(directory, findings(before, known_path), lambda _: before.splitlines(), place)
    file = directory / "baseline.json"
    file.write_text(made.to_text())
    found = findings(after, path)
    left, known = load(file).split(found, lambda _: after.splitlines(), place)
    assert known + len(left) == len(found)
    return [finding.span.line for finding in left]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("x = OLD\n", "x = OLD\n", []),
        ("x = OLD\n", "import y\n\n\n    x  =  OLD\n", []),
        ("x = OLD\n", "x = OLD\ny = OLD\n", [2]),
        ("x = OLD\n", "x = OLD\nx = OLD\n", [2]),
        ("x = OLD\nx = OLD\n", "x = OLD\nx = OLD\n", []),
        ("x = OLD\nx = OLD\n", "x = OLD\n", []),
        ("x = OLD\n", "x = SLOW\n", [1]),
        ("", "x = OLD SLOW\n", [1, 1]),
        ("y = OLD\nx = SLOW\n", "x = SLOW\ny = OLD\n", []),
    ],
)
def test_only_what_is_new(tmp_path: Path, before: str, after: str, lines: list[int]) -> None:
    assert new(before, after, tmp_path) == lines


def test_the_file_counts(tmp_path: Path) -> None:
    assert new("x = OLD\n", "x = OLD\n", tmp_path, known_path="a.py", path="b.py") == [1]


def test_paths_are_relative_to_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    found = findings("OLD\n", "pkg/a.py")
    monkeypatch.chdir(tmp_path)
    made = Baseline.of(Path(), found, lambda _: ["OLD"], lambda path: path)
    (tmp_path / "known.json").write_text(made.to_text())
    monkeypatch.chdir(tmp_path / "pkg")
    left, known = load(Path("../known.json")).split(findings("OLD\n"), lambda _: ["OLD"], lambda path: path)
    assert (left, known) == ((), 1)


def test_a_file_that_cannot_be_read_is_known_by_the_message() -> None:
    one, two = findings("OLD\nOLD\n")
    assert fingerprint(one, []) != fingerprint(two, [])
    assert fingerprint(one, ["OLD", "OLD"]) == fingerprint(two, ["OLD", "OLD"])


def test_the_file_is_sorted_and_small(tmp_path: Path) -> None:
    found = [*findings("b OLD\na SLOW\nb OLD\n", "b.py"), *findings("OLD\n", "a.py")]
    text = Baseline.of(tmp_path, found, lambda _: ["b OLD", "a SLOW", "b OLD"], lambda p: str(tmp_path / p)).to_text()
    document = json.loads(text)
    assert list(document["findings"]) == ["a.py", "b.py"]
    assert sorted(document["findings"]["b.py"].values()) == [1, 2]
    assert list(document["findings"]["b.py"]) == sorted(document["findings"]["b.py"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("[", "not a baseline: Expecting value"),
        ("[]", "not a baseline of schema 1"),
        ('{"schema": 2, "findings": {}}', "not a baseline of schema 1"),
        ('{"schema": 1, "findings": {"a.py": {"NPU1:0": "1"}}}', "not a baseline of schema 1"),
    ],
)
def test_what_is_no_baseline(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "known.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BaselineError, match="known.json: " + message):
        load(file)
