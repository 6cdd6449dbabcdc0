"""The command line. Each sub-command is a module of its own, imported when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, Optional

import typer
import typer.core

from ascend_migrate import __version__

COMMANDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "analyze": (
        "ascend_migrate.cli.analyze:analyze_command",
        "Show what will break on an Ascend NPU, where, why, and what to do.",
        {},
    ),
    "convert": (
        "ascend_migrate.cli.convert:convert_command",
        "Convert a project into a copy that runs on the NPU, or in place.",
        {},
    ),
    "run": (
        "ascend_migrate.cli.run:run_command",
        "Launch a script on one card, on many, or on a simulated NPU.",
        # What follows the script belongs to the script.
        {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
    ),
}
"""Name -> the function behind it, its line in the list of commands, and settings for its arguments."""


class LazyGroup(typer.core.TyperGroup):
    """Imports a sub-command only to run it or to show its own help; the list of commands needs its line
    alone."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        place, line, settings = COMMANDS[cmd_name]
        if self._listing:
            return typer.core.TyperCommand(cmd_name, help=line)
        module, _, function = place.partition(":")
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(cmd_name, context_settings=settings)(getattr(import_module(module), function))
        command = typer.main.get_command(single)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


app = typer.Typer(
    name="ascend-migrate",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: rich would double the time that `--help` takes.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ascend-migrate {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        Optional[bool],  # noqa: UP045 - evaluated at run time, also by Python 3.9
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = None,
) -> None:
    """Move PyTorch projects written for CUDA to Huawei Ascend NPUs."""


def run() -> None:
    """Run the command line of this process; never returns."""
    try:
        app(prog_name="ascend-migrate")
    except KeyboardInterrupt:
        # 128 + SIGINT, as shells have it.
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
