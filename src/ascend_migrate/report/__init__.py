"""The forms a result is given in.

One module per format, each with ``render(result: ProjectResult) -> str``. A format is added by writing the
module and naming it in :data:`FORMATS`; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_migrate.report.result import ProjectResult

FORMATS: dict[str, str] = {
    "text": "ascend_migrate.report.text",
    "json": "ascend_migrate.report.json",
    "sarif": "ascend_migrate.report.sarif",
    "html": "ascend_migrate.report.html",
    "markdown": "ascend_migrate.report.markdown",
    "csv": "ascend_migrate.report.csv",
    "github": "ascend_migrate.report.github",
}
"""The name of a format on the command line, and its module."""


def render(result: ProjectResult, name: str) -> str:
    """The result in the format ``name``, a key of :data:`FORMATS`, as text that ends with a newline or is
    empty."""
    from importlib import import_module

    text: str = import_module(FORMATS[name]).render(result)
    return text
