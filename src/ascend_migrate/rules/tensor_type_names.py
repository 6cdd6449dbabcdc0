"""The name of a CUDA tensor type in a string, such as ``'torch.cuda.FloatTensor'``.

``tensor.type()`` gives ``'torch.npu.FloatTensor'`` on the NPU, and ``.type(...)`` and
``torch.set_default_tensor_type`` take it. The name can be nothing else, so it is rewritten wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.default_tensor_type import sets_default_type
from ascend_migrate.syntax.devices import literal_edit
from ascend_migrate.syntax.literals import npu_spelling


class TensorTypeName(Rule):
    code = "NPU122"
    name = "tensor-type-name"
    level = "error"
    markers = ("torch.cuda.",)
    examples = (
        Example(
            "import torch\n\nif x.type() == 'torch.cuda.FloatTensor':\n    y = x.type('torch.cuda.HalfTensor')\n",
            "import torch\nimport torch_npu  # noqa: F401\n\n"
            "if x.type() == 'torch.npu.FloatTensor':\n    y = x.type('torch.npu.HalfTensor')\n",
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for literal in context.device_literals:
            if literal.kind != "type" or context.knows_npu(literal.node):
                continue
            if sets_default_type(context, literal.node):
                continue
            new = npu_spelling(literal.value)
            exists = context.surface.has(new)
            yield context.finding(
                self,
                literal.node,
                say("{value!r} names a CUDA tensor type", value=literal.value)
                if exists
                else say(
                    "{value!r} names a CUDA tensor type, and torch_npu {version} has no {new}",
                    value=literal.value,
                    version=context.surface.version,
                    new=new,
                ),
                edits=[literal_edit(context.tree, literal)] if exists else [],
            )
