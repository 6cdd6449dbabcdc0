"""Annotations for GitHub Actions: printed by a workflow step, they stand at their lines in the pull request.

Source of the form: GitHub's documentation of workflow commands (``::error file=...,line=...::message``).
"""

from __future__ import annotations

from ascend_migrate.model import Finding
from ascend_migrate.report.result import ProjectResult

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(result: ProjectResult) -> str:
    """One command a finding, and one a file that could not be processed."""
    lines = [_annotation(result, finding) for finding in result.findings]
    lines += [
        _command("error", {"file": result.shown(error.path), "line": error.line}, error.message)
        for error in result.errors
    ]
    return "".join(f"{line}\n" for line in lines)


def _annotation(result: ProjectResult, finding: Finding) -> str:
    span = finding.span
    properties: dict[str, object] = {
        "file": result.shown(finding.path),
        "line": span.line,
        "endLine": span.end_line,
        "title": f"ascend-migrate {finding.code}",
    }
    if span.line == span.end_line:  # GitHub takes columns only within one line
        properties.update(col=span.column, endColumn=span.end_column)
    message = f"{finding.message}\n{finding.help}" if finding.help else finding.message
    return _command(_COMMANDS[finding.level], properties, message)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
