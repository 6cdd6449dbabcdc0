"""What is known and accepted: a file of findings, so that a run reports only what is new.

A finding is recognized by its code, its file and the text of its line without the white space, not by the number
of the line: code may move. Of findings that are alike in all three as many are known as were written down. Paths are
relative to the directory of the baseline, so it does not matter where the tool is started, nor on which part of the
project. The file is JSON with one line a file and code, sorted, so that a version control system shows changes well.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_migrate.model import Finding

SCHEMA = 1

Lines = Callable[[str], Sequence[str]]
"""Path of a finding -> the lines of the file."""


class BaselineError(ValueError):
    """The baseline cannot be read. The message names the file."""


def fingerprint(finding: Finding, lines: Sequence[str]) -> str:
    """16 hexadecimal digits for the code and the line of a finding. ``lines`` are those of its file; of a file that
    cannot be read the message stands in for the line."""
    row = finding.span.line - 1
    text = "".join(lines[row].split()) if row < len(lines) else finding.message
    return hashlib.sha256(f"{finding.code}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Baseline:
    """File -> code and fingerprint -> how often. ``directory`` is what the file names are relative to."""

    directory: Path
    known: dict[str, Counter[str]] = field(default_factory=dict)

    def split(
        self, findings: Iterable[Finding], lines: Lines, place: Callable[[str], str]
    ) -> tuple[tuple[Finding, ...], int]:
        """The findings that are new, and the number of those that are known.

        Args:
            findings: in the order of their places.
            lines: the lines of a file.
            place: the path of a finding as it opens from the working directory.
        """
        left = {name: Counter(counts) for name, counts in self.known.items()}
        new, old = [], 0
        for finding in findings:
            counts = left.get(self._name(place(finding.path)))
            key = _key(finding, lines(finding.path))
            if counts is not None and counts[key] > 0:
                counts[key] -= 1
                old += 1
            else:
                new.append(finding)
        return tuple(new), old

    @staticmethod
    def of(directory: Path, findings: Iterable[Finding], lines: Lines, place: Callable[[str], str]) -> Baseline:
        """The baseline in which these findings are known."""
        made = Baseline(directory)
        for finding in findings:
            name = made._name(place(finding.path))
            made.known.setdefault(name, Counter())[_key(finding, lines(finding.path))] += 1
        return made

    def _name(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), os.path.realpath(self.directory)).replace(os.sep, "/")

    def to_text(self) -> str:
        """The content of the file."""
        findings = {
            name: {key: counts[key] for key in sorted(counts)} for name, counts in sorted(self.known.items()) if counts
        }
        return json.dumps({"schema": SCHEMA, "findings": findings}, indent=2) + "\n"


def _key(finding: Finding, lines: Sequence[str]) -> str:
    return f"{finding.code}:{fingerprint(finding, lines)}"


def load(path: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        BaselineError: it cannot be read or is no baseline.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not _is_table(data.get("findings")):
        raise BaselineError(f"{path}: not a baseline of schema {SCHEMA}; write it anew with --write-baseline")
    return Baseline(path.parent, {name: Counter(counts) for name, counts in data["findings"].items()})


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(counts, dict) and all(type(number) is int for number in counts.values()) for counts in value.values()
    )
