"""A CUDA name that runs on the NPU, but means something else there, or nothing.

Nothing is rewritten: the code does not fail. A warning says that the result differs; an information that the
line has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ascend_migrate.model import Finding
from ascend_migrate.rules._translate import name_markers, uses
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
        for use in uses(context):
            translation = use.translation
            if translation.npu is None and translation.level != "error" and not context.knows_npu(use.reference.node):
                yield context.finding(
                    self, use.reference.node, translation.message, translation.help, level=translation.level
                )
