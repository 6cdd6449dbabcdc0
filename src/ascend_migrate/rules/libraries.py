"""A library beside PyTorch that is made for CUDA.

Which library fares how on the NPU is data, with a source for every claim. A library is reported once per file, at
the import on which the file depends most: an import in a ``try`` that goes on without it, or under a question such
as ``if is_xformers_available():``, is an information; one inside a function is at most a warning. Requirements in
``setup.py``, ``requirements.txt``, ``pyproject.toml``, ``setup.cfg`` and ``environment.yml`` are read too. Libraries
that work without change are not reported, unless a requirement keeps them below the version that knows the NPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules._library_uses import LibraryUse, library_markers, library_uses
from ascend_migrate.rules._requirements import CODES, CUDA_BUILD, TORCH_VERSION, Judgement, judge
from ascend_migrate.rules.base import Context, Example, Rule

_REQUIREMENT_KEYWORDS = frozenset({"install_requires", "setup_requires", "tests_require", "extras_require"})
_OPTIONAL_KEYWORDS = frozenset({"tests_require", "extras_require"})


def _requirements(context: Context) -> list[tuple[ast.Constant, Judgement]]:
    """What is to be said about the requirements that a ``setup.py`` writes as strings."""
    found: list[tuple[ast.Constant, Judgement]] | None = context.memo.get("requirements")
    if found is None:
        found = []
        for keyword in context.tree.nodes(ast.keyword):
            if keyword.arg in _REQUIREMENT_KEYWORDS:
                for node in ast.walk(keyword.value):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        said = judge(node.value, context.target, optional=keyword.arg in _OPTIONAL_KEYWORDS)
                        if said is not None:
                            found.append((node, said))
        context.memo["requirements"] = found
    return found


class _LibraryRule(Rule):
    """What the rules of one status each share."""

    markers = ("=install_requires", "=extras_require", "=setup_requires")

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return (*self.markers, *library_markers())

    def check(self, context: Context) -> Iterator[Finding]:
        for use in library_uses(context):
            if CODES[use.library.status] == self.code:
                yield self._of_use(context, use)
        for node, said in _requirements(context):
            if said.code == self.code:
                yield context.finding(self, node, said.message, said.help, level=said.level)

    def _of_use(self, context: Context, use: LibraryUse) -> Finding:
        library = use.library
        message, level = library.message, library.level
        if use.dependence == "guarded":
            level = "info"
            message = say("{message} The code can do without it.", message=library.message)
        elif use.is_string:
            level = "warning"
        elif use.dependence == "lazy" and level == "error":
            level = "warning"
            message = say("{message} The function that needs it fails.", message=library.message)
        return context.finding(self, use.node, message, library.help, level=level)


class UnavailableLibrary(_LibraryRule):
    """A library that does not run on the NPU, and that nothing replaces as it is."""

    code = "NPU602"
    name = "unavailable-library"
    level = "error"
    examples = (
        Example("import torch\n\nfrom torchvision import transforms\n", codes=()),
        Example("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import cupy\n", codes=()),
        Example("from .cupy import array\n", codes=()),
        Example("import cupy as cp\n", codes=("NPU602",)),
        Example("try:\n    import cupy as cp\nexcept ImportError:\n    cp = None\n", codes=("NPU602",)),
        Example("from numba import cuda, njit\n", codes=("NPU602",)),
        Example("import lightning as L\n\ntrainer = L.Trainer()\n", codes=("NPU602",)),
    )


class ReplacedLibrary(_LibraryRule):
    """A library of CUDA code whose place something else takes on the NPU."""

    code = "NPU603"
    name = "replaced-library"
    level = "error"
    examples = (
        Example("import importlib.util\n\nfound = importlib.util.find_spec('flash_attn') is not None\n", codes=()),
        Example("from flash_attn import flash_attn_func\n", codes=("NPU603",)),
        Example("from apex import amp\n", codes=("NPU603",)),
        Example(
            "import onnxruntime\n\nsession = onnxruntime.InferenceSession(p, providers=['CUDAExecutionProvider'])\n",
            codes=("NPU603",),
        ),
        Example("from setuptools import setup\n\nsetup(install_requires=['xformers>=0.0.20'])\n", codes=("NPU603",)),
    )


class LibraryNeedsAdapter(_LibraryRule):
    """A library that works on the NPU with a plugin, another build or a newer version."""

    code = "NPU604"
    name = "library-needs-adapter"
    level = "warning"
    examples = (
        Example("import transformers\nfrom accelerate import Accelerator\n", codes=()),
        Example("import mindspeed.megatron_adaptor\nfrom megatron.core import mpu\n", codes=()),
        Example("from megatron.core import mpu\n", codes=("NPU604",)),
        Example("from torchvision.ops import nms\n", codes=("NPU604",)),
        Example("from setuptools import setup\n\nsetup(install_requires=['accelerate<0.20'])\n", codes=("NPU604",)),
        Example("from setuptools import setup\n\nsetup(install_requires=['accelerate>=0.20'])\n", codes=()),
    )


class UnknownLibrary(_LibraryRule):
    """A library with CUDA code of which nobody has published whether it runs on the NPU."""

    code = "NPU605"
    name = "unknown-library"
    level = "warning"
    examples = (Example("import pytorch3d.ops\n", codes=("NPU605",)),)


class _RequirementRule(Rule):
    markers = ("=install_requires", "=extras_require", "=setup_requires")

    def check(self, context: Context) -> Iterator[Finding]:
        for node, said in _requirements(context):
            if said.code == self.code:
                yield context.finding(self, node, said.message, said.help, level=said.level)


class CudaBuildOfTorch(_RequirementRule):
    """A requirement for a build of PyTorch for CUDA. torch_npu goes with the CPU build of the same version."""

    code = CUDA_BUILD
    name = "cuda-build-of-torch"
    level = "error"
    examples = (
        Example("from setuptools import setup\n\nsetup(install_requires=['torch>=2.0'])\n", codes=()),
        Example("from setuptools import setup\n\nsetup(install_requires=['torch==2.7.1+cu118'])\n", codes=("NPU606",)),
    )


class TorchVersionDiffers(_RequirementRule):
    """A requirement that leaves out the version of PyTorch that the target's torch_npu belongs to."""

    code = TORCH_VERSION
    name = "torch-version-differs"
    level = "warning"
    examples = (
        Example("from setuptools import setup\n\nsetup(install_requires=['torch>=1.8'])\n", codes=()),
        Example("from setuptools import setup\n\nsetup(install_requires=['torch<2.0'])\n", codes=("NPU607",)),
    )
