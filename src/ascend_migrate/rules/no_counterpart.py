"""A CUDA name that the target version of torch_npu does not have.

The code fails on the NPU as it stands. It is never rewritten to a name that does not exist; the help tells the
nearest thing there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ascend_migrate.model import Finding
from ascend_migrate.rules._translate import name_markers, without_counterpart
from ascend_migrate.rules.base import Context, Example, Rule


class NoCounterpart(Rule):
    code = "NPU102"
    name = "no-counterpart"
    level = "error"
    examples = (
        Example("import torch\n\ntorch.cuda.nvtx.range_push('step')\n", codes=("NPU102",)),
        Example("import torch\n\ntorch.cuda.cudart().cudaProfilerStart()\n", codes=("NPU102",)),
    )

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return name_markers()

    def check(self, context: Context) -> Iterator[Finding]:
        for node, said in without_counterpart(context):
            if said.level == "error" and not context.knows_npu(node):
                yield context.finding(self, node, said.message, said.help, level=said.level)
