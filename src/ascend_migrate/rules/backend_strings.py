"""The NCCL backend of ``torch.distributed``; on the NPU it is HCCL.

``"nccl"`` is rewritten to ``"hccl"`` where it is a backend, under the same conditions as a device string, and
``"cpu:gloo,cuda:nccl"`` to ``"cpu:gloo,npu:hccl"``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.devices import literal_edit
from ascend_migrate.syntax.literals import npu_spelling

_IMPORT = "import torch.distributed as dist\nimport torch_npu  # noqa: F401\n"


class BackendString(Rule):
    code = "NPU130"
    name = "nccl-backend"
    level = "error"
    markers = ("nccl", "NCCL", "Nccl")
    examples = (
        Example(
            "import torch.distributed as dist\n\ndist.init_process_group('nccl')\n",
            _IMPORT + "\ndist.init_process_group('hccl')\n",
        ),
        Example(
            "import torch.distributed as dist\n\ndist.init_process_group(backend='cpu:gloo,cuda:nccl')\n"
            "if dist.get_backend() == 'nccl':\n    pass\n",
            _IMPORT + "\ndist.init_process_group(backend='cpu:gloo,npu:hccl')\n"
            "if dist.get_backend() == 'hccl':\n    pass\n",
        ),
        Example(
            "BACKENDS = {'cuda': 'nccl', 'cpu': 'gloo'}\n",
            "BACKENDS = {'npu': 'hccl', 'cpu': 'gloo'}\n",
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for literal in context.device_literals:
            if literal.kind == "backend" and literal.verdict.answer == "yes" and not context.knows_npu(literal.node):
                yield context.finding(
                    self,
                    literal.node,
                    say(
                        "{literal!r} needs NVIDIA's NCCL; on the NPU it is {new!r}",
                        literal=literal.value,
                        new=npu_spelling(literal.value),
                    ),
                    edits=[literal_edit(context.tree, literal)],
                )
