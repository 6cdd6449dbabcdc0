"""What a conversion says at its end, and the command to type next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ascend_migrate.convert.session import Conversion
from ascend_migrate.language import in_language, say
from ascend_migrate.model import LEVELS, Finding
from ascend_migrate.report.text import LEVEL_NAMES, count, line

SHOWN = 10
"""Findings listed at the end. The rest are in the report of `--report`, and `analyze` tells them."""

_STARTS = re.compile(rb"^(?:if __name__ == ['\"]__main__['\"]|\w+ = \w+\.parse_args\()", re.MULTILINE)
"""What a script has and a module has not: the guard, or command-line options read when it is loaded."""

_USUAL_ENTRIES = ("train.py", "main.py", "run.py")


def lines(conversion: Conversion, *, would: bool = False) -> list[str]:
    """The closing lines. ``would``: nothing was written."""
    result = conversion.result
    copied = say(", {number} copied as they are", number=conversion.copied) if conversion.copied else ""
    files = count(len(conversion.changed), "file")
    said: list[str] = [
        say("{files} would change of {scanned} scanned{copied}.", files=files, scanned=result.scanned, copied=copied)
        if would
        else say("{files} changed of {scanned} scanned{copied}.", files=files, scanned=result.scanned, copied=copied)
    ]
    if conversion.edits_by_code:
        edits = ", ".join(f"{code} {number}" for code, number in conversion.edits_by_code.items())
        said.append(say("Edits by code: {edits}.", edits=edits))
    to_review = [finding for finding in conversion.applied if finding.fix and finding.fix.safety == "review"]
    if to_review:
        said.append(say("{places} made, but look at:", places=count(len(to_review), "place")))
        said += _listed(to_review, conversion)
    left = [finding for finding in conversion.left if finding.level != "info"]
    left.sort(key=lambda finding: (-LEVELS.index(finding.level), finding.sort_key))
    if left:
        said.append(say("{places} left for a person:", places=count(len(left), "place")))
        said += _listed(left, conversion)
        place = shlex.quote(result.prefix or ".")
        said.append(say("What to do about each: ascend-migrate analyze {place}", place=place))
    if result.failed:
        said.append(say("{files} could not be processed.", files=count(result.failed, "file")))
    return [in_language(text, result.language) for text in said]


def _listed(findings: Sequence[Finding], conversion: Conversion) -> Iterator[str]:
    for finding in findings[:SHOWN]:
        level = in_language(LEVEL_NAMES[finding.level], conversion.result.language)
        yield f"  {level}: {line(conversion.result, finding)}"
    if len(findings) > SHOWN:
        yield say("  and {number} more", number=len(findings) - SHOWN)


def next_command(place: Path, names: Sequence[str]) -> str:
    """The command that tries the result. ``names`` are the Python files in ``place``."""
    entry = entry_script(place, names)
    script = "YOUR_SCRIPT.py" if entry is None else entry
    path = place / script if str(place) != "." else Path(script)
    return f"ascend-migrate run --sim {shlex.quote(str(path))}"


def entry_script(place: Path, names: Sequence[str]) -> str | None:
    """The one script a user would start, among those nearest to the top: the only one that starts something, or
    the only one of those that has a usual name. None when that does not decide."""
    scripts = [name for name in names if name in _USUAL_ENTRIES or _is_script(place / name)]
    depth = min((name.count("/") for name in scripts), default=0)
    nearest = [name for name in scripts if name.count("/") == depth]
    if len(nearest) == 1:
        return nearest[0]
    usual = [name for name in nearest if name.rpartition("/")[2] in _USUAL_ENTRIES]
    return usual[0] if len(usual) == 1 else None


def _is_script(path: Path) -> bool:
    try:
        return _STARTS.search(path.read_bytes()) is not None
    except OSError:
        return False
