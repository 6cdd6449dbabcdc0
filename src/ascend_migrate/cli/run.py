"""``ascend-migrate run``: launch a script on one card, on many, or on a simulated NPU."""

from __future__ import annotations

import click


# What follows the script belongs to the script, options too.
@click.command(
    "run",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("target", metavar="SCRIPT")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module.")
@click.option("-n", "--nproc", type=int, metavar="N", help="Start N processes with torchrun, one for each card.")
@click.option("--sim", is_flag=True, help="Run on a simulated NPU on the CPU.")
@click.option("--sim-devices", type=int, metavar="N", help="Number of simulated NPUs; by default one for each process.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the script's output.")
def run_command(
    target: str,
    arguments: tuple[str, ...],
    module: bool,
    nproc: int | None,
    sim: bool,
    sim_devices: int | None,
    quiet: bool,
) -> None:
    """Launch a script on one card, on many (--nproc), or on a simulated NPU (--sim).

    SCRIPT is the script to run, or with -m a module; all after it is its own. Exit code, signals and output are
    the script's.
    """
    from ascend_migrate.launch.errors import LaunchError
    from ascend_migrate.launch.runner import Launch, start

    def say(line: str) -> None:
        if not quiet:
            click.echo(f"ascend-migrate: {line}", err=True)

    def fail(message: str) -> click.exceptions.Exit:
        click.echo(f"ascend-migrate: error: {message}", err=True)
        return click.exceptions.Exit(2)

    if target.startswith("-"):
        raise fail(f"no such option: {target}")
    if sim_devices is not None and not sim:
        raise fail("--sim-devices needs --sim")
    launch = Launch(target, arguments, module, nproc, sim, sim_devices, quiet)
    try:
        start(launch, say)
    except LaunchError as error:
        raise fail(str(error)) from error
