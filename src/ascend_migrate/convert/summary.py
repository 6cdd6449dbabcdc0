"""What a conversion says at its end, and the command to type next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ascend_migrate.convert.session import Conversion
from ascend_migrate.model import LEVELS, Finding
from ascend_migrate.report.text import count, line

SHOWN = 10
"""Findings listed at the end. The rest are in the report of `--report`, and `analyze` tells them."""

_MAIN_GUARD = re.compile(rb"^if __name__ == ['\"]__main__['\"]", re.MULTILINE)

_USUAL_ENTRIES = ("train.py", "main.py", "run.py")


def lines(conversion: Conversion, *, would: bool = False) -> list[str]:
    """The closing lines. ``would``: nothing was written."""
    result = conversion.result
    verb = "would change" if would else "changed"
    copied = f", {conversion.copied} copied as they are" if conversion.copied else ""
    said = [f"{count(len(conversion.changed), 'file')} {verb} of {result.scanned} scanned{copied}."]
    if conversion.edits_by_code:
        edits = ", ".join(f"{code} {number}" for code, number in conversion.edits_by_code.items())
        said.append(f"Edits by code: {edits}.")
    to_review = [finding for finding in conversion.applied if finding.fix and finding.fix.safety == "review"]
    said += _listed("made, but look at", to_review, conversion)
    left = [finding for finding in conversion.left if finding.level != "info"]
    left.sort(key=lambda finding: (-LEVELS.index(finding.level), finding.sort_key))
    said += _listed("left for a person", left, conversion)
    if left:
        said.append(f"What to do about each: ascend-migrate analyze {shlex.quote(result.prefix or '.')}")
    if result.failed:
        said.append(f"{count(result.failed, 'file')} could not be processed.")
    return said


def _listed(what: str, findings: Sequence[Finding], conversion: Conversion) -> list[str]:
    if not findings:
        return []
    said = [f"{count(len(findings), 'place')} {what}:"]
    said += [f"  {finding.level}: {line(conversion.result, finding)}" for finding in findings[:SHOWN]]
    if len(findings) > SHOWN:
        said.append(f"  and {len(findings) - SHOWN} more")
    return said


def next_command(place: Path, names: Sequence[str]) -> str:
    """The command that tries the result. ``names`` are the Python files in ``place``."""
    entry = entry_script(place, names)
    script = "YOUR_SCRIPT.py" if entry is None else entry
    path = place / script if str(place) != "." else Path(script)
    return f"ascend-migrate run --sim {shlex.quote(str(path))}"


def entry_script(place: Path, names: Sequence[str]) -> str | None:
    """The one script a user would start, among those at the top: the only one with a ``__main__`` guard, or
    the only one of those that has a usual name. None when that does not decide."""
    scripts = [name for name in names if "/" not in name and _is_script(place / name)]
    if len(scripts) == 1:
        return scripts[0]
    usual = [name for name in scripts if name in _USUAL_ENTRIES]
    return usual[0] if len(usual) == 1 else None


def _is_script(path: Path) -> bool:
    try:
        return _MAIN_GUARD.search(path.read_bytes()) is not None
    except OSError:
        return False
