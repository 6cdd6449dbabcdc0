"""Native code for CUDA: extensions, kernels, and libraries of NVIDIA loaded by hand.

Nothing compiles CUDA for the NPU. ``CUDAExtension``, ``load`` with CUDA sources and ``load_inline`` fail there, and so
does a kernel that is written as a string. A kernel in Triton can be compiled by triton-ascend, PTX inside it cannot.
CUDA sources (``.cu``, ``.cuh``) are read too: one finding a file says what it defines, how big it is, and who uses it.

A test for CUDA that decides whether such an extension is built is left as it is: rewritten for the NPU, it would
start the CUDA compiler on the NPU machine.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules._native import builds_cuda, guard_of_cuda_build
from ascend_migrate.rules._values import calls_of
from ascend_migrate.rules.base import Context, Example, Rule

_BUILDERS = frozenset({"torch.utils.cpp_extension.CUDAExtension"})
_LOADERS = frozenset({"torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"})
_TOOLKIT = frozenset({"torch.utils.cpp_extension.CUDA_HOME", "torch.utils.cpp_extension.CUDNN_HOME"})
_PORT = (
    "Write the kernels in Ascend C and build them with torch_npu.utils.cpp_extension.NpuExtension, or use an operator "
    "of torch_npu."
)
_CUDA_LIBRARY = re.compile(
    r"(?:^|/)(?:lib)?(?:cuda|cudart|cublas(?:Lt)?|cudnn\w*|cufft|curand|cusparse|cusolver|nccl|nvrtc|nvToolsExt|"
    r"nvidia-ml)(?:\.so[\d.]*|64_\d+\.dll|\.dll)?$"
)
_LOADS = frozenset({"ctypes.CDLL", "ctypes.cdll.LoadLibrary", "ctypes.PyDLL", "ctypes.util.find_library"})
_KERNEL = re.compile(r"__global__\s+[\w\s()_,]*void\s+(\w+)")


class CudaExtension(Rule):
    """An extension module that is built from CUDA sources."""

    code = "NPU701"
    name = "cuda-extension"
    level = "error"
    markers = ("CUDAExtension", "cpp_extension", "CUDA_HOME")
    examples = (
        Example("from torch.utils.cpp_extension import load\n\nops = load('ops', ['ops.cpp'])\n", codes=()),
        Example(
            "from torch.utils.cpp_extension import CUDAExtension\n\n"
            "extension = CUDAExtension('ops', ['ops.cpp', 'ops_kernel.cu'])\n",
            codes=("NPU701",),
        ),
        Example(
            "import torch\nfrom torch.utils.cpp_extension import CppExtension, CUDAExtension\n\n"
            "if torch.cuda.is_available():\n    kind = CUDAExtension\nelse:\n    kind = CppExtension\n",
            codes=("NPU707", "NPU701"),
        ),
        Example(
            "from torch.utils import cpp_extension\n\nops = cpp_extension.load(name='ops', sources=['ops.cu'])\n",
            codes=("NPU701",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        toolkit_said = False
        for reference in context.references_under("torch.utils.cpp_extension"):
            node = reference.node
            if context.knows_npu(node) or not isinstance(node.ctx, ast.Load):
                continue
            if reference.qualname in _BUILDERS:
                yield self._extension(context, node)
            elif reference.qualname in _TOOLKIT and not toolkit_said:
                toolkit_said = True
                yield context.finding(
                    self,
                    node,
                    say("{name} is None where no CUDA toolkit is installed.", name=node_name(node)),
                    "Build for the NPU when it is None; CANN is found at ASCEND_HOME_PATH.",
                    level="info",
                )
        for call in calls_of(context, _LOADERS):
            if builds_cuda(call) and not context.knows_npu(call):
                yield self._extension(context, call.func, call)

    def _extension(self, context: Context, node: ast.AST, call: ast.Call | None = None) -> Finding:
        if call is None:
            parent = context.tree.parents[node]
            call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        sources = [] if call is None else _sources(call)
        if sources:
            message = say("It compiles CUDA sources ({sources}), which the NPU cannot run.", sources=_listed(sources))
        else:
            message = say("It compiles CUDA sources, which the NPU cannot run.")
        return context.finding(self, node, message, _PORT)


def node_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _sources(call: ast.Call) -> list[str]:
    """The CUDA sources that a call names as strings."""
    return [
        part.value.replace("\\", "/").rpartition("/")[2]
        for part in ast.walk(call)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.endswith((".cu", ".cuh"))
    ]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" + {len(names) - 4}" if len(names) > 4 else "")


class CudaSourceFile(Rule):
    """A CUDA source in the project. The findings are made where such files are read; what is in Python, other
    rules find."""

    code = "NPU702"
    name = "cuda-source"
    level = "error"
    markers = ()
    examples = (Example("sources = ['ops.cu']\n", codes=()),)

    def check(self, context: Context) -> Iterator[Finding]:
        yield from ()


class CudaLibrary(Rule):
    """One of NVIDIA's libraries, loaded with ctypes."""

    code = "NPU703"
    name = "cuda-library"
    level = "error"
    markers = ("=ctypes",)
    examples = (
        Example("import ctypes\n\nlibc = ctypes.CDLL('libc.so.6')\n", codes=()),
        Example("import ctypes\n\ncudart = ctypes.CDLL('libcudart.so')\n", codes=("NPU703",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in calls_of(context, _LOADS):
            if call.args and not context.knows_npu(call):
                name = call.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str) and _CUDA_LIBRARY.search(name.value):
                    yield context.finding(
                        self,
                        call,
                        say(
                            "{library} is a library of NVIDIA's, which an NPU machine does not have.",
                            library=name.value,
                        ),
                        "torch.npu has devices, streams and memory; the runtime below it is AscendCL (libascendcl.so).",
                    )


class KernelInString(Rule):
    """A CUDA kernel that is written as a string: for ``load_inline``, CuPy, PyCUDA or NVRTC."""

    code = "NPU704"
    name = "kernel-in-string"
    level = "error"
    markers = ("__global__",)
    examples = (
        Example('"""A module about __global__ void kernels."""\n', codes=()),
        Example("source = '__global__ void add(float* x) { x[0] += 1; }'\n", codes=("NPU704",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for constant in context.tree.nodes(ast.Constant):
            if not isinstance(constant.value, str) or isinstance(context.tree.parents[constant], ast.Expr):
                continue
            kernels = _KERNEL.findall(constant.value)
            if kernels:
                yield context.finding(
                    self,
                    constant,
                    say(
                        "CUDA kernels written as a string ({names}): nothing compiles them for the NPU.",
                        names=_listed(kernels),
                    ),
                    _PORT,
                )


class TritonKernel(Rule):
    """A kernel written in Triton. triton-ascend compiles it for Atlas A2 and A3; nothing does for other chips."""

    code = "NPU705"
    name = "triton-kernel"
    level = "warning"
    markers = ("triton",)
    examples = (
        Example("import triton\n\nprint(triton.__version__)\n", codes=("NPU603",)),
        Example(
            "import triton\n\n\n@triton.jit\ndef add(x, y):\n    pass\n",
            codes=("NPU603", "NPU705"),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        kernels = [
            function
            for function in context.tree.nodes(ast.FunctionDef)
            if any(self._is_jit(context, decorator) for decorator in function.decorator_list)
        ]
        if not kernels:
            return
        first = kernels[0]
        name = context.tree.source.text.index(first.name, context.tree.start(first))
        yield context.finding(
            self,
            first,
            say("Kernels in Triton: {names}.", names=_listed([kernel.name for kernel in kernels])),
            "triton-ascend compiles them for Atlas A2 and A3: choose the block sizes anew and check the results; "
            "num_warps and num_stages have no effect there.",
            place=(name, name + len(first.name)),
        )

    def _is_jit(self, context: Context, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return context.qualname(called) in ("triton.jit", "triton.runtime.jit.jit")


class InlinePtx(Rule):
    """PTX, the assembler of NVIDIA's GPUs, inside a Triton kernel."""

    code = "NPU706"
    name = "inline-ptx"
    level = "error"
    markers = ("inline_asm_elementwise", "libdevice")
    examples = (
        Example("def inline_asm_elementwise():\n    return 1\n", codes=()),
        Example(
            "import triton.language as tl\n\n\ndef f(x):\n"
            "    return tl.inline_asm_elementwise('ex2.approx.f32 $0, $1;', '=f,f', [x], tl.float32, True, 1)\n",
            codes=("NPU603", "NPU706"),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for reference in context.references_under("triton.language.inline_asm_elementwise"):
            yield context.finding(
                self,
                reference.node,
                "PTX is the assembler of NVIDIA's GPUs; triton-ascend cannot compile it.",
                "Write it with the functions of triton.language.",
            )


class CudaBuildGuard(Rule):
    """A test for CUDA that decides whether a CUDA extension is built. It stays as it is."""

    code = "NPU707"
    name = "cuda-build-guard"
    level = "info"
    markers = ("CUDAExtension", "CUDA_HOME", "nvcc", ".cu'", '.cu"')
    examples = (
        Example(
            "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\n\n"
            "if torch.cuda.is_available():\n    modules = [CUDAExtension('ops', ['ops.cu'])]\n",
            codes=("NPU707", "NPU701"),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for reference in context.references_under("torch.cuda.is_available", "torch.version.cuda"):
            if guard_of_cuda_build(context, reference.node) and not context.knows_npu(reference.node):
                yield context.finding(
                    self,
                    reference.node,
                    "This decides whether a CUDA extension is built, and is False on an NPU machine: it stays.",
                    "Add a branch for the NPU if the extension has been ported.",
                )
