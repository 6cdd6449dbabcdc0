"""From a CUDA name to its NPU name on the target version: what every rule that renames asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ascend_migrate.language import say
from ascend_migrate.model import Edit, Level, Safety
from ascend_migrate.rules._imports import statement_stands_alone
from ascend_migrate.rules.base import dotted_marker
from ascend_migrate.syntax.names import Reference

if TYPE_CHECKING:
    from ascend_migrate.knowledge import ApiMapping
    from ascend_migrate.rules.base import Context


@dataclass(frozen=True)
class Translation:
    """``npu`` is the new dotted name, or None when the target has none. ``depth`` counts the leading parts of
    the old name that the answer is about."""

    cuda: str
    npu: str | None
    depth: int
    level: Level = "error"
    message: str = ""
    help: str = ""
    safety: Safety = "safe"
    own: bool = False
    """From a row of the project itself."""

    @property
    def uses_npu(self) -> bool:
        """Whether the new name is one of PyTorch or torch_npu."""
        return self.npu is not None and self.npu.split(".")[0] in ("torch", "torch_npu")


def translate(context: Context, qualname: str) -> Translation | None:
    """The NPU side of a dotted torch name; None when the name has nothing to do with CUDA."""
    parts = qualname.split(".")
    row, depth = _row(context, parts)
    if row is not None:
        return _by_row(context, parts, row, depth)
    if parts[:2] == ["torch", "profiler"]:
        return _profiler(context, parts)
    if parts[:2] != ["torch", "cuda"]:
        return None
    candidate = ".".join(["torch", "npu", *parts[2:]])
    if context.surface.has(candidate):
        return Translation(qualname, candidate, len(parts))
    depth = _missing_depth(context, parts)
    return _missing(context, parts, depth)


@cache
def name_markers() -> tuple[str, ...]:
    """What a file must hold to have any name with a translation: ``cuda``, or all parts of a row's name."""
    from ascend_migrate import knowledge

    rows = {row.name: frozenset(row.name.split(".")) for row in knowledge.api_mappings() if "cuda" not in row.name}
    least = [name for name, parts in rows.items() if not any(other < parts for other in rows.values())]
    return ("cuda", "ProfilerActivity.CUDA", *sorted(map(dotted_marker, least)))


def _row(context: Context, parts: list[str]) -> tuple[ApiMapping | None, int]:
    """The row that speaks of a dotted name or of what it belongs to, and how many parts it is about."""
    for depth in range(len(parts), 1, -1):
        name = ".".join(parts[:depth])
        row = context.mapping(name)
        if row is not None and row.name == name:
            return row, len(parts) if row.cuda.endswith(".*") else depth
    return None, 0


def _by_row(context: Context, parts: list[str], row: ApiMapping, depth: int) -> Translation:
    qualname = ".".join(parts)
    new = row.replacement(context.target)
    if new is not None:
        new = ".".join([new, *parts[depth:]])
        return Translation(qualname, new, len(parts), row.level, row.message, row.help, row.safety, row.own)
    return Translation(qualname, None, depth, row.level, row.message, row.help, own=row.own)


def _profiler(context: Context, parts: list[str]) -> Translation | None:
    """The whole profiler moves as soon as the file asks it to watch CUDA, and otherwise stays.

    Source: torch_npu's profiler records NPU activity; torch's own does not know that device.
    """
    watches = context.memo.get("profiler_watches_cuda")
    if watches is None:
        watches = any(r.qualname == "torch.profiler.ProfilerActivity.CUDA" for r in context.references)
        context.memo["profiler_watches_cuda"] = watches
    new = ".".join(["torch_npu", *parts[1:]])
    if not watches or len(parts) < 3 or not context.surface.has(".".join(["torch_npu", *parts[1:3]])):
        return None
    return Translation(".".join(parts), new.replace("ProfilerActivity.CUDA", "ProfilerActivity.NPU"), len(parts))


def translate_npu(context: Context, qualname: str) -> Translation | None:
    """What to write for a name of ``torch_npu`` that does not exist; None when nothing is known of it."""
    parts = qualname.split(".")
    row, depth = _row(context, parts)
    return None if row is None else _by_row(context, parts, row, depth)


def _missing_depth(context: Context, parts: list[str]) -> int:
    """How many leading parts it takes to reach the name that the target lacks."""
    for depth in range(3, len(parts)):
        if not context.surface.has(".".join(["torch", "npu", *parts[2:depth]])):
            return depth
    return len(parts)


def _missing(context: Context, parts: list[str], depth: int) -> Translation:
    from ascend_migrate import knowledge

    old = ".".join(parts[:depth])
    new = ".".join(["torch", "npu", *parts[2:depth]])
    versions = knowledge.versions_with(new)
    if versions:
        help: str = say(
            "{new} exists in torch_npu {versions}; choose such a version or do without it.",
            new=new,
            versions=listed(versions),
        )
    else:
        help = "No version of torch_npu has it; do without it on the NPU, or guard it with a test for CUDA."
    version = context.target.torch_npu
    return Translation(
        ".".join(parts),
        None,
        depth,
        "error",
        say("{old} has no counterpart in torch_npu {version}", old=old, version=version),
        help,
    )


def listed(versions: tuple[str, ...]) -> str:
    """``2.9.0 to 2.14.0`` for neighbours among the known versions, else each run of neighbours."""
    from ascend_migrate import knowledge

    known = knowledge.versions()
    runs: list[list[str]] = []
    for version in versions:
        if runs and known.index(version) == known.index(runs[-1][-1]) + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


@dataclass(frozen=True)
class Use:
    """A written reference to a CUDA name, and the part of the translation that is written there."""

    reference: Reference
    translation: Translation

    @cached_property
    def is_written_here(self) -> bool:
        """False when the part that changes comes from an import, which is edited there instead."""
        translation = self.translation
        if translation.npu is None:
            return translation.depth > self.reference.root_parts
        new = translation.npu.split(".")
        old = self.reference.parts
        if len(new) != len(old):
            return True
        return any(a != b for a, b in zip(old[self.reference.root_parts :], new[self.reference.root_parts :]))


def uses(context: Context) -> Iterator[Use]:
    """Every written use of a torch name with a translation, in source order, cached on the context."""
    cached: list[Use] | None = context.memo.get("uses")
    if cached is None:
        cached = []
        for reference in context.references:
            if reference.parts[0] in context.roots and len(reference.parts) > 1:
                translation = translate(context, reference.qualname)
                if translation is not None:
                    use = Use(reference, translation)
                    if use.is_written_here:
                        cached.append(use)
        context.memo["uses"] = cached
    yield from cached


def _root_becomes(context: Context, old: tuple[str, ...], new: list[str]) -> bool:
    """Whether the name at the root, bound to ``old``, will be bound to ``new`` once its import is converted."""
    if list(old) == new:
        return True
    translation = translate(context, ".".join(old)) if len(old) > 1 else None
    return translation is not None and translation.npu == ".".join(new)


@dataclass(frozen=True)
class ImportedName:
    """One name that an import statement takes from torch, with its translation."""

    statement: ast.Import | ast.ImportFrom
    alias: ast.alias
    translation: Translation


def importable(dotted: str) -> str:
    """The name under which a member of ``torch.npu`` may be imported: ``torch_npu.npu...``."""
    return "torch_npu.npu" + dotted[len("torch.npu") :] if dotted.split(".")[:2] == ["torch", "npu"] else dotted


def translate_import(context: Context, module: str, name: str) -> Translation | None:
    """The translation of ``from module import name``, whose new name can be imported if there is one."""
    translation = translate(context, f"{module}.{name}")
    if translation is None or translation.npu is None:
        return translation
    home, _, new = importable(translation.npu).rpartition(".")
    if not home.startswith("torch_npu") or context.surface.can_import(home, new):
        return replace(translation, npu=f"{home}.{new}")
    return replace(
        translation,
        npu=None,
        message=say("{old} is {new} on the NPU, which cannot be imported", old=translation.cuda, new=translation.npu),
        help=say("Write {new} where it is used.", new=translation.npu),
    )


def imported_names(context: Context) -> list[ImportedName]:
    """The names with a translation that the file's imports take from torch, in source order."""
    found: list[ImportedName] = []
    for statement in context.tree.nodes(ast.ImportFrom):
        module = statement.module or ""
        if statement.level == 0 and module.split(".")[0] in context.roots:
            for alias in statement.names:
                translation = None if alias.name == "*" else translate_import(context, module, alias.name)
                if translation is not None:
                    found.append(ImportedName(statement, alias, translation))
    for plain in context.tree.nodes(ast.Import):
        for alias in plain.names:
            # Without `as` the import only binds torch; what is used of it counts where it is used.
            if alias.asname and "." in alias.name and alias.name.split(".")[0] in context.roots:
                translation = translate(context, alias.name)
                if translation is not None:
                    found.append(ImportedName(plain, alias, translation))
    return found


def without_counterpart(context: Context) -> Iterator[tuple[ast.AST, Translation]]:
    """Every use and import of a name that has no replacement on the target, with what is said of it.

    Naming a class does no harm: it exists in every PyTorch, only calling it fails. So ``isinstance``, type
    comparisons and annotations are no findings, nor is an import whose name is only used so.
    """
    for use in uses(context):
        if use.translation.npu is None and not _only_named(context, use.reference.node):
            yield use.reference.node, use.translation
    for name in imported_names(context):
        if name.translation.npu is None and not _is_harmless_import(context, name):
            yield name.statement, name.translation


def _is_harmless_import(context: Context, name: ImportedName) -> bool:
    local = name.alias.asname or name.alias.name
    scope = context.scope_at(name.statement)
    used = [use for use in context.tree.nodes(ast.Name) if use.id == local and isinstance(use.ctx, ast.Load)]
    used = [use for use in used if context.scope_at(use).find(local) is scope]
    if not used:
        return not name.translation.cuda.startswith("torch.cuda.")  # a CUDA name taken to be handed on
    return all(_only_named(context, use) for use in used)


def _only_named(context: Context, node: ast.AST) -> bool:
    """Whether a class is only named: in ``isinstance``, compared with a type, or in an annotation."""
    child: ast.AST = node
    for parent in context.tree.ancestors(node):
        if isinstance(parent, ast.Call):
            test = getattr(parent.func, "id", "")
            return test in ("isinstance", "issubclass") and child in parent.args[1:]
        if isinstance(parent, ast.Compare):
            sides = [parent.left, *parent.comparators]
            return any(isinstance(s, ast.Call) and getattr(s.func, "id", "") == "type" for s in sides)
        if isinstance(parent, (ast.arg, ast.AnnAssign)):
            return child is parent.annotation
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return child is parent.returns
        if not isinstance(parent, (ast.Tuple, ast.List, ast.Subscript, ast.BinOp, ast.Attribute)):
            return False
        child = parent
    return False


def edits_for(context: Context, use: Use) -> list[Edit | None]:
    """The edits that spell ``use`` for the NPU; holds a None when a name it needs is not at hand there."""
    reference, new = use.reference, (use.translation.npu or "").split(".")
    old = reference.parts
    # What the module of another package is called, its import decides; PyTorch's are all there with `import torch`.
    at_hand = use.translation.uses_npu or reference.root_parts >= len(old) - 1 or list(old[:-1]) == new[:-1]
    if (
        at_hand
        and len(new) == len(old)
        and _root_becomes(context, old[: reference.root_parts], new[: reference.root_parts])
    ):
        return [
            context.edit_attribute(attribute, new[position])
            for position, attribute in enumerate(reference.attributes, reference.root_parts)
            if old[position] != new[position]
        ]
    if not use.translation.uses_npu:
        return _imported_edits(context, reference, new)
    root = context.name_for(new[0], reference.node)
    if root is None:
        return [None]
    return [context.edit_node(reference.node, ".".join([root, *new[1:]]))]


def _imported_edits(context: Context, reference: Reference, new: list[str]) -> list[Edit | None]:
    """The edits that write a name of some other package, with the import that it needs. They are only made where
    everything is plain: an import at the top of the file that has its line for itself, and no other meaning of the
    name of the package."""
    module = ".".join(new[:-1])
    home = context.scope_at(reference.node).find(new[0])
    if home is not None and any(binding.qualname != new[0] for binding in home.bindings[new[0]]):
        return [None]
    edits: list[Edit | None] = [context.edit_node(reference.node, ".".join(new))]
    top = [s for s in context.tree.module.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    if any(isinstance(s, ast.Import) and any(a.name == module and not a.asname for a in s.names) for s in top):
        return edits
    old = next((s for s in top if any(_binds(a, reference.root.id) for a in s.names)), None)
    if old is None or statement_stands_alone(context, old) != "":
        return [None]
    at = context.source.line_end(context.tree.end(old))
    return [*edits, Edit(at, at, f"{context.source.newline_after(at)}import {module}")]


def _binds(alias: ast.alias, name: str) -> bool:
    return (alias.asname or alias.name.split(".")[0]) == name
