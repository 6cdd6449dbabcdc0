"""A name of ``torch.npu`` or ``torch_npu`` that the target version does not have.

Articles and half-migrated code use names that exist in no version (``torch_npu.amp``, ``torch.npu.optimize``), or
only in another one, or that moved (``torch.npu_format_cast`` is ``torch_npu.npu_format_cast``). The code fails on the
card. Where the right name is known, it is written; else the versions that have the name are told, or the nearest name
there is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules._imports import from_module_place
from ascend_migrate.rules._translate import Translation, Use, edits_for, listed, translate_npu
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.names import Reference

_ROOTS = ("torch.npu", "torch_npu")
_OPERATOR = "torch.npu_"


class AbsentNpuName(Rule):
    code = "NPU501"
    name = "absent-npu-name"
    level = "error"
    markers = (".npu", "_npu", " npu", ",npu", "(npu", "set_memory_reuse_policy")  # not "input"
    examples = (
        Example("import torch\nimport torch_npu\n\ntorch.npu.synchronize()\n", codes=()),
        Example(
            "import torch_npu\n\nif hasattr(torch_npu, 'npu_new_thing'):\n    torch_npu.npu_new_thing()\n", codes=()
        ),
        Example("import torch_npu\n\ntorch_npu.no_such_operator()\n", codes=("NPU501",)),
        Example(
            "import torch\nimport torch_npu\n\ny = torch.npu_format_cast(x, 2)\n",
            "import torch\nimport torch_npu\n\ny = torch_npu.npu_format_cast(x, 2)\n",
            codes=("NPU501",),
        ),
        Example(
            "from torch_npu.amp import GradScaler, autocast\n\nscaler = GradScaler()\n",
            "from torch_npu.npu.amp import GradScaler, autocast\n\nscaler = GradScaler()\n",
            codes=("NPU501",),
        ),
        Example(
            "import torch\nimport torch_npu\n\ntorch.npu.CUDAGraph()\n",
            "import torch\nimport torch_npu\n\ntorch.npu.NPUGraph()\n",
            codes=("NPU501",),
        ),
        Example(
            "import torch_npu\n\ntorch_npu.set_device(0)\n",
            "import torch_npu\n\ntorch_npu.npu.set_device(0)\n",
            codes=("NPU501",),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for reference in context.references:
            if not _is_npu_name(reference) or _is_private(reference.parts) or _has(context, reference.qualname):
                continue
            depth = _absent_depth(context, reference.parts)
            if (depth <= reference.root_parts and reference.root_parts > 1) or _is_asked_for(context, reference.node):
                continue  # said at the import
            right = right_name(context, reference.qualname)
            edits = edits_for(context, Use(reference, right)) if right is not None and right.npu else []
            yield self._finding(context, reference.node, reference.parts[:depth], right, edits)
        for statement in context.tree.nodes(ast.ImportFrom):
            yield from self._imported(context, statement)
        for plain in context.tree.nodes(ast.Import):
            for alias in plain.names:
                parts = tuple(alias.name.split("."))
                if len(parts) > 1 and alias.name.startswith(("torch_npu.", "torch.npu.")):
                    if _is_private(parts) or context.surface.has(alias.name) or _is_optional(context, plain):
                        continue
                    absent = parts[: _absent_depth(context, parts)]
                    yield self._finding(context, plain, absent, right_name(context, alias.name), [])

    def _imported(self, context: Context, statement: ast.ImportFrom) -> Iterator[Finding]:
        """What is absent of what ``from torch_npu... import ...`` takes; the module is corrected when that is all."""
        module = (statement.module or "").split(".")
        if statement.level or not (module[0] == "torch_npu" or module[:2] == ["torch", "npu"]):
            return
        names = [(*module, alias.name) if alias.name != "*" else tuple(module) for alias in statement.names]
        absent = [parts for parts in names if not _is_private(parts) and not context.surface.has(".".join(parts))]
        if not absent or _is_optional(context, statement):
            return
        right = [right_name(context, ".".join(parts)) for parts in names]
        edit = self._module_edit(context, statement, right)
        seen = set()
        for parts in absent:
            shown = parts[: _absent_depth(context, parts)]
            if shown not in seen:
                seen.add(shown)
                said = right[names.index(parts)]
                yield self._finding(context, statement, shown, said, [] if edit is None else [edit])

    def _module_edit(self, context: Context, statement: ast.ImportFrom, right: list[Translation | None]) -> Edit | None:
        """The edit that takes the same names from the module that has them all; None when there is none."""
        homes = set()
        for alias, said in zip(statement.names, right):
            home, _, name = (said.npu or "").rpartition(".") if said is not None else ("", "", "")
            if name != alias.name or not context.surface.can_import(home, name):
                return None
            homes.add(home)
        place = from_module_place(context, statement)
        return Edit(place[0], place[1], homes.pop()) if len(homes) == 1 and place is not None else None

    def _finding(
        self,
        context: Context,
        node: ast.AST,
        absent: tuple[str, ...],
        right: Translation | None,
        edits: list[Edit | None] | list[Edit],
    ) -> Finding:
        message: str = say(
            "{parts} does not exist in torch_npu {torch_npu}",
            parts=".".join(absent),
            torch_npu=context.target.torch_npu,
        )
        help = _help(context, absent)
        if right is not None:
            message, help = right.message or message, right.help or help
        uses_npu = right is None or (right.npu or "torch_npu").startswith(_ROOTS)
        safety = "safe" if right is None else right.safety
        return context.finding(self, node, message, help, edits=edits, safety=safety, uses_npu=uses_npu)


class DeprecatedNpuName(Rule):
    """A name of torch_npu that warns that it is deprecated."""

    code = "NPU503"
    name = "deprecated-npu-name"
    level = "info"
    markers = ("torch_npu.contrib",)
    examples = (
        Example("from torch_npu.contrib.module import DropoutWithByteMask\n", codes=()),
        Example("from torch_npu.contrib.module import Mish\n\nlayer = Mish()\n", codes=("NPU503",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for statement in context.tree.nodes(ast.ImportFrom):
            for alias in statement.names if statement.level == 0 else ():
                yield from self._said(context, statement, f"{statement.module}.{alias.name}")
        for reference in context.references_under("torch_npu.contrib"):
            if len(reference.attributes) > 0:
                yield from self._said(context, reference.node, reference.qualname)

    def _said(self, context: Context, node: ast.AST, dotted: str) -> Iterator[Finding]:
        row = knowledge.find_npu_name(dotted)
        if row is not None and row.cuda == dotted and context.surface.has(dotted):
            yield context.finding(self, node, row.message, row.help, level=row.level)


def right_name(context: Context, qualname: str) -> Translation | None:
    """What is known of a name of torch_npu that does not exist: its right name, or what to do instead."""
    row = knowledge.find_npu_name(qualname)
    if row is not None:
        new = row.replacement(context.target)
        if new is None:
            return Translation(qualname, None, len(row.cuda.split(".")), row.level, row.message, row.help)
        new += qualname[len(row.cuda) :]
        if _exists(context, new):
            return _renamed(qualname, new, row.help)
    parts = qualname.split(".")
    if qualname.startswith((_OPERATOR, "torch.npu.npu_")):
        operator = ".".join(["torch_npu", *(parts[1:] if qualname.startswith(_OPERATOR) else parts[2:])])
        if _exists(context, operator):
            return _renamed(qualname, operator, "torch_npu's operators are no longer members of torch.")
    below = 2 if parts[0] == "torch" or parts[1:2] == ["npu"] else 1
    if below == 2:
        said = translate_npu(context, ".".join(["torch", "cuda", *parts[2:]]))
        if said is not None and said.npu is not None and said.npu != qualname:
            return _renamed(qualname, said.npu, said.help)
        if said is not None and said.npu is None and said.level == "error":
            return Translation(qualname, None, said.depth, help=said.help)
    elif _exists(context, ".".join(["torch_npu", "npu", *parts[1:]])):
        new = ".".join(["torch_npu", "npu", *parts[1:]])
        return _renamed(qualname, new, "torch_npu keeps what torch.cuda has in torch_npu.npu, which is torch.npu.")
    return None


def _renamed(old: str, new: str, help: str) -> Translation:
    message = say("{old} does not exist; {new} does", old=old, new=new)
    return Translation(old, new, len(old.split(".")), message=message, help=help)


def _exists(context: Context, dotted: str) -> bool:
    """Whether a new name may be written: one of torch_npu that the target has, or one of PyTorch."""
    return not dotted.startswith(_ROOTS) or context.surface.has(dotted)


def _is_npu_name(reference: Reference) -> bool:
    name = reference.qualname
    if name.startswith(_OPERATOR):
        return bool(reference.attributes)
    return name.startswith(("torch.npu.", "torch_npu.")) or knowledge.find_npu_name(name) is not None


def _has(context: Context, qualname: str) -> bool:
    return not qualname.startswith((_OPERATOR, "acl.")) and context.surface.has(qualname)


def _is_private(parts: tuple[str, ...]) -> bool:
    return any(part.startswith("_") for part in parts)


def _absent_depth(context: Context, parts: tuple[str, ...]) -> int:
    """How many leading parts it takes to reach the name that is absent."""
    if parts[0] == "torch" and parts[1].startswith("npu_"):
        return 2
    if parts[0] == "acl":
        return len(parts)
    first = 3 if parts[0] == "torch" else 2
    depths = range(first, len(parts))
    return next((d for d in depths if not context.surface.has(".".join(parts[:d]))), len(parts))


def _is_asked_for(context: Context, node: ast.AST) -> bool:
    """Whether the code asks ``hasattr(torch_npu, "name")`` before it uses the name, or catches that it is missing."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    child = node
    for parent in context.tree.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            for part in ast.walk(parent.test):
                if isinstance(part, ast.Constant) and part.value == name:
                    return True
        if isinstance(parent, ast.Try) and child in parent.body and _catches(parent, "AttributeError"):
            return True
        child = parent
    return False


def _is_optional(context: Context, statement: ast.stmt) -> bool:
    """Whether an import that fails is caught."""
    child: ast.AST = statement
    for parent in context.tree.ancestors(statement):
        if isinstance(parent, ast.Try) and child in parent.body and _catches(parent, "ImportError"):
            return True
        child = parent
    return False


def _catches(statement: ast.Try, error: str) -> bool:
    for handler in statement.handlers:
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(c is None or getattr(c, "id", "") in (error, "Exception", "ModuleNotFoundError") for c in caught):
            return True
    return False


def _help(context: Context, parts: tuple[str, ...]) -> str:
    versions = knowledge.versions_with(".".join(parts))
    if versions:
        return say("It exists in torch_npu {versions}.", versions=listed(versions))
    near = _nearest(context, parts)
    if near is not None:
        return say("It exists in no known version of torch_npu; the nearest name is {near}.", near=near)
    return say("It exists in no known version of torch_npu.")


def _nearest(context: Context, parts: tuple[str, ...]) -> str | None:
    """The name of the same module that is spelled most alike."""
    from difflib import get_close_matches

    module = ".".join(parts[:-1])
    if not context.surface.is_module(module):
        return None
    names = {name.lower(): name for name in context.surface.names(module) if not name.startswith("_")}
    close = get_close_matches(parts[-1].lower(), list(names), n=1, cutoff=0.8)
    return f"{module}.{names[close[0]]}" if close else None
