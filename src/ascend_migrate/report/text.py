"""The plain text form: one line a finding, ``path:line:col CODE message``, for people, ``grep`` and
editors."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_migrate.language import Text, in_language, say
from ascend_migrate.model import Finding, Level
from ascend_migrate.report.result import ProjectResult

LEVEL_NAMES: Mapping[Level, Text] = {"error": say("error"), "warning": say("warning"), "info": say("info")}


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
    files = count(result.scanned, "file")
    said: list[Text] = []
    if result.findings:
        levels = ", ".join(
            in_language(count(number, level), result.language) for level, number in result.by_level.items() if number
        )
        said.append(
            say(
                "{findings} ({levels}) in {places}; {files} scanned.",
                findings=count(len(result.findings), "finding"),
                levels=levels,
                places=count(result.with_findings, "file"),
                files=files,
            )
        )
        codes = ", ".join(f"{code} {number}" for code, number in result.by_code.items())
        said.append(say("By code: {codes}.", codes=codes))
        said.append(result.readiness.sentence)
        if result.fixable:
            said.append(
                say(
                    "A conversion fixes {fixable} of {findings}: ascend-migrate convert",
                    fixable=result.fixable,
                    findings=len(result.findings),
                )
            )
    else:
        said.append(say("Nothing to migrate; {files} scanned.", files=files))
    if result.known:
        said.append(say("{findings} of the baseline not shown.", findings=count(result.known, "finding")))
    if result.failed:
        said.append(say("{files} could not be processed.", files=count(result.failed, "file")))
    return [in_language(text, result.language) for text in said]


def count(number: int, noun: str) -> Text:
    """``1 file``, ``2 files``: a number with one of the nouns of :data:`NOUNS`."""
    one, many = NOUNS[noun]
    return say(one if number == 1 else many, number=number)


NOUNS = {
    "file": ("{number} file", "{number} files"),
    "finding": ("{number} finding", "{number} findings"),
    "place": ("{number} place", "{number} places"),
    "error": ("{number} error", "{number} errors"),
    "warning": ("{number} warning", "{number} warnings"),
    "info": ("{number} info", "{number} info"),
}
"""Templates for one and for many."""
