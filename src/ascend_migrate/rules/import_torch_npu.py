"""``import torch_npu`` where it is needed.

It stands behind the first ``import torch`` of every file that the conversion made use the NPU, and of the
scripts of such a project. From PyTorch 2.5 on torch_npu loads itself when torch is imported, and the line stays
harmless; before, ``torch.npu`` does not exist without it. The comment keeps linters from removing it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules._imports import statement_stands_alone
from ascend_migrate.rules.base import Context, Example, Rule

_LINE = "import torch_npu  # noqa: F401"
_BLOCKS = (ast.Module, ast.If, ast.Try, ast.With)


class ImportTorchNpu(Rule):
    code = "NPU160"
    name = "import-torch-npu"
    level = "error"
    markers = ()
    runs_last = True
    examples = (
        Example(
            '"""Doc."""\nimport os\n\ntry:\n    import torch\nexcept ImportError:\n    torch = None\n\n'
            "torch.cuda.empty_cache()\n",
            '"""Doc."""\nimport os\n\ntry:\n    import torch\n    import torch_npu  # noqa: F401\n'
            "except ImportError:\n    torch = None\n\ntorch.npu.empty_cache()\n",
        ),
        Example(
            "def free():\n    import torch\n\n    torch.cuda.empty_cache()\n",
            "def free():\n    import torch\n    import torch_npu  # noqa: F401\n\n    torch.npu.empty_cache()\n",
        ),
        Example("def to_card(x):\n    return x.cuda()\n", "def to_card(x):\n    return x.npu()\n"),
        Example("import torch\n\nx = torch.ones(2)\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        if context.path.endswith(".pyi"):
            return
        imports = [s for s in self._imports(context) if self._package(s) == "torch_npu" and self._runs(context, s)]
        named = context.torch_npu_named and "torch_npu" not in context.tree.scope.bindings
        top_level = any(self._at_top(context, s) for s in imports)
        if (context.npu_sites and not top_level) or named:
            yield from self._insert(context, bool(named))
        elif context.project.uses_cuda and not top_level and _is_entry_script(context):
            yield from self._insert(context, False)

    def _insert(self, context: Context, named: bool) -> Iterator[Finding]:
        moved: set[ast.stmt] = context.memo.get("moved_imports", set())
        torch_imports = [
            s
            for s in self._imports(context)
            if self._package(s) == "torch" and s not in moved and self._runs(context, s)
        ]
        at_top = next((s for s in torch_imports if self._at_top(context, s)), None)
        if at_top is not None:
            yield self._after(context, at_top)
            return
        if named:
            yield self._at_start(context)
            return
        seen: set[ast.AST] = set()
        npu_imports = [s for s in self._imports(context) if self._package(s) == "torch_npu"]
        for site in context.npu_sites:
            function = self._outermost_function(context, site)
            if function is None or function in seen:
                continue
            seen.add(function)
            inside = [s for s in torch_imports if self._outermost_function(context, s) is function]
            if inside and not any(self._outermost_function(context, s) is function for s in npu_imports):
                yield self._after(context, inside[0])

    def _imports(self, context: Context) -> list[ast.Import | ast.ImportFrom]:
        statements: list[ast.Import | ast.ImportFrom] = [
            *context.tree.nodes(ast.Import),
            *context.tree.nodes(ast.ImportFrom),
        ]
        return sorted(statements, key=lambda s: (s.lineno, s.col_offset))

    def _package(self, statement: ast.Import | ast.ImportFrom) -> str | None:
        if isinstance(statement, ast.ImportFrom):
            return (statement.module or "").split(".")[0] if statement.level == 0 else None
        packages = [alias.name.split(".")[0] for alias in statement.names]
        return next((p for p in packages if p in ("torch", "torch_npu")), packages[0])

    def _runs(self, context: Context, statement: ast.stmt) -> bool:
        """Not under ``if TYPE_CHECKING:``."""
        return not any(
            isinstance(a, ast.If) and (context.qualname(a.test) or "").endswith("TYPE_CHECKING")
            for a in context.tree.ancestors(statement)
        )

    def _at_top(self, context: Context, statement: ast.stmt) -> bool:
        return all(isinstance(a, _BLOCKS) for a in context.tree.ancestors(statement))

    def _outermost_function(self, context: Context, node: ast.AST) -> ast.AST | None:
        functions = [a for a in context.tree.ancestors(node) if isinstance(a, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return functions[-1] if functions else None

    def _after(self, context: Context, statement: ast.stmt) -> Finding:
        source = context.source
        start, end = context.tree.start(statement), context.tree.end(statement)
        indent = source.indent_of(start)
        rest = source.text[end : source.line_end(end)].strip()
        if indent is not None and (not rest or rest.startswith(("#", ";"))) and not rest.endswith("\\"):
            at = source.line_end(end)
            edit = Edit(at, at, f"{source.newline_after(start)}{indent}{_LINE}")
        else:
            edit = Edit(end, end, "; import torch_npu")
        return self._finding(context, statement, edit)

    def _at_start(self, context: Context) -> Finding:
        """Behind the docstring and the ``__future__`` imports of a file that imports no torch."""
        body = context.tree.module.body
        for statement in body:
            docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if not (docstring or future) and statement_stands_alone(context, statement) is not None:
                at = context.tree.start(statement)
                if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                    at = min([at, *(context.tree.start(d) - 1 for d in statement.decorator_list)])
                return self._finding(context, statement, Edit(at, at, _LINE + context.source.newline_after(at)))
        return context.finding(self, context.npu_sites[0], self._message(context), level="error")

    def _finding(self, context: Context, statement: ast.stmt, edit: Edit) -> Finding:
        return context.finding(self, statement, self._message(context), edits=[edit], uses_npu=False)

    def _message(self, context: Context) -> str:
        return (
            "this file uses the NPU, which needs import torch_npu"
            if context.npu_sites
            else "this script runs a project that uses the NPU, which needs import torch_npu"
        )


def _is_entry_script(context: Context) -> bool:
    for statement in context.tree.module.body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare):
            sides = [statement.test.left, *statement.test.comparators]
            names = {s.id for s in sides if isinstance(s, ast.Name)}
            values = {s.value for s in sides if isinstance(s, ast.Constant)}
            if "__name__" in names and "__main__" in values:
                return True
    return False
