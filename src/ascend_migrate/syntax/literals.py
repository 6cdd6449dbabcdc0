"""String literals that may name a device, a backend or a tensor type, and how to spell them for the NPU."""

from __future__ import annotations

import ast
import re
from typing import Literal

from ascend_migrate.model import Edit
from ascend_migrate.syntax.tree import Tree

LiteralKind = Literal["device", "backend", "type"]

_DEVICE = re.compile(r"cuda(?::(?:\d+|%[ds]|\{\w*\})?)?")
_BACKEND = re.compile(r"nccl|NCCL|Nccl")
_BACKENDS_BY_DEVICE = re.compile(r"\w+:\w+(?:,\w+:\w+)+|cuda:nccl")
_TYPE = re.compile(r"torch\.cuda\.\w+Tensor")
PIECE = re.compile(r"[A-Za-z]{0,2}(\"\"\"|'''|\"|')")

_TWINS = {"cuda": "npu", "nccl": "hccl", "NCCL": "HCCL", "Nccl": "Hccl"}


def kind_of(value: str) -> LiteralKind | None:
    """What a whole string constant could be, judged by its spelling alone."""
    if _DEVICE.fullmatch(value):
        return "device"
    if _BACKEND.fullmatch(value) or (_BACKENDS_BY_DEVICE.fullmatch(value) and "cuda:" in value):
        return "backend"
    if _TYPE.fullmatch(value):
        return "type"
    return None


def is_unmistakable(value: str) -> bool:
    """Whether the spelling alone decides: a table of backends or a tensor type can be nothing else."""
    return bool(_TYPE.fullmatch(value)) or (bool(_BACKENDS_BY_DEVICE.fullmatch(value)) and kind_of(value) == "backend")


def template_head(node: ast.JoinedStr) -> str | None:
    """The literal head of an f-string such as ``f"cuda:{rank}"``, or None when it cannot be a device."""
    head = node.values[0] if node.values else None
    if isinstance(head, ast.Constant) and isinstance(head.value, str):
        return head.value if head.value in ("cuda", "cuda:") else None
    return None


def npu_spelling(value: str) -> str:
    """``cuda:0`` -> ``npu:0``, ``nccl`` -> ``hccl``, ``cpu:gloo,cuda:nccl`` -> ``cpu:gloo,npu:hccl``."""
    return re.sub(r"cuda|nccl|NCCL|Nccl", lambda m: _TWINS[m.group()], value)


def edit_constant(tree: Tree, node: ast.AST, old: str, new: str) -> Edit | None:
    """Replace ``old``, the whole value of the literal ``node``, by ``new`` inside its quotes.

    None when the source spells it in another way (escapes, several pieces): such a literal is left alone.
    """
    source = tree.text(node)
    match = PIECE.match(source)
    if match is None or source[match.end() : len(source) - len(match.group(1))] != old:
        return None
    start = tree.start(node) + match.end()
    return _narrow(start, old, new)


def edit_head(tree: Tree, node: ast.JoinedStr, old: str, new: str) -> Edit | None:
    """Replace the literal head ``old`` of an f-string by ``new``."""
    source = tree.text(node)
    match = PIECE.match(source)
    if match is None or not source.startswith(old, match.end()):
        return None
    return _narrow(tree.start(node) + match.end(), old, new)


def _narrow(start: int, old: str, new: str) -> Edit:
    """The smallest edit that turns ``old`` (at ``start``) into ``new``: equal ends stay untouched."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(start + head, start + len(old) - tail, new[head : len(new) - tail])


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DEVICE_WORDS = frozenset({"device", "devices", "accelerator", "accelerators", "dev"})
_BACKEND_WORDS = frozenset({"backend", "backends"})


def words(name: str) -> list[str]:
    """``torchDevice``, ``torch_device`` and ``TORCH_DEVICE`` are ``["torch", "device"]``."""
    return [w.lower() for w in _WORD.findall(name)]


def names_device(name: str) -> bool:
    """Whether a name (variable, parameter, key, option) says that its value is a device."""
    found = words(name)
    return not _DEVICE_WORDS.isdisjoint(found) or found[-2:] == ["map", "location"]


def names_backend(name: str) -> bool:
    """Whether a name says that its value is a communication backend."""
    return not _BACKEND_WORDS.isdisjoint(words(name))
