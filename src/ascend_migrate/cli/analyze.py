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
@click.option("--baseline", metavar="FILE", help="Report only what this file, written by --write-baseline, lacks.")
@click.option("--write-baseline", metavar="FILE", help="Write down what there is, for --baseline, and exit with 0.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the result cache.")
@options.engine_options
def analyze_command(
    paths: tuple[str, ...],
    output_format: str,
    output: str | None,
    fail_on: FailOn | None,
    baseline: str | None,
    write_baseline: str | None,
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
    wanted = options.request_for(settings, arguments[0] if arguments != ["-"] else ".", **request)
    result = _run(arguments, settings, wanted, jobs, not no_cache, force_exclude, quiet, stdin_filename)
    if write_baseline is not None:
        return _write_baseline(result, write_baseline, quiet=quiet)
    result = _without_known(result, settings, baseline)
    if output is not None:
        from pathlib import Path

        options.write_file(Path(output), render(result, output_format))
    elif output_format == "text" and options.colours(sys.stdout, no_color):
        from ascend_migrate.report import terminal

        terminal.show(result)
    else:
        options.write_text(sys.stdout, render(result, output_format))
    _close(result, wanted, quiet=quiet, summary=output_format == "text")
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
            return ProjectResult.of(target, [report], language=request.language)
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
    return ProjectResult.of(target, reports, errors=tree.errors, prefix=tree.prefix, language=request.language)


def _without_known(result: ProjectResult, settings: Settings, named: str | None) -> ProjectResult:
    """The result without what the baseline of the command line, or else of the configuration, knows."""
    if named is None and settings.baseline is None:
        return result
    from dataclasses import replace
    from pathlib import Path

    from ascend_migrate.engine import baseline
    from ascend_migrate.report.sources import Sources

    path = Path(named) if named is not None else settings.beside(settings.baseline or "")
    try:
        known = baseline.load(path)
    except baseline.BaselineError as error:
        options.fail(str(error))
    findings, number = known.split(result.findings, Sources(result).lines, result.shown)
    return replace(result, findings=findings, known=number)


def _write_baseline(result: ProjectResult, name: str, *, quiet: bool) -> int:
    from pathlib import Path

    from ascend_migrate.engine.baseline import Baseline
    from ascend_migrate.language import in_language
    from ascend_migrate.language import say as template
    from ascend_migrate.report.sources import Sources
    from ascend_migrate.report.text import count

    path = Path(name)
    made = Baseline.of(path.parent, result.findings, Sources(result).lines, result.shown)
    options.write_file(path, made.to_text())
    if not quiet:
        said = template("{findings} written to {file}.", findings=count(len(result.findings), "finding"), file=name)
        options.say(in_language(said, result.language))
    return options.EXIT_FAILED if result.errors else 0


def _close(result: ProjectResult, request: Request, *, quiet: bool, summary: bool) -> None:
    """What stderr says at the end: the failures, and the summary of a text report."""
    from ascend_migrate.report import text

    for error in result.errors:
        options.say(f"{result.shown(error.path)}:{error.line}: not processed: {error.message}")
    if quiet:
        return
    told, *notes = options.tell_target(request, result.target)
    if summary:
        for line in [*text.summary(result), told]:
            options.say(line)
    for note in notes:
        options.say(note)


def _at_or_above(result: ProjectResult, level: FailOn) -> bool:
    from ascend_migrate.model import LEVELS

    least = LEVELS.index(level)
    return any(LEVELS.index(finding.level) >= least for finding in result.findings)
