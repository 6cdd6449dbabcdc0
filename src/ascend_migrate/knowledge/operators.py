"""What becomes of PyTorch's own functions, Tensor methods and modules on the NPU.

Two sources that are not equally good, see ``scripts/native_apis.py``, which makes ``data/native_api.json``:

- *verified*: the operators an API comes down to, against the kernels that a torch_npu version lists. An operator
  without a kernel runs on the CPU, with copies both ways and a warning; with ``TORCH_NPU_FALLBACK_CPU_DISABLE=1``
  it is an error. Traced with one release of PyTorch; in others an API may come down to other operators.
- *documented*: the tables of native APIs in torch_npu's documentation: what is confirmed, and for which dtypes.
  They speak of A2, A3 and 950 only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ascend_migrate.knowledge._versions import version_key
from ascend_migrate.knowledge.surfaces import nearest_version, torch_of

_DATA = Path(__file__).parent / "data" / "native_api.json"


@dataclass(frozen=True)
class Fallback:
    """The aten operators without an NPU kernel that every use of an API needs. Empty: none is known."""

    forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()


def fallback(api: str, torch_npu: str) -> Fallback:
    """What of ``torch.linalg.det`` or ``torch.Tensor.lgamma`` runs on the CPU with a version of torch_npu."""
    return _fallbacks(nearest_version(torch_npu)).get(api, Fallback())


def fallback_apis(torch_npu: str) -> frozenset[str]:
    """The APIs for which :func:`fallback` has something to say."""
    return frozenset(_fallbacks(nearest_version(torch_npu)))


def documented_dtypes(api: str, torch_npu: str) -> frozenset[str] | None:
    """The dtypes (``fp16``, ``int64``) to which the documentation restricts an API; None when it does not.

    bfloat16 is not mentioned in these tables: nothing follows for it.
    """
    return _dtypes(_release(torch_npu)).get(api)


def unconfirmed_apis(soc: str, torch_npu: str) -> frozenset[str]:
    """The APIs that the documentation does not confirm on a chip. Empty for chips it does not speak of.

    Left out are those whose operators are known: that is better knowledge.
    """
    bit = 1 << _document()["documentation"]["releases"].index(_release(torch_npu))
    return _decode(_document()["documentation"]["unconfirmed"].get(soc, ()), bit)


def dtype_coverage(dtype: str, torch_npu: str) -> tuple[int, int]:
    """Of how many APIs the documentation lists ``dtype``, and of how many it lists dtypes at all."""
    tables = _dtypes(_release(torch_npu)).values()
    return sum(dtype in dtypes for dtypes in tables), len(tables)


def documentation_release(torch_npu: str) -> str:
    """The PyTorch release whose tables answer for a version of torch_npu: the nearest that is not newer."""
    return _release(torch_npu)


@cache
def _fallbacks(version: str) -> Mapping[str, Fallback]:
    document = _document()
    if version not in document["versions"]:
        return {}
    bit = 1 << document["versions"].index(version)
    found: dict[str, Fallback] = {}
    for kind in ("fallback", "gradient_fallback"):
        for mask, operators, apis in document[kind]:
            if mask & bit:
                names = tuple(operators.split())
                for api in apis.split():
                    old = found.get(api, Fallback())
                    found[api] = Fallback(names, old.backward) if kind == "fallback" else Fallback(old.forward, names)
    return found


@cache
def _dtypes(release: str) -> Mapping[str, frozenset[str]]:
    documentation = _document()["documentation"]
    bit = 1 << documentation["releases"].index(release)
    return {
        api: frozenset(dtypes.split())
        for mask, dtypes, apis in documentation["dtypes"]
        if mask & bit
        for api in apis.split()
    }


def _decode(groups: Iterable[tuple[int, str]], bit: int) -> frozenset[str]:
    return frozenset(name for mask, names in groups if mask & bit for name in names.split())


@cache
def _release(torch_npu: str) -> str:
    releases: list[str] = _document()["documentation"]["releases"]
    key = version_key(torch_of(torch_npu))
    return max((r for r in releases if version_key(r) <= key), key=version_key, default=releases[0])


@cache
def _document() -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(_DATA.read_bytes())
    return document
