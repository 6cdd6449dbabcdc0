"""``ascend-migrate rules``."""

from __future__ import annotations

import sys
from typing import Any

import click

from ascend_migrate.cli import options
from ascend_migrate.language import in_language, say


@click.command("rules")
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Text or JSON.")
@click.option("--no-color", is_flag=True, help="No colours; so does the variable NO_COLOR.")
@options.language_option
def rules_command(output_format: str, no_color: bool, language: str) -> int:
    """List the rules: code, name, level, whether a conversion fixes it, and what it is about.

    `ascend-migrate explain CODE` tells more.
    """
    from ascend_migrate.report.pages import FIXABLE_NAMES, fixable, rule_summary
    from ascend_migrate.report.text import LEVEL_NAMES
    from ascend_migrate.rules import all_rules

    rows: list[dict[str, Any]] = [
        {
            "code": rule.code,
            "name": rule.name,
            "level": rule.level,
            "fixable": fixable(rule),
            "summary": rule_summary(rule, language).replace("`", ""),
        }
        for rule in all_rules()
    ]
    if output_format == "json":
        from json import dumps

        options.write_text(sys.stdout, dumps({"schema": 1, "rules": rows}, indent=2) + "\n")
        return 0
    heads = (say("Code"), say("Name"), say("Level"), say("Fixed"), say("About"))
    titles = [in_language(head, language) for head in heads]
    for row in rows:
        row["level"] = in_language(LEVEL_NAMES[row["level"]], language)
        row["fixable"] = in_language(FIXABLE_NAMES[row["fixable"]], language)
    cells = [list(row.values()) for row in rows]
    options.write_table(titles, cells, no_color)
    return 0
