"""The options that several sub-commands have, and what they share in talking to the user."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NoReturn, TypeVar

import click

from ascend_migrate.language import LANGUAGES, Text, in_language, of_locale
from ascend_migrate.language import say as template

if TYPE_CHECKING:
    from pathlib import Path

    from ascend_migrate.config import Settings
    from ascend_migrate.engine.project import Request
    from ascend_migrate.engine.runner import Progress
    from ascend_migrate.knowledge import ApiMapping
    from ascend_migrate.model import Target

EXIT_FOUND = 1
EXIT_USAGE = 2
EXIT_FAILED = 3

_Command = TypeVar("_Command", bound=Callable[..., object])


def language_option(command: _Command) -> _Command:
    """``--lang``, passed on as ``language``: never None, the locale decides where it is not given."""
    return click.option(
        *("--lang", "language"),
        type=click.Choice(LANGUAGES),
        callback=lambda _context, _option, value: value or of_locale(os.environ),
        help="The language of messages; by default that of the locale.",
    )(command)


def target_options(command: _Command) -> _Command:
    """The options that choose what a project is to run on."""
    options = (
        click.option("--soc", metavar="CHIP", help="The chip or product to run on, such as 910b or atlas-300i-pro."),
        click.option("--torch-npu", metavar="VERSION", help="The torch_npu version to run with."),
        click.option("--torch", metavar="VERSION", help="The torch version to run with."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def engine_options(command: _Command) -> _Command:
    """The options of every command that runs the engine; see :func:`request_for`."""
    options = (
        click.option("--select", metavar="CODES", multiple=True, help="Only codes that start so: NPU1 or NPU101,NPU2."),
        click.option(
            "--ignore", metavar="CODES", multiple=True, help="No codes that start so; the longer prefix wins."
        ),
        target_options,
        language_option,
        click.option(
            *("--jobs", "-j"),
            type=click.IntRange(min=1),
            metavar="N",
            help="Processes to use; by default what the input is worth.",
        ),
        click.option(
            "--force-exclude",
            is_flag=True,
            help="Let `exclude` of the configuration hold for files named here too, as pre-commit names them.",
        ),
        click.option("--quiet", "-q", is_flag=True, help="No summary and no progress."),
        click.option("--no-color", is_flag=True, help="No colours; so does the variable NO_COLOR."),
        click.option("--stdin-filename", metavar="PATH", default="<stdin>", help="The name for what comes from `-`."),
    )
    for option in reversed(options):
        command = option(command)
    return command


_CODE = re.compile(r"[A-Z]+[0-9]*")


def fail(message: str, code: int = EXIT_USAGE) -> NoReturn:
    """End with a message for the user."""
    say(f"error: {message}")
    raise click.exceptions.Exit(code)


def say(message: str) -> None:
    """A line on stderr, whatever characters it holds."""
    write_text(sys.stderr, f"{message}\n")


def write_text(stream: object, text: str) -> None:
    """Write text to a stream. File names that are not UTF-8 come out as the bytes they are."""
    buffer = getattr(stream, "buffer", None)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        data = text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode(encoding, "backslashreplace")
    if buffer is None:  # a stream in memory, in a test
        stream.write(data.decode(encoding, "replace"))  # type: ignore[attr-defined]
        return
    stream.flush()  # type: ignore[attr-defined]
    write_bytes(buffer, data)


def write_table(heads: Sequence[str], rows: Sequence[Sequence[str]], no_color: bool) -> None:
    """A table on stdout: set on a terminal, aligned by blanks in a pipe."""
    if colours(sys.stdout, no_color):
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*heads, box=SIMPLE_HEAD)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        Console(file=sys.stdout).print(table)
        return
    columns = list(zip(heads, *rows))
    widths = [max(_width(cell) for cell in column) for column in columns]
    for row in (heads, *rows):
        cells = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths))
        write_text(sys.stdout, "  ".join(cells).rstrip() + "\n")


def _width(text: str) -> int:
    """The columns that a text takes; Chinese characters take two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def write_bytes(buffer: BinaryIO, data: bytes) -> None:
    """Write all of ``data``. With ``python -u`` standard output is raw, and takes no more than a pipe does."""
    rest = memoryview(data)
    while rest:
        rest = rest[buffer.write(rest) :]
    buffer.flush()


def codes(values: Iterable[str]) -> tuple[str, ...]:
    """The code prefixes of a repeatable, comma-separated option."""
    found = tuple(code.strip().upper() for value in values for code in value.split(",") if code.strip())
    for code in found:
        if not _CODE.fullmatch(code):
            fail(f"`{code}` is not a code or the start of one, such as NPU1")
    return found


def settings_for(path: str) -> Settings:
    """The configuration that holds for the first path."""
    from pathlib import Path

    from ascend_migrate.config import ConfigError, load

    try:
        return load(Path(path))
    except ConfigError as error:
        fail(str(error))


def request_for(
    settings: Settings,
    start: str,
    *,
    select: Sequence[str],
    ignore: Sequence[str],
    soc: str | None,
    torch_npu: str | None,
    torch: str | None,
    language: str,
) -> Request:
    """The command line over the configuration. A version on the command line replaces the pair of the
    file; where neither has one, that of the environment or the project counts, ``start`` being a place in it."""
    from ascend_migrate.engine.project import Request

    found = None
    if torch is None and torch_npu is None:
        torch, torch_npu = settings.torch, settings.torch_npu
        if torch is None and torch_npu is None:
            from pathlib import Path

            from ascend_migrate.sources.versions import detect

            found = detect(Path(start))
    return Request(
        soc=soc if soc is not None else settings.soc,
        torch=torch,
        torch_npu=torch_npu,
        select=codes(select) or settings.select,
        ignore=codes(ignore) or settings.ignore,
        language=language,
        own_rows=_own_rows(settings),
        found=found,
    )


def _own_rows(settings: Settings) -> tuple[ApiMapping, ...]:
    if not settings.rules:
        return ()
    from ascend_migrate.knowledge.mappings import DataError, load_own_rows

    rows: dict[str, ApiMapping] = {}
    try:
        for name in settings.rules:
            for row in load_own_rows(settings.beside(name)):
                if row.cuda in rows:
                    fail(f"{settings.beside(name)}: {row.cuda} has a row in another file of `rules` already")
                rows[row.cuda] = row
    except DataError as error:
        fail(str(error))
    return tuple(rows.values())


def tell_target(request: Request, target: Target) -> list[str]:
    """What to say of the target: where its versions come from, and when they are not those that were asked for."""
    told = template(
        "For {soc} with torch {torch} and torch_npu {torch_npu}{origin}.",
        soc=target.soc,
        torch=target.torch,
        torch_npu=target.torch_npu,
        origin=_origin(request, target),
    )
    lines = [in_language(told, request.language)]
    asked = request.torch_npu or (request.found.torch_npu if request.torch is None and request.found else None)
    if asked is not None and asked != target.torch_npu:
        told = template(
            "torch_npu {asked} is not known; what is said holds for {mapped}, the nearest known one.",
            asked=asked,
            mapped=target.torch_npu,
        )
        lines.append(in_language(told, request.language))
    return lines


def _origin(request: Request, target: Target) -> Text:
    found = request.found
    if request.torch is not None or request.torch_npu is not None:
        return template("")
    if found is None:
        return template(" (the default; --torch-npu chooses)")
    wanted, got = (found.torch_npu, target.torch_npu) if found.torch_npu else (found.torch or "", target.torch)
    if not wanted.startswith(got):
        return template(" (the default: there is no torch_npu for torch {torch})", torch=wanted)
    return template(" (from {file})", file=found.origin) if found.origin else template(" (as installed)")


def colours(stream: object, no_color: bool) -> bool:
    """Whether to write colours to this stream."""
    return not no_color and not os.environ.get("NO_COLOR") and is_terminal(stream)


def is_terminal(stream: object) -> bool:
    """Whether a person reads this stream."""
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and bool(isatty())


@contextmanager
def progress_bar(text: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Something to call with the bytes done and in all; shows a bar on a terminal when the work is long."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    from ascend_migrate.cli.progress import LazyBar

    bar = LazyBar(text)
    try:
        yield bar
    finally:
        bar.close()


def write_file(path: Path, text: str) -> None:
    """Write a report to a file the user named."""
    from ascend_migrate.convert.atomic import write_text as write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        fail(f"{path}: cannot be written: {error.strerror}")
