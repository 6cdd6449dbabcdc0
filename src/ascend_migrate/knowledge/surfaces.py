"""The names and operators of each torch_npu version.

Source: the torch-npu wheels on PyPI, read without importing them by ``scripts/update_knowledge.py``, which
also describes the form of ``data/torch_npu.json``. Names are what a module binds at run time, its leaked
imports (``os``, ``List``) included; what it means to offer is its ``__all__``, see :meth:`Surface.exported`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ascend_migrate.knowledge._versions import base_version, version_key

OPERATOR_KINDS = ("supported", "custom", "quant", "autograd")
"""``supported``: aten operators with an NPU kernel; ``custom``: operators of torch_npu's own; ``quant``:
those for quantized tensors; ``autograd``: aten operators whose gradient is torch_npu's own."""

_NameGroups = list[tuple[int, str]]
"""(mask of versions, names separated by blanks)"""


class UnknownVersion(ValueError):  # noqa: N818
    """The text is not the number of a torch_npu version."""


class Surface:
    """The names and operators of one torch_npu version. Made by :func:`surface`."""

    def __init__(self, version: str, index: int, document: Mapping[str, Any]) -> None:
        self.version = version
        self._bit = 1 << index
        self._document = document
        self._names: dict[str, frozenset[str]] = {}
        self._has: dict[str, bool] = {}
        self._modules: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"Surface({self.version!r})"

    @property
    def modules(self) -> frozenset[str]:
        """The modules of the package whose members are known, by their ``torch_npu...`` names."""
        if self._modules is None:
            entries = self._document["modules"].items()
            self._modules = frozenset(name for name, entry in entries if entry["in"] & self._bit)
        return self._modules

    def is_module(self, dotted: str) -> bool:
        """Whether ``dotted`` is a module whose members are known. ``torch.npu`` is ``torch_npu.npu``."""
        return canonical(dotted) in self.modules

    def names(self, module: str) -> frozenset[str]:
        """What a module binds, private names included; empty for a module that this version lacks."""
        module = canonical(module)
        if module not in self._names:
            entry = self._entry("modules", module)
            self._names[module] = self._decode(entry["names"]) if entry else frozenset()
        return self._names[module]

    def can_import(self, module: str, name: str) -> bool:
        """Whether ``from module import name`` works. Differs from :meth:`has` for ``torch.npu.mstx``.

        That attribute is a class which hides the module of the same name: ``torch.npu.mstx.mark`` exists,
        ``from torch_npu.npu.mstx import mark`` fails. A module that is not known cannot be imported from.
        """
        module = canonical(module)
        entry = self._entry("modules", module)
        return entry is not None and (bool(entry.get("open", 0) & self._bit) or name in self.names(module))

    def exported(self, module: str) -> frozenset[str]:
        """The ``__all__`` of a module; empty where it has none."""
        entry = self._entry("modules", canonical(module))
        return self._decode(entry.get("all", [])) if entry else frozenset()

    def has(self, dotted: str) -> bool:
        """Whether ``torch.npu.Stream`` or ``torch_npu.npu.amp.GradScaler`` exists in this version.

        Asked are names of torch_npu and what importing torch_npu sets in torch (``torch.Tensor.npu``); for
        any other name of torch, or of another package, the answer is False. A path that goes deeper than a
        known name (``torch.npu.Stream.query``, a method) counts as existing when that name does: classes are
        not looked into. A name that a known module lacks does not exist, nor does anything below it.
        """
        found = self._has.get(dotted)
        if found is None:
            found = self._has[dotted] = self._find(canonical(dotted))
        return found

    def _find(self, dotted: str) -> bool:
        section = "modules" if dotted.split(".", 1)[0] == "torch_npu" else "additions"
        owner, rest = dotted, ""
        while owner:
            entry = self._entry(section, owner)
            if entry is not None:
                if not rest:
                    return True
                name = rest.split(".", 1)[0]
                is_dunder = len(name) > 4 and name.startswith("__") and name.endswith("__")
                return is_dunder or bool(entry.get("open", 0) & self._bit) or name in self._members(section, owner)
            owner, _, last = owner.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return False

    def _members(self, section: str, owner: str) -> frozenset[str]:
        if section == "modules":
            members = self._document[section][owner].get("members")
            return self.names(owner) | self._decode(members) if members else self.names(owner)
        return self._decode(self._document[section][owner]["names"])

    def operators(self, kind: str = "supported") -> frozenset[str]:
        """The operators of a kind (see :data:`OPERATOR_KINDS`) with overload: ``add.Tensor``, ``npu_swiglu``.

        Raises KeyError for another kind.
        """
        return self._operators(kind)

    def has_operator(self, name: str) -> bool:
        """Whether torch_npu lists a kernel for ``aten::add.Tensor``, ``add.Tensor`` or ``npu_swiglu``.

        A name without overload stands for any overload. Operators that PyTorch composes of others need no
        kernel and are not listed; for them this is False although they run.
        """
        name = name.split("::", 1)[-1]
        kinds = ("supported", "custom", "quant")
        if "." in name:
            return any(name in self._operators(kind) for kind in kinds)
        return any(name in self._operators(kind) or name in self._operator_bases(kind) for kind in kinds)

    @cache  # noqa: B019  (surfaces live as long as the process)
    def _operators(self, kind: str) -> frozenset[str]:
        return self._decode(self._document["operators"][kind])

    @cache  # noqa: B019
    def _operator_bases(self, kind: str) -> frozenset[str]:
        return frozenset(name.split(".", 1)[0] for name in self._operators(kind))

    def _entry(self, section: str, owner: str) -> Mapping[str, Any] | None:
        entry: Mapping[str, Any] | None = self._document[section].get(owner)
        return entry if entry is not None and entry["in"] & self._bit else None

    def _decode(self, groups: Iterable[tuple[int, str]]) -> frozenset[str]:
        names: list[str] = []
        for mask, text in groups:
            if mask & self._bit:
                names += text.split()
        return frozenset(names)


def canonical(dotted: str) -> str:
    """``torch.npu.X`` as ``torch_npu.npu.X``: the same object under its own name. Anything else unchanged."""
    if dotted == "torch.npu" or dotted.startswith("torch.npu."):
        return "torch_npu" + dotted[len("torch") :]
    return dotted


@cache
def versions() -> tuple[str, ...]:
    """The torch_npu versions whose names and operators are known, oldest first."""
    return tuple(row["torch_npu"] for row in _document()["versions"])


@cache
def nearest_version(version: str) -> str:
    """The known version nearest to ``version`` and not newer; the oldest one for anything older.

    Raises :class:`UnknownVersion` for what is not a version number.
    """
    known = versions()
    try:
        key = version_key(version)
    except ValueError:
        raise UnknownVersion(f"{version!r} is not a torch_npu version; known are {known[0]} to {known[-1]}") from None
    return max((v for v in known if version_key(v) <= key), key=version_key, default=known[0])


def surface(version: str) -> Surface:
    """The names and operators of a version, or of the nearest known one, see :func:`nearest_version`."""
    return _surface(nearest_version(version))


@cache
def _surface(version: str) -> Surface:
    return Surface(version, versions().index(version), _document())


def versions_with(dotted: str) -> tuple[str, ...]:
    """The versions that have a name, oldest first; see :meth:`Surface.has`."""
    return tuple(version for version in versions() if _surface(version).has(dotted))


def torch_of(version: str) -> str:
    """The PyTorch release that a known torch_npu version requires: ``2.7.1`` for ``2.7.1.post2``.

    Source: the ``Requires-Dist`` of the wheel. For a version that is not known: the version's own release.
    Raises :class:`UnknownVersion` for what is not a version number.
    """
    for row in _document()["versions"]:
        if row["torch_npu"] == version:
            torch: str = row["torch"]
            return torch
    try:
        return base_version(version)
    except ValueError:
        raise UnknownVersion(f"{version!r} is not a torch_npu version") from None


@cache
def _document() -> Mapping[str, Any]:
    path = Path(__file__).parent / "data" / "torch_npu.json"
    document: Mapping[str, Any] = json.loads(path.read_bytes())
    return document
