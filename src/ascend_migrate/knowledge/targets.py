"""Chips, version pairs, and the target that a user's words mean.

Sources: ``data/socs.json`` carries the source of each fact; ``data/version_table.csv`` is the version table
of torch_npu's documentation (as of 2026-08). The versions on PyPI that the table lacks are added from the
packages; for them CANN and Python are not known.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ascend_migrate.knowledge import surfaces
from ascend_migrate.knowledge._versions import base_version, version_key
from ascend_migrate.model import Target

_DATA = Path(__file__).parent / "data"

DEFAULT_SOC = "910b"
DEFAULT_TORCH_NPU = "2.7.1"


class UnknownTarget(ValueError):  # noqa: N818
    """A chip, product or version that is not known. The message suggests the nearest one."""


@dataclass(frozen=True)
class Fact:
    """One claim about a chip and where it comes from."""

    text: str
    source: str


@dataclass(frozen=True)
class Soc:
    """A chip family. ``None`` means that it is not known."""

    code: str
    """The name used everywhere in this tool: ``910b``."""
    family: str
    """The name used in torch_npu's documentation: ``a2``."""
    title: str
    aliases: tuple[str, ...]
    chips: tuple[str, ...]
    """Names of the chips, as ``npu-smi`` and ``torch.npu.get_device_name()`` show them after ``Ascend``."""
    products: tuple[str, ...]
    bf16: bool | None
    inf_nan: bool | None
    """Whether an overflow gives inf and nan as on a GPU, rather than the largest number."""
    jit_compile: bool | None
    """The default of ``torch.npu.set_compile_mode(jit_compile=...)``."""
    internal_format: bool | None
    """The default of ``torch.npu.config.allow_internal_format``."""
    float16_matmul: bool | None
    """Whether matrix products of float32 are computed in float16 by default."""
    inference: bool
    """Made for inference: training may lack operators."""
    facts: tuple[Fact, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that a user may call it."""
        return (self.code, *self.aliases, *self.chips, *self.products)


@dataclass(frozen=True)
class VersionRow:
    """A torch_npu version and what belongs to it."""

    torch_npu: str
    torch: str
    cann: str | None
    """The CANN version it was released with, or None when that is not known."""
    pythons: tuple[str, ...]
    """The Python versions it supports; empty when that is not known."""
    on_pypi: bool
    """Whether PyPI offers it; its names and operators are known then."""


@cache
def socs() -> tuple[Soc, ...]:
    """The chip families, older ones first, inference last."""
    rows = json.loads((_DATA / "socs.json").read_bytes())
    return tuple(
        Soc(
            code=row["code"],
            family=row["family"],
            title=row["title"],
            aliases=tuple(row["aliases"]),
            chips=tuple(row["chips"]),
            products=tuple(row["products"]),
            bf16=row["bf16"],
            inf_nan=row["inf_nan"],
            jit_compile=row["jit_compile"],
            internal_format=row["internal_format"],
            float16_matmul=row["float16_matmul"],
            inference=row["inference"],
            facts=tuple(Fact(fact["text"], fact["source"]) for fact in row["facts"]),
        )
        for row in rows
    )


def find_soc(name: str) -> Soc:
    """The chip family of ``910B3``, ``Ascend310P3``, ``Atlas 300I Duo`` or ``atlas-800t-a2``.

    Case, blanks, hyphens, and the words Ascend and Atlas do not matter. Raises :class:`UnknownTarget`.
    """
    wanted = _normal(name)
    by_name = _socs_by_name()
    if wanted in by_name:
        return by_name[wanted]
    import difflib

    close = difflib.get_close_matches(wanted, by_name, n=1, cutoff=0.6)
    codes = ", ".join(soc.code for soc in socs())
    hint = f"did you mean {_spelling(by_name[close[0]], close[0])!r}? " if close else ""
    raise UnknownTarget(f"unknown chip or product {name!r}: {hint}known chips are {codes}")


@cache
def _socs_by_name() -> dict[str, Soc]:
    return {_normal(name): soc for soc in socs() for name in soc.names}


def _normal(name: str) -> str:
    words = re.findall(r"[a-z0-9]+", name.lower().replace("ascend", " "))
    return "-".join(word for word in words if word not in {"atlas", "huawei", "model", "npu"})


def _spelling(soc: Soc, normal: str) -> str:
    return next(name for name in soc.names if _normal(name) == normal)


@cache
def version_table() -> tuple[VersionRow, ...]:
    """All torch_npu versions, newest first: those of the documentation's table and those on PyPI."""
    known = surfaces.versions()
    rows = {}
    lines = (_DATA / "version_table.csv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        torch_npu, torch, cann, _branch, pythons = line.split(",")
        rows[torch_npu] = VersionRow(torch_npu, torch, cann, tuple(pythons.split()), torch_npu in known)
    for version in known:
        if version not in rows:
            rows[version] = VersionRow(version, surfaces.torch_of(version), None, (), True)
    return tuple(sorted(rows.values(), key=lambda row: version_key(row.torch_npu), reverse=True))


def resolve_target(soc: str | None = None, torch_npu: str | None = None, torch: str | None = None) -> Target:
    """The target that these words mean; what is left out has a default (910b, torch_npu 2.7.1, its torch).

    ``soc`` is a chip or product, see :func:`find_soc`. A ``torch_npu`` whose names are not known is mapped to
    the nearest known one that is not newer, so the result may differ from what was asked: say so. Only
    ``torch`` given: the newest torch_npu for it. Raises :class:`UnknownTarget` for anything unknown, for a
    torch without torch_npu, and for two versions that do not belong together.
    """
    code = find_soc(soc if soc is not None else DEFAULT_SOC).code
    if torch_npu is None and torch is None:
        torch_npu = DEFAULT_TORCH_NPU
    if torch_npu is None:
        assert torch is not None
        return Target(soc=code, torch=_release(torch), torch_npu=_newest_for(torch))
    try:
        mapped = surfaces.nearest_version(torch_npu)
    except surfaces.UnknownVersion as error:
        raise UnknownTarget(str(error)) from None
    required = surfaces.torch_of(mapped)
    if torch is not None and not _same_release(torch, surfaces.torch_of(torch_npu)):
        try:
            better = f"use torch_npu {_newest_for(torch)}"
        except UnknownTarget as error:
            better = str(error)
        raise UnknownTarget(f"torch_npu {torch_npu} belongs to torch {required}, not {torch}: {better}")
    return Target(soc=code, torch=required, torch_npu=mapped)


def _newest_for(torch: str) -> str:
    fitting = [v for v in surfaces.versions() if _same_release(torch, surfaces.torch_of(v))]
    if not fitting:
        offered = sorted({surfaces.torch_of(v) for v in surfaces.versions()}, key=version_key)
        raise UnknownTarget(f"there is no torch_npu on PyPI for torch {torch}; there is one for {', '.join(offered)}")
    return fitting[-1]


def _release(torch: str) -> str:
    return surfaces.torch_of(_newest_for(torch))


def _same_release(asked: str, release: str) -> bool:
    """Whether ``2.7``, ``2.7.1`` or ``2.7.1+cpu`` means the release ``2.7.1``."""
    try:
        wanted = base_version(asked).split(".")
    except ValueError:
        raise UnknownTarget(f"{asked!r} is not a torch version") from None
    return release.split(".")[: len(wanted)] == wanted
