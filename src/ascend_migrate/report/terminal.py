"""The text form for a terminal: grouped by file, coloured, with what to do about each finding."""

from __future__ import annotations

import sys
from itertools import groupby

from rich.console import Console
from rich.text import Text

from ascend_migrate.model import Finding
from ascend_migrate.report.result import ProjectResult

_STYLES = {"error": "bold red", "warning": "yellow", "info": "blue"}


def show(result: ProjectResult, console: Console | None = None) -> None:
    """Print the findings. Advice that many findings share is printed at the first of them in each file."""
    console = console or Console(file=sys.stdout, highlight=False)
    for _, group in groupby(result.findings, key=lambda finding: finding.path):
        told: set[str] = set()
        for finding in group:
            console.print(_line(result, finding), soft_wrap=True)
            if finding.help and finding.help not in told:
                told.add(finding.help)
                for line in finding.help.splitlines():
                    console.print(Text(f"    {line}", style="dim"), soft_wrap=True)
        console.print()


def _line(result: ProjectResult, finding: Finding) -> Text:
    line = Text()
    line.append(_printable(result.shown(finding.path)), style="bold")
    line.append(f":{finding.span.line}:{finding.span.column} ", style="cyan")
    line.append(finding.code, style=_STYLES[finding.level])
    if finding.fix is not None:
        line.append(" [*]", style="green")
    line.append(f" {_printable(' '.join(finding.message.split()))}")
    return line


def _printable(text: str) -> str:
    """Names that are not UTF-8 cannot be shown as they are."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
