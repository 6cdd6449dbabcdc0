"""What the error codes and messages of torch_npu and CANN mean, in English and Chinese.

The rows are in ``data/error_codes/*.yaml``. A row of ``codes`` has these fields:

* ``code``: as it is printed, quoted;
* ``name``, ``also``: public names of the same code (``ACL_ERROR_RT_CONTEXT_NULL``), ``number`` for HcclResult;
* ``role``: ``cause`` (default), ``consequence`` (something else failed first), ``wrapper`` (says only that something
  failed, the news is beside it) or ``note`` (no failure);
* ``meaning``, and for the frequent ones the lists ``causes``, ``check`` and ``do``; each with its ``..._zh``;
* ``known: false`` where the meaning is not public.

``families`` give what codes that begin so have in common. torch_npu's own codes (``ERRxxyyy``) are composed from the
two tables of ``torch_npu.yaml``. ``messages.yaml`` describes messages without a code. A row that is wrong is a
:class:`~ascend_migrate.knowledge.mappings.DataError` with file, row and field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from ascend_migrate.knowledge.mappings import DataError

_DATA = Path(__file__).parent / "data" / "error_codes"

Role = Literal["cause", "consequence", "wrapper", "note"]
ROLES: tuple[Role, ...] = ("cause", "consequence", "wrapper", "note")

CODE_FILES = {
    "acl.yaml": "ACL",
    "aclnn.yaml": "aclnn",
    "hccl.yaml": "HCCL",
    "cann.yaml": "CANN",
    "torch_npu.yaml": "torch_npu",
}
"""File -> the software whose codes it holds."""

_LISTS = ("causes", "check", "do")


@dataclass(frozen=True)
class Words:
    """What there is to say of a code or message, in one language."""

    meaning: str
    causes: tuple[str, ...] = ()
    """Usual causes, the most frequent first."""
    check: tuple[str, ...] = ()
    """What to look at to tell the causes apart."""
    do: tuple[str, ...] = ()
    """What cures it."""


@dataclass(frozen=True)
class Entry:
    """One error code, or one kind of message."""

    code: str
    """``107002``, ``EI0006``, ``ERR01002``, ``HCCL_E_TIMEOUT``; for a message its name, ``port-in-use``."""
    system: str
    """Whose it is: ``ACL``, ``aclnn``, ``HCCL``, ``CANN``, ``torch_npu``, or ``message``."""
    role: Role
    en: Words
    zh: Words
    names: tuple[str, ...] = ()
    """Other names for it, the usual one first."""
    known: bool = True
    """Whether the meaning is public; where it is not, only the module is."""

    def words(self, language: str = "en") -> Words:
        """What to say in ``en`` or ``zh``."""
        return self.zh if language == "zh" else self.en

    @property
    def has_page(self) -> bool:
        """Whether there is more than a line: causes, and what to do."""
        return bool(self.en.causes and self.en.do)


@dataclass(frozen=True)
class Message:
    """How a kind of message is recognised in a line of a log."""

    entry: Entry
    text: tuple[str, ...]
    """Literal pieces, of which one is in the line."""
    pattern: re.Pattern[str] | None
    """Must be found in the line too; the group ``what`` is worth collecting, with the place ``where``."""

    def match(self, line: str) -> tuple[bool, str | None]:
        """Whether the line is such a message, and its ``what``."""
        if not any(text in line for text in self.text):
            return False, None
        if self.pattern is None:
            return True, None
        # The text may stand before and after what is sought: any match will do, the first with a `what` is best.
        found = False
        for match in self.pattern.finditer(line):
            found = True
            groups = match.groupdict()
            what, where = groups.get("what"), groups.get("where")
            if what:
                return True, f"{what} at {where}" if where else what
        return found, None


@dataclass(frozen=True)
class _Family:
    prefix: str
    module: tuple[str, str] | None
    do: tuple[tuple[str, ...], tuple[str, ...]]


@cache
def error_codes() -> Mapping[str, Entry]:
    """All codes that have a row or are a product of torch_npu's tables, by code. Raises :class:`DataError`."""
    entries: dict[str, Entry] = {}
    for filename, system in CODE_FILES.items():
        data = _load(filename)
        families = _families(data, filename)
        if system == "torch_npu":
            entries.update(_torch_npu_codes(data))
        seen: set[str] = set()
        for row in _rows(data.get("codes"), filename, "code"):
            entry = row.entry(system, families)
            if entry.code in seen:
                row.fail("code", "is there twice")
            seen.add(entry.code)
            entries[entry.code] = entry
    return entries


@cache
def error_names() -> Mapping[str, Entry]:
    """The codes by their public names, ``ACL_ERROR_RT_CONTEXT_NULL``. Names shared by several codes are left out."""
    names: dict[str, Entry] = {}
    shared: set[str] = set()
    for entry in error_codes().values():
        for name in entry.names:
            if name in names:
                shared.add(name)
            names[name] = entry
    return {name: entry for name, entry in names.items() if name not in shared}


@cache
def hccl_results() -> Mapping[int, Entry]:
    """HcclResult -> entry: the small numbers that HCCL's functions return."""
    rows = _rows(_load("hccl.yaml").get("codes"), "hccl.yaml", "code")
    return {row.data["number"]: error_codes()[row.key] for row in rows if "number" in row.data}


@cache
def error_messages() -> tuple[Message, ...]:
    """The messages without a code, in the order in which they are to be tried."""
    messages = []
    for row in _rows(_load("messages.yaml"), "messages.yaml", "key"):
        text = row.strings("text")
        if not text:
            row.fail("text", "is missing")
        regex = row.data.get("regex")
        messages.append(Message(row.entry("message", ()), text, re.compile(regex) if regex else None))
    return tuple(messages)


def compose(code: str) -> Entry | None:
    """An entry for a code without a row, from the module that its first signs name; None where they name none."""
    cann = _load("cann.yaml")
    if re.fullmatch(r"E[0-9A-Z]\d{4}", code):
        for family in _families(cann, "cann.yaml"):
            if code.startswith(family.prefix) and family.module is not None:
                return _of_module(code, family.module)
    return None


def _of_module(code: str, module: tuple[str, str]) -> Entry:
    english, chinese = module
    if code.endswith(("9999", "8888")):
        return Entry(
            code,
            "CANN",
            "wrapper",
            Words(
                f"An inner error of the {english}: the lines under it (TraceBack) are the news.",
                do=("Look up the six-digit code beside it: ascend-migrate explain CODE.",),
            ),
            Words(
                f"{chinese}内部错误：下面的 TraceBack 才是关键。",
                do=("查询旁边的六位错误码：ascend-migrate explain 错误码。",),
            ),
        )
    return Entry(
        code,
        "CANN",
        "cause",
        Words(
            f"An error of the {english}; what exactly is not known to this tool. The text behind the code says more.",
            do=("Search for the code in CANN's documentation of your version: https://www.hiascend.com/document",),
        ),
        Words(
            f"{chinese}的错误；具体含义本工具未收录，请看错误码后面的文字。",
            do=("在对应版本的 CANN 文档中搜索该错误码：https://www.hiascend.com/document",),
        ),
        known=False,
    )


def _torch_npu_codes(data: Mapping[str, Any]) -> dict[str, Entry]:
    entries = {}
    for module, module_names in data["modules"].items():
        for kind, row in data["kinds"].items():
            code = f"ERR{module}{kind}"
            entries[code] = Entry(
                code,
                "torch_npu",
                cast("Role", row.get("role", "cause")),
                Words(f"torch_npu, {module_names['en']}: {row['en']}.", do=(row["do"],)),
                Words(f"torch_npu {module_names['zh']}：{row['zh']}。", do=(row["do_zh"],)),
            )
    return entries


def _families(data: Mapping[str, Any], filename: str) -> tuple[_Family, ...]:
    families = []
    for row in _rows(data.get("families", []), filename, "prefix"):
        module = row.data.get("module")
        families.append(
            _Family(
                row.key,
                (module, row.data["module_zh"]) if module else None,
                (row.strings("do"), row.strings("do_zh")),
            )
        )
    return tuple(families)


class _Row:
    """One row of a file; says clearly what is wrong with it."""

    def __init__(self, filename: str, number: int, key_field: str, data: Any) -> None:
        self._where = f"error_codes/{filename}: row {number}"
        if not isinstance(data, dict) or not isinstance(data.get(key_field), str):
            raise DataError(f"{self._where}: field {key_field!r} is missing or no text")
        self.data: Mapping[str, Any] = data
        self.key: str = data[key_field]

    def fail(self, field: str, problem: str) -> None:
        raise DataError(f"{self._where} ({self.key}): field {field!r}: {problem}")

    def strings(self, field: str) -> tuple[str, ...]:
        value = self.data.get(field, [])
        if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
            self.fail(field, "must be a list of texts")
        return tuple(value)

    def text(self, field: str) -> str:
        value = self.data.get(field)
        if not isinstance(value, str) or not value.strip():
            self.fail(field, "is missing or no text")
        return str(value)

    def entry(self, system: str, families: tuple[_Family, ...]) -> Entry:
        role = self.data.get("role", "cause")
        if role not in ROLES:
            self.fail("role", f"{role!r} is none of {', '.join(ROLES)}")
        lists = {field: (self.strings(field), self.strings(f"{field}_zh")) for field in _LISTS}
        for field, (english, chinese) in lists.items():
            if len(english) != len(chinese):
                self.fail(f"{field}_zh", "must have as many points as the English list")
        do = lists["do"]
        if not do[0]:
            do = next((family.do for family in families if family.do[0] and self.key.startswith(family.prefix)), do)
        names = tuple(str(self.data[field]) for field in ("name",) if field in self.data) + self.strings("also")
        return Entry(
            code=self.key,
            system=system,
            role=cast("Role", role),
            en=Words(self.text("meaning"), lists["causes"][0], lists["check"][0], do[0]),
            zh=Words(self.text("meaning_zh"), lists["causes"][1], lists["check"][1], do[1]),
            names=names,
            known=bool(self.data.get("known", True)),
        )


def _rows(data: Any, filename: str, key_field: str) -> list[_Row]:
    if not isinstance(data, list):
        raise DataError(f"error_codes/{filename}: expected a list of rows")
    return [_Row(filename, number, key_field, row) for number, row in enumerate(data, start=1)]


@cache
def _load(filename: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load((_DATA / filename).read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError as error:
        raise DataError(f"error_codes/{filename}: {error}") from error
