"""SARIF 2.1.0, which code hosts and editors read.

Rules carry their page, so that a viewer can show why and what to do. Results carry fingerprints that outlive moved
lines, and their fixes where the source is still as it was read. Source of the form: the OASIS standard
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from ascend_migrate import __version__
from ascend_migrate.engine.baseline import fingerprint
from ascend_migrate.language import in_language, say
from ascend_migrate.model import FileError, Finding
from ascend_migrate.report.result import ProjectResult
from ascend_migrate.report.sources import Sources, printable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "SRCROOT"


def render(result: ProjectResult) -> str:
    """The document as indented JSON."""
    return json.dumps(document(result), indent=2) + "\n"


def document(result: ProjectResult) -> dict[str, Any]:
    """The document as plain values."""
    codes = list(result.by_code)
    sources = Sources(result)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "ascend-migrate",
                "semanticVersion": __version__,
                "rules": _rules(result, codes),
            }
        },
        "columnKind": "unicodeCodePoints",
        "language": "zh-CN" if result.language == "zh" else "en-US",
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The directory in which ascend-migrate was started."}},
        },
        "invocations": [
            {
                "executionSuccessful": not result.errors,
                "toolExecutionNotifications": [_notification(result, error) for error in result.errors],
            }
        ],
        "properties": {
            "target": {
                "soc": result.target.soc,
                "torch": result.target.torch,
                "torch_npu": result.target.torch_npu,
            },
            "readiness": result.readiness.to_json(),
        },
        "results": [
            _result(result, finding, codes.index(finding.code), sources.lines(finding.path))
            for finding in result.findings
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules(result: ProjectResult, codes: Sequence[str]) -> list[dict[str, Any]]:
    if not codes:
        return []
    from ascend_migrate.report.pages import rule_page, rule_summary
    from ascend_migrate.rules import all_rules

    rules = {rule.code: rule for rule in all_rules()}
    described: list[dict[str, Any]] = []
    for code in codes:
        entry: dict[str, Any] = {"id": code}
        rule = rules.get(code)
        if rule is not None:
            page = rule_page(rule, result.language)
            entry.update(
                name="".join(word.capitalize() for word in rule.name.split("-")),
                shortDescription={"text": rule_summary(rule, result.language)},
                help={"text": page, "markdown": page},
                defaultConfiguration={"level": _LEVELS[rule.level]},
            )
        described.append(entry)
    return described


def _result(result: ProjectResult, finding: Finding, rule: int, lines: Sequence[str]) -> dict[str, Any]:
    message = f"{finding.message}\n{finding.help}" if finding.help else finding.message
    span = finding.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    place = _artifact(result, finding.path)
    entry: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.level],
        "message": {"text": printable(message)},
        "locations": [{"physicalLocation": {"artifactLocation": place, "region": region}}],
        "partialFingerprints": {"codeAndLine/v1": fingerprint(finding, lines)},
    }
    change = _replacement(finding, lines)
    if change is not None:
        entry["fixes"] = [
            {
                "description": {"text": in_language(say("What ascend-migrate convert writes."), result.language)},
                "artifactChanges": [{"artifactLocation": place, "replacements": [change]}],
            }
        ]
    if finding.fix is not None:
        entry["properties"] = {"fix": finding.fix.safety}
    return entry


def _replacement(finding: Finding, lines: Sequence[str]) -> dict[str, Any] | None:
    """The fix as whole lines, where the lines that it changes are found at the finding."""
    fix = finding.fix
    if fix is None or not fix.before:
        return None
    before = fix.before.splitlines()
    starts = [
        start
        for start in range(finding.span.line - len(before), finding.span.end_line)
        if start >= 0 and list(lines[start : start + len(before)]) == before
    ]
    if len(starts) != 1:
        return None
    first, last = starts[0], starts[0] + len(before) - 1
    deleted = {"startLine": first + 1, "startColumn": 1, "endLine": last + 1, "endColumn": len(lines[last]) + 1}
    return {"deletedRegion": deleted, "insertedContent": {"text": fix.after}}


def _notification(result: ProjectResult, error: FileError) -> dict[str, Any]:
    place = {
        "artifactLocation": _artifact(result, error.path),
        "region": {"startLine": max(1, error.line)},
    }
    return {
        "level": "error",
        "message": {"text": printable(error.message)},
        "locations": [{"physicalLocation": place}],
    }


def _artifact(result: ProjectResult, path: str) -> dict[str, Any]:
    shown = PurePath(result.shown(path))
    if shown.is_absolute():
        return {"uri": Path(shown).as_uri()}
    return {"uri": quote(shown.as_posix().encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}
