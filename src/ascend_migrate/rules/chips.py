"""What is different on one family of chips: training on chips made for inference, and defaults that cost time.

These rules speak only for the chip that was chosen with ``--soc``. 310P (Atlas 300I Pro, 300I Duo, 300V Pro) is made
for inference: parts of the backward operators are missing, and no package lists which, so that a finding there is a
warning from reports, not from a list. 910A and 310P compile operators online and use formats of their own by default;
A2, A3 and later do not.

Source: ``knowledge/data/socs.json`` carries the source of each claim about a chip.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Finding, Target
from ascend_migrate.rules._tensors import keyword
from ascend_migrate.rules.base import Context, Example, Rule

_NPU_SCRIPT = (
    "import torch\nimport torch_npu\n\n\ndef main():\n    model = torch.nn.Linear(2, 2).npu()\n\n\n"
    "if __name__ == '__main__':\n    main()\n"
)
_TRAINING = "import torch\n\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nmodel(x).sum().backward()\n"


_OPTIMIZES = re.compile(r"torch\.optim\b|optim\w*\.\w*\(")
"""An optimizer is made or told to step."""


class InferenceChip(Rule):
    """A script that trains, on a chip made for inference. Said once a file, at the first backward pass."""

    code = "NPU401"
    name = "training-on-inference-chip"
    level = "warning"
    markers = ("=backward&optim",)
    examples = (
        Example(_TRAINING, codes=()),
        Example("import torch\n\nloss.backward()\n", codes=(), soc="310p"),
        Example(_TRAINING, codes=("NPU401",), soc="310p"),
    )

    def applies(self, target: Target) -> bool:
        return knowledge.find_soc(target.soc).inference

    def check(self, context: Context) -> Iterator[Finding]:
        if _OPTIMIZES.search(context.source.text) is None:
            return
        for call in context.tree.nodes(ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                soc = knowledge.find_soc(context.target.soc)
                yield context.finding(
                    self,
                    call,
                    say("{chip} is made for inference: operators of the backward pass may be missing", chip=soc.title),
                    "Train on another chip (910B and later, or 910A), and run the trained model here.",
                )
                return


class EmbeddingGradient(Rule):
    """A trained ``torch.nn.Embedding`` on 310P, where the gradient of an embedding is reported to fail.

    Said once a file, where the project runs a backward pass. Frozen embeddings are left alone.
    """

    code = "NPU402"
    name = "embedding-gradient"
    level = "error"
    markers = ("nn.Embedding(",)
    examples = (
        Example("import torch\n\nembedding = torch.nn.Embedding(10, 4)\n" + _TRAINING, codes=()),
        Example("import torch\n\nembedding = torch.nn.Embedding(10, 4)\n", codes=(), soc="310p"),
        Example(
            "import torch\n\nembedding = torch.nn.Embedding(10, 4)\nembedding(x).sum().backward()\n",
            codes=("NPU402",),
            soc="310p",
        ),
    )

    def applies(self, target: Target) -> bool:
        return target.soc == "310p"

    def check(self, context: Context) -> Iterator[Finding]:
        if not context.project.trains:
            return
        for call in context.tree.nodes(ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name != "Embedding" or context.qualname(call.func) != "torch.nn.Embedding":
                continue
            if keyword(call, "_freeze") is not None or context.knows_npu(call):
                continue
            yield context.finding(
                self,
                call.func,
                say(
                    "The dense gradient of an embedding has no kernel on {chip}, by reports: training it fails",
                    chip=knowledge.find_soc(context.target.soc).title,
                ),
                "Train elsewhere, freeze it (requires_grad_(False)), or run inference under torch.no_grad(). "
                "No package lists the missing operators, so try it.",
            )
            return


class _EntryScript(Rule):
    """A rule that has one thing to say for each script that uses the device."""

    level = "info"
    markers = ("=__main__&=torch&=cuda", "=__main__&=torch_npu", "=__main__&=torch&=npu")
    settled_by: str
    """The file is left alone when it holds this."""

    def check(self, context: Context) -> Iterator[Finding]:
        text = context.source.text
        if not any(word in text for word in ("cuda", "torch_npu", "torch.npu")):
            return
        if self.settled_by in text:
            return
        for test in context.tree.nodes(ast.If):
            if context.tree.parent(test) is context.tree.module and _is_main_guard(test.test):
                message, help = self.said(knowledge.find_soc(context.target.soc))
                yield context.finding(self, test.test, message, help)
                return

    def said(self, soc: knowledge.Soc) -> tuple[str, str]:
        raise NotImplementedError


def _is_main_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides) and any(
        isinstance(s, ast.Constant) and s.value == "__main__" for s in sides
    )


class OnlineCompilation(_EntryScript):
    """Operators are compiled when they first meet a shape, on chips where that is the default.

    The first steps take minutes, and with shapes that change it never ends.
    """

    code = "NPU403"
    name = "online-compilation"
    settled_by = "jit_compile"
    examples = (
        Example(_NPU_SCRIPT, codes=()),
        Example(_NPU_SCRIPT, codes=("NPU403", "NPU404", "NPU405"), soc="910a"),
        Example(
            _NPU_SCRIPT.replace("\n\ndef", "\ntorch.npu.set_compile_mode(jit_compile=False)\n\n\ndef", 1),
            codes=("NPU404",),
            soc="310p",
        ),
    )

    def applies(self, target: Target) -> bool:
        return knowledge.find_soc(target.soc).jit_compile is True

    def said(self, soc: knowledge.Soc) -> tuple[str, str]:
        return (
            say("{chip} compiles operators for every new shape by default (jit_compile)", chip=soc.title),
            "Where shapes change, call torch.npu.set_compile_mode(jit_compile=False) at the start: it takes the "
            "operators that are compiled already.",
        )


class InternalFormats(_EntryScript):
    """Tensors in formats of the chip's own, on chips where that is the default: differences in the last digits, and
    tensors that custom code cannot read."""

    code = "NPU404"
    name = "internal-formats"
    settled_by = "allow_internal_format"
    examples = (Example(_NPU_SCRIPT, codes=("NPU403", "NPU404"), soc="310p"),)

    def applies(self, target: Target) -> bool:
        return knowledge.find_soc(target.soc).internal_format is True

    def said(self, soc: knowledge.Soc) -> tuple[str, str]:
        return (
            say("{chip} may keep tensors in formats of its own by default (allow_internal_format)", chip=soc.title),
            "torch.npu.config.allow_internal_format = False at the start keeps PyTorch's layout: the first thing to "
            "try when results differ.",
        )


class HalfPrecisionMatmul(_EntryScript):
    """Matrix products of float32 are computed in float16 by default."""

    code = "NPU405"
    name = "half-precision-matmul"
    settled_by = "ACL_PRECISION_MODE"
    examples = (
        Example(_NPU_SCRIPT, codes=(), soc="910b"),
        Example(
            _NPU_SCRIPT.replace("\n\ndef", "\nOPTIONS = 'jit_compile allow_internal_format'\n\n\ndef", 1),
            codes=("NPU405",),
            soc="910a",
        ),
    )

    def applies(self, target: Target) -> bool:
        return knowledge.find_soc(target.soc).float16_matmul is True

    def said(self, soc: knowledge.Soc) -> tuple[str, str]:
        return (
            say("{chip} computes matrix products of float32 in float16 by default", chip=soc.title),
            'torch.npu.set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype"}) at the start keeps float32.',
        )
