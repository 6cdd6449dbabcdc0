"""What an analysis gave, counted. The one input of every report format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ascend_migrate.model import LEVELS, FileError, FileReport, Finding, Target
from ascend_migrate.report import readiness
from ascend_migrate.report.readiness import Readiness


@dataclass(frozen=True)
class ProjectResult:
    """The findings and failures of a run, sorted by place.

    ``scanned`` counts the files looked at; ``prefix`` put before the path of a finding gives a path that
    opens from the working directory. ``language`` is that of the messages, and of what a report says around them.
    ``known`` counts the findings left out because a baseline holds them.
    """

    target: Target
    scanned: int
    findings: tuple[Finding, ...]
    errors: tuple[FileError, ...]
    prefix: str = ""
    language: str = "en"
    known: int = 0

    @staticmethod
    def of(
        target: Target,
        reports: Iterable[FileReport],
        *,
        errors: Iterable[FileError] = (),
        prefix: str = "",
        language: str = "en",
    ) -> ProjectResult:
        """Join the reports of the files with the errors met while looking for files."""
        findings: list[Finding] = []
        failures = list(errors)
        scanned = 0
        for report in reports:
            scanned += 1
            findings += report.findings
            failures += report.errors
        findings.sort(key=lambda finding: finding.sort_key)
        failures.sort(key=lambda error: (error.path, error.line, error.message))
        return ProjectResult(target, scanned, tuple(findings), tuple(failures), prefix, language)

    @cached_property
    def with_findings(self) -> int:
        """The number of files that have a finding."""
        return len({finding.path for finding in self.findings})

    @cached_property
    def failed(self) -> int:
        """The number of files with a failure."""
        return len({error.path for error in self.errors})

    @cached_property
    def by_code(self) -> dict[str, int]:
        """Findings per code, sorted by code."""
        return dict(sorted(Counter(finding.code for finding in self.findings).items()))

    @cached_property
    def by_level(self) -> dict[str, int]:
        """Findings per level, the worst first; every level is there."""
        counts = Counter(finding.level for finding in self.findings)
        return {level: counts[level] for level in reversed(LEVELS)}

    @cached_property
    def fixable(self) -> int:
        """The number of findings that a conversion fixes."""
        return sum(finding.fix is not None for finding in self.findings)

    @cached_property
    def readiness(self) -> Readiness:
        """How far the project is from running on the NPU."""
        return readiness.of(self.findings)

    def shown(self, path: str) -> str:
        """A path of the result as it opens from the working directory."""
        return f"{self.prefix.rstrip('/')}/{path}" if self.prefix else path
