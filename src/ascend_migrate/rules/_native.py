"""What builds CUDA code, and the tests that decide whether it is built."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_migrate.rules.base import Context

_BUILDING = frozenset({"CUDAExtension", "CUDA_HOME", "make_cuda_ext", "cuda_sources", "nvcc", "NVCC_FLAGS"})


def builds_cuda(node: ast.AST) -> bool:
    """Whether something inside ``node`` compiles CUDA: a name that says so, a ``.cu`` file, flags for nvcc."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            if part.id in _BUILDING:
                return True
        elif isinstance(part, ast.Attribute):
            if part.attr in _BUILDING:
                return True
        elif isinstance(part, ast.keyword):
            if part.arg in ("cuda_sources", "extra_cuda_cflags"):
                return True
        elif (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and (part.value.endswith((".cu", ".cuh")) or part.value in ("nvcc", "WITH_CUDA"))
        ):
            return True
    return False


def guard_of_cuda_build(context: Context, node: ast.AST) -> bool:
    """Whether ``node`` is part of a test that decides whether CUDA code is compiled.

    Rewritten for the NPU, the test would be true on an NPU machine and start the CUDA compiler there.
    """
    if not any(word in context.source.text for word in ("CUDAExtension", "CUDA_HOME", "nvcc", ".cu'", '.cu"')):
        return False
    child = node
    for parent in context.tree.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is parent.test:
            chosen = parent.body if isinstance(parent.body, list) else [parent.body]
            return any(builds_cuda(part) for part in chosen)
        if isinstance(parent, (ast.Assign, ast.Return)):
            return False
        child = parent
    return False
