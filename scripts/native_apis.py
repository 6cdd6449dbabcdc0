"""What becomes of PyTorch's own APIs on the NPU: from traces, operator lists and torch_npu's documentation.

Two sources, kept apart because they are not equally good. *Verified*: the operators that an API comes down to
(``trace_operators.py``) against the operators that a torch_npu version has kernels for (the lists in its wheel).
*Documented*: the tables of native APIs in torch_npu's documentation, as CSV with the columns ``torch, api, a2, a3,
950dt, dtypes, fallback_cpu``. Used by ``update_knowledge.py --apis``, which describes how to call it.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_migrate import knowledge

SOURCE = (
    "operators dispatched by PyTorch {torch} (scripts/trace_operators.py) against the operator lists in the torch-npu "
    "wheels; tables of native APIs in torch_npu's documentation"
)
DOCUMENTED_CHIPS = {"a2": "910b", "a3": "910_93", "950dt": "950"}
"""Columns of the documentation's tables, and the chip family each is about."""

UNCONFIRMED_PREFIXES = (
    "torch.Tensor.smm",
    "torch.Tensor.sspaddmm",
    "torch.Tensor.to_mkldnn",
    "torch.Tensor.to_sparse_",
    "torch.ao.",
    "torch.nested.",
    "torch.quantize_per_",
    "torch.sparse_",
)
"""Where a missing confirmation says something: layouts and number formats that need kernels of their own. Elsewhere
(containers, tools, PyTorch's Python code) the tables leave open what plainly runs."""

NEED_NO_KERNEL = frozenset(
    {"scalar_tensor", "result_type", "can_cast", "_efficientzerotensor", "detach", "alias", "unfold_backward"}
)
"""Operators that give no computation to the device: views, questions, and tensors made on the host; and one that only
the oldest versions lack, of an API that is everywhere."""

Tree = list[Any]


def trace(scratch: Path) -> Mapping[str, Any]:
    """Run ``trace_operators.py`` with this interpreter. Raises CalledProcessError."""
    output = scratch / "trace.json"
    script = Path(__file__).with_name("trace_operators.py")
    subprocess.run([sys.executable, str(script), str(output)], check=True, stdout=subprocess.DEVNULL)
    return json.loads(output.read_text(encoding="utf-8"))


def without_kernel(tree: Tree, has: Callable[[str], bool]) -> set[str]:
    """The operators below a tree that have no kernel, where ``has`` says which ones have."""
    operator, children = tree
    if operator and (operator in NEED_NO_KERNEL or has(operator)):
        return set()
    if operator and not children:
        return {operator}
    return set().union(*(without_kernel(child, has) for child in children))


def kernels(version: str) -> Callable[[str], bool]:
    """Whether a torch_npu version lists a kernel for an operator, in any overload.

    The forms of one operator (``add``, ``add_``, ``add.out``) count for each other: PyTorch makes most of them of
    one another, and a claim is only made where none of them is there.
    """
    surface = knowledge.surface(version)
    kinds = ("supported", "custom", "autograd")
    names = {name.partition(".")[0] for kind in kinds for name in surface.operators(kind)}

    def has(operator: str) -> bool:
        base = operator.rstrip("_")
        return not {operator, base, base + "_"}.isdisjoint(names)

    return has


def fallbacks(samples: Mapping[str, Sequence[Sequence[Tree]]]) -> list[list[Any]]:
    """``[mask of versions, "operator ...", "api ..."]``: the APIs of which every recorded call needs these operators
    and finds no kernel for them."""
    grouped: dict[tuple[str, str], int] = {}
    for index, version in enumerate(knowledge.versions()):
        has = kernels(version)
        for api, calls in samples.items():
            missing = [set().union(*(without_kernel(tree, has) for tree in call)) for call in calls]
            always = set.intersection(*missing) if missing else set()
            if always:
                key = (" ".join(sorted(always)), api)
                grouped[key] = grouped.get(key, 0) | 1 << index
    rows: dict[tuple[int, str], list[str]] = {}
    for (operators, api), mask in grouped.items():
        rows.setdefault((mask, operators), []).append(api)
    return [[mask, operators, " ".join(sorted(apis))] for (mask, operators), apis in sorted(rows.items(), key=_second)]


def _second(item: tuple[tuple[int, str], list[str]]) -> tuple[str, int]:
    (mask, operators), _ = item
    return operators, mask


def read_documentation(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def documented(rows: Iterable[Mapping[str, str]], traced: Iterable[str]) -> dict[str, Any]:
    """The documentation's side: ``releases`` of torch, APIs ``unconfirmed`` on a chip, ``dtypes`` of an API.

    An API that was traced is not listed as unconfirmed: what is known of its operators is better.
    """
    table = list(rows)
    releases = sorted({row["torch"] for row in table}, key=lambda release: [int(p) for p in release.split(".")])
    known = frozenset(traced)
    unconfirmed: dict[str, dict[str, int]] = {chip: {} for chip in DOCUMENTED_CHIPS.values()}
    dtypes: dict[tuple[str, str], int] = {}
    for row in table:
        bit = 1 << releases.index(row["torch"])
        api = row["api"]
        for column, chip in DOCUMENTED_CHIPS.items():
            # The documentation leaves nearly half of all APIs open for 950: that says nothing of any of them.
            is_open = row[column] == "0" and column != "950dt"
            if is_open and api not in known and api.startswith(UNCONFIRMED_PREFIXES):
                unconfirmed[chip][api] = unconfirmed[chip].get(api, 0) | bit
        if row["dtypes"]:
            key = (row["dtypes"], api)
            dtypes[key] = dtypes.get(key, 0) | bit
    return {
        "releases": releases,
        "unconfirmed": {chip: _by_mask(apis) for chip, apis in unconfirmed.items() if apis},
        "dtypes": _by_dtypes(dtypes),
    }


def _by_mask(masks: Mapping[str, int]) -> list[list[Any]]:
    groups: dict[int, list[str]] = {}
    for name, mask in masks.items():
        groups.setdefault(mask, []).append(name)
    return [[mask, " ".join(sorted(names))] for mask, names in sorted(groups.items())]


def _by_dtypes(masks: Mapping[tuple[str, str], int]) -> list[list[Any]]:
    groups: dict[tuple[str, int], list[str]] = {}
    for (dtypes, api), mask in masks.items():
        groups.setdefault((dtypes, mask), []).append(api)
    return [[mask, dtypes, " ".join(sorted(apis))] for (dtypes, mask), apis in sorted(groups.items())]


def document(traced: Mapping[str, Any], documentation: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Everything that ``knowledge/data/native_api.json`` holds."""
    return {
        "format": 1,
        "source": SOURCE.format(torch=traced["torch"].partition("+")[0]),
        "versions": list(knowledge.versions()),
        "fallback": fallbacks(traced["forward"]),
        "gradient_fallback": fallbacks(traced["backward"]),
        "documentation": documented(documentation, traced["forward"]),
    }


def dump(content: Mapping[str, Any]) -> str:
    """One line a group, so that a change is readable in a diff."""

    def lines(rows: Sequence[Any]) -> str:
        return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]"

    documentation = content["documentation"]
    unconfirmed = ",\n".join(f"{json.dumps(k)}: {lines(v)}" for k, v in documentation["unconfirmed"].items())
    return (
        "{\n"
        + f'"format": {content["format"]},\n"source": {json.dumps(content["source"])},\n'
        + f'"versions": {json.dumps(content["versions"])},\n'
        + f'"fallback": {lines(content["fallback"])},\n'
        + f'"gradient_fallback": {lines(content["gradient_fallback"])},\n'
        + f'"documentation": {{\n"releases": {json.dumps(documentation["releases"])},\n'
        + f'"unconfirmed": {{\n{unconfirmed}\n}},\n"dtypes": {lines(documentation["dtypes"])}\n}}\n}}\n'
    )
