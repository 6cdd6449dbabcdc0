"""``ascend-migrate analyze``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ascend_migrate.cli import options

if TYPE_CHECKING:
    from ascend_migrate.config import FailOn
    from ascend_migrate.report.result import ProjectResult


def analyze_command(
    paths: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="PATH...", help="Files and directories; `-` is the standard input. [default: .]"),
    ] = None,
    output_format: Annotated[
        str, typer.Option("--format", metavar="text|json", help="The form of the report.")
    ] = "text",
    output: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--output", "-o", metavar="FILE", help="Write the report to a file and not to stdout."),
    ] = None,
    select: options.Select = None,
    ignore: options.Ignore = None,
    soc: options.Soc = None,
    torch_npu: options.TorchNpu = None,
    torch: options.Torch = None,
    fail_on: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="error|warning|info|never", help="Exit with 1 from this level on. [default: error]"),
    ] = None,
    jobs: options.Jobs = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither use nor write the result cache.")] = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    stdin_filename: Annotated[
        str, typer.Option("--stdin-filename", metavar="PATH", help="The name for what comes from `-`.")
    ] = "<stdin>",
) -> None:
    """Show what will break on an Ascend NPU, where, why, and what to do.

    Changes nothing, and needs neither torch nor torch_npu. Files that git ignores are left out, and so are
    virtual environments and caches; files named on the command line are always taken.

    Exit codes: 0 nothing at or above --fail-on, 1 something, 2 wrong usage, 3 some files could not be
    processed (whatever the rest gave).
    """
    from ascend_migrate.report import FORMATS, render

    arguments = paths or ["."]
    if output_format not in FORMATS:
        options.fail(f"--format must be one of {', '.join(FORMATS)}, not `{output_format}`")
    result, level = _run(
        arguments, select, ignore, soc, torch_npu, torch, fail_on, jobs, no_cache, quiet, stdin_filename
    )
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
        raise typer.Exit(options.EXIT_FAILED)
    if level != "never" and _at_or_above(result, level):
        raise typer.Exit(options.EXIT_FOUND)


def _run(
    arguments: list[str],
    select: list[str] | None,
    ignore: list[str] | None,
    soc: str | None,
    torch_npu: str | None,
    torch: str | None,
    fail_on: str | None,
    jobs: int | None,
    no_cache: bool,
    quiet: bool,
    stdin_filename: str,
) -> tuple[ProjectResult, FailOn]:
    from ascend_migrate.config import FAIL_ON
    from ascend_migrate.engine import cache, project
    from ascend_migrate.report.result import ProjectResult
    from ascend_migrate.sources.discovery import SourcesError, find

    stdin = arguments == ["-"]
    if "-" in arguments and not stdin:
        options.fail("`-` stands alone: the standard input cannot be mixed with paths")
    settings = options.settings_for("." if stdin else arguments[0])
    level = next((known for known in FAIL_ON if known == (fail_on or settings.fail_on or "error")), None)
    if level is None:
        options.fail(f"--fail-on must be one of {', '.join(FAIL_ON)}, not `{fail_on}`")
    request = options.request_for(settings, select=select, ignore=ignore, soc=soc, torch_npu=torch_npu, torch=torch)
    try:
        if stdin:
            target, report = project.process_one(stdin_filename, sys.stdin.buffer.read(), request)
            return ProjectResult.of(target, [report]), level
        tree = find(arguments, excluded=settings.excluded)
        for note in tree.notes:
            options.say(f"note: {note}")
        with options.progress_bar("Analyzing", quiet=quiet) as progress:
            target, reports = project.analyze(
                tree.files,
                request,
                per_file_ignores=settings.per_file_ignores,
                ignored_in=settings.ignored_in,
                jobs=jobs,
                cache_file=None if no_cache else cache.location(arguments),
                progress=progress,
            )
    except SourcesError as error:
        options.fail(str(error))
    except ValueError as error:  # the target
        options.fail(str(error))
    return ProjectResult.of(target, reports, errors=tree.errors, prefix=tree.prefix), level


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
