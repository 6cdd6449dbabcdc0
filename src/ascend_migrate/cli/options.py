"""The options that several sub-commands have, and what they share in talking to the user."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from pathlib import Path

    from ascend_migrate.config import Settings
    from ascend_migrate.engine.project import Request
    from ascend_migrate.engine.runner import Progress

EXIT_FOUND = 1
EXIT_USAGE = 2
EXIT_FAILED = 3

_Command = TypeVar("_Command", bound=Callable[..., object])


def engine_options(command: _Command) -> _Command:
    """The options of every command that runs the engine; see :func:`request_for`."""
    options = (
        click.option("--select", metavar="CODES", multiple=True, help="Only codes that start so: NPU1 or NPU101,NPU2."),
        click.option(
            "--ignore", metavar="CODES", multiple=True, help="No codes that start so; the longer prefix wins."
        ),
        click.option("--soc", metavar="CHIP", help="The chip to run on, such as 910b or 310p."),
        click.option("--torch-npu", metavar="VERSION", help="The torch_npu version to run with."),
        click.option("--torch", metavar="VERSION", help="The torch version to run with."),
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
    *,
    select: Sequence[str],
    ignore: Sequence[str],
    soc: str | None,
    torch_npu: str | None,
    torch: str | None,
) -> Request:
    """The command line over the configuration. A version on the command line replaces the pair of the
    file."""
    from ascend_migrate.engine.project import Request

    if torch is None and torch_npu is None:
        torch, torch_npu = settings.torch, settings.torch_npu
    return Request(
        soc=soc if soc is not None else settings.soc,
        torch=torch,
        torch_npu=torch_npu,
        select=codes(select) or settings.select,
        ignore=codes(ignore) or settings.ignore,
    )


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
