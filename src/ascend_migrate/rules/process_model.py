"""Processes, threads and devices: what fails or goes to the wrong card on the NPU.

Only what one file proves is reported: statements that have certainly run before another, functions that are named as
the target of a process or thread in the same file, variables that are assigned once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding, Level
from ascend_migrate.rules._device_use import (
    DEVICE_GUARDS,
    DEVICES,
    SET_DEVICE,
    allocates,
    argument,
    calls_in,
    certainly_before,
    function_named,
    names_device,
    starts_device,
)
from ascend_migrate.rules._values import calls_of, places_of
from ascend_migrate.rules.base import Context, Example, Rule

_PROCESSES = frozenset({"multiprocessing.Process", "torch.multiprocessing.Process", "multiprocessing.context.Process"})
_VISIBLE = frozenset({"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"})
_RANKS = frozenset({"torch.distributed.get_rank"})
_COLLECTIVES = {
    f"torch.distributed.{name}": place
    for name, place in {
        **dict.fromkeys(("all_reduce", "broadcast", "reduce", "send", "recv", "isend", "irecv"), ("tensor", 0)),
        "all_gather": ("tensor", 1),
        "all_gather_into_tensor": ("input_tensor", 1),
        "reduce_scatter_tensor": ("input", 1),
        "all_to_all_single": ("input", 1),
        "gather": ("tensor", 0),
        "scatter": ("tensor", 0),
    }.items()
}
"""Collective -> name and position of the tensor that must be contiguous."""
_TRANSPOSING = frozenset({"t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "expand", "expand_as"})


class DeviceBeforeFork(Rule):
    """A process is forked after the device was used, and uses the device itself. Both runtimes refuse that."""

    code = "NPU801"
    name = "device-before-fork"
    level = "error"
    markers = ("=multiprocessing&=Process",)
    examples = (
        Example(
            "import torch\nimport torch.multiprocessing as mp\n\n\ndef work(i):\n    torch.npu.set_device(i)\n\n\n"
            "def main():\n    mp.set_start_method('spawn')\n    torch.npu.synchronize()\n"
            "    mp.Process(target=work, args=(0,)).start()\n",
            codes=(),
        ),
        Example(
            "import torch\nimport torch.multiprocessing as mp\n\n\ndef work(i):\n    torch.npu.set_device(i)\n\n\n"
            "def main():\n    torch.npu.synchronize()\n    mp.Process(target=work, args=(0,)).start()\n",
            codes=("NPU801",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        if any(constant.value in ("spawn", "forkserver") for constant in context.tree.nodes(ast.Constant)):
            return
        for call in calls_of(context, _PROCESSES):
            worker = function_named(context, argument(call, "target", 1))
            if worker is None or not any(starts_device(context, c) for s in worker.body for c in calls_in(s)):
                continue
            used = next(
                (
                    statement
                    for statement in certainly_before(context, call)
                    if any(starts_device(context, c) for c in calls_in(statement))
                ),
                None,
            )
            if used is not None:
                yield context.finding(
                    self,
                    call,
                    say(
                        "The device is used in line {line}, and then this process is forked and uses it: that fails.",
                        line=used.lineno,
                    ),
                    'Start processes with the method spawn (multiprocessing.get_context("spawn") or torchrun), or '
                    "touch the device only in the processes.",
                )


class ThreadWithoutDevice(Rule):
    """A thread that uses the current device without setting it: a new thread begins with device 0."""

    code = "NPU802"
    name = "thread-without-device"
    level = "warning"
    markers = ("=Thread&=set_device",)
    examples = (
        Example(
            "import threading\n\nimport torch\n\ntorch.npu.set_device(local_rank)\n\n\ndef load(batch):\n"
            "    torch.npu.set_device(local_rank)\n    return batch.npu()\n\n\n"
            "threading.Thread(target=load).start()\n",
            codes=(),
        ),
        Example(
            "import threading\n\nimport torch\n\ntorch.npu.set_device(local_rank)\n\n\ndef load(batch):\n"
            "    return batch.npu()\n\n\nthreading.Thread(target=load).start()\n",
            codes=("NPU802",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        if not any(_is_chosen(argument(call, "device", 0)) for call in calls_of(context, SET_DEVICE)):
            return
        for call in calls_of(context, ("threading.Thread",)):
            worker = function_named(context, argument(call, "target", 1))
            inside = [] if worker is None else [c for s in worker.body for c in calls_in(s)]
            sets = any(context.qualname(c.func) in SET_DEVICE | DEVICE_GUARDS for c in inside)
            if not sets and any(allocates(context, c) for c in inside):
                yield context.finding(
                    self,
                    call,
                    say("The thread that runs {function} uses device 0: a thread does not inherit set_device.",
                        function=worker.name if worker is not None else ""),
                    "Call torch.npu.set_device at its start, or name the device with its index.",
                )  # fmt: skip


def _is_chosen(node: ast.expr | None) -> bool:
    """Whether a device is not a constant, so that it differs from process to process."""
    return node is not None and not isinstance(node, ast.Constant)


class TensorBeforeSetDevice(Rule):
    """Something is put on the current device before the device of this process is set: it lies on card 0."""

    code = "NPU803"
    name = "tensor-before-set-device"
    level = "warning"
    markers = ("set_device",)
    examples = (
        Example(
            "import torch\n\ntorch.npu.set_device(local_rank)\nmodel = net.npu()\n",
            codes=(),
        ),
        Example(
            "import torch\n\nmodel = net.npu()\ntorch.npu.set_device(local_rank)\n",
            codes=("NPU803",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in calls_of(context, SET_DEVICE):
            if not _is_chosen(argument(call, "device", 0)):
                continue
            before = list(certainly_before(context, call))
            if any(context.qualname(c.func) in SET_DEVICE for s in before for c in calls_in(s)):
                continue
            early = next((c for s in before for c in calls_in(s) if allocates(context, c)), None)
            if early is not None:
                yield context.finding(
                    self,
                    early,
                    say("This goes to device 0: the device is set only in line {line}.", line=call.lineno),
                    "Set the device first.",
                )


class VisibleDevicesAfterUse(Rule):
    """The visible devices are chosen after the runtime has started: the choice has no effect any more."""

    code = "NPU804"
    name = "visible-devices-after-use"
    level = "warning"
    markers = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")
    examples = (
        Example(
            "import os\n\nimport torch\n\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\nx = torch.zeros(1).npu()\n",
            codes=(),
        ),
        Example(
            "import os\n\nimport torch\n\nx = torch.zeros(1).npu()\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'\n",
            codes=("NPU804",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in self._writes(context):
            used = next(
                (
                    statement
                    for statement in certainly_before(context, node)
                    if any(starts_device(context, c) for c in calls_in(statement))
                ),
                None,
            )
            if used is not None and not self._is_for_children(context, node):
                yield context.finding(
                    self,
                    node,
                    say("The runtime has started in line {line}: this has no effect any more.", line=used.lineno),
                    "Set the variable before the process starts, or before anything touches the device.",
                )

    def _writes(self, context: Context) -> Iterator[ast.AST]:
        for node in context.tree.nodes(ast.Subscript):
            if (
                isinstance(node.ctx, ast.Store)
                and context.qualname(node.value) == "os.environ"
                and isinstance(node.slice, ast.Constant)
                and node.slice.value in _VISIBLE
            ):
                yield node

    def _is_for_children(self, context: Context, node: ast.AST) -> bool:
        """Whether processes are started afterwards, which read the variable anew."""
        after = context.tree.end(node)
        words = ("subprocess", "Popen", "Process", "spawn", "os.system", "os.exec")
        return any(word in context.source.text[after:] for word in words)


class GlobalRankAsDevice(Rule):
    """The rank of the process among all machines, used as the number of a device of this machine."""

    code = "NPU805"
    name = "global-rank-as-device"
    level = "info"
    markers = ("=get_rank&cuda", "=get_rank&npu", "=RANK&cuda", "=RANK&npu")
    examples = (
        Example(
            "import torch\nimport torch.distributed as dist\n\nrank = dist.get_rank()\n"
            "torch.npu.set_device(rank % torch.npu.device_count())\n",
            codes=(),
        ),
        Example(
            "import torch\nimport torch.distributed as dist\n\nrank = dist.get_rank()\ntorch.npu.set_device(rank)\n",
            codes=("NPU805",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in self._ranks(context):
            for place in places_of(context, node):
                if self._is_device(context, place) and not context.knows_npu(place):
                    yield context.finding(
                        self,
                        place,
                        "This is the rank among all machines: on the second machine there is no such device.",
                        "Use LOCAL_RANK, which torchrun sets, or the rank modulo torch.npu.device_count().",
                    )

    def _ranks(self, context: Context) -> Iterator[ast.expr]:
        yield from (call for call in calls_of(context, _RANKS) if not call.args and not call.keywords)
        for call in calls_of(context, ("int",)):
            if call.args and _reads_variable(context, call.args[0], "RANK"):
                yield call

    def _is_device(self, context: Context, node: ast.expr) -> bool:
        parent = context.tree.parents[node]
        if isinstance(parent, ast.FormattedValue):
            joined = context.tree.parents[parent]
            return isinstance(joined, ast.JoinedStr) and len(joined.values) == 2 and names_device(context, joined)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod):
            return parent.right is node and names_device(context, parent.left)
        if isinstance(parent, ast.Call) and node in parent.args:
            qualname = context.qualname(parent.func) or ""
            if qualname in SET_DEVICE:
                return True
            if qualname == "torch.device" and len(parent.args) == 2:
                return names_device(context, parent.args[0])
            return isinstance(parent.func, ast.Attribute) and parent.func.attr in DEVICES and len(parent.args) == 1
        return False


def _reads_variable(context: Context, node: ast.expr, name: str) -> bool:
    """Whether an expression reads the environment variable ``name``."""
    if isinstance(node, ast.Subscript) and context.qualname(node.value) == "os.environ":
        return isinstance(node.slice, ast.Constant) and node.slice.value == name
    if isinstance(node, ast.Call) and context.qualname(node.func) in ("os.environ.get", "os.getenv"):
        return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == name
    return False


class NonContiguousCollective(Rule):
    """A view that is not contiguous, given to a collective: HCCL refuses it.

    Source: check_npu_single_tensor in torch_npu/csrc/distributed/ProcessGroupHCCL.cpp.
    """

    code = "NPU806"
    name = "non-contiguous-collective"
    level = "error"
    markers = tuple(sorted("&".join(f"={part}" for part in name.split(".")) for name in _COLLECTIVES))
    examples = (
        Example("import torch.distributed as dist\n\ndist.all_reduce(x.t().contiguous())\n", codes=()),
        Example("import torch.distributed as dist\n\ndist.all_reduce(x.t())\n", codes=("NPU806",)),
        Example("import torch.distributed as dist\n\ny = x[:, 0]\ndist.broadcast(y, 0)\n", codes=("NPU806",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in calls_of(context, _COLLECTIVES):
            tensor = argument(call, *_COLLECTIVES[context.qualname(call.func) or ""])
            if tensor is None:
                continue
            level = self._level(context, tensor)
            if level is not None:
                yield context.finding(
                    self,
                    tensor,
                    "HCCL takes contiguous tensors only, and this view is none.",
                    "Call .contiguous() first; what a collective writes must then be copied back.",
                    level=level,
                )

    def _level(self, context: Context, node: ast.expr) -> Level | None:
        if isinstance(node, ast.Name):
            home = context.tree.scope_of_name[node].find(node.id)
            bindings = home.bindings[node.id] if home is not None else []
            value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
            return None if value is None or isinstance(value, ast.Name) else self._level(context, value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TRANSPOSING:
            return "error"
        if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH"):
            return "error"
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
            first, *rest = node.slice.elts
            everything = isinstance(first, ast.Slice) and first.lower is first.upper is first.step is None
            # `x[:, 0]`, `x[:, a:b]`: of every row a part, which is only contiguous when there is one row
            if everything and any(_is_part(element) for element in rest):
                return "warning"
        return None


def _is_part(node: ast.expr) -> bool:
    if isinstance(node, ast.Slice):
        return node.lower is not None or node.upper is not None or node.step is not None
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
