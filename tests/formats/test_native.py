"""CUDA sources: what they define, and who builds and uses them."""

from __future__ import annotations

KERNEL = """// __global__ void commented(int* x);
#include <cub/cub.cuh>

template <typename T>
__global__ void add_kernel(T* x, int n) {
  asm volatile("mov.u32 %0, %laneid;" : "=r"(n));
}

__global__ void __launch_bounds__(256, 2) scale_kernel(float* x) {}
"""

SETUP = (
    "from torch.utils.cpp_extension import CUDAExtension\nm = CUDAExtension('pkg.ops_ext', ['ops.cpp', 'src/add.cu'])\n"
)


def test_what_it_defines(process_file) -> None:
    (finding,) = process_file("src/add.cu", KERNEL).findings
    assert (finding.code, finding.level, finding.span.line) == ("NPU702", "warning", 5)
    assert "add_kernel, scale_kernel" in finding.message
    assert "commented" not in finding.message
    assert "A CUDA source of 6 lines" in finding.message
    assert "cub" in finding.help
    assert "PTX" in finding.help


def test_who_builds_and_uses_it(process_file) -> None:
    others = {"setup.py": SETUP, "pkg/layer.py": "from . import ops_ext\n", "pkg/other.py": "import numpy\n"}
    (finding,) = process_file("src/add.cu", KERNEL, others).findings
    assert finding.level == "error"
    assert "Built by setup.py. Used by pkg/layer.py." in finding.help


def test_a_pattern_builds_it(process_file) -> None:
    others = {"setup.py": "import glob\nsources = glob.glob('src/*.cu')\n"}
    (finding,) = process_file("src/add.cu", KERNEL, others).findings
    assert "Built by setup.py" in finding.help


def test_a_header_without_kernels(process_file) -> None:
    (finding,) = process_file("src/common.cuh", "#pragma once\n#define CEIL(a, b) ((a + b - 1) / b)\n").findings
    assert "no kernel of its own" in finding.message
    assert finding.span.line == 1


def test_empty_and_binary(process_file) -> None:
    assert len(process_file("a.cu", b"").findings) == 1
    assert len(process_file("a.cu", b"\xff\x00\xfe").findings) == 1
