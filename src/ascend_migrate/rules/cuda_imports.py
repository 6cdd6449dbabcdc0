"""An import from ``torch.cuda``.

``from torch.cuda.amp import autocast`` becomes ``from torch_npu.npu.amp import autocast``. It is not imported
from ``torch.npu.amp``: ``torch.npu`` is the module ``torch_npu.npu`` under another name, and importing a
submodule through that name would execute a second copy of it. Names in the file stay what they are, so that
nothing else has to change. A name that the target version lacks stays where it is and is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ascend_migrate.language import say
from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules._imports import from_module_place, statement_stands_alone
from ascend_migrate.rules._translate import importable, name_markers, translate, translate_import
from ascend_migrate.rules.base import Context, Example, Rule


@dataclass(frozen=True)
class _Moved:
    alias: ast.alias
    module: str
    name: str

    @property
    def text(self) -> str:
        local = self.alias.asname or self.alias.name
        return self.name if self.name == local else f"{self.name} as {local}"


class CudaImports(Rule):
    code = "NPU104"
    name = "cuda-import"
    level = "error"
    examples = (
        Example(
            "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n",
            "import torch\nimport torch_npu  # noqa: F401\nfrom torch_npu.npu.amp import GradScaler, autocast\n",
        ),
        Example(
            "import torch\nimport torch.cuda as tc\n\ntc.synchronize()\n",
            "import torch\nimport torch_npu  # noqa: F401\nimport torch_npu.npu as tc\n\ntc.synchronize()\n",
        ),
        Example(
            "from torch import cuda, nn\n\ncuda.empty_cache()\n",
            "from torch_npu import npu as cuda\nfrom torch import nn\n\ncuda.empty_cache()\n",
        ),
        Example(
            "import torch.cuda\n\ntorch.cuda.empty_cache()\n",
            "import torch\nimport torch_npu  # noqa: F401\n\ntorch.npu.empty_cache()\n",
        ),
        Example(
            "from torch.cuda import nvtx, synchronize\n",
            "from torch_npu.npu import synchronize\nfrom torch.cuda import nvtx\n",
            codes=("NPU102", "NPU104"),
        ),
        Example("from pycuda.driver import cuda\nfrom numba import cuda as numba_cuda\n"),
    )

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return name_markers()

    def check(self, context: Context) -> Iterator[Finding]:
        for statement in context.tree.nodes(ast.ImportFrom):
            if statement.level == 0 and (statement.module or "").split(".")[0] in context.roots:
                yield from self._import_from(context, statement)
        for plain in context.tree.nodes(ast.Import):
            yield from self._import(context, plain)

    # -- from torch.cuda import x ----------------------------------------------------------------------------

    def _import_from(self, context: Context, statement: ast.ImportFrom) -> Iterator[Finding]:
        module = statement.module or ""
        if statement.names[0].name == "*":
            if module.split(".")[:2] == ["torch", "cuda"]:
                yield context.finding(
                    self,
                    statement,
                    say("from {module} import * brings CUDA names into this file", module=module),
                    "Import the names that are used one by one; then they can be converted.",
                )
            return
        if context.knows_npu(statement):
            return
        moved: list[_Moved] = []
        kept: list[ast.alias] = []
        for alias in statement.names:
            translation = translate_import(context, module, alias.name)
            if translation is not None and translation.npu is not None:
                home, _, name = translation.npu.rpartition(".")
                moved.append(_Moved(alias, home, name))
            else:
                kept.append(alias)
        if moved:
            context.memo.setdefault("moved_imports", set()).add(statement)
            places = sorted({m.module for m in moved})
            yield context.finding(
                self,
                statement,
                say(
                    "imports {names} from {module}; on the NPU from {places}",
                    names=", ".join(m.alias.name for m in moved),
                    module=module,
                    places=", ".join(places),
                ),
                edits=self._edits(context, statement, moved, kept),
                uses_npu=any(m.module.split(".")[0] in ("torch", "torch_npu") for m in moved),
            )

    def _edits(
        self, context: Context, statement: ast.ImportFrom, moved: list[_Moved], kept: list[ast.alias]
    ) -> list[Edit | None]:
        modules = list(dict.fromkeys(m.module for m in moved))
        same_names = all(m.name == m.alias.name for m in moved)
        if not kept and len(modules) == 1 and same_names:
            place = from_module_place(context, statement)
            return [None if place is None else Edit(*place, modules[0])]
        text = context.tree.text(statement)
        if "#" in text:
            return [None]  # a comment between the names would be lost
        lines = [f"from {module} import {', '.join(m.text for m in moved if m.module == module)}" for module in modules]
        if kept:
            names = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in kept)
            lines.append(f"from {statement.module} import {names}")
        start = context.tree.start(statement)
        indent = statement_stands_alone(context, statement)
        separator = "; " if indent is None else context.source.newline_after(start) + indent
        return [context.edit_node(statement, separator.join(lines))]

    # -- import torch.cuda -----------------------------------------------------------------------------------

    def _import(self, context: Context, statement: ast.Import) -> Iterator[Finding]:
        from ascend_migrate.rules._imports import alias_places

        concerned = [
            a
            for a in statement.names
            if a.name.split(".")[:2] == ["torch", "cuda"] or (a.asname and translate(context, a.name))
        ]
        if not concerned or context.knows_npu(statement):
            return
        places = alias_places(context, statement)
        for alias in concerned:
            place = places.get(alias)
            if alias.asname is None:
                # It binds the name torch; what is used of torch.cuda is rewritten where it is used.
                edit = None if place is None else Edit(place[0], place[1], "torch")
                yield context.finding(
                    self,
                    statement,
                    say("import {alias} imports a CUDA module", alias=alias.name),
                    edits=[edit],
                )
                continue
            translation = translate(context, alias.name)
            if translation is None or translation.npu is None:
                continue  # reported as a name without counterpart
            new = importable(translation.npu)
            if len(statement.names) == 1:
                context.memo.setdefault("moved_imports", set()).add(statement)
            edit = None if place is None else Edit(place[0], place[1], new)
            yield context.finding(
                self,
                statement,
                say("{old} is {new} on the NPU", old=alias.name, new=new),
                edits=[edit],
                uses_npu=translation.uses_npu,
            )
