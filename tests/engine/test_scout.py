"""The look at the bytes that decides which rules see a file."""

from __future__ import annotations

import pytest

from ascend_migrate.engine.scout import Scout
from ascend_migrate.rules.base import dotted_marker

MARKERS = ("cuda", "CUDA_HOME", "NCCL_IB", "gather&nn", "=triton", "import k2", "from k2", "=a&b c", "use_cuda")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", set()),
        ("x = 1\n", set()),
        ("barracuda", {"cuda"}),
        ("use_cuda", {"cuda", "use_cuda"}),
        ("CUDA", set()),
        ("os.environ['CUDA_HOME']", {"CUDA_HOME"}),
        ("NCCL_IB_DISABLE", {"NCCL_IB"}),
        ("gathering", set()),
        ("gathering nn", {"gather&nn"}),
        ("import triton.language as tl", {"=triton"}),
        ("triton2 tritonclient _triton", set()),
        ("é.triton", {"=triton"}),
        ("x = 'import k2'", {"import k2"}),
        ("try:\n    import k2\nexcept ImportError:\n    pass", {"import k2"}),
        ("import os\r\nfrom k2 import x", {"from k2"}),
        ("# taken from k2\nimport os", set()),
        ("a.b cd", {"=a&b c"}),
        ("ab c", set()),
    ],
)
def test_markers(text: str, held: set[str]) -> None:
    assert Scout(MARKERS).held(text.encode()) == held


def test_a_dotted_name_is_found_however_it_is_imported() -> None:
    marker = dotted_marker("torch.nn.parallel.gather")
    scout = Scout([marker])
    for source in (
        b"import torch\ntorch.nn.parallel.gather(x)",
        b"import torch.nn as nn\nnn.parallel.gather(x)",
        b"from torch.nn import functional, parallel as p\np.gather(x)",
        b"from torch.nn.parallel import (\n    gather,\n)",
    ):
        assert scout.held(source) == {marker}
    assert scout.held(b"import torch\nfrom torch import nn\ntorch.gather(x)") == set()
