"""A string spelled like the CUDA device or the NCCL backend whose use cannot be told.

It is not rewritten: ``"cuda"`` may be a device, or the key of something else. The message says what would decide
it. If it is a device, write ``npu`` (or ``hccl``) by hand; naming the variable, parameter or key after the device
lets the tool see it the next time. In a file that does not import torch it is an information only.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding, Level
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.map_location import is_checkpoint_tag
from ascend_migrate.syntax.literals import npu_spelling

_KINDS = {"device": say("device"), "backend": say("backend")}


class UndecidedDevice(Rule):
    code = "NPU121"
    name = "undecided-device"
    level = "warning"
    markers = ("cuda", "nccl", "NCCL")
    examples = (
        Example("cars = {'cuda': 1970, 'charger': 1966}\n", codes=("NPU121",)),
        Example("run_benchmark('cuda')\n", codes=("NPU121",)),
        Example("print('cuda')\n", codes=()),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        level: Level = "warning" if context.imports_torch else "info"
        for literal in context.device_literals:
            if literal.verdict.answer != "unknown" or context.knows_npu(literal.node):
                continue
            if not is_checkpoint_tag(context, literal.node):
                reason = literal.verdict.reason or "nothing around it says device or backend"
                yield context.finding(
                    self,
                    literal.node,
                    say(
                        "{literal!r} may be a {kind}, or not: {reason}",
                        literal=literal.value,
                        kind=_KINDS[literal.kind],
                        reason=reason,
                    ),
                    say("If it is one, write {new!r}; if not, nothing is to do.", new=npu_spelling(literal.value)),
                    level=level,
                )
