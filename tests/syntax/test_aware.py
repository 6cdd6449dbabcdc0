"""What stands beside its NPU side stays as it is; the shapes are those of real projects."""

from __future__ import annotations

import ast
import textwrap

import pytest

from ascend_migrate.syntax.aware import NpuAwareness
from ascend_migrate.syntax.text import SourceText
from ascend_migrate.syntax.tree import parse

COVERED = {
    "members of an enumeration": """
        class Device(Enum):
            CPU = ("cpu", "gloo")
            CUDA = ("cuda", "nccl")
            NPU = ("npu", "hccl")
        """,
    "functions": """
        def is_cuda_available():
            return torch.cuda.is_available()

        def is_npu_available():
            return torch.npu.is_available()
        """,
    "methods": """
        class Model(nn.Module):
            def cuda(self):
                return super().cuda()

            def npu(self):
                return super().npu()
        """,
    "attributes": """
        self.is_cuda = device.type == "cuda"
        self.is_npu = device.type == "npu"
        """,
    "variables of backends": """
        is_nccl = backend == "nccl"
        current = torch.device("cpu")
        is_hccl = backend == "hccl"
        """,
    "a guard by a function of the project": """
        if is_npu_available():
            states["npu"] = torch.npu.get_rng_state_all()
        if is_cuda_available():
            states["x"] = torch.cuda.get_rng_state_all()
        """,
    "a guard in an expression": """
        n = torch.npu.device_count() if npu_is_there() else 0
        m = torch.cuda.device_count() if cuda_is_there() else 0
        """,
    "the same question asked again": """
        if kind == "cuda":
            assert torch.cuda.is_available()
        if kind == "npu":
            assert torch.npu.is_available()
        """,
    "the default of a table": """
        backend = {"npu": "hccl", "xpu": "xccl"}.get(kind, "nccl")
        """,
}

NOT_COVERED = {
    "an alias that a conversion added": """
        class Box:
            def cuda(self):
                return Box(self.tensor.cuda())

            npu = cuda
        """,
    "a guard by a name of torch": """
        if x.is_cuda:
            y = y.cuda()
        z = w.is_npu
        """,
    "another question": """
        if kind == "cuda":
            x = x.cuda()
        if other == "npu":
            pass
        """,
    "another function": """
        def to_cuda(x):
            return x.cuda()

        def from_npu(x):
            return x.cpu()
        """,
}


def _answers(source: str) -> set[bool]:
    """What is said of the CUDA names and strings of a file."""
    tree = parse(SourceText(textwrap.dedent(source)))
    awareness = NpuAwareness(tree)
    strings = [c for c in tree.nodes(ast.Constant) if c.value in ("cuda", "nccl")]
    names = [a for a in tree.nodes(ast.Attribute) if a.attr == "cuda"]
    return {awareness.covers(node) for node in (*strings, *names)}


@pytest.mark.parametrize("name", COVERED)
def test_covered(name: str) -> None:
    assert _answers(COVERED[name]) == {True}


@pytest.mark.parametrize("name", NOT_COVERED)
def test_not_covered(name: str) -> None:
    assert _answers(NOT_COVERED[name]) == {False}
