"""``ascend-migrate explain``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ascend_migrate.cli import options
from ascend_migrate.language import in_language, say

if TYPE_CHECKING:
    from ascend_migrate.model import Target

_SHOWN = 4
"""Names offered in place of one that is not known."""


@click.command("explain")
@click.argument("query", required=False)
@click.option(
    "--log", "logs", metavar="FILE", multiple=True, help="Explain the errors in logs; `-` is the standard input."
)
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="With --log.")
@click.option("--no-color", is_flag=True, help="No colours; so does the variable NO_COLOR.")
@options.target_options
@options.language_option
def explain_command(
    query: str | None,
    logs: tuple[str, ...],
    output_format: str,
    no_color: bool,
    soc: str | None,
    torch_npu: str | None,
    torch: str | None,
    language: str,
) -> int:
    """Tell about a code, an API, a library, a variable, an error.

    QUERY is a rule (NPU102 or no-counterpart), a name (torch.cuda.nvtx.range_push, torch_npu.npu_swiglu), an
    operator (aten::cumsum), a library (flash_attn), an environment variable (CUDA_VISIBLE_DEVICES), or an error code
    of the NPU (107002, EI0006, ERR01002) as well as a message that holds one. --log reads whole logs, repeated for
    several ranks.

    Exit codes: 0 explained, 2 nothing is known of it.
    """
    if (query is None) == (not logs):
        options.fail("say what to explain: a QUERY, or --log FILE")
    if query is None:
        return _explain_logs(logs, output_format, language)
    from ascend_migrate.report import lookup

    page = lookup.page(query, _target(soc, torch_npu, torch), language) or _error_page(query, language)
    if page is None:
        from ascend_migrate.launch.diagnosis import near_codes

        close = [*lookup.near(query), *near_codes(query)][:_SHOWN]
        hint = say(" Did you mean {names}?", names=", ".join(f"`{name}`" for name in close)) if close else ""
        options.fail(
            in_language(say("nothing is known of `{query}`.", query=query), language) + in_language(hint, language)
        )
    show(page, no_color)
    return 0


def _error_page(query: str, language: str) -> str | None:
    from ascend_migrate.launch.diagnosis import code_page, find_code

    entry = find_code(query)
    return None if entry is None else code_page(entry, language)


def _explain_logs(logs: tuple[str, ...], output_format: str, language: str) -> int:
    from ascend_migrate.launch.diagnosis import explain_files

    try:
        report = explain_files(logs)
    except OSError as error:
        options.fail(f"{error.filename}: cannot be read: {error.strerror}")
    if output_format == "json":
        from json import dumps

        options.write_text(sys.stdout, dumps(report.to_json(language), indent=2) + "\n")
    else:
        options.write_text(sys.stdout, report.to_text(language))
    return 0


def _target(soc: str | None, torch_npu: str | None, torch: str | None) -> Target:
    from ascend_migrate.knowledge import resolve_target

    try:
        return resolve_target(soc, torch_npu, torch)
    except ValueError as error:
        options.fail(str(error))


def show(page: str, no_color: bool) -> None:
    """A page of Markdown: set on a terminal, as it is in a pipe."""
    if not options.colours(sys.stdout, no_color):
        options.write_text(sys.stdout, page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=sys.stdout)
    console.print(Markdown(page), width=min(console.width, 100))
