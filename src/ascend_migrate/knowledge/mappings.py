"""What becomes of CUDA's APIs and environment variables: rows of YAML with message, remedy and source.

``data/api_mappings.yaml`` holds the exceptions to the general rule that ``torch.cuda.X`` is ``torch.npu.X``
wherever the target version has that name; ``data/environment_variables.yaml`` the variables. A row is
checked when it is read: a wrong one is a :class:`DataError` that names the file, the row and the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, cast

from ascend_migrate.knowledge import surfaces
from ascend_migrate.knowledge._versions import version_key
from ascend_migrate.model import LEVELS, Level, Safety, Target

_DATA = Path(__file__).parent / "data"
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*\*?")


class DataError(ValueError):
    """A row of a data file is wrong."""


@dataclass(frozen=True)
class Example:
    """A small complete program and what conversion makes of it, for the newest known torch_npu."""

    before: str
    after: str


@dataclass(frozen=True)
class ApiMapping:
    """What becomes of one name of PyTorch that depends on CUDA."""

    cuda: str
    """The dotted name; with ``.*`` at its end, the name and everything below it."""
    npu: str | None
    """The name that takes its place where the target has it, or None: there is no counterpart."""
    level: Level
    """What happens on the NPU to the code as it stands, where there is no replacement."""
    message: str
    help: str
    source: str
    example: Example
    safety: Safety = "safe"
    """``review``: the replacement is made, but does not do quite the same."""
    min_torch: str | None = None
    """The PyTorch release from which the replacement exists, when it is a name of PyTorch."""
    min_torch_npu: str | None = None
    """The torch_npu release from which the replacement does the same, when having the name is not enough."""
    own: bool = False
    """A row of a project for itself: of names that need not belong to PyTorch."""

    @property
    def name(self) -> str:
        """:attr:`cuda` without the ``.*``."""
        return self.cuda[:-2] if self.cuda.endswith(".*") else self.cuda

    def covers(self, dotted: str) -> bool:
        """Whether the row speaks of this name."""
        return dotted == self.name or (self.cuda.endswith(".*") and dotted.startswith(self.cuda[:-1]))

    def replacement(self, target: Target) -> str | None:
        """The name to write for this target, or None. It exists there: nothing else is ever returned."""
        if self.npu is None:
            return None
        if self.min_torch is not None and version_key(target.torch) < version_key(self.min_torch):
            return None
        if self.min_torch_npu is not None and version_key(target.torch_npu) < version_key(self.min_torch_npu):
            return None
        if is_npu_name(self.npu) and not surfaces.surface(target.torch_npu).has(self.npu):
            return None
        return self.npu


@dataclass(frozen=True)
class EnvironmentVariable:
    """What becomes of one environment variable of CUDA, NCCL or PyTorch's CUDA part."""

    name: str
    """The variable; with ``*`` at its end, all that begin so and have no row of their own."""
    npu: str | None
    """The variable with the same meaning, or None."""
    level: Level
    """What happens on the NPU where it stays as it is."""
    message: str
    help: str
    source: str
    same_values: bool = True
    """Whether the values mean the same, so that renaming is enough."""


def is_npu_name(dotted: str) -> bool:
    """Whether a name belongs to torch_npu, so that its existence depends on the torch_npu version."""
    return surfaces.canonical(dotted).split(".", 1)[0] == "torch_npu"


@cache
def api_mappings() -> tuple[ApiMapping, ...]:
    """All rows, in the order of the file. Raises :class:`DataError` for a wrong one."""
    return parse_api_mappings((_DATA / "api_mappings.yaml").read_text(encoding="utf-8"), "api_mappings.yaml")


@cache
def npu_names() -> tuple[ApiMapping, ...]:
    """The rows for names of torch_npu that exist nowhere, or are deprecated. Raises :class:`DataError`."""
    return parse_api_mappings((_DATA / "npu_names.yaml").read_text(encoding="utf-8"), "npu_names.yaml")


def find_npu_name(dotted: str) -> ApiMapping | None:
    """The row for a name of torch_npu, else that of the nearest name above it, else None."""
    by_name = _by_npu_name()
    while dotted and dotted not in by_name:
        dotted = dotted.rpartition(".")[0]
    return by_name.get(dotted)


@cache
def _by_npu_name() -> dict[str, ApiMapping]:
    return {row.cuda: row for row in npu_names()}


def find_api_mapping(dotted: str) -> ApiMapping | None:
    """The row for a name: its own, else that of the nearest ``.*`` above it, else None."""
    return _index().find(dotted)


@cache
def _index() -> RowIndex:
    return RowIndex(api_mappings())


class RowIndex:
    """Rows by the names they speak of."""

    def __init__(self, rows: Iterable[ApiMapping]) -> None:
        self._rows = {row.cuda: row for row in rows}

    def find(self, dotted: str) -> ApiMapping | None:
        """The row for a name: its own, else that of the nearest ``.*`` above it, else None."""
        if dotted in self._rows:
            return self._rows[dotted]
        prefix = dotted
        while prefix:
            if prefix + ".*" in self._rows:
                return self._rows[prefix + ".*"]
            prefix = prefix.rpartition(".")[0]
        return None


@cache
def environment_variables() -> Mapping[str, EnvironmentVariable]:
    """Variable name (or ``PREFIX_*``) -> row. Raises :class:`DataError` for a wrong one."""
    path = _DATA / "environment_variables.yaml"
    return parse_environment_variables(path.read_text(encoding="utf-8"), path.name)


def find_environment_variable(name: str) -> EnvironmentVariable | None:
    """The row for a variable: its own, else the longest ``PREFIX_*`` that fits, else None."""
    rows = environment_variables()
    if name in rows:
        return rows[name]
    fitting = [row for row in rows.values() if row.name.endswith("*") and name.startswith(row.name[:-1])]
    return max(fitting, key=lambda row: len(row.name), default=None)


def load_own_rows(path: Path) -> tuple[ApiMapping, ...]:
    """The rows of a project's own file. They have the fields of ours; ``source`` and ``example`` may be left out.

    Raises:
        DataError: the file cannot be read or a row is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return parse_api_mappings(text, str(path), own=True)


def parse_api_mappings(text: str, filename: str, *, own: bool = False) -> tuple[ApiMapping, ...]:
    """The rows of a YAML text. Raises :class:`DataError`; ``filename`` is for its message."""
    rows = []
    seen: set[str] = set()
    for row in _rows(text, filename, "cuda", seen):
        row.name("cuda", _DOTTED, wildcard=".*")
        npu = row.optional_name("npu", _DOTTED)
        if npu is not None and row.key.endswith(".*"):
            row.fail("npu", "a row for everything below a name cannot have one replacement")
        example = Example("", "") if own and not row.holds("example") else row.example()
        if example.before and (npu is None) != (example.before == example.after):
            row.fail("example", "before and after must differ exactly when there is a replacement")
        rows.append(
            ApiMapping(
                cuda=row.key,
                npu=npu,
                level=row.level(),
                message=row.sentence("message"),
                help=row.text("help") if not own or row.holds("help") else "",
                source=row.text("source") if not own or row.holds("source") else filename,
                example=example,
                safety=row.safety(),
                min_torch=row.version("min_torch"),
                min_torch_npu=row.version("min_torch_npu"),
                own=own,
            )
        )
        row.finish()
    return tuple(rows)


def parse_environment_variables(text: str, filename: str) -> dict[str, EnvironmentVariable]:
    """The rows of a YAML text by name. Raises :class:`DataError`; ``filename`` is for its message."""
    rows = {}
    for row in _rows(text, filename, "name", set()):
        row.name("name", _VARIABLE)
        npu = row.optional_name("npu", _VARIABLE)
        if npu is not None and (npu.endswith("*") or row.key.endswith("*")):
            row.fail("npu", "a row for a prefix cannot have a replacement")
        rows[row.key] = EnvironmentVariable(
            name=row.key,
            npu=npu,
            level=row.level(),
            message=row.sentence("message"),
            help=row.text("help"),
            source=row.text("source"),
            same_values=row.flag("same_values", default=True),
        )
        row.finish()
    return rows


class _Row:
    """Reads the fields of one row, each once, and says clearly what is wrong."""

    def __init__(self, filename: str, number: int, key_field: str, data: Any) -> None:
        self._where = f"{filename}: row {number}"
        if not isinstance(data, dict):
            raise DataError(f"{self._where}: expected fields, found {data!r}")
        self._data = dict(data)
        key = self._data.pop(key_field, None)
        if not isinstance(key, str) or not key:
            raise DataError(f"{self._where}: field {key_field!r} is missing")
        self.key = key
        self._where += f" ({key})"

    def holds(self, field: str) -> bool:
        """Whether the row has this field."""
        return field in self._data

    def fail(self, field: str, problem: str) -> NoReturn:
        raise DataError(f"{self._where}: field {field!r}: {problem}")

    def name(self, field: str, pattern: re.Pattern[str], wildcard: str = "") -> None:
        name = self.key[: -len(wildcard)] if wildcard and self.key.endswith(wildcard) else self.key
        if not pattern.fullmatch(name):
            self.fail(field, f"{self.key!r} is not a name")

    def optional_name(self, field: str, pattern: re.Pattern[str]) -> str | None:
        if field not in self._data:
            self.fail(field, "is missing (null says that there is no counterpart)")
        value = self._data.pop(field)
        if value is not None and not (isinstance(value, str) and pattern.fullmatch(value)):
            self.fail(field, f"{value!r} is not a name")
        return value

    def text(self, field: str) -> str:
        value = self._data.pop(field, None)
        if not isinstance(value, str) or not value.strip():
            self.fail(field, "is missing or no text")
        return " ".join(value.split())

    def texts(self, field: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """A list of words, each of which fits ``pattern``; the field may be left out."""
        value = self._data.pop(field, [])
        if not isinstance(value, list):
            self.fail(field, f"{value!r} is not a list")
        for item in value:
            if not (isinstance(item, str) and pattern.fullmatch(item)):
                self.fail(field, f"{item!r} is not a name")
        return tuple(value)

    def choice(self, field: str, choices: tuple[str, ...]) -> str:
        value = self._data.pop(field, None)
        if value not in choices:
            self.fail(field, f"{value!r} is none of {', '.join(choices)}")
        return cast(str, value)

    def sentence(self, field: str) -> str:
        value = self.text(field)
        if not value.endswith("."):
            self.fail(field, "must be a sentence that ends with a full stop")
        if len(value) > 160:
            self.fail(field, f"must be short, at most 160 characters (it has {len(value)})")
        return value

    def level(self) -> Level:
        value = self._data.pop("level", "error")
        if value not in LEVELS:
            self.fail("level", f"{value!r} is none of {', '.join(LEVELS)}")
        return cast(Level, value)

    def safety(self) -> Safety:
        value = self._data.pop("safety", "safe")
        if value not in ("safe", "review"):
            self.fail("safety", f"{value!r} is neither safe nor review")
        return cast("Safety", value)

    def version(self, field: str) -> str | None:
        value = self._data.pop(field, None)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(field, f"{value!r} must be quoted")
        try:
            version_key(value)
        except ValueError as error:
            self.fail(field, str(error))
        return value

    def flag(self, field: str, *, default: bool) -> bool:
        value = self._data.pop(field, default)
        if not isinstance(value, bool):
            self.fail(field, f"{value!r} is neither true nor false")
        return value

    def example(self) -> Example:
        """``after`` may be left out where nothing changes."""
        value = self._data.pop("example", None)
        if not isinstance(value, dict) or not {"before"} <= set(value) <= {"before", "after"}:
            self.fail("example", "must have the fields 'before' and 'after'")
        for key, text in value.items():
            if not isinstance(text, str) or not text.strip():
                self.fail("example", f"{key!r} is no text")
        before: str = value["before"]
        after: str = value.get("after", before)
        return Example(before.rstrip("\n") + "\n", after.rstrip("\n") + "\n")

    def finish(self) -> None:
        if self._data:
            self.fail(sorted(map(str, self._data))[0], "is not a field of these rows")


def _rows(text: str, filename: str, key_field: str, seen: set[str]) -> list[_Row]:
    import yaml

    # The C parser of PyYAML is ten times faster; a build without it has only the other one.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise DataError(f"{filename}: {error}") from error
    if not isinstance(data, list):
        raise DataError(f"{filename}: expected a list of rows")
    rows = [_Row(filename, number, key_field, row) for number, row in enumerate(data, start=1)]
    for row in rows:
        if row.key in seen:
            row.fail(key_field, "is there twice")
        seen.add(row.key)
    return rows
