"""``ascend-migrate convert``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ascend_migrate.cli import options
from ascend_migrate.language import in_language
from ascend_migrate.language import say as template

if TYPE_CHECKING:
    from ascend_migrate.config import Settings
    from ascend_migrate.convert.session import Conversion, Work
    from ascend_migrate.engine.project import Request
    from ascend_migrate.engine.runner import Progress
    from ascend_migrate.sources.discovery import SourceFile, Tree


@click.command("convert")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--output", "-o", metavar="OUT", help="Write a complete, converted copy here.")
@click.option("--in-place", "-i", is_flag=True, help="Convert the files where they are.")
@click.option("--diff", is_flag=True, help="Print what would change; write nothing.")
@click.option("--check", is_flag=True, help="Exit with 1 if anything would change; write nothing.")
@click.option("--force", is_flag=True, help="Write into OUT although it is not empty.")
@click.option("--report", metavar="FILE", help="Write as JSON what was done and what is left.")
@options.engine_options
def convert_command(
    paths: tuple[str, ...],
    output: str | None,
    in_place: bool,
    diff: bool,
    check: bool,
    force: bool,
    report: str | None,
    jobs: int | None,
    force_exclude: bool,
    quiet: bool,
    no_color: bool,
    stdin_filename: str,
    **request: Any,
) -> int:
    """Convert a project into a copy that runs on the NPU, or in place.

    PATH is a file, a directory, or `-` to convert the standard input to the standard output.

    With -o OUT, OUT holds every file of the input but version control, caches and virtual environments. One
    directory becomes OUT; several paths go into it under their names. --in-place, --diff and --check look at
    the files that `analyze` looks at.

    Exit codes: 0 done, 1 with --check when anything would change, 2 wrong usage, 3 some files could not be
    processed.
    """
    arguments = list(paths)
    stdin = arguments == ["-"]
    _check_modes(arguments, stdin, output, in_place, diff, check, force)
    settings = options.settings_for("." if stdin else arguments[0])
    wanted = options.request_for(settings, "." if stdin else arguments[0], **request)
    show = _DiffPrinter(options.colours(sys.stdout, no_color)) if diff else None
    if stdin:
        conversion = _stdin(wanted, stdin_filename, show=show, check=check)
    else:
        with options.progress_bar("Converting", quiet=quiet) as progress:
            work = _work(wanted, settings, jobs, progress)
            if output is not None:
                conversion = _to_output(arguments, output, settings, work, force=force)
            else:
                tree = _find(arguments, settings, force_exclude=force_exclude)
                conversion = _where_it_is(tree, work, in_place=in_place, show=show)
    if report is not None:
        from pathlib import Path

        from ascend_migrate.report.conversion import render

        options.write_file(Path(report), render(conversion))
    written = output is not None or in_place
    _close(conversion, wanted, quiet=quiet or stdin, written=written, output=output, listing=check and not diff)
    if conversion.result.errors:
        return options.EXIT_FAILED
    return options.EXIT_FOUND if check and conversion.changed else 0


def _check_modes(
    paths: list[str], stdin: bool, output: str | None, in_place: bool, diff: bool, check: bool, force: bool
) -> None:
    if "-" in paths and not stdin:
        options.fail("`-` stands alone: the standard input cannot be mixed with paths")
    if stdin and (output is not None or in_place):
        options.fail("`-` writes to the standard output; leave out -o and --in-place")
    if force and output is None:
        options.fail("--force goes with -o OUT")
    chosen = [name for name, on in (("-o", output is not None), ("--in-place", in_place)) if on]
    looking = [name for name, on in (("--diff", diff), ("--check", check)) if on]
    if len(chosen) > 1 or (chosen and looking):
        options.fail(f"{' and '.join(chosen + looking)} exclude each other")
    if not (chosen or looking or stdin):
        options.fail("say where to write: -o OUT for a converted copy, --in-place, or --diff to look first")


def _work(request: Request, settings: Settings, jobs: int | None, progress: Progress | None) -> Work:
    from ascend_migrate.convert.session import Work

    try:
        target = request.target()
    except ValueError as error:
        options.fail(str(error))
    return Work(request, target, jobs, settings.ignored_in, progress)


def _to_output(paths: list[str], out: str, settings: Settings, work: Work, *, force: bool) -> Conversion:
    import os
    from pathlib import Path

    from ascend_migrate.convert import output, session
    from ascend_migrate.sources.discovery import SourcesError

    try:
        base, roots = output.plan(paths, out)
        inventory = output.take_inventory(roots, base, excluded=settings.excluded)
        single = len(roots) == 1 and roots[0].is_file and roots[0].target == Path(out)
        description: dict[str, object] = {
            "input": [os.path.realpath(path) for path in paths],
            "request": repr(work.request),
        }
        place = output.Output(base, None if single else description)
        place.prepare(inventory, force=force)
    except (SourcesError, output.OutputError) as error:
        options.fail(str(error))
    except OSError as error:
        options.fail(f"{out}: {error.strerror or error}")
    return session.to_output(inventory, place, work)


def _find(paths: list[str], settings: Settings, *, force_exclude: bool) -> Tree:
    from ascend_migrate.sources.discovery import SourcesError, find

    try:
        return find(paths, excluded=settings.excluded, force_exclude=force_exclude)
    except SourcesError as error:
        options.fail(str(error))


def _where_it_is(tree: Tree, work: Work, *, in_place: bool, show: _DiffPrinter | None) -> Conversion:
    from dataclasses import replace

    from ascend_migrate.convert import atomic, session

    if in_place:
        atomic.remove_stale(tree.stale)
        conversion = session.in_place(tree.files, work, prefix=tree.prefix, errors=tree.errors)
    else:
        conversion = session.preview(
            tree.files,
            work,
            prefix=tree.prefix,
            errors=tree.errors,
            show=(lambda *_: None) if show is None else show.file,
        )
    return replace(conversion, notes=tree.notes)


class _DiffPrinter:
    """Prints diffs to stdout, on a terminal in colours."""

    def __init__(self, coloured: bool) -> None:
        self._coloured = coloured

    def __call__(self, name: str, old: bytes, new: bytes) -> None:
        from ascend_migrate.report import diff

        text = diff.unified(name, old, new)
        options.write_bytes(sys.stdout.buffer, diff.coloured(text) if self._coloured else text)

    def file(self, file: SourceFile, new: bytes) -> None:
        self(file.name, file.path.read_bytes(), new)


def _stdin(request: Request, name: str, *, show: _DiffPrinter | None, check: bool) -> Conversion:
    """Convert stdin to stdout. What cannot be processed comes out as it went in: an editor's text is not
    lost."""
    from ascend_migrate.convert.session import Conversion
    from ascend_migrate.engine import project
    from ascend_migrate.report.result import ProjectResult

    data = sys.stdin.buffer.read()
    try:
        target, report = project.process_one(name, data, request)
    except ValueError as error:
        options.fail(str(error))
    new = data if report.new_bytes is None else report.new_bytes
    if show is not None:
        show(name, data, new)
    elif not check:
        options.write_bytes(sys.stdout.buffer, new)
    changed = () if report.new_bytes is None else (name,)
    return Conversion(ProjectResult.of(target, [report], language=request.language), changed)


def _close(
    conversion: Conversion, request: Request, *, quiet: bool, written: bool, output: str | None, listing: bool
) -> None:
    """What stderr says at the end."""
    from ascend_migrate.convert import summary

    result = conversion.result

    def t(message: str) -> str:
        return in_language(message, result.language)

    for note in conversion.notes:
        options.say(f"note: {note}")
    for error in result.errors:
        options.say(f"{result.shown(error.path)}:{error.line}: not processed: {error.message}")
    if quiet:
        return
    if listing:
        for name in conversion.changed:
            options.say(t(template("would change {file}", file=result.shown(name))))
    for line in [*summary.lines(conversion, would=not written), *options.tell_target(request, result.target)]:
        options.say(line)
    if output is not None:
        from pathlib import Path

        place = Path(output)
        names = [] if place.is_file() else [path.name for path in place.glob("*.py")]
        names += [name for name in conversion.changed if name not in names and (place / name).is_file()]
        options.say(t(template("Next: {command}", command=summary.next_command(place, sorted(names)))))
