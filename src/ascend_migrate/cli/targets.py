"""``ascend-migrate targets``."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from ascend_migrate.cli import options
from ascend_migrate.language import in_language, say


@click.command("targets")
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Text or JSON.")
@click.option("--no-color", is_flag=True, help="No colours; so does the variable NO_COLOR.")
@options.language_option
def targets_command(output_format: str, no_color: bool, language: str) -> int:
    """List the chips and products for --soc, and which torch, torch_npu, CANN and Python go together.

    `?` is not known. Versions with `*` are on PyPI: their names and operators are known, and --torch-npu takes any
    other one for the nearest of these that is not newer.
    """
    from ascend_migrate import knowledge

    if output_format == "json":
        from json import dumps

        document = {
            "schema": 1,
            "chips": [asdict(soc) for soc in knowledge.socs()],
            "versions": [asdict(row) for row in knowledge.version_table()],
        }
        options.write_text(sys.stdout, dumps(document, indent=2) + "\n")
        return 0

    def t(text: str) -> str:
        return in_language(text, language)

    answers = {True: t(say("yes")), False: t(say("no")), None: "?"}
    chips = [
        [soc.code, soc.title, ", ".join((*soc.aliases, *soc.chips)), ", ".join(soc.products), answers[soc.bf16]]
        for soc in knowledge.socs()
    ]
    heads = [t(say("Chip")), t(say("Title")), t(say("Also")), t(say("Products")), "bf16"]
    options.write_table(heads, chips, no_color)
    options.write_text(sys.stdout, "\n")
    versions = [
        [row.torch_npu + ("*" if row.on_pypi else ""), row.torch, row.cann or "?", ", ".join(row.pythons) or "?"]
        for row in knowledge.version_table()
    ]
    options.write_table(["torch_npu", "torch", "CANN", "Python"], versions, no_color)
    return 0
