"""An environment variable of CUDA or NCCL that has a twin on the NPU.

``CUDA_VISIBLE_DEVICES`` is ``ASCEND_RT_VISIBLE_DEVICES`` there, and so on. The name is rewritten where it is a
name: in ``os.environ``, ``os.getenv``, ``setdefault``, ``putenv``, the environment of a subprocess, a command
that begins with an assignment to it. It stays in texts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.device_places import LOG_CALLS
from ascend_migrate.syntax.device_values import called_name
from ascend_migrate.syntax.literals import PIECE

_NAME = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_ASSIGNMENT = re.compile(rf"({_NAME.pattern})=")


@dataclass(frozen=True)
class VariableUse:
    """A place where the name of an environment variable is written: its character range."""

    node: ast.AST
    name: str
    start: int

    def edit(self, new: str) -> Edit:
        return Edit(self.start, self.start + len(self.name), new)


def variable_uses(context: Context) -> list[VariableUse]:
    """All names of CUDA or NCCL environment variables that are used as names, in source order."""
    known: list[VariableUse] | None = context.memo.get("environment")
    if known is None:
        known = sorted(_find(context), key=lambda use: use.start)
        context.memo["environment"] = known
    return known


def _find(context: Context) -> Iterator[VariableUse]:
    tree = context.tree
    strings: list[ast.Constant | ast.JoinedStr] = [*tree.nodes(ast.Constant), *tree.nodes(ast.JoinedStr)]
    for node in strings:
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, str) or isinstance(tree.parents[node], (ast.JoinedStr, ast.Expr)):
                continue
            value = node.value
        else:
            head = node.values[0] if node.values else None
            value = str(head.value) if isinstance(head, ast.Constant) else ""
        match = _NAME.fullmatch(value) or _ASSIGNMENT.match(value)
        if match is None or _is_prose(tree.parents[node]):
            continue
        name = match.group(1) if match.re is _ASSIGNMENT else match.group()
        source = tree.text(node)
        quote = PIECE.match(source)
        if quote is not None and source.startswith(name, quote.end()):
            yield VariableUse(node, name, tree.start(node) + quote.end())
    for keyword in tree.nodes(ast.keyword):
        if keyword.arg and _NAME.fullmatch(keyword.arg):
            yield VariableUse(keyword, keyword.arg, tree.start(keyword))


def _is_prose(parent: ast.AST) -> bool:
    if isinstance(parent, ast.keyword):
        return parent.arg in ("help", "description", "msg", "reason")
    return isinstance(parent, ast.Call) and called_name(parent) in LOG_CALLS


@cache
def _markers() -> tuple[str, ...]:
    return tuple(name.rstrip("*") for name in knowledge.environment_variables())


class EnvironmentVariable(Rule):
    code = "NPU140"
    name = "environment-variable"
    level = "warning"
    markers = ()
    examples = (
        Example(
            "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '0,1'\nblocking = os.getenv('CUDA_LAUNCH_BLOCKING')\n",
            "import os\n\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0,1'\n"
            "blocking = os.getenv('ASCEND_LAUNCH_BLOCKING')\n",
        ),
        Example(
            "import os\nimport subprocess\n\n"
            "subprocess.run(['python', 'train.py'], env=dict(os.environ, CUDA_VISIBLE_DEVICES='3'))\n"
            "os.system(f'CUDA_VISIBLE_DEVICES={gpu} python train.py')\n",
            "import os\nimport subprocess\n\n"
            "subprocess.run(['python', 'train.py'], env=dict(os.environ, ASCEND_RT_VISIBLE_DEVICES='3'))\n"
            "os.system(f'ASCEND_RT_VISIBLE_DEVICES={gpu} python train.py')\n",
        ),
        Example("print('CUDA_VISIBLE_DEVICES')\nhelp_text = 'set CUDA_VISIBLE_DEVICES to choose a card'\n"),
    )

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return _markers()

    def check(self, context: Context) -> Iterator[Finding]:
        for use in variable_uses(context):
            row = knowledge.find_environment_variable(use.name)
            if row is None or row.npu is None or not row.same_values or context.knows_npu(use.node):
                continue
            yield context.finding(
                self,
                use.node,
                say("{use} means nothing on the NPU; {npu} does", use=use.name, npu=row.npu),
                row.help,
                edits=[use.edit(row.npu)],
                level=row.level,
                uses_npu=False,
                place=(use.start, use.start + len(use.name)),
            )


class EnvironmentVariableWithoutTwin(Rule):
    """An environment variable that nothing on the NPU reads."""

    code = "NPU141"
    name = "environment-variable-without-twin"
    level = "info"
    markers = ()
    examples = (Example("import os\n\nos.environ['NCCL_P2P_DISABLE'] = '1'\n", codes=("NPU141",)),)

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return _markers()

    def check(self, context: Context) -> Iterator[Finding]:
        for use in variable_uses(context):
            row = knowledge.find_environment_variable(use.name)
            if row is None or (row.npu is not None and row.same_values) or context.knows_npu(use.node):
                continue
            yield context.finding(
                self,
                use.node,
                row.message,
                row.help,
                level=row.level,
                place=(use.start, use.start + len(use.name)),
            )
