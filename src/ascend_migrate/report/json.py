"""The JSON form, schema 1. Pure ASCII, so names that are not UTF-8 survive as escaped surrogates."""

from __future__ import annotations

import json
from typing import Any

from ascend_migrate import __version__
from ascend_migrate.report.result import ProjectResult

SCHEMA = 1


def head(result: ProjectResult) -> dict[str, Any]:
    """What every JSON document of the tool starts with."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "ascend-migrate", "version": __version__},
        "target": {
            "soc": result.target.soc,
            "torch": result.target.torch,
            "torch_npu": result.target.torch_npu,
        },
    }


def summary(result: ProjectResult) -> dict[str, Any]:
    """The counts of the findings, and what they mean for a first run."""
    return {
        "by_code": result.by_code,
        "by_level": result.by_level,
        "fixable": result.fixable,
        "readiness": result.readiness.to_json(),
    }


def document(result: ProjectResult) -> dict[str, Any]:
    """The whole document as plain values."""
    return {
        **head(result),
        "files": {"scanned": result.scanned, "with_findings": result.with_findings, "failed": result.failed},
        "findings": [finding.to_json() for finding in result.findings],
        "errors": [error.to_json() for error in result.errors],
        "summary": summary(result),
    }


def render(result: ProjectResult) -> str:
    """The document as indented JSON."""
    return json.dumps(document(result), indent=2) + "\n"
