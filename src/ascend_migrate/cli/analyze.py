"""``ascend-migrate analyze``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ascend_migrate.cli import options
from ascend_migrate.config import FAIL_ON, FailOn
from ascend_migrate.report import FORMATS

if TYPE_CHECKING:
    from ascend_migrate.config import Settings
    from ascend_migrate.engine.project import Request
    from ascend_migrate.report.result import ProjectResult


@click.command("analyze")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option(
    *("--format", "output_format"),
    type=click.Choice(list(FORMATS)),
    default="text",
    help="The form of the report; text is the default.",
)
@click.option("--output", "-o", metavar="FILE", help="Write the report to a file and not to stdout.")
@click.option("--fail-on", type=click.Choice(FAIL_ON), help="Exit with 1 from this level on; error is the default.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the result cache.")
@options.engine_options
def analyze_command(
    paths: tuple[str, ...],
    output_format: str,
    output: str | None,
    fail_on: FailOn | None,
    no_cache: bool,
    jobs: int | None,
    force_exclude: bool,
    quiet: bool,
    no_color: bool,
    stdin_filename: str,
    **request: Any,
) -> int:
    """Show what will break on an Ascend NPU, where, why, and what to do.

    PATH is a file, a directory, or `-` for the standard input; without one the working directory is analyzed.

    Changes nothing, and needs neither torch nor torch_npu. Files that git ignores are left out, and so are
    virtual environments and caches; files named on the command line are always taken.

    Text names files as they open from the working directory. In JSON, paths are relative to PATH when that is one
    directory, and otherwise begin with PATH as typed.

    Exit codes: 0 nothing at or above --fail-on, 1 something, 2 wrong usage, 3 some files could not be
    processed (whatever the rest gave).
    """
    from ascend_migrate.report import render

    arguments = list(paths) or ["."]
    settings = options.settings_for("." if arguments == ["-"] else arguments[0])
    wanted = options.request_for(settings, **request)
    result = _run(arguments, settings, wanted, jobs, not no_cache, force_exclude, quiet, stdin_filename)
    if output is not None:
        from pathlib import Path

        options.write_file(Path(output), render(result, output_format))
    elif output_format == "text" and options.colours(sys.stdout, no_color):
        from ascend_migrate.report import terminal

        terminal.show(result)
    else:
        options.write_text(sys.stdout, render(result, output_format))
    _close(result, quiet=quiet, summary=output_format == "text")
    if result.errors:
        return options.EXIT_FAILED
    level = fail_on or settings.fail_on or "error"
    return options.EXIT_FOUND if level != "never" and _at_or_above(result, level) else 0


def _run(
    arguments: list[str],
    settings: Settings,
    request: Request,
    jobs: int | None,
    use_cache: bool,
    force_exclude: bool,
    quiet: bool,
    stdin_filename: str,
) -> ProjectResult:
    from ascend_migrate.engine import cache, project
    from ascend_migrate.report.result import ProjectResult
    from ascend_migrate.sources.discovery import find

    stdin = arguments == ["-"]
    if "-" in arguments and not stdin:
        options.fail("`-` stands alone: the standard input cannot be mixed with paths")
    try:
        if stdin:
            target, report = project.process_one(stdin_filename, sys.stdin.buffer.read(), request)
            return ProjectResult.of(target, [report])
        tree = find(arguments, excluded=settings.excluded, force_exclude=force_exclude)
        for note in tree.notes:
            options.say(f"note: {note}")
        with options.progress_bar("Analyzing", quiet=quiet) as progress:
            target, reports = project.analyze(
                tree.files,
                request,
                per_file_ignores=settings.per_file_ignores,
                ignored_in=settings.ignored_in,
                jobs=jobs,
                cache_file=cache.location(arguments) if use_cache else None,
                progress=progress,
            )
    except ValueError as error:
        options.fail(str(error))
    return ProjectResult.of(target, reports, errors=tree.errors, prefix=tree.prefix)


def _close(result: ProjectResult, *, quiet: bool, summary: bool) -> None:
    """What stderr says at the end: the failures, and the summary of a text report."""
    from ascend_migrate.report import text

    for error in result.errors:
        options.say(f"{result.shown(error.path)}:{error.line}: not processed: {error.message}")
    if summary and not quiet:
        for line in text.summary(result):
            options.say(line)


def _at_or_above(result: ProjectResult, level: FailOn) -> bool:
    from ascend_migrate.model import LEVELS

    least = LEVELS.index(level)
    return any(LEVELS.index(finding.level) >= least for finding in result.findings)
