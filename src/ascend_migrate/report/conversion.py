"""The JSON account of a conversion: what was done and what is left. The head is that of an analysis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ascend_migrate.report import json as json_report

if TYPE_CHECKING:
    from ascend_migrate.convert.session import Conversion


def document(conversion: Conversion) -> dict[str, Any]:
    """The document as plain values. ``applied`` are the findings that were fixed, ``left`` those that
    remain."""
    result = conversion.result
    return {
        **json_report.head(result),
        "files": {
            "scanned": result.scanned,
            "changed": len(conversion.changed),
            "copied": conversion.copied,
            "failed": result.failed,
        },
        "changed": list(conversion.changed),
        "applied": [finding.to_json() for finding in conversion.applied],
        "left": [finding.to_json() for finding in conversion.left],
        "errors": [error.to_json() for error in result.errors],
        "notes": list(conversion.notes),
        "summary": {**json_report.summary(result), "edits_by_code": conversion.edits_by_code},
    }


def render(conversion: Conversion) -> str:
    """The document as indented JSON."""
    return json.dumps(document(conversion), indent=2) + "\n"
