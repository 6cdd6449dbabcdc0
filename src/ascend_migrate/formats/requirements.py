"""What a project asks pip and conda for: requirements files, ``pyproject.toml``, ``setup.cfg``, ``environment.yml``.

Findings only: which versions a project asks for is its authors' decision. What a requirement means is decided by
:mod:`ascend_migrate.rules._requirements`; this module finds the requirements and their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_migrate.model import FileError, FileReport

if TYPE_CHECKING:
    from ascend_migrate.engine.index import ProjectIndex
    from ascend_migrate.engine.pipeline import EngineOptions

_REQUIREMENTS = re.compile(r"(?:^|/)(?:[\w.-]*requirements?[\w.-]*|requirements?/[\w./-]+)\.(?:txt|in)$", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"(?:^|/)[\w.-]*(?:environment|conda)[\w.-]*\.ya?ml$", re.IGNORECASE)
_LINE = re.compile(r"(?m)^[^\S\n]*(?![#\s])((?:[^\\\n]|\\\r?\n|\\.)*)")
_COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)
_OPTIONS = re.compile(r"\s+--(?:hash|global-option|config-settings)\b.*", re.DOTALL)
_SKIPPED = re.compile(r"^(?:-r|-c|--requirement|--constraint|-e\s*\.|--no-|--pre|--only-|--prefer-|\.|/)")
_INDEX = re.compile(r"^(?:-i|-f|--(?:extra-)?index-url|--find-links)[ =]\s*")
_EDITABLE = re.compile(r"^(?:-e|--editable)[ =]\s*")
_CONDA = re.compile(r"(?:[\w./:-]+::)?([\w.-]+?)\s*(?:(={1,2}|[<>!~]=?)\s*([^=\s]+)(?:=(\S+))?)?(?:\[.*\])?$")
_CONDA_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch"}
_CUDA_BUILD_STRING = re.compile(r"cuda?\d|gpu", re.IGNORECASE)


@dataclass(frozen=True)
class _Asked:
    """A requirement and its place in the text."""

    text: str
    start: int
    end: int
    optional: bool = False


def applies(path: str) -> bool:
    name = path.rpartition("/")[2]
    return (
        name in ("pyproject.toml", "setup.cfg")
        or _REQUIREMENTS.search(path) is not None
        or _ENVIRONMENT.search(path) is not None
    )


def process(path: str, data: bytes, options: EngineOptions, index: ProjectIndex) -> FileReport:
    from ascend_migrate.formats._findings import Findings, decode
    from ascend_migrate.rules._requirements import judge

    source = decode(data)
    name = path.rpartition("/")[2]
    try:
        if name == "pyproject.toml":
            asked = list(_of_toml(source.text))
        elif name == "setup.cfg":
            asked = list(_of_setup_cfg(source.text))
        elif name.endswith((".yml", ".yaml")):
            asked = list(_of_environment(source.text))
        else:
            asked = list(_of_lines(source.text))
    except _UnreadableError as error:
        return FileReport(path, errors=(FileError(path, error.line, str(error)),))
    findings = Findings(path, source, options)
    seen: set[str] = set()
    for item in sorted(asked, key=lambda item: (item.optional, item.start)):
        said = judge(item.text, options.target, optional=item.optional)
        if said is not None and said.message not in seen:
            seen.add(said.message)
            findings.add(item.start, item.end, said.code, said.level, said.message, said.help)
    return FileReport(path, findings.sorted())


class _UnreadableError(Exception):
    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def _of_lines(text: str) -> Iterator[_Asked]:
    """The requirements of a file for ``pip install -r``, and the places where it looks for packages."""
    for match in _LINE.finditer(text):
        line = _OPTIONS.sub("", _COMMENT.sub("", match.group(1))).rstrip()
        start = match.start(1)
        if not line or _SKIPPED.match(line):
            continue
        end = start + len(line)
        asked = _EDITABLE.sub("", _INDEX.sub("", line))
        if not line.startswith("-") or asked != line:
            yield _Asked(asked, start, end)


def _of_toml(text: str) -> Iterator[_Asked]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.9 and 3.10
        import tomli as tomllib
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise _UnreadableError(f"not valid TOML: {error}", int(line.group(1)) if line else 1) from None
    places = _Places(text)
    project = _table(data, "project")
    for item in [*_strings(_table(data, "build-system").get("requires")), *_strings(project.get("dependencies"))]:
        yield places.find(item)
    extras = [*_table(project, "optional-dependencies").values(), *_table(data, "dependency-groups").values()]
    for group in extras:
        for item in _strings(group):
            yield places.find(item, optional=True)
    poetry = _table(_table(data, "tool"), "poetry")
    yield from _of_poetry(_table(poetry, "dependencies"), places)
    for group in _table(poetry, "group").values():
        if isinstance(group, dict):
            yield from _of_poetry(_table(group, "dependencies"), places, optional=True)
    tools = _table(data, "tool")
    for sources in (poetry.get("source"), _table(tools, "uv").get("index")):
        for source in sources if isinstance(sources, list) else []:
            if isinstance(source, dict) and isinstance(source.get("url"), str):
                yield places.find(source["url"])


def _of_poetry(table: dict[str, Any], places: _Places, optional: bool = False) -> Iterator[_Asked]:
    for name, value in table.items():
        version = value.get("version") if isinstance(value, dict) else value
        git = value.get("git") if isinstance(value, dict) else None
        spelled = version if isinstance(version, str) and re.match(r"[<>=!~]=", version) else ""
        left_out = optional or (isinstance(value, dict) and bool(value.get("optional")))
        place = places.find(name)
        yield _Asked(f"git+{git}" if isinstance(git, str) else f"{name}{spelled}", place.start, place.end, left_out)


def _of_setup_cfg(text: str) -> Iterator[_Asked]:
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        line = getattr(error, "lineno", None) or 1
        raise _UnreadableError(f"not a valid configuration file: {str(error).splitlines()[0]}", line) from None
    places = _Places(text)
    for key in ("install_requires", "setup_requires"):
        for line in parser.get("options", key, fallback="").splitlines():
            if line.strip() and not line.strip().startswith("#"):
                yield places.find(line.strip())
    if parser.has_section("options.extras_require"):
        for _, value in parser.items("options.extras_require"):
            for line in value.splitlines():
                if line.strip() and not line.strip().startswith("#"):
                    yield places.find(line.strip(), optional=True)


def _of_environment(text: str) -> Iterator[_Asked]:
    """The dependencies of a conda environment, with what pip installs into it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "cannot be read"
        raise _UnreadableError(f"not valid YAML: {problem}", mark.line + 1 if mark else 1) from None
    for item in _children(root, "dependencies"):
        if isinstance(item, yaml.ScalarNode):
            yield _Asked(_from_conda(item.value), item.start_mark.index, item.end_mark.index)
        elif isinstance(item, yaml.MappingNode):
            for pip in _children(item, "pip"):
                if isinstance(pip, yaml.ScalarNode):
                    text = _EDITABLE.sub("", _INDEX.sub("", pip.value))
                    yield _Asked(text, pip.start_mark.index, pip.end_mark.index)


def _children(node: Any, key: str) -> list[Any]:
    """The items of the list under ``key`` of a YAML mapping."""
    for name, value in node.value if type(node).__name__ == "MappingNode" else ():
        if getattr(name, "value", None) == key and type(value).__name__ == "SequenceNode":
            items: list[Any] = value.value
            return items
    return []


def _from_conda(spec: str) -> str:
    """A conda specification as pip would write it; a build for CUDA becomes a local version."""
    match = _CONDA.match(spec.strip())
    if match is None:
        return spec
    name, operator, version, build = match.groups()
    name = _CONDA_NAMES.get(name.lower(), name)
    if name == "torch" and build and _CUDA_BUILD_STRING.search(build):
        return f"torch=={version}+cu118"
    if not operator:
        return str(name)
    if operator == "=":
        return f"{name}=={version.rstrip('.*')}.*"
    return f"{name}{operator}{version}"


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class _Places:
    """Finds values, which parsers give without their places, in the text that they come from."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._after: dict[str, int] = {}

    def find(self, value: str, *, optional: bool = False) -> _Asked:
        """The next place of ``value``; the start of the text when it is spelled in another way there."""
        start = self._text.find(value, self._after.get(value, 0))
        if start < 0:
            return _Asked(value, 0, 0, optional)
        self._after[value] = start + len(value)
        return _Asked(value, start, start + len(value), optional)
