"""``ascend-migrate doctor``: what keeps PyTorch from running on the NPUs of this machine."""

from __future__ import annotations

import sys

import click

from ascend_migrate.cli import options


@click.command("doctor")
@click.argument("project", type=click.Path(exists=True, file_okay=False), default=".")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the result.",
)
@click.option("--fix-script", is_flag=True, help="Print the commands that cure the problems, as a shell script.")
@click.option("--python", metavar="PATH", help="The Python to look at; by default that of the active environment.")
@click.option("--no-color", is_flag=True, help="No colours; so does the variable NO_COLOR.")
def doctor_command(project: str, form: str, fix_script: bool, python: str | None, no_color: bool) -> int:
    """Check this machine: cards, driver, CANN, Python, torch_npu, permissions, HCCL.

    PROJECT is the folder whose files are looked at too. Nothing is changed, root is not needed, torch is not
    imported.

    Exit codes: 0 no problems, 1 problems, 2 wrong usage.
    """
    import os
    from pathlib import Path

    from ascend_migrate.launch import doctor
    from ascend_migrate.launch.doctor import report

    system = doctor.System()
    chosen = python or doctor.environment_python(os.environ)
    if chosen is not None:
        interpreter = doctor.interpreter_at(chosen)
        if interpreter is None:
            options.fail(f"{chosen} is not a Python that can be run")
        system = doctor.System(python=interpreter)
    checks = doctor.examine(system, Path(project))
    if fix_script:
        text = report.to_script(checks)
    elif form == "json":
        import json

        from ascend_migrate import __version__

        text = json.dumps(report.to_json(checks, __version__), indent=2, ensure_ascii=False) + "\n"
    else:
        coloured = options.colours(sys.stdout, no_color)
        text = report.to_text(checks, lambda text, colour: click.style(text, fg=colour) if coloured else text)
    options.write_text(sys.stdout, text)
    return int(any(check.status == "problem" for check in checks))
