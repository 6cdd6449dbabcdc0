"""The table that ``npu-smi info`` prints, whatever its version.

A card takes two rows. The headings tell the layouts apart: ``Chip`` alone (one chip a card: 910, 910B), ``Chip
Phy-ID`` (two chips a card, A3), ``Chip Device`` (two chips a card, 310P Duo); with a column for HBM, or only one for
memory (310P). A second table lists the processes; newer versions add the process's number in its container.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERSION = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)")
_USED = re.compile(r"(\d+|NA|-)\s*/\s*(\d+|NA|-)")
_FAILED = re.compile(r"ret is (-\d+)")


@dataclass(frozen=True)
class Chip:
    """One chip as PyTorch counts them: ``npu:0`` is the first. Memory in MB; None where it is not shown."""

    card: int
    chip: int
    name: str
    health: str
    bus: str
    used: int | None
    total: int | None


@dataclass(frozen=True)
class Process:
    """A process that uses a chip. Memory in MB."""

    card: int
    chip: int
    pid: int
    name: str
    memory: int | None


@dataclass(frozen=True)
class NpuSmi:
    """The whole answer. ``failure`` is the number behind ``ret is``, when the driver could not be reached."""

    version: str | None
    chips: tuple[Chip, ...]
    processes: tuple[Process, ...]
    failure: str | None = None
    physical_ids: bool = False
    """Whether the table has the column Phy-ID (A3)."""


def parse(text: str) -> NpuSmi:
    """Reads what ``npu-smi info`` printed. Lines that are not understood are left out."""
    chips: list[Chip] = []
    processes: list[Process] = []
    part = ""
    columns: list[str] = []
    first: list[str] | None = None
    hbm = False
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        words = cells[0].split()
        if words[:1] == ["NPU"] and len(cells) >= 3:
            part = "processes" if "Process" in cells[1] else "chips"
            first = None
        elif words[:1] == ["Chip"]:
            columns = words
            hbm = "HBM" in cells[-1]
        elif part == "chips" and len(cells) == 3:
            if first is None:
                first = cells
                continue
            chip = _chip(first, cells, hbm)
            if chip is not None:
                chips.append(chip)
            first = None
        elif part == "processes" and len(cells) >= 4:
            process = _process(cells)
            if process is not None:
                processes.append(process)
    version = _VERSION.search(text)
    failed = _FAILED.search(text)
    return NpuSmi(
        version[2] if version else None,
        tuple(chips),
        tuple(processes),
        failed[1] if failed else None,
        "Phy-ID" in columns,
    )


def _chip(first: list[str], second: list[str], hbm: bool) -> Chip | None:
    number, _, name = first[0].partition(" ")
    chip = second[0].split()
    if not number.isdigit() or not chip or not chip[0].isdigit():
        return None
    pairs = _USED.findall(second[2])
    # With an HBM column it is the last pair; where a chip has no HBM (310P in the common layout) it may be 0 / 0.
    used, total = next((pair for pair in reversed(pairs) if pair[1] not in ("0", "NA", "-")), ("NA", "NA"))
    if not hbm and pairs:
        used, total = pairs[-1]
    return Chip(
        int(number),
        int(chip[0]),
        name.strip(),
        first[1],
        second[1],
        int(used) if used.isdigit() else None,
        int(total) if total.isdigit() else None,
    )


def _process(cells: list[str]) -> Process | None:
    where = cells[0].split()
    if len(where) < 2 or not all(word.isdigit() for word in where[:2]) or not cells[1].isdigit():
        return None
    memory = int(cells[3]) if cells[3].isdigit() else None
    return Process(int(where[0]), int(where[1]), int(cells[1]), cells[2], memory)
