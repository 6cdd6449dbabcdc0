"""Settings of a project: ``[tool.ascend-migrate]`` in ``pyproject.toml``, or a file ``ascend-migrate.toml``.

::

    [tool.ascend-migrate]
    soc = "910b"                    # the chip, as for --soc
    torch-npu = "2.7.1"             # as for --torch-npu
    torch = "2.7.1"                 # as for --torch
    select = ["ACM1"]               # code prefixes to report and to convert; default: all
    ignore = ["ACM105"]             # code prefixes to leave out
    exclude = ["third_party/"]      # paths, in the notation of .gitignore
    fail-on = "warning"             # what makes `analyze` exit with 1
    rules = ["ascend-rules.yaml"]   # files with rows for the project's own names, relative to this file
    baseline = "baseline.json"      # what is known and not reported, as for --baseline
    [tool.ascend-migrate.per-file-ignores]
    "tests/**" = ["ACM2"]

In ``ascend-migrate.toml`` the same keys stand at the top level. The nearest file upward from the first path
on the command line counts. Options on the command line win over the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from ascend_migrate.sources.ignores import PathPatterns

FailOn = Literal["error", "warning", "info", "never"]
FAIL_ON: tuple[FailOn, ...] = ("error", "warning", "info", "never")

OWN_FILE = "ascend-migrate.toml"
TABLE = "ascend-migrate"


class ConfigError(ValueError):
    """The configuration file is wrong. The message names the file and the key."""


@dataclass(frozen=True)
class Settings:
    """What a configuration file says; without one, nothing. ``source`` is the file it came from."""

    source: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    soc: str | None = None
    torch: str | None = None
    torch_npu: str | None = None
    fail_on: FailOn | None = None
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    rules: tuple[str, ...] = ()
    baseline: str | None = None
    _compiled: dict[str, PathPatterns] = field(default_factory=dict, repr=False, compare=False)

    def beside(self, name: str) -> Path:
        """A path in the configuration, which is relative to its file."""
        assert self.source is not None, "names of files come from a file"
        return self.source.parent / name

    def excluded(self, path: Path) -> bool:
        """Whether ``exclude`` names this file or a directory that holds it."""
        return bool(self.exclude) and self._patterns("exclude", self.exclude).match(path)

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """The code prefixes that ``per-file-ignores`` leaves out for this file."""
        return tuple(
            code
            for pattern, codes in self.per_file_ignores
            if self._patterns(pattern, (pattern,)).match(path)
            for code in codes
        )

    def _patterns(self, name: str, patterns: tuple[str, ...]) -> PathPatterns:
        if name not in self._compiled:
            from ascend_migrate.sources.ignores import PathPatterns

            assert self.source is not None, "patterns come from a file"
            self._compiled[name] = PathPatterns(self.source.parent, patterns)
        return self._compiled[name]


def load(start: Path) -> Settings:
    """The settings that hold for ``start``, a file or a directory.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or has an unknown key or a value of the wrong type.
    """
    start = start.resolve()
    for directory in (start, *start.parents) if start.is_dir() else start.parents:
        own = directory / OWN_FILE
        if own.is_file():
            return parse(own, _toml(own))
        project = directory / "pyproject.toml"
        if project.is_file():
            table = _table_of(project)
            if table is not None:
                return parse(project, table)
    return Settings()


def _table_of(project: Path) -> Mapping[str, Any] | None:
    """Our table of a ``pyproject.toml``, or None. A file that never names us is not parsed, and not
    judged."""
    try:
        if TABLE.encode() not in project.read_bytes():
            return None
    except OSError as error:
        raise ConfigError(f"{project}: cannot be read: {error.strerror}") from error
    table = _toml(project).get("tool", {}).get(TABLE)
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{project}: `tool.{TABLE}` must be a table")
    return table


def _toml(path: Path) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return cast("dict[str, Any]", tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


_KEYS = ("select", "ignore", "exclude", "soc", "torch", "torch-npu", "fail-on", "per-file-ignores", "rules", "baseline")


def parse(source: Path, table: Mapping[str, Any]) -> Settings:
    """Check a table and turn it into :class:`Settings`.

    Raises:
        ConfigError: unknown key, or wrong type of a value.
    """
    unknown = next((key for key in table if key not in _KEYS), None)
    if unknown is not None:
        from difflib import get_close_matches

        close = get_close_matches(unknown.replace("_", "-"), _KEYS, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"the keys are {', '.join(_KEYS)}"
        raise ConfigError(f"{source}: unknown key `{unknown}`; {hint}")
    return Settings(
        source=source,
        select=_texts(source, table, "select"),
        ignore=_texts(source, table, "ignore"),
        exclude=_texts(source, table, "exclude"),
        soc=_text(source, table, "soc"),
        torch=_text(source, table, "torch"),
        torch_npu=_text(source, table, "torch-npu"),
        fail_on=_fail_on(source, table),
        per_file_ignores=_per_file(source, table),
        rules=_texts(source, table, "rules"),
        baseline=_text(source, table, "baseline"),
    )


def _text(source: Path, table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f'{source}: `{key}` must be a string, such as "{value}", not {_type(value)}')
    return value


def _texts(source: Path, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return _strings(source, key, table.get(key, []))


def _strings(source: Path, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ConfigError(f'{source}: `{key}` must be a list, such as ["{value}"], not a string')
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{source}: `{key}` must be a list of strings, not {_type(value)}")
    return tuple(value)


def _fail_on(source: Path, table: Mapping[str, Any]) -> FailOn | None:
    value = _text(source, table, "fail-on")
    if value is None:
        return None
    known = next((level for level in FAIL_ON if level == value), None)
    if known is None:
        raise ConfigError(f"{source}: `fail-on` must be one of {', '.join(FAIL_ON)}, not `{value}`")
    return known


def _per_file(source: Path, table: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    value = table.get("per-file-ignores", {})
    if not isinstance(value, dict):
        raise ConfigError(f"{source}: `per-file-ignores` must be a table of lists, not {_type(value)}")
    return tuple((key, _strings(source, f"per-file-ignores.{key}", codes)) for key, codes in value.items())


def _type(value: object) -> str:
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a float",
        str: "a string",
        list: "a list",
        dict: "a table",
    }
    if isinstance(value, list):
        return "a list of something else"
    return names.get(type(value), f"a {type(value).__name__}")
