"""The command line. Each sub-command is a module of its own, imported when it is asked for.

click, and not typer, which is built on the same ideas: typer's import and first use cost a quarter of a second of
CPU, more than a whole analysis that is answered from the cache.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from ascend_migrate import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "analyze": (
        "ascend_migrate.cli.analyze:analyze_command",
        "Show what will break on an Ascend NPU, where, why, and what to do.",
    ),
    "convert": (
        "ascend_migrate.cli.convert:convert_command",
        "Convert a project into a copy that runs on the NPU, or in place.",
    ),
    "run": (
        "ascend_migrate.cli.run:run_command",
        "Launch a script on one card, on many, or on a simulated NPU.",
    ),
    "doctor": (
        "ascend_migrate.cli.doctor:doctor_command",
        "Check this machine: cards, driver, CANN, Python, torch_npu, HCCL.",
    ),
    "explain": (
        "ascend_migrate.cli.explain:explain_command",
        "Tell about a code, an API, a library, a variable, an error.",
    ),
    "rules": (
        "ascend_migrate.cli.rules:rules_command",
        "List the rules.",
    ),
    "targets": (
        "ascend_migrate.cli.targets:targets_command",
        "List the chips, and which versions go together.",
    ),
}
"""Name -> the command, and its line in the list of commands."""

INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""

READER_GONE = 141
"""128 + SIGPIPE."""


class _ReaderGoneError(Exception):
    """Who read our output has closed it."""


class LazyGroup(click.Group):
    """Imports a sub-command only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            if not close or "Did you mean" in error.message:  # newer click says it by itself
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close[0]}'?", ctx) from error

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would make it exit code 1, which is our "found something"
            raise _ReaderGoneError from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def app() -> None:
    """Move PyTorch projects written for CUDA to Huawei Ascend NPUs."""


def main() -> None:
    """Run the command line of this process; never returns.

    A command returns its exit code, or None for 0.
    """
    # Trees have no cycles: reference counts free them, and the collector would walk them in vain, a tenth of
    # the time of a run.
    gc.set_threshold(100_000, 50, 50)
    try:
        code = app.main(prog_name="ascend-migrate", standalone_mode=False) or 0
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:  # what click makes of Ctrl-C
        print("Interrupted.", file=sys.stderr)
        code = INTERRUPTED
    except (_ReaderGoneError, BrokenPipeError):
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = READER_GONE
    sys.exit(code)
