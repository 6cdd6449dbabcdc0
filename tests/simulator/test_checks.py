"""Every check in checks/ holds on the simulated NPU."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.sim

GROUPS = {
    "single_card": (("--sim-devices", "2"), 1),
    "surface": ((), 1),
    "fused": ((), 1),
    "two_ranks": (("--nproc", "2"), 2),
}
"""file in checks/ -> options of `run`, number of ranks"""


def _checks() -> list[tuple[str, str]]:
    found = []
    for module in GROUPS:
        tree = ast.parse((Path(__file__).parent / "checks" / f"{module}.py").read_text(encoding="utf-8"))
        functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
        found += [(module, name) for name in functions if name.startswith("check_")]
    return found


@pytest.mark.parametrize(("module", "check"), _checks())
def test_check(module: str, check: str, outcome_of: Callable[..., str]) -> None:
    options, ranks = GROUPS[module]
    failure = outcome_of(module, check, options, ranks)
    assert not failure, failure
