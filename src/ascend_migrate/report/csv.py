"""The CSV form, for spreadsheets: a header, then one row a finding."""

from __future__ import annotations

import csv
import io

from ascend_migrate.report.result import ProjectResult

COLUMNS = ("path", "line", "column", "end_line", "end_column", "code", "level", "fix", "message", "help")


def render(result: ProjectResult) -> str:
    """The rows. ``fix`` is ``safe``, ``review`` or empty; paths open from the working directory."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for finding in result.findings:
        row = {**finding.to_json(), "path": result.shown(finding.path)}
        row["fix"] = finding.fix.safety if finding.fix is not None else ""
        writer.writerow([row[column] for column in COLUMNS])
    return stream.getvalue()
