"""A column of PyTorch's profiler that is named after CUDA.

The profiler moves as a whole to ``torch_npu.profiler`` (its imports and calls are converted by the rules for
names), but its results are read in another way: there is no ``cuda_time_total`` to sort by. Use the trace files,
or the names that torch_npu's own analysis prints.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule

_COLUMN = re.compile(r"(?:self_)?cuda_(?:time|memory)(?:_total|_usage)?")


class ProfilerColumns(Rule):
    code = "NPU151"
    name = "profiler-columns"
    level = "warning"
    markers = ("cuda_time", "cuda_memory", "use_cuda")
    examples = (
        Example(
            "import torch\nfrom torch.profiler import ProfilerActivity, profile, record_function\n\n"
            "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:\n"
            "    with record_function('step'):\n        step()\n",
            "import torch\nimport torch_npu  # noqa: F401\n"
            "from torch_npu.profiler import ProfilerActivity, profile\n"
            "from torch.profiler import record_function\n\n"
            "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]) as prof:\n"
            "    with record_function('step'):\n        step()\n",
        ),
        Example("print(prof.key_averages().table(sort_by='cuda_time_total'))\n", codes=("NPU151",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in context.tree.nodes(ast.Constant):
            if isinstance(node.value, str) and _COLUMN.fullmatch(node.value) and not context.knows_npu(node):
                yield context.finding(
                    self,
                    node,
                    say("the profiler's column {node!r} does not exist on the NPU", node=node.value),
                    "Read the trace that torch_npu.profiler.tensorboard_trace_handler writes instead.",
                )
        for call in context.tree.nodes(ast.Call):
            if (context.qualname(call.func) or "").startswith("torch.autograd.profiler."):
                for keyword in call.keywords:
                    if keyword.arg == "use_cuda":
                        yield context.finding(
                            self,
                            keyword,
                            "torch.autograd.profiler measures CUDA with use_cuda=; it does not measure the NPU",
                            "Use torch_npu.profiler.profile.",
                        )
