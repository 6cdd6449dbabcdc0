"""The plain text form: one line a finding, ``path:line:col CODE message``, for people, ``grep`` and
editors."""

from __future__ import annotations

from ascend_migrate.model import Finding
from ascend_migrate.report.result import ProjectResult


def render(result: ProjectResult) -> str:
    """One line for each finding."""
    return "".join(f"{line(result, finding)}\n" for finding in result.findings)


def place(result: ProjectResult, finding: Finding) -> str:
    """``path:line:col``, the path as it opens from the working directory."""
    return f"{result.shown(finding.path)}:{finding.span.line}:{finding.span.column}"


def line(result: ProjectResult, finding: Finding) -> str:
    """The line of one finding; a message of several lines is joined to one."""
    return f"{place(result, finding)} {finding.code} {' '.join(finding.message.split())}"


def summary(result: ProjectResult) -> list[str]:
    """The closing lines: how much was looked at, what was found, and what a conversion fixes."""
    scanned = f"{count(result.scanned, 'file')} scanned"
    lines = []
    if result.findings:
        levels = ", ".join(
            count(number, level) if level != "info" else f"{number} info"
            for level, number in result.by_level.items()
            if number
        )
        found = f"{count(len(result.findings), 'finding')} ({levels})"
        lines.append(f"{found} in {count(result.with_findings, 'file')}; {scanned}.")
        lines.append("By code: " + ", ".join(f"{code} {number}" for code, number in result.by_code.items()) + ".")
        if result.fixable:
            lines.append(f"A conversion fixes {result.fixable} of {len(result.findings)}: ascend-migrate convert")
    else:
        lines.append(f"Nothing to migrate; {scanned}.")
    if result.failed:
        lines.append(f"{count(result.failed, 'file')} could not be processed.")
    return lines


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
