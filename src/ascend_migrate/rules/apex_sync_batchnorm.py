"""apex's ``convert_syncbn_model``; PyTorch has the same since 1.1.

apex's synchronized batch normalization is CUDA code. ``torch.nn.SyncBatchNorm.convert_sync_batchnorm`` takes the
same model and runs on the NPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules._imports import statement_stands_alone
from ascend_migrate.rules.base import Context, Example, Rule

_OLD = "apex.parallel.convert_syncbn_model"
_NEW = "SyncBatchNorm.convert_sync_batchnorm"


class ApexSyncBatchNorm(Rule):
    code = "NPU601"
    name = "apex-sync-batchnorm"
    level = "error"
    markers = ("convert_syncbn_model",)
    examples = (
        Example(
            "import apex\nimport torch\n\nmodel = apex.parallel.convert_syncbn_model(model)\n",
            "import apex\nimport torch\n\nmodel = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)\n",
        ),
        Example(
            "from apex.parallel import DistributedDataParallel as DDP, convert_syncbn_model\n\n"
            "model = convert_syncbn_model(model)\n",
            "from torch.nn import SyncBatchNorm\nfrom apex.parallel import DistributedDataParallel as DDP\n\n"
            "model = SyncBatchNorm.convert_sync_batchnorm(model)\n",
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        message = "apex's SyncBatchNorm is CUDA code; torch.nn has the same"
        for statement in context.tree.nodes(ast.ImportFrom):
            names = {alias.name for alias in statement.names}
            if statement.level == 0 and statement.module == "apex.parallel" and "convert_syncbn_model" in names:
                edit = self._import_edit(context, statement)
                yield context.finding(self, statement, message, edits=[edit], uses_npu=False)
        for reference in context.references_under(_OLD):
            if isinstance(reference.node, ast.Name):
                replacement: Edit | None = context.edit_node(reference.node, _NEW)
            else:
                torch = context.name_for("torch", reference.node)
                replacement = None if torch is None else context.edit_node(reference.node, f"{torch}.nn.{_NEW}")
            yield context.finding(self, reference.node, message, edits=[replacement], uses_npu=False)

    def _import_edit(self, context: Context, statement: ast.ImportFrom) -> Edit | None:
        if "#" in context.tree.text(statement):
            return None
        lines = ["from torch.nn import SyncBatchNorm"]
        rest = [
            a.name + (f" as {a.asname}" if a.asname else "")
            for a in statement.names
            if a.name != "convert_syncbn_model"
        ]
        if rest:
            lines.append(f"from apex.parallel import {', '.join(rest)}")
        indent = statement_stands_alone(context, statement)
        start = context.tree.start(statement)
        separator = "; " if indent is None else context.source.newline_after(start) + indent
        return context.edit_node(statement, separator.join(lines))
