"""A CUDA name that runs on the NPU, but means something else there, or nothing.

Nothing is rewritten: the code does not fail. A warning says that the result differs; an information that the
line has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ascend_migrate.model import Finding
from ascend_migrate.rules._translate import name_markers, without_counterpart
from ascend_migrate.rules._values import cuda_version_failures
from ascend_migrate.rules.base import Context, Example, Rule


class BehavesDifferently(Rule):
    code = "NPU103"
    name = "behaves-differently"
    level = "warning"
    examples = (Example("import torch\n\ntorch.backends.cudnn.benchmark = True\n", codes=("NPU103",)),)

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return name_markers()

    def check(self, context: Context) -> Iterator[Finding]:
        failing = {read for read, _, _ in cuda_version_failures(context)}  # said by the rule of comparisons
        for node, said in without_counterpart(context):
            if said.level != "error" and node not in failing and not context.knows_npu(node):
                yield context.finding(self, node, said.message, said.help, level=said.level)
