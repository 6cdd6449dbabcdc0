"""What the files of a project must know of each other, gathered before any of them is converted.

Gathering reads bytes with regular expressions, not trees: it runs over every file of the project, and what it
misses only makes a finding less certain.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ascend_migrate.rules.base import CudaSource, ProjectFacts
from ascend_migrate.syntax.literals import names_backend, names_device

_DEF = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?", re.MULTILINE)
_PARAMETER = re.compile(rb"^\s*(\w+)")
_TENSOR_WORDS = re.compile(rb"\.cuda\(|\.to\(|nn\.Module|torch|Tensor|device")
_TRAINS = re.compile(rb"\.backward\(|\btraining_step\b|\bTrainer\(")
_CUDA_SOURCE = re.compile(rb"[\"']([^\"'\n]*\.cuh?)[\"']")
_EXTENSION = re.compile(rb"(?:Extension|_ext|\bload|\bload_inline)\(\s*(?:name\s*=\s*)?[\"']([\w.]+)[\"']")
_EXTENSION_IMPORT = re.compile(rb"import[ \t]+(\w*(?:_C|_ext|_cuda|_cpp|_kernels?|_ops))\b")
_EXTENSION_SUFFIXES = (b"_C", b"_ext", b"_cuda", b"_cpp", b"_kernel", b"_ops")
_TRAINING_WORDS = (b".backward(", b"training_step", b"Trainer(")
_CUDA_CODE = re.compile(rb"torch\.cuda|\.cuda\(|[\"']cuda|nccl|torch[ \t]+import[ \t]+cuda")


@dataclass(frozen=True)
class FileFacts:
    """What one Python file contributes to the :class:`ProjectIndex`. Picklable and cheap to gather."""

    path: str
    uses_cuda: bool = False
    trains: bool = False
    device_parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    cuda_classes: dict[str, bool] = field(default_factory=dict)
    cuda_sources: tuple[str, ...] = ()
    """CUDA source files that it names, as they are written."""
    extensions: tuple[str, ...] = ()
    """Extension modules that it builds, where it names CUDA sources."""
    extension_imports: tuple[str, ...] = ()
    """Modules it imports that are called like extension modules."""


@dataclass(frozen=True)
class ProjectIndex:
    """The project seen from above. ``digest`` changes when anything does that could change a file's result."""

    facts: ProjectFacts = field(default_factory=ProjectFacts)

    @cached_property
    def digest(self) -> str:
        facts = self.facts
        content = [
            facts.uses_cuda,
            facts.trains,
            sorted((k, list(v)) for k, v in facts.device_parameters.items()),
            sorted(facts.cuda_classes.items()),
            sorted((k, v.builders, v.callers) for k, v in facts.cuda_sources.items()),
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def gather(path: str, data: bytes) -> FileFacts | None:
    """The facts of one Python file, or None when it contributes nothing. Never raises."""
    # A plain search for bytes costs a tenth of a pattern's, and most files end there.
    uses_cuda = (b"cuda" in data or b"nccl" in data) and _CUDA_CODE.search(data) is not None
    trains = any(word in data for word in _TRAINING_WORDS) and _TRAINS.search(data) is not None
    sources, extensions, imports = _native(data)
    native = bool(sources or imports)
    if not (uses_cuda or trains or native or b"device" in data or b"backend" in data or b"def cuda" in data):
        return None
    parameters: dict[str, tuple[int, ...]] = {}
    classes: dict[str, bool] = {}
    owner: tuple[bytes, bytes] | None = None
    for match in _DEF.finditer(data):
        indent, keyword, name, arguments = match.groups()
        if keyword == b"class":
            owner = (indent, name)
            continue
        inside = owner is not None and len(indent) > len(owner[0])
        if not inside:
            owner = None
        if owner is not None and name == b"cuda":
            classes[_text(owner[1])] = _moves_tensors(data, match.end(), indent)
        if arguments and (b"device" in arguments or b"backend" in arguments):
            positions = _device_positions(arguments, inside)
            if positions:
                called = owner[1] if owner is not None and name == b"__init__" else name
                parameters[_text(called)] = positions
    if not (uses_cuda or trains or parameters or classes or native):
        return None
    return FileFacts(path, uses_cuda, trains, parameters, classes, sources, extensions, imports)


def _native(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The CUDA sources a file names, the extension modules it builds then, and those it may import."""
    sources: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    if b".cu" in data:
        sources = _unique(_CUDA_SOURCE, data)
    if sources:
        extensions = _unique(_EXTENSION, data)
    if any(suffix in data for suffix in _EXTENSION_SUFFIXES):
        imports = _unique(_EXTENSION_IMPORT, data)
    return sources, extensions, imports


def _unique(pattern: re.Pattern[bytes], data: bytes) -> tuple[str, ...]:
    return tuple(sorted({_text(found) for found in pattern.findall(data)}))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _device_positions(arguments: bytes, method: bool) -> tuple[int, ...]:
    found: list[int] = []
    for position, argument in enumerate(arguments.split(b",")):
        match = _PARAMETER.match(argument)
        if match is None:
            if argument.strip().startswith(b"*"):
                break
            continue
        name = _text(match.group(1))
        if names_device(name) or names_backend(name):
            found.append(position - method)
    return tuple(found)


def _moves_tensors(data: bytes, start: int, indent: bytes) -> bool:
    """Whether the body of a method (from ``start`` to the next line indented no deeper) touches tensors."""
    end = re.compile(rb"^(?![ \t]*(?:#|$))(?!" + re.escape(indent) + rb"[ \t])", re.MULTILINE)
    stop = end.search(data, data.find(b"\n", start) + 1)
    body = data[start : stop.start() if stop else len(data)]
    return _TENSOR_WORDS.search(body) is not None


def build(facts: Iterable[FileFacts]) -> ProjectIndex:
    """Merge the facts of all files; the order does not matter.

    Functions of one name that disagree about their parameters decide nothing.
    """
    uses_cuda = trains = False
    parameters: dict[str, tuple[int, ...] | None] = {}
    classes: dict[str, bool] = {}
    entries = list(facts)
    for entry in entries:
        uses_cuda = uses_cuda or entry.uses_cuda
        trains = trains or entry.trains
        for name, positions in entry.device_parameters.items():
            known = parameters.setdefault(name, positions)
            if known != positions:
                parameters[name] = None
        for name, moves in entry.cuda_classes.items():
            classes[name] = classes.get(name, False) or moves
    entries = sorted(entries, key=lambda entry: entry.path)
    agreed = {name: positions for name, positions in parameters.items() if positions is not None}
    return ProjectIndex(ProjectFacts(agreed, classes, uses_cuda, trains, _cuda_sources(entries)))


def _cuda_sources(entries: Iterable[FileFacts]) -> dict[str, CudaSource]:
    """For every CUDA source that some file names, by its last part: who builds it, and who imports what is built."""
    builders: dict[str, list[FileFacts]] = {}
    importers: dict[str, list[str]] = {}
    for entry in entries:
        for name in {source.replace("\\", "/").rpartition("/")[2] for source in entry.cuda_sources}:
            builders.setdefault(name, []).append(entry)
        for module in entry.extension_imports:
            importers.setdefault(module, []).append(entry.path)
    found = {}
    for name, files in builders.items():
        modules = {extension.rpartition(".")[2] for file in files for extension in file.extensions}
        callers = sorted({path for module in modules for path in importers.get(module, ())})
        found[name] = CudaSource(tuple(file.path for file in files), tuple(callers))
    return found
