"""The dotted name of something in ``torch.cuda``, written as a string.

``mock.patch("torch.cuda.is_available")`` and ``importlib.import_module("torch.cuda.amp")`` name what they take; they
are converted like a reference or an import. In any other place the string is left and reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules._translate import importable, translate
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.device_places import LOG_CALLS
from ascend_migrate.syntax.device_values import called_name
from ascend_migrate.syntax.literals import edit_constant, kind_of

_DOTTED = re.compile(r"torch\.cuda(?:\.\w+)*")
_PATCHES = frozenset({"patch", "setattr", "delattr", "object", "spy"})
_IMPORTS = frozenset({"import_module", "__import__", "find_spec", "importorskip"})


class DottedString(Rule):
    code = "NPU113"
    name = "dotted-string"
    level = "error"
    markers = ("'torch.cuda", '"torch.cuda')
    examples = (
        Example(
            "from unittest import mock\n\nimport torch\n\n\n"
            "@mock.patch('torch.cuda.is_available', return_value=False)\ndef test_cpu(_): ...\n",
            "from unittest import mock\n\nimport torch\nimport torch_npu  # noqa: F401\n\n\n"
            "@mock.patch('torch.npu.is_available', return_value=False)\ndef test_cpu(_): ...\n",
        ),
        Example(
            "import importlib\n\namp = importlib.import_module('torch.cuda.amp')\n",
            "import importlib\n\namp = importlib.import_module('torch_npu.npu.amp')\n",
        ),
        Example("names = ['torch.cuda.synchronize']\n", codes=("NPU113",)),
        Example("print('torch.cuda.is_available')\n", codes=()),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for node in context.tree.nodes(ast.Constant):
            if not isinstance(node.value, str) or not _DOTTED.fullmatch(node.value) or kind_of(node.value):
                continue
            parent = context.tree.parent(node)
            if isinstance(parent, (ast.JoinedStr, ast.Expr)) or context.knows_npu(node):
                continue
            called = called_name(parent) if isinstance(parent, ast.Call) else ""
            if called in LOG_CALLS:
                continue
            translation = translate(context, node.value)
            new = translation.npu if translation else None
            if new is not None and called in _IMPORTS:
                new = importable(new) if context.surface.is_module(importable(new)) else None
            if new is not None and called in _PATCHES | _IMPORTS:
                yield context.finding(
                    self,
                    node,
                    say("{old} is {new} on the NPU", old=node.value, new=new),
                    edits=[edit_constant(context.tree, node, node.value, new)],
                )
            else:
                yield context.finding(
                    self,
                    node,
                    say("{old!r} names a part of torch.cuda, and what is done with it cannot be told", old=node.value),
                    "If it is looked up by this name, write the NPU's by hand.",
                    level="warning",
                )
