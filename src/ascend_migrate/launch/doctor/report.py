"""The checks as text, JSON, and as a script of the commands that cure what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ascend_migrate.launch.doctor.model import STATUSES, Check, Status

_COLOURS: dict[Status, str] = {"ok": "green", "warning": "yellow", "problem": "red", "unknown": "blue"}

Paint = Callable[[str, str], str]
"""Text and colour -> text for the terminal."""


def to_text(checks: Sequence[Check], paint: Paint = lambda text, colour: text) -> str:
    """For people: by group, a line each, and under it how to cure what is wrong."""
    width = max(map(len, STATUSES))
    lines: list[str] = []
    for group, members in groupby(checks, key=lambda check: check.group):
        lines.append(group)
        for check in members:
            status = paint(check.status.ljust(width), _COLOURS[check.status])
            lines.append(f"  {status}  {check.name}: {check.reason}")
            if check.status != "ok":
                lines += [f"  {' ' * width}    $ {command}" for command in check.fix]
                if check.help:
                    lines.append(f"  {' ' * width}    {check.help}")
        lines.append("")
    return "\n".join([*lines, summary(checks)]) + "\n"


def summary(checks: Sequence[Check]) -> str:
    """``2 problems, 1 warning, 12 ok, 3 unknown.``"""
    counts = Counter(check.status for check in checks)
    parts = []
    for status in ("problem", "warning"):
        number = counts[status]
        parts.append(f"{number} {status}" + ("" if number == 1 else "s"))
    parts += [f"{counts['ok']} ok", f"{counts['unknown']} unknown"]
    return ", ".join(parts) + "."


def to_json(checks: Sequence[Check], tool: str) -> dict[str, Any]:
    """The public form (schema 1)."""
    counts = Counter(check.status for check in checks)
    return {
        "schema": 1,
        "tool": {"name": "ascend-migrate", "version": tool},
        "checks": [check.to_json() for check in checks],
        "summary": {status: counts[status] for status in STATUSES},
    }


def to_script(checks: Sequence[Check]) -> str:
    """A shell script for reading, and for pasting from. Every command says what it is for; those that need root,
    a value, or a judgement, are commented out."""
    return "\n".join(_script(checks)) + "\n"


def _script(checks: Sequence[Check]) -> Iterator[str]:
    yield "#!/bin/sh"
    yield "# What cures the problems that `ascend-migrate doctor` found. Read it before you run any of it;"
    yield "# commands that need root, a value in CAPITALS or a decision are commented out."
    problems = [check for check in checks if check.status == "problem"]
    if not problems:
        yield "# No problems were found."
    for check in problems:
        yield ""
        yield f"# {check.group}, {check.name}: {check.reason}"
        if check.help:
            yield f"# {check.help}"
        for command in check.fix:
            yield command if _runs_as_it_is(command) else f"# {command}"


def _runs_as_it_is(command: str) -> bool:
    return command.startswith(("source ", "export ", "unset ", "pip install ")) and not any(
        word.isupper() and word.isalpha() and len(word) > 2 for word in command.replace("=", " ").split()
    )
