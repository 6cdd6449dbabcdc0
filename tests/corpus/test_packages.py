"""Small packages from PyPI: nothing is broken by analyzing and converting them, and what must change does."""

from __future__ import annotations

from types import ModuleType

import pytest

from ascend_migrate import knowledge

pytestmark = pytest.mark.network

KNOWN_LINES = {
    "segmentation-models-pytorch": {},
    "vit-pytorch": {
        "vit_pytorch/rvt.py": "@autocast('npu', enabled = False)",
        "vit_pytorch/simple_uvit.py": "img = torch.randn(2, 3, 256, 256).npu()",
    },
    "x-transformers": {
        "x_transformers/x_transformers.py": "@autocast('npu', enabled = False)",
        "x_transformers/attend.py": "batch, heads, q_len, _, k_len, is_cuda, device = "
        "*q.shape, k.shape[-2], q.is_npu, q.device",
    },
}
"""Package -> file -> a line that the converted file holds. No file: nothing is to change in the package."""


@pytest.mark.parametrize("name", KNOWN_LINES)
def test_package(corpus: ModuleType, name: str) -> None:
    package = next(package for package in corpus.PACKAGES if package.name == name)
    tree = corpus.sources(package, corpus.default_cache())
    outcome = corpus.check(package, tree, knowledge.resolve_target(None, None, None))
    assert outcome.broken == []
    assert [error for report in outcome.reports for error in report.errors] == []
    converted = {report.path: report.new_bytes for report in outcome.reports if report.new_bytes is not None}
    if not KNOWN_LINES[name]:
        assert converted == {}
    for path, line in KNOWN_LINES[name].items():
        assert line in [row.strip() for row in converted[path].decode().splitlines()]
