"""Reads logs line by line and keeps what explains a failure: codes, known messages, tracebacks, and who failed first.

Memory does not grow with the log: of each kind of incident the first place and a few figures are kept, and there is
a limit to the kinds. Files are read in blocks, and a block that holds nothing of interest is not taken apart.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import BinaryIO

from ascend_migrate.knowledge.error_codes import (
    Entry,
    Message,
    Role,
    Words,
    compose,
    error_codes,
    error_messages,
    error_names,
)
from ascend_migrate.launch.diagnosis.codes import hccl_result
from ascend_migrate.launch.diagnosis.lines import Line, parse, rank_of_file
from ascend_migrate.launch.diagnosis.report import Incident, LogReport, Place
from ascend_migrate.launch.diagnosis.tracebacks import Builder, Traceback
from ascend_migrate.launch.diagnosis.words import word

_BLOCK = 256 * 1024
_LONGEST_LINE = 4000
_MOST_INCIDENTS = 200
_MOST_STREAMS = 4096
_MOST_WHATS = 100
_MOST_DETAILS = 8
_EXCERPT = 300

_CODE = re.compile(
    r"(?:error code(?: is|:|=)?|errorCode|runtime result ?=|retcode|\bret(?: is|:|=)?|ErrCode)"
    r"[\s:=\[]*(?P<number>\d{6})\b"
    r"|\b(?P<torch_npu>ERR\d{5})\b"
    r"|(?:(?<![\w(])|(?<=\\n))(?P<cann>E[0-9A-LZ]\d{4})(?=: |:$| +(?:Inner Error|\S+ (?:failed|error)))"
    r"|\((?P<titled>E[0-9A-LZ]\d{4})\)"
    r"|\b(?P<name>(?:ACL|ACLNN)_ERR\w+|HCCL_E_\w+)\b",
)
_HCCL_RESULT = re.compile(r"HCCL function error.*error code is (\d{1,2})\b")
_ELASTIC_FIRST = "Root Cause (first observed failure)"
_ELASTIC_OTHERS = ("Failures:", "Other Failures:")
_ELASTIC_RANK = re.compile(r"\s*rank\s*: (\d+) \(local_rank: (\d+)\)")
_FIRST_RANK = re.compile(r"local rank (\d+) failed first|failed \(exitcode: -?\d+\) local_rank: (\d+)")

_NEEDLES = (
    *(
        "Traceback (most recent",
        "rror",
        "ERR",
        "ailed",
        "ailures:",
        "Root Cause",
        "No module named",
        "undefined symbol",
    ),
    *("has no attribute", "exitcode", "soc version", "SOC version", "onnection ", "imed out", "imeout", "not support"),
    *(" device", "memory", "DT_", ".so", "annot ", "/dev/", "vailable", "NCCL", "dcmi", "nable to", "flash_attn"),
)
"""One of them is in everything that is looked for, or else what is looked for is a needle itself."""

_CANN_IN_BYTES = re.compile(rb"\bE[0-9A-LZ]\d{4}[:) ]")
_RANKS_IN_BYTES = re.compile(rb"(?:^|\n)\[(?:rank|default)(\d+)\]:")

_GENERIC = re.compile(r"TraceBack|Possible Cause|Solution|Rectify the fault")
"""What CANN prints under each error, whatever it is."""

_LAUNCHER_EXCEPTIONS = frozenset({"ChildFailedError", "SignalException", "CalledProcessError"})
"""What a launcher raises when its script has failed: not the news."""

_INNER = re.compile(
    r"inner error|reported as above|NPU function error|HCCL function error|call \w+ failed", re.IGNORECASE
)


def explain_log(lines: Iterable[str] | Mapping[str, Iterable[str]], source: str = "log") -> LogReport:
    """Explains the lines of one log, or of several by name (``{"rank0.log": lines, ...}``)."""
    logs = lines if isinstance(lines, Mapping) else {source: lines}
    scanner = _Scanner()
    for name, text in logs.items():
        scanner.begin(name)
        for line in text:
            scanner.count_lines(1)
            scanner.take(line.rstrip("\n"))
        scanner.end()
    return scanner.report()


def explain_files(paths: Sequence[str]) -> LogReport:
    """Explains log files, ``-`` for standard input. Raises OSError for a file that cannot be read."""
    scanner = _Scanner()
    for path in paths:
        scanner.begin("<stdin>" if path == "-" else path)
        if path == "-":
            _read(sys.stdin.buffer, scanner)
        else:
            with Path(path).open("rb") as stream:
                _read(stream, scanner)
        scanner.end()
    return scanner.report()


def _read(stream: BinaryIO, scanner: _Scanner) -> None:
    rest = b""
    while True:
        block = stream.read(_BLOCK)
        if not block:
            break
        end = block.rfind(b"\n") + 1
        if end:
            scanner.take_block(rest + block[:end])
            rest = block[end:]
        else:
            # A progress bar writes megabytes without a line end; what it has overwritten is gone.
            rest = (rest + block).rpartition(b"\r")[2][-_BLOCK:]
    if rest:
        scanner.take_block(rest)


@dataclass
class _Stream:
    """What is known of one writer in one file."""

    rank: int | None = None
    time: str | None = None
    builder: Builder = field(default_factory=Builder)
    places: list[Place] = field(default_factory=list)
    detailed: Incident | None = None
    """The incident whose following indented lines belong to it."""
    elastic: str = ""
    """``first`` or ``others``: which part of the launcher's summary the lines belong to."""


class _Scanner:
    def __init__(self) -> None:
        self._incidents: dict[str, Incident] = {}
        self._left_out = 0
        self._lines = 0
        self._sources: list[str] = []
        self._ranks: set[int] = set()
        self._first_rank: int | None = None
        self._streams: dict[str, _Stream] = {}
        self._line = 0
        self._file_rank: int | None = None

    def begin(self, name: str) -> None:
        self._sources.append(name)
        self._file_rank = rank_of_file(name)
        if self._file_rank is not None:
            self._ranks.add(self._file_rank)
        self._streams = {}
        self._line = 0

    def end(self) -> None:
        for stream in self._streams.values():
            self._chain(stream.builder.finish(), stream)

    def count_lines(self, number: int) -> None:
        self._lines += number

    def take_block(self, block: bytes) -> None:
        """Many lines at once; they are looked at one by one only where something may be in them."""
        number = block.count(b"\n") + (not block.endswith(b"\n"))
        self.count_lines(number)
        if not self._busy() and not _interesting(block):
            if b"[rank" in block or b"[default" in block:
                self._ranks.update(int(rank) for rank in _RANKS_IN_BYTES.findall(block))
            self._line += number
            return
        lines = block.decode("utf-8", "replace").split("\n")
        for line in lines if lines[-1] else lines[:-1]:
            self.take(line)

    def take(self, raw: str) -> None:
        """One line, without its end."""
        self._line += 1
        raw = raw.rstrip("\r").rpartition("\r")[2]  # as a terminal shows it
        line = parse(raw[:_LONGEST_LINE])
        stream = self._stream(line)
        if line.time is not None:
            stream.time = line.time
        rank = line.rank if line.rank is not None else stream.rank
        place = Place(len(self._sources) - 1, self._sources[-1], self._line, rank, stream.time)
        before = stream.builder.raised
        chain, inside = stream.builder.feed(line.text)
        if chain:
            self._chain(chain, stream)
            before = 0
        if stream.builder.raised > before:
            stream.places.append(place)
        if inside:
            return
        self._launcher(line.text, stream)
        found = self._known(line.text, place, stream)
        if found is None and stream.detailed is not None:
            if line.text[:1].isspace() and line.text.strip():
                detail = line.text.strip()[:_EXCERPT]
                details = stream.detailed.details
                if len(details) < _MOST_DETAILS and detail not in details and not _GENERIC.match(detail):
                    details.append(detail)
            else:
                stream.detailed = None

    def report(self) -> LogReport:
        return LogReport(
            incidents=list(self._incidents.values()),
            left_out=self._left_out,
            lines=self._lines,
            sources=self._sources,
            ranks=self._ranks,
            first_rank=self._first_rank,
        )

    def _busy(self) -> bool:
        return any(s.builder.busy or s.elastic or s.detailed is not None for s in self._streams.values())

    def _stream(self, line: Line) -> _Stream:
        stream = self._streams.get(line.stream)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                self._streams.pop(next(iter(self._streams)))
            stream = self._streams[line.stream] = _Stream(rank=self._file_rank)
        if line.rank is not None:
            self._ranks.add(line.rank)
            if line.stream:  # else the file holds the lines of several ranks, not marked: only this one is known
                stream.rank = line.rank
        return stream

    def _launcher(self, text: str, stream: _Stream) -> None:
        """What torchrun says of the rank that failed first."""
        stripped = text.strip()
        if stripped.startswith(_ELASTIC_FIRST):
            stream.elastic = "first"
        elif stripped in _ELASTIC_OTHERS:
            stream.elastic = "others"
        elif stream.elastic and stripped.startswith("====="):
            stream.elastic = ""
        elif stream.elastic == "first":
            match = _ELASTIC_RANK.match(text)
            if match is not None:
                self._first_rank = int(match[1])
                self._ranks.add(self._first_rank)
        elif self._first_rank is None and "failed" in text:
            match = _FIRST_RANK.search(text)
            if match is not None:
                self._first_rank = int(match[1] or match[2])

    def _known(self, text: str, place: Place, stream: _Stream) -> Incident | None:
        """Records the codes and the message of a line."""
        if stream.elastic == "others":
            return None  # ended by the launcher because another rank had failed
        found: Incident | None = None
        for entry in _codes_in(text):
            found = self._record(entry, place, text)
            if entry.role == "wrapper" or entry.system in ("CANN", "HCCL"):
                stream.detailed = found
        message = _message_in(text)
        if message is not None:
            found = self._record(message[0], place, text, message[1])
        return found

    def _record(self, entry: Entry, place: Place, text: str, what: str | None = None) -> Incident | None:
        incident = self._incidents.get(entry.code)
        if incident is None:
            if len(self._incidents) >= _MOST_INCIDENTS:
                self._left_out += 1
                return None
            incident = self._incidents[entry.code] = Incident(entry, place, text.strip()[:_EXCERPT])
        incident.count += 1
        if place.rank is not None:
            incident.ranks.add(place.rank)
        if what is not None and (what in incident.whats or len(incident.whats) < _MOST_WHATS):
            incident.whats[what] = incident.whats.get(what, 0) + 1
        return incident

    def _chain(self, chain: list[Traceback], stream: _Stream) -> None:
        """A traceback, or several of which one led to the next, has ended."""
        places, stream.places = stream.places[: len(chain)], stream.places[len(chain) :]
        if not chain or len(places) < len(chain):
            return
        if all(raised.type in _LAUNCHER_EXCEPTIONS for raised in chain):
            return
        known = [(raised, place, self._entry_of(raised)) for raised, place in zip(chain, places)]
        # The first of a chain led to the others, unless a later one is the one that is understood.
        raised, place, entry = next((step for step in known if step[2] is not None), known[0])
        if entry is not None:
            incident = self._incidents.get(entry.code)
            if incident is not None and incident.traceback is None:
                incident.traceback = raised
            return
        role: Role = "wrapper" if _INNER.search(raised.message) else "cause"
        if raised.type in ("KeyboardInterrupt", "SystemExit"):
            role = "note"
        incident = self._record(_exception_entry(raised, role), place, raised.summary)
        if incident is not None:
            incident.traceback = incident.traceback or raised

    def _entry_of(self, raised: Traceback) -> Entry | None:
        text = raised.summary
        codes = [entry for entry in _codes_in(text) if entry.role != "wrapper"]
        if codes:
            return codes[0]
        message = _message_in(text)
        return message[0] if message is not None else None


def _exception_entry(raised: Traceback, role: Role) -> Entry:
    """An exception that has no entry of its own is explained by where it was raised."""
    frame = raised.project or raised.last
    words = {}
    for language in ("en", "zh"):
        where: tuple[str, ...] = ()
        if frame is not None:
            values = {"file": frame.file, "line": frame.line, "function": frame.function, "code": frame.code}
            where = (word("exception check", language, **values),)
        words[language] = Words(
            word("exception", language, type=raised.type),
            (word("exception causes", language),),
            where,
            (word("exception do", language),),
        )
    signature = re.sub(r"\d+", "0", raised.summary)[:120]
    return Entry(f"{raised.type} {signature}", "exception", role, words["en"], words["zh"], names=(raised.type,))


def _codes_in(text: str) -> Iterator[Entry]:
    if not _may_hold_code(text):
        return
    seen = set()
    for match in _CODE.finditer(text):
        code = match["number"] or match["torch_npu"] or match["cann"] or match["titled"] or match["name"]
        entry = error_codes().get(code) or error_names().get(code) or compose(code)
        if entry is not None and entry.code not in seen:
            seen.add(entry.code)
            yield entry
    result = _HCCL_RESULT.search(text)
    if result is not None:
        entry = hccl_result(int(result[1]))
        if entry is not None and entry.code not in seen:
            yield entry


def _may_hold_code(text: str) -> bool:
    """Cheap: most lines hold neither a digit behind an E nor the word error."""
    return "E" in text or "error" in text or "ret" in text


@cache
def _needles() -> tuple[tuple[str, tuple[tuple[int, Message], ...]], ...]:
    """Short pieces of text, and the messages (with their place in the order) that a line with one of them may be.

    Most lines hold none, and few hold more than one: that is cheaper than to try all the messages.
    """
    by_needle: dict[str, dict[int, Message]] = {needle: {} for needle in _NEEDLES}
    for number, message in enumerate(error_messages()):
        for text in message.text:
            needle = next((needle for needle in _NEEDLES if needle in text), text)
            by_needle.setdefault(needle, {})[number] = message
    return tuple((needle, tuple(messages.items())) for needle, messages in by_needle.items())


@cache
def _needles_in_bytes() -> tuple[bytes, ...]:
    return tuple(needle.encode() for needle, _ in _needles())


def _interesting(block: bytes) -> bool:
    return any(needle in block for needle in _needles_in_bytes()) or _CANN_IN_BYTES.search(block) is not None


def _message_in(text: str) -> tuple[Entry, str | None] | None:
    """The first message that fits, and what it names."""
    candidates = dict(pair for needle, messages in _needles() if needle in text for pair in messages)
    for number in sorted(candidates):
        matches, what = candidates[number].match(text)
        if matches:
            return candidates[number].entry, what
    return None
