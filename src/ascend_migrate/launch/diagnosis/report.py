"""What a log told: causes first, what follows from them after, and what says nothing by itself last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_migrate.knowledge.error_codes import Entry, Role
from ascend_migrate.launch.diagnosis.tracebacks import Traceback
from ascend_migrate.launch.diagnosis.words import word

_SHOWN = 5
"""So many causes are explained in full."""


@dataclass(frozen=True)
class Place:
    """Where in the logs something was first said."""

    file: int
    source: str
    line: int
    rank: int | None
    time: str | None


@dataclass
class Incident:
    """One kind of error in the logs, however often it occurs."""

    entry: Entry
    first: Place
    excerpt: str
    """The first line that said so."""
    count: int = 0
    ranks: set[int] = field(default_factory=set)
    whats: dict[str, int] = field(default_factory=dict)
    """Operators, ports or modules that were named, and how often."""
    details: list[str] = field(default_factory=list)
    """Lines that stood under it."""
    traceback: Traceback | None = None

    @property
    def role(self) -> Role:
        return self.entry.role

    @property
    def title(self) -> str:
        """``107002 ACL_ERROR_RT_CONTEXT_NULL``, ``port-in-use``, ``ValueError``."""
        if self.entry.system == "exception":
            return self.entry.names[0]
        return " ".join((self.entry.code, *self.entry.names[:1]))

    def to_json(self, language: str = "en") -> dict[str, Any]:
        words = self.entry.words(language)
        raised = self.traceback
        frame = None if raised is None else raised.project or raised.last
        return {
            "code": self.entry.names[0] if self.entry.system == "exception" else self.entry.code,
            "names": list(self.entry.names),
            "system": self.entry.system,
            "role": self.role,
            "meaning": words.meaning,
            "causes": list(words.causes),
            "check": list(words.check),
            "do": list(words.do),
            "count": self.count,
            "ranks": sorted(self.ranks),
            "first": {
                "source": self.first.source,
                "line": self.first.line,
                "rank": self.first.rank,
                "time": self.first.time,
            },
            "excerpt": self.excerpt,
            "named": dict(self.whats),
            "details": list(self.details),
            "traceback": None
            if raised is None
            else {
                "exception": raised.summary,
                "file": frame.file if frame else None,
                "line": frame.line if frame else None,
                "function": frame.function if frame else None,
                "code": frame.code if frame else None,
            },
        }


@dataclass
class LogReport:
    """What logs told. The four properties give the incidents by their part, the first one first."""

    incidents: list[Incident]
    left_out: int
    """Incidents beyond the limit of kinds."""
    lines: int
    sources: list[str]
    ranks: set[int]
    """All ranks that wrote a line."""
    first_rank: int | None
    """The rank that the launcher says failed first, where it says so."""

    @property
    def causes(self) -> list[Incident]:
        """What may have made the run fail. Those of the rank that failed first come first."""
        return self._with_role("cause")

    @property
    def consequences(self) -> list[Incident]:
        """What failed because something else had."""
        return self._with_role("consequence")

    @property
    def wrappers(self) -> list[Incident]:
        """What says only that something failed."""
        return self._with_role("wrapper")

    @property
    def notes(self) -> list[Incident]:
        """What did not make the run fail."""
        return self._with_role("note")

    @property
    def failed_first(self) -> int | None:
        """The rank to look at."""
        if self.first_rank is not None:
            return self.first_rank
        return self.causes[0].first.rank if self.causes else None

    @property
    def silent_ranks(self) -> list[int]:
        """Ranks that wrote lines but no error, when others report only consequences: the suspects."""
        if self.causes or not self.consequences:
            return []
        failed = {rank for incident in self.incidents if incident.role != "note" for rank in incident.ranks}
        return sorted(self.ranks - failed)

    def _with_role(self, role: Role) -> list[Incident]:
        chosen = [incident for incident in self.incidents if incident.role == role]
        timed = all(incident.first.time is not None for incident in chosen)

        def key(incident: Incident) -> tuple[bool, str, int, int]:
            first = incident.first
            other_rank = self.first_rank is not None and self.first_rank not in incident.ranks and bool(incident.ranks)
            # Within one file the order of the lines is the order of time.
            time = first.time if timed and first.time is not None and len(self.sources) > 1 else ""
            return other_rank, time, first.file, first.line

        return sorted(chosen, key=key)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """The public form (schema 1)."""
        return {
            "schema": 1,
            "lines": self.lines,
            "sources": list(self.sources),
            "ranks": sorted(self.ranks),
            "failed_first": self.failed_first,
            "silent_ranks": self.silent_ranks,
            "causes": [incident.to_json(language) for incident in self.causes],
            "consequences": [incident.to_json(language) for incident in self.consequences],
            "wrappers": [incident.to_json(language) for incident in self.wrappers],
            "notes": [incident.to_json(language) for incident in self.notes],
            "left_out": self.left_out,
        }

    def to_text(self, language: str = "en") -> str:
        """For people: the causes in full, the rest in a line each. When nothing names a cause, what there is is
        explained in full."""
        if not self.incidents:
            return word("nothing", language, lines=self.lines) + "\n"
        causes, consequences, wrappers = self.causes, self.consequences, self.wrappers
        blocks: list[str] = []
        if self.failed_first is not None:
            blocks.append(word("first failure", language, who=word("rank", language, rank=self.failed_first)))
        for index, incident in enumerate(causes[:_SHOWN]):
            blocks.append(_in_full(word("cause" if index == 0 else "other causes", language), incident, language))
        blocks += _in_short([], causes[_SHOWN:], language)
        if not causes and consequences:
            if self.silent_ranks:
                blocks.append(word("silent", language, ranks=_ranges(self.silent_ranks)))
            blocks.append(_in_full(word("only consequences", language), consequences[0], language))
            consequences = consequences[1:]
        elif not causes and wrappers:
            blocks.append(_in_full(word("wrappers", language), wrappers[0], language))
            wrappers = wrappers[1:]
        blocks += _in_short([word("consequences", language)], consequences, language)
        blocks += _in_short([word("wrappers", language)], wrappers, language)
        for incident in self.notes:
            blocks.append(_in_full(word("notes", language), incident, language))
        return "\n\n".join(blocks) + "\n"


def _in_full(heading: str, incident: Incident, language: str) -> str:
    words = incident.entry.words(language)
    lines = [f"{heading}: {incident.title}{_seen(incident, language)}", f"  {words.meaning}"]
    lines.append(f"  > {incident.excerpt}")
    lines += [f"    {detail}" for detail in incident.details]
    raised = incident.traceback
    if raised is not None:
        if raised.summary not in incident.excerpt:
            lines.append(f"  > {raised.summary}")
        frame = raised.project or raised.last
        if frame is not None:
            lines.append(f'    File "{frame.file}", line {frame.line}, in {frame.function}')
            if frame.code:
                lines.append(f"      {frame.code}")
    if incident.whats:
        named = sorted(incident.whats.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"  - {what}" + (f" ({count})" if count > 1 else "") for what, count in named]
    for key, points in (("causes", words.causes), ("check", words.check), ("do", words.do)):
        if points:
            lines.append(f"  {word(key, language)}:")
            lines += [f"    - {point}" for point in points]
    return "\n".join(lines)


def _in_short(heading: list[str], incidents: Sequence[Incident], language: str) -> list[str]:
    if not incidents:
        return []
    lines = [f"{heading[0]}:"] if heading else []
    for incident in incidents:
        meaning = incident.entry.words(language).meaning
        lines.append(f"  {incident.title}{_seen(incident, language)}: {meaning}")
        lines += [f"      {detail}" for detail in incident.details[:3]]
    return ["\n".join(lines)]


def _seen(incident: Incident, language: str) -> str:
    parts = []
    if incident.ranks:
        key = "rank" if len(incident.ranks) == 1 else "ranks"
        parts.append(word(key, language, rank=_ranges(incident.ranks), ranks=_ranges(incident.ranks)))
    parts.append(word("at", language, source=incident.first.source, line=incident.first.line))
    if incident.count > 1:
        parts.append(word("times", language, count=incident.count))
    return f" ({', '.join(parts)})"


def _ranges(numbers: Iterable[int]) -> str:
    """``0-2, 5``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
