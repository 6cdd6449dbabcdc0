"""A name of ``torch.npu`` or ``torch_npu`` that the target version does not have.

Articles and half-migrated code use names that exist in no version (``torch_npu.amp``, ``torch.npu.optimize``), or
only in another one. The code fails on the card. Where the right name is known, it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules._translate import Use, edits_for, listed, translate_npu
from ascend_migrate.rules.base import Context, Example, Rule

_ROOTS = ("torch.npu", "torch_npu")


class AbsentNpuName(Rule):
    code = "NPU501"
    name = "absent-npu-name"
    level = "error"
    markers = (".npu", "_npu", " npu", ",npu", "(npu")  # not "input"
    examples = (
        Example("import torch_npu\n\ntorch_npu.no_such_operator()\n", codes=("NPU501",)),
        Example("import torch\nimport torch_npu\n\ntorch.npu.CUDAGraph()\n", codes=("NPU501",)),
        Example("import torch\nimport torch_npu\n\ntorch.npu.synchronize()\n", codes=()),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for reference in context.references_under(*_ROOTS):
            if any(part.startswith("_") for part in reference.parts) or context.surface.has(reference.qualname):
                continue
            depth = self._depth(context, reference.parts)
            if depth <= reference.root_parts and reference.root_parts > 1:
                continue  # said at the import
            translation = translate_npu(context, reference.qualname)
            edits = edits_for(context, Use(reference, translation)) if translation and translation.npu else []
            yield context.finding(
                self,
                reference.node,
                self._message(context, reference.parts[:depth]),
                translation.help if translation and translation.help else self._help(reference.parts[:depth]),
                edits=edits,
            )
        for statement, parts in self._imported(context):
            if not any(part.startswith("_") for part in parts) and not context.surface.has(".".join(parts)):
                absent = parts[: self._depth(context, parts)]
                yield context.finding(self, statement, self._message(context, absent), self._help(absent))

    def _imported(self, context: Context) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
        """The dotted names of torch_npu that the file's imports take, with their statements."""
        for statement in context.tree.nodes(ast.ImportFrom):
            module = (statement.module or "").split(".")
            if statement.level == 0 and (module[0] == "torch_npu" or module[:2] == ["torch", "npu"]):
                for alias in statement.names:
                    yield statement, (*module, alias.name) if alias.name != "*" else tuple(module)
        for plain in context.tree.nodes(ast.Import):
            for alias in plain.names:
                if alias.name.startswith(("torch_npu.", "torch.npu.")):
                    yield plain, tuple(alias.name.split("."))

    def _depth(self, context: Context, parts: tuple[str, ...]) -> int:
        """How many leading parts it takes to reach the name that is absent."""
        first = 3 if parts[0] == "torch" else 2
        depths = range(first, len(parts))
        return next((d for d in depths if not context.surface.has(".".join(parts[:d]))), len(parts))

    def _message(self, context: Context, parts: tuple[str, ...]) -> str:
        return say(
            "{parts} does not exist in torch_npu {torch_npu}", parts=".".join(parts), torch_npu=context.target.torch_npu
        )

    def _help(self, parts: tuple[str, ...]) -> str:
        versions = knowledge.versions_with(".".join(parts))
        if versions:
            return say("It exists in torch_npu {versions}.", versions=listed(versions))
        return "It exists in no known version of torch_npu."
