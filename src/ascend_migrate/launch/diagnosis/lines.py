"""One line of a log: who wrote it, when, and what.

Launchers put the rank or the process before each line; torch_npu and CANN write theirs inside. A line without
either belongs to the file it is in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

_PREFIXES = (
    re.compile(r"\[(?:rank|default|Rank )(?P<rank>\d+)\]:? ?"),  # torch, torchrun --tee
    re.compile(r"\[\d+,(?P<rank>\d+)\]<std(?:out|err)>: ?"),  # mpirun --tag-output
    re.compile(r"(?:rank|worker-)(?P<rank>\d+): ?"),
    re.compile(r"\((?P<who>\w[\w ]*?) (?:rank=(?P<rank>\d+) )?pid=(?P<pid>\d+)(?:, ip=[\w.:]+)?\) ?"),  # Ray, vLLM
    re.compile(r"(?:ERROR|WARNING|INFO) \d\d-\d\d \d\d:\d\d:\d\d \[\w+\.py:\d+\] ?"),  # vLLM's logger
)

_OWN = re.compile(r"\(PID:(?P<pid>\d+), Device:-?\d+, RankID:(?P<rank>-?\d+)\)")
"""How torch_npu signs its errors."""

_TIMES = (
    re.compile(r"20\d\d-(\d\d)-(\d\d)[-T _](\d\d:\d\d:\d\d)(?:[.,:](\d+))?"),
    re.compile(r"\b[EWIF](\d{1,2})(\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?"),  # glog, as torch writes it
    re.compile(r"\b(\d\d)-(\d\d) (\d\d:\d\d:\d\d)\b()"),
)

_FILE_RANKS = (
    re.compile(r"(?:^|[/\\])(\d+)[/\\]std(?:out|err)\.log$"),  # torchrun --log-dir
    re.compile(r"rank[-_.]?(\d+)\b[^/\\]*$", re.IGNORECASE),
    re.compile(r"worker[-_.]?(\d+)\b[^/\\]*$", re.IGNORECASE),
)


@dataclass(frozen=True)
class Line:
    """``stream`` tells apart who wrote into the same file; ``time`` is ``MM-DD HH:MM:SS.ffffff``, which sorts."""

    text: str
    stream: str
    rank: int | None
    time: str | None


def parse(raw: str) -> Line:
    """Takes a line apart."""
    text = _COLOUR.sub("", raw) if "\x1b" in raw else raw
    stream = ""
    rank: int | None = None
    taken = True
    while taken and text[:1] in "[(rwEWI":
        taken = False
        for prefix in _PREFIXES:
            match = prefix.match(text)
            if match is not None:
                groups = match.groupdict()
                if groups.get("rank") is not None:
                    rank = int(groups["rank"])
                    stream = f"rank {rank}"
                elif groups.get("pid") is not None:
                    stream = f"{groups['who']} {groups['pid']}"
                text = text[match.end() :]
                taken = True
                break
    own = _OWN.search(text) if "RankID:" in text else None
    if own is not None and rank is None and int(own["rank"]) >= 0:
        rank = int(own["rank"])
    return Line(text, stream, rank, time_of(raw))


def time_of(text: str) -> str | None:
    """The time in a line, without the year, so that it can be compared."""
    for pattern in _TIMES:
        match = pattern.search(text)
        if match is not None:
            month, day, clock, fraction = match.groups()
            return f"{int(month):02}-{day} {clock}.{(fraction or '0').ljust(6, '0')[:6]}"
    return None


def rank_of_file(name: str) -> int | None:
    """The rank whose log a file is, by its name: torchrun's ``3/stderr.log``, ``train_rank3.log``."""
    path = str(PurePath(name))
    for pattern in _FILE_RANKS:
        match = pattern.search(path)
        if match is not None:
            return int(match[1])
    return None
