"""Questions about the GPU whose answer on the NPU makes the code crash, or lies.

``torch.npu.get_device_capability()`` is None and so is ``torch.version.cuda``; the properties of a device that only
GPUs have are None or missing; no NPU is called A100. Code that compares, splits or indexes such an answer fails, or
quietly takes the wrong branch. Values are followed through one variable; code that asks for None first is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding, Level
from ascend_migrate.rules._values import (
    calls_of,
    cuda_version_failures,
    first_failure,
    is_tested_for_none,
    others_of,
    places_of,
)
from ascend_migrate.rules.base import Context, Example, Rule

_CAPABILITY = frozenset(
    f"torch.{device}{module}.get_device_capability" for device in ("cuda", "npu") for module in ("", ".utils")
)
_PROPERTIES = frozenset({"torch.cuda.get_device_properties", "torch.npu.get_device_properties"})
_DEVICE_NAME = frozenset({"torch.cuda.get_device_name", "torch.npu.get_device_name"})
_FREE_MEMORY = frozenset({"torch.cuda.mem_get_info", "torch.npu.mem_get_info"})

_NONE_ATTRIBUTES = frozenset(
    {
        "major",
        "minor",
        "multi_processor_count",
        "is_multi_gpu_board",
        "is_integrated",
        "max_threads_per_multi_processor",
        "warp_size",
        "regs_per_multiprocessor",
        "gcnArchName",
    }
)
"""There from some version on, with the value None. Source: torch_npu/csrc/npu/Module.cpp and the names in the
libtorch_npu.so of every package."""
_ALWAYS_THERE = frozenset({"name", "total_memory"})
_THERE_LATER = frozenset({"cube_core_num", "vector_core_num", "L2_cache_size", "uuid"})
_GPU_NAME = re.compile(
    r"\b(?:A100|A800|H100|H200|H800|H20|B200|GB200|V100|P100|K80|T4|L4|L40S?|A10G?|A30|A40|A6000|RTX|GTX|TITAN|Tesla|"
    r"GeForce|Quadro|NVIDIA|MI\d{3}X?|Jetson|Orin|Xavier)\b|RTX|GTX",
    re.IGNORECASE,
)
_DEVICE_PATTERN = re.compile(r"\^?\(?(?:\?:)?cuda(?:[:\\\[($?|]|$)")
_MATCHERS = frozenset(f"re.{name}" for name in ("match", "fullmatch", "search", "compile", "findall", "sub", "split"))


def _since(version: str, posts: dict[str, int], always: tuple[int, ...]) -> bool:
    """Whether a torch_npu release has something: ``posts`` gives, for a branch, the first ``.postN`` with it, and from
    ``always`` on every release has it."""
    base, _, post = version.partition(".post")
    if base in posts:
        return int(post or 0) >= posts[base]
    return tuple(int(part) for part in base.split(".")[:3]) >= always


def _properties_are_none(version: str) -> bool:
    """Whether GPU-only properties exist with the value None. Found in the packages, release by release."""
    return _since(version, {"2.1.0": 17, "2.6.0": 3}, (2, 7, 1))


def _reads_capability(version: str) -> bool:
    """Whether get_device_capability reads TORCH_NPU_DEVICE_CAPABILITY. Found in the packages, release by release."""
    return _since(version, {"2.7.1": 4, "2.8.0": 4, "2.9.0": 2}, (2, 9, 1))


def _outcome(level: Level) -> str:
    return say("this fails") if level == "error" else say("they are never equal")


def _calls(context: Context, names: frozenset[str]) -> Iterator[ast.Call]:
    for call in calls_of(context, names):
        if not context.knows_npu(call):
            yield call


class CapabilityCompared(Rule):
    """The compute capability of a GPU, compared or taken apart."""

    code = "NPU901"
    name = "capability-compared"
    level = "error"
    markers = ("get_device_capability",)
    examples = (
        Example(
            "import torch\nimport torch_npu\n\ncap = torch.npu.get_device_capability()\n"
            "if cap is not None and cap >= (8, 0):\n    fast()\n",
            codes=(),
        ),
        Example(
            "import torch\nimport torch_npu\n\nif torch.npu.get_device_capability() >= (8, 0):\n    fast()\n",
            codes=("NPU901",),
        ),
        Example(
            "import torch\nimport torch_npu\n\nmajor, minor = torch.npu.get_device_capability(0)\n", codes=("NPU901",)
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in _calls(context, _CAPABILITY):
            found = first_failure(context, call)
            if found is None:
                continue
            place, level = found
            if _reads_capability(context.target.torch_npu):
                message = say(
                    "The capability is None on the NPU unless TORCH_NPU_DEVICE_CAPABILITY is set: this fails."
                )
                help = "Ask for what the code needs, as torch.npu.is_bf16_supported(), or set the variable, as to 8.0."
            else:
                message = say("The capability is None on the NPU: {outcome}.", outcome=_outcome(level))
                help = "Ask for what the code needs, as torch.npu.is_bf16_supported()."
            yield context.finding(self, place, message, help, level=level)


class CudaVersionCompared(Rule):
    """The version of CUDA that PyTorch was built for, compared or parsed."""

    code = "NPU902"
    name = "cuda-version-compared"
    level = "error"
    markers = ("version.cuda", "import version")
    examples = (
        Example(
            "import torch\n\nold = torch.version.cuda and float(torch.version.cuda) < 11\n", codes=("NPU103", "NPU103")
        ),
        Example("import torch\n\nmajor = torch.version.cuda.split('.')[0]\n", codes=("NPU902",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for _, place, level in cuda_version_failures(context):
            yield context.finding(
                self,
                place,
                say("torch.version.cuda is None with torch_npu: {outcome}.", outcome=_outcome(level)),
                "Test for None first; torch.version.cann has the CANN version once torch_npu is imported.",
                level=level,
            )


class GpuName(Rule):
    """The name of the device, compared with that of a GPU. The name of an NPU is like Ascend910B2."""

    code = "NPU903"
    name = "gpu-name"
    level = "warning"
    markers = ("get_device_name", "get_device_properties")
    examples = (
        Example("import torch\nimport torch_npu\n\nprint(torch.npu.get_device_name(0))\n", codes=()),
        Example("import torch\nimport torch_npu\n\nfast = 'A100' in torch.npu.get_device_name(0)\n", codes=("NPU903",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in self._names(context):
            for place in places_of(context, node):
                text = self._compared_with(context, place)
                if text is not None and not context.knows_npu(place):
                    yield context.finding(
                        self,
                        place,
                        say("No NPU has {text!r} in its name: it is like Ascend910B2.", text=text),
                        "Ask for what the code needs (memory, bf16), or add the chips: the names begin with Ascend.",
                    )

    def _names(self, context: Context) -> Iterator[ast.expr]:
        yield from _calls(context, _DEVICE_NAME)
        for call in _calls(context, _PROPERTIES):
            for place in places_of(context, call):
                parent = context.tree.parents[place]
                if isinstance(parent, ast.Attribute) and parent.attr == "name":
                    yield parent

    def _compared_with(self, context: Context, node: ast.expr) -> str | None:
        parent = context.tree.parents[node]
        while isinstance(parent, ast.Attribute) and isinstance(context.tree.parents[parent], ast.Call):
            call = context.tree.parents[parent]
            assert isinstance(call, ast.Call)
            if parent.attr in ("startswith", "endswith", "find", "count") and call.args:
                return _gpu_text(call.args[0])
            node, parent = call, context.tree.parents[call]  # .lower(), .strip()
        if isinstance(parent, ast.Compare):
            return next((t for _, other in others_of(parent, node) if (t := _gpu_text(other)) is not None), None)
        return None


def _gpu_text(node: ast.expr) -> str | None:
    """The first constant text in ``node`` that names a GPU."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and _GPU_NAME.search(part.value):
            return part.value
    return None


class GpuProperty(Rule):
    """A property of the device that only GPUs have."""

    code = "NPU904"
    name = "gpu-property"
    level = "error"
    markers = ("get_device_properties",)
    examples = (
        Example("import torch\nimport torch_npu\n\nsize = torch.npu.get_device_properties(0).total_memory\n", codes=()),
        Example(
            "import torch\nimport torch_npu\n\nmodern = torch.npu.get_device_properties(0).major >= 8\n",
            codes=("NPU904",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in _calls(context, _PROPERTIES):
            seen = set()
            for place in places_of(context, call):
                parent = context.tree.parents[place]
                if (
                    isinstance(parent, ast.Attribute)
                    and parent.attr not in _ALWAYS_THERE
                    and parent.attr not in seen
                    and not context.knows_npu(parent)
                ):
                    said = self._said(context, parent)
                    if said is not None:
                        seen.add(parent.attr)
                        yield said

    def _said(self, context: Context, node: ast.Attribute) -> Finding | None:
        later = _properties_are_none(context.target.torch_npu)
        help = "torch_npu has cube_core_num, vector_core_num, L2_cache_size, name and total_memory here."
        if node.attr in _THERE_LATER and later:
            return None
        if node.attr in _NONE_ATTRIBUTES and later:
            found = first_failure(context, node)
            if found is None:
                return None
            place, level = found
            message = say("The property {name} of an NPU is None: {outcome}.", name=node.attr, outcome=_outcome(level))
            return context.finding(self, place, message, help, level=level)
        if is_tested_for_none(context, node) or _is_asked_for(context, node):
            return None
        message = say("The properties of an NPU have no {name}: this fails.", name=node.attr)
        return context.finding(self, node, message, help)


def _is_asked_for(context: Context, node: ast.Attribute) -> bool:
    """Whether ``hasattr`` is asked for the property before."""
    return any(
        isinstance(parent, (ast.If, ast.IfExp))
        and any(isinstance(p, ast.Constant) and p.value == node.attr for p in ast.walk(parent.test))
        for parent in context.tree.ancestors(node)
    )


class MemoryThreshold(Rule):
    """The memory of the device, compared with a number that was chosen for GPUs."""

    code = "NPU905"
    name = "memory-threshold"
    level = "info"
    markers = ("total_memory&get_device_properties", "mem_get_info")
    examples = (
        Example("import torch\nimport torch_npu\n\nprint(torch.npu.get_device_properties(0).total_memory)\n", codes=()),
        Example(
            "import torch\nimport torch_npu\n\nlarge = torch.npu.get_device_properties(0).total_memory > 40e9\n",
            codes=("NPU905",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in self._sizes(context):
            for place in places_of(context, node):
                compare = self._compare(context, place)
                if compare is not None and not context.knows_npu(compare):
                    yield context.finding(
                        self,
                        compare,
                        "This number was chosen for the memory of GPUs; NPUs have 32 or 64 GiB, 310P boards up to 48.",
                        "Check that the branch that is taken fits the card.",
                    )

    def _sizes(self, context: Context) -> Iterator[ast.expr]:
        for call in _calls(context, _PROPERTIES):
            for place in places_of(context, call):
                parent = context.tree.parents[place]
                if isinstance(parent, ast.Attribute) and parent.attr == "total_memory":
                    yield parent
        for call in _calls(context, _FREE_MEMORY):
            parent = context.tree.parents[call]
            if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value == 1:
                yield parent

    def _compare(self, context: Context, node: ast.expr) -> ast.Compare | None:
        parent = context.tree.parents[node]
        while isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Div, ast.FloorDiv, ast.RShift, ast.Mult)):
            node, parent = parent, context.tree.parents[parent]
        if isinstance(parent, ast.Compare) and any(_is_number(other) for _, other in others_of(parent, node)):
            return parent
        return None


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is made of numbers alone."""
    return all(
        isinstance(part, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop))
        or (isinstance(part, ast.Constant) and isinstance(part.value, (int, float)))
        for part in ast.walk(node)
    )


class DevicePattern(Rule):
    """A regular expression that knows the device cuda. Conversion does not rewrite patterns."""

    code = "NPU906"
    name = "device-pattern"
    level = "warning"
    markers = ("=re&cuda",)
    examples = (
        Example("import re\n\nfound = re.search('barracuda', text)\n", codes=()),
        Example("import re\n\nfound = re.match(r'cuda:(\\d+)', device)\n", codes=("NPU906",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for pattern in context.tree.nodes(ast.Constant):
            if not (isinstance(pattern.value, str) and _DEVICE_PATTERN.match(pattern.value)):
                continue
            call = context.tree.parents[pattern]
            if (
                isinstance(call, ast.Call)
                and call.args[:1] == [pattern]
                and context.qualname(call.func) in _MATCHERS
                and not context.knows_npu(call)
            ):
                yield context.finding(
                    self,
                    pattern,
                    say("The pattern {pattern!r} does not match the device npu.", pattern=pattern.value),
                    "Write npu in the pattern, or (?:cuda|npu) where both may come.",
                )
