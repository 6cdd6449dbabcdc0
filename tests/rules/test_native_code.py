"""Native code for CUDA in Python files, and the tests that decide whether it is built."""

from __future__ import annotations

import pytest


def _native(result) -> list[tuple[str, str, int]]:
    return [(f.code, f.level, f.span.line) for f in result.findings if f.code.startswith("NPU7")]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from torch.utils.cpp_extension import CppExtension\next = CppExtension('a', ['a.cpp'])\n", []),
        (
            "from torch.utils.cpp_extension import CUDAExtension\next = CUDAExtension('a', ['a.cu'])\n",
            [("NPU701", "error", 2)],
        ),
        (
            "import torch.utils.cpp_extension as ce\next = ce.CUDAExtension(name='a', sources=files)\n",
            [("NPU701", "error", 2)],
        ),
        (
            "from torch.utils.cpp_extension import load_inline\nm = load_inline('a', cpp_sources=s, cuda_sources=c)\n",
            [("NPU701", "error", 2)],
        ),
        ("from torch.utils.cpp_extension import load_inline\nm = load_inline('a', cpp_sources=s)\n", []),
        ("from torch.utils.cpp_extension import load\nm = load('a', ['a.cpp', 'a.cu'])\n", [("NPU701", "error", 2)]),
        ("from torch.utils.cpp_extension import CUDA_HOME\nprint(CUDA_HOME)\n", [("NPU701", "info", 2)]),
        (
            "try:\n    from torch.utils.cpp_extension import CUDA_HOME\nexcept ImportError:\n    CUDA_HOME = None\n",
            [],
        ),
        ("from mylib import CUDAExtension\next = CUDAExtension('a', ['a.cu'])\n", []),
        ("import ctypes\nrt = ctypes.CDLL('libcudart.so.11.0')\n", [("NPU703", "error", 2)]),
        ("import ctypes\nrt = ctypes.cdll.LoadLibrary('/usr/lib/libcublas.so')\n", [("NPU703", "error", 2)]),
        ("from ctypes import CDLL\nrt = CDLL('cudart64_110.dll')\n", [("NPU703", "error", 2)]),
        ("import ctypes\nlib = ctypes.CDLL('libbarracuda.so')\n", []),
        ("import ctypes\nlib = ctypes.CDLL(path)\n", []),
        ("code = r'''\nextern \"C\" __global__\nvoid f(float* x) {}\n'''\n", [("NPU704", "error", 1)]),
        ("def f():\n    '''Writes a __global__ void kernel(int).'''\n", []),
        ("log('a __global__ variable')\n", []),
    ],
)
def test_what_is_found(convert, source: str, found: list[tuple[str, str, int]]) -> None:
    assert _native(convert(source)) == found


def test_triton_kernels_are_told_once(convert) -> None:
    source = (
        "import triton\nimport triton.language as tl\n\n\n@triton.autotune(configs=[], key=[])\n@triton.jit\n"
        "def forward(x):\n    pass\n\n\n@triton.jit()\ndef backward(x):\n    pass\n"
    )
    (finding,) = convert(source).of("NPU705")
    assert finding.span.line == 7
    assert "forward, backward" in finding.message


def test_sources_are_named(convert) -> None:
    source = "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('a', ['csrc/a.cu', 'b.cu', 'c.cpp'])\n"
    (finding,) = convert(source).of("NPU701")
    assert "(a.cu, b.cu)" in finding.message


@pytest.mark.parametrize(
    "guard",
    [
        "if torch.cuda.is_available():\n    ext = CUDAExtension\nelse:\n    ext = CppExtension\n",
        "if torch.cuda.is_available() or force:\n    args['nvcc'] = flags\n",
        "if torch.cuda.is_available() and CUDA_HOME is not None:\n    modules.append(CUDAExtension('a', ['a.cu']))\n",
        "ext = CUDAExtension if torch.cuda.is_available() else CppExtension\n",
    ],
)
def test_a_guard_of_a_cuda_build_stays(convert, guard: str) -> None:
    head = "import torch\nfrom torch.utils.cpp_extension import CUDA_HOME, CppExtension, CUDAExtension\n\n"
    result = convert(head + guard, path="setup.py")
    assert result.text == head + guard
    assert [f.level for f in result.of("NPU707")] == ["info"]


@pytest.mark.parametrize(
    "guard",
    [
        "if torch.cuda.is_available():\n    device = 0\n",
        "if torch.cuda.is_available():\n    pass\nelse:\n    ext = CUDAExtension\n",
    ],
)
def test_other_guards_are_converted(convert, guard: str) -> None:
    source = "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\n\n" + guard
    result = convert(source)
    assert "torch.npu.is_available()" in result.text
    assert result.of("NPU707") == []
