"""How far a project is from running on the NPU: a figure that counts places, not lines.

A *site* is a place in the source at which the code touches the device, that is a place with a finding that is
more than information. Its worst finding decides what the site needs:

``automatic``
    a conversion rewrites it, and the meaning is known to be kept
``review``
    a conversion rewrites it and a person should look at the result, or it runs on the NPU as it stands but differs
    (a warning)
``work``
    it fails on the NPU and no conversion repairs it

*Readiness* is the share of automatic sites, rounded down, so that 100 % means all of them. The findings that make a
site ``work`` block a first run. ``docs/readiness.md`` says the same for users.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ascend_migrate.language import Text, say
from ascend_migrate.model import Finding

Need = Literal["automatic", "review", "work"]
NEEDS: tuple[Need, ...] = ("automatic", "review", "work")
"""From nothing to do to something to write."""

NOT_A_SITE = frozenset({"NPU160"})
"""``import torch_npu``, which a conversion adds once per file, belongs to the sites in that file."""

MOST_MODULES = 30
"""Directories told apart; in a larger project those deep down count with the one above them."""


@dataclass(frozen=True)
class Readiness:
    """The sites of a project or of a part of it, and the findings that block a first run."""

    automatic: int
    review: int
    work: int
    blocking: tuple[Finding, ...]

    @property
    def sites(self) -> int:
        return self.automatic + self.review + self.work

    @property
    def percent(self) -> int:
        """The share of automatic sites, rounded down; 100 where there is no site."""
        return 100 * self.automatic // self.sites if self.sites else 100

    @cached_property
    def blocking_by_code(self) -> dict[str, int]:
        """Blocking findings per code, sorted by code."""
        return dict(sorted(Counter(finding.code for finding in self.blocking).items()))

    def to_json(self) -> dict[str, Any]:
        """The public JSON form, ``summary.readiness`` of a report."""
        return {
            "percent": self.percent,
            "sites": self.sites,
            "automatic": self.automatic,
            "review": self.review,
            "work": self.work,
            "blocking": self.blocking_by_code,
        }

    @property
    def sentence(self) -> Text:
        """The figure in a sentence."""
        if not self.sites:
            return say("Readiness 100 %: nothing touches the device in a way that must change.")
        return say(
            "Readiness {percent} %: of {sites} sites {automatic} convert automatically, {review} want a review, "
            "{work} need work.",
            percent=self.percent,
            sites=self.sites,
            automatic=self.automatic,
            review=self.review,
            work=self.work,
        )


def need(finding: Finding) -> Need | None:
    """What one finding asks for; None when it asks for nothing."""
    if finding.code in NOT_A_SITE:
        return None
    if finding.fix is not None:
        return "automatic" if finding.fix.safety == "safe" else "review"
    if finding.level == "info":
        return None
    return "work" if finding.level == "error" else "review"


def of(findings: Iterable[Finding]) -> Readiness:
    """The readiness of the code that gave these findings."""
    sites: dict[tuple[str, int, int], int] = {}
    blocking = []
    for finding in findings:
        wanted = need(finding)
        if wanted is None:
            continue
        site = (finding.path, finding.span.line, finding.span.column)
        sites[site] = max(sites.get(site, 0), NEEDS.index(wanted))
        if wanted == "work":
            blocking.append(finding)
    counts = Counter(sites.values())
    return Readiness(counts[0], counts[1], counts[2], tuple(blocking))


def by_module(findings: Iterable[Finding]) -> dict[str, Readiness]:
    """Directory (``.`` for the top) -> its readiness, in order of the names; directories without a site are left
    out."""
    wanted = [finding for finding in findings if need(finding) is not None]
    parts = max((finding.path.count("/") for finding in wanted), default=0)
    while parts > 1 and len({_directory(finding.path, parts) for finding in wanted}) > MOST_MODULES:
        parts -= 1
    return {name: of(group) for name, group in _grouped(wanted, lambda finding: _directory(finding.path, parts))}


def _directory(path: str, parts: int) -> str:
    return "/".join(path.split("/")[:-1][:parts]) or "."


def _grouped(findings: Iterable[Finding], key: Callable[[Finding], str]) -> list[tuple[str, list[Finding]]]:
    groups: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[key(finding)].append(finding)
    return sorted(groups.items())
