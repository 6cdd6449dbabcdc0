"""``map_location={"cuda:0": "cuda:1"}``: a table from the device in a checkpoint to the device to load it on.

The key is the tag that is stored in a checkpoint written on CUDA, and such checkpoints are still loaded: it
stays. The table gains the same entry for checkpoints written on the NPU, and its values become NPU devices.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.model import Edit, Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.devices import DeviceLiteral, literal_edit
from ascend_migrate.syntax.text import apply_edits

_LOADERS = frozenset({"torch.load", "torch.jit.load", "torch.hub.load_state_dict_from_url"})


def map_location_tables(context: Context) -> list[ast.Dict]:
    """The dicts that are a ``map_location``: given as such, or held by a variable that is."""
    known: list[ast.Dict] | None = context.memo.get("map_location_tables")
    if known is None:
        known = [table for table in context.tree.nodes(ast.Dict) if _is_map_location(context, table)]
        context.memo["map_location_tables"] = known
    return known


def is_checkpoint_tag(context: Context, node: ast.AST) -> bool:
    """Whether ``node`` is (part of) a key of a ``map_location`` table."""
    keys = {key for table in map_location_tables(context) for key in table.keys}
    return node in keys or any(a in keys for a in context.tree.ancestors(node) if isinstance(a, ast.expr))


def _is_map_location(context: Context, node: ast.expr) -> bool:
    parent = context.tree.parent(node)
    if isinstance(parent, ast.keyword):
        return parent.arg == "map_location"
    if isinstance(parent, ast.Call):
        return node in parent.args[1:2] and context.qualname(parent.func) in _LOADERS
    if isinstance(parent, ast.IfExp):
        return _is_map_location(context, parent)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        target = parent.targets[0]
        if "map_location" in target.id:
            return True
        return isinstance(node, ast.Dict) and any(
            _is_map_location(context, use) for use in context.scope_at(target).uses[target.id]
        )
    return False


class MapLocation(Rule):
    code = "NPU123"
    name = "map-location"
    level = "error"
    examples = (
        Example(
            "import torch\n\nstate = torch.load(path, map_location={'cuda:0': 'cuda:1'})\n",
            "import torch\nimport torch_npu  # noqa: F401\n\n"
            "state = torch.load(path, map_location={'cuda:0': 'npu:1', 'npu:0': 'npu:1'})\n",
        ),
        Example(
            "import torch\n\nmap_location = {'cuda:%d' % 0: 'cuda:%d' % rank}\n",
            "import torch\nimport torch_npu  # noqa: F401\n\n"
            "map_location = {'cuda:%d' % 0: 'npu:%d' % rank, 'npu:%d' % 0: 'npu:%d' % rank}\n",
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        literals: dict[ast.AST, DeviceLiteral] = {lit.node: lit for lit in context.device_literals}
        for table in map_location_tables(context):
            if any(key is not None and context.awareness.speaks(key) for key in table.keys):
                continue
            for key, value in zip(table.keys, table.values):
                if key is None:
                    continue
                key_edits = _edits(context, key, literals)
                if not key_edits:
                    continue
                value_edits = _edits(context, value, literals)
                edits: list[Edit | None] = [*value_edits]
                if None not in key_edits and None not in value_edits:
                    entry = f"{_edited(context, key, key_edits)}: {_edited(context, value, value_edits)}"
                    end = context.tree.end(value)
                    edits.append(Edit(end, end, f", {entry}"))
                else:
                    edits.append(None)
                yield context.finding(
                    self,
                    key,
                    "a checkpoint written on the NPU carries npu devices, not cuda ones",
                    edits=edits,
                )


def _edits(context: Context, node: ast.expr, literals: dict[ast.AST, DeviceLiteral]) -> list[Edit | None]:
    inside = (literals[part] for part in ast.walk(node) if part in literals)
    return [literal_edit(context.tree, literal) for literal in inside]


def _edited(context: Context, node: ast.expr, edits: list[Edit | None]) -> str:
    start = context.tree.start(node)
    shifted = [Edit(e.start - start, e.end - start, e.text) for e in edits if e is not None]
    return apply_edits(context.tree.text(node), shifted)
