"""``ascend-migrate run``: launch a script on one card, on many, or on a simulated NPU."""

from __future__ import annotations

from typing import Annotated, Optional

import typer


def run_command(
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="SCRIPT", help="The script to run, or a module with -m. All after it is its own."
        ),
    ],
    module: Annotated[bool, typer.Option("-m", "--module", help="SCRIPT is the name of a module.")] = False,
    nproc: Annotated[
        Optional[int],  # noqa: UP045 - evaluated at run time, also by Python 3.9
        typer.Option("--nproc", "-n", help="Start this many processes with torchrun, one for each card."),
    ] = None,
    sim: Annotated[bool, typer.Option("--sim", help="Run on a simulated NPU on the CPU.")] = False,
    sim_devices: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--sim-devices", help="Number of simulated NPUs. Default: one for each process."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but the script's output.")
    ] = False,
) -> None:
    """Launch a script on one card, on many (--nproc), or on a simulated NPU (--sim).

    Exit code, signals and output are the script's.
    """
    from ascend_migrate.launch.errors import LaunchError
    from ascend_migrate.launch.runner import Launch, start

    def say(line: str) -> None:
        if not quiet:
            typer.echo(f"ascend-migrate: {line}", err=True)

    def fail(message: str) -> typer.Exit:
        typer.echo(f"ascend-migrate: error: {message}", err=True)
        return typer.Exit(2)

    if target.startswith("-"):
        raise fail(f"no such option: {target}")
    if sim_devices is not None and not sim:
        raise fail("--sim-devices needs --sim")
    launch = Launch(target, tuple(ctx.args), module, nproc, sim, sim_devices)
    try:
        start(launch, say)
    except LaunchError as error:
        raise fail(str(error)) from error
