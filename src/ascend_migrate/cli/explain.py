"""``ascend-migrate explain``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ascend_migrate.cli import options
from ascend_migrate.language import in_language, say

if TYPE_CHECKING:
    from ascend_migrate.model import Target


@click.command("explain")
@click.argument("query")
@click.option("--no-color", is_flag=True, help="No colours; so does the variable NO_COLOR.")
@options.target_options
@options.language_option
def explain_command(
    query: str,
    no_color: bool,
    soc: str | None,
    torch_npu: str | None,
    torch: str | None,
    language: str,
) -> int:
    """Tell about a code, an API, a library, a variable, an error.

    QUERY is a rule (NPU102 or no-counterpart), a name (torch.cuda.nvtx.range_push, torch_npu.npu_swiglu), an
    operator (aten::cumsum), a library (flash_attn), or an environment variable (CUDA_VISIBLE_DEVICES).

    Exit codes: 0 explained, 2 nothing is known of it.
    """
    from ascend_migrate.report import lookup

    page = lookup.page(query, _target(soc, torch_npu, torch), language)
    if page is None:
        close = lookup.near(query)
        hint = say(" Did you mean {names}?", names=", ".join(f"`{name}`" for name in close)) if close else ""
        options.fail(
            in_language(say("nothing is known of `{query}`.", query=query), language) + in_language(hint, language)
        )
    show(page, no_color)
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
