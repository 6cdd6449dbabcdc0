"""Is this expression a device, a device's type, its string, or a backend?

The question is asked inwards, from an expression to what it is made of; the way outwards, from a literal to the
place it reaches, is :mod:`ascend_migrate.syntax.devices`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal

from ascend_migrate.syntax.device_places import LOOKUPS, TRANSPARENT_METHODS
from ascend_migrate.syntax.literals import LiteralKind, kind_of, names_backend, names_device, template_head
from ascend_migrate.syntax.names import Names
from ascend_migrate.syntax.tree import Scope, Tree

Answer = Literal["yes", "no", "unknown"]
_MAX_DEPTH = 12


def says(name: str, kind: LiteralKind) -> bool:
    """Whether a name says that its value is a device (or, for a backend literal, a backend)."""
    return names_device(name) or (kind == "backend" and names_backend(name))


def called_name(call: ast.Call) -> str:
    """The last component of what is called, as it is written; empty for ``f()()``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


class DeviceValues:
    """Answers for the expressions of one tree.

    ``flows(scope, name, kind)`` tells whether a variable is used as a device somewhere.
    """

    def __init__(self, tree: Tree, names: Names, flows: Callable[[Scope, str, LiteralKind], Answer]) -> None:
        self.tree = tree
        self.names = names
        self.flows = flows

    def is_device(self, node: ast.expr, kind: LiteralKind = "device", depth: int = 0) -> Answer:
        """Whether the value of an expression is a device, a device's type, its string, or a backend."""
        if depth > _MAX_DEPTH:
            return "unknown"
        deeper = depth + 1
        if isinstance(node, ast.Name):
            if says(node.id, kind):
                return "yes"
            return self._bound_to_device(node, kind, deeper)
        if isinstance(node, ast.Attribute):
            if says(node.attr, kind):
                return "yes"
            if node.attr == "type":
                return self.is_device(node.value, kind, deeper)
            return self._attribute_bound_to_device(node.attr, kind, deeper)
        if isinstance(node, ast.Call):
            qualname = self.names.qualname(node.func) or ""
            if qualname in ("torch.device", "torch.get_default_device"):
                return "yes"
            if qualname in ("str", "repr") and node.args:
                return self.is_device(node.args[0], kind, deeper)
            last = called_name(node)
            if isinstance(node.func, ast.Attribute):
                if last in TRANSPARENT_METHODS or last in ("split", "partition", "rsplit", "replace"):
                    return self.is_device(node.func.value, kind, deeper)
                if last == "type" and not node.args and not node.keywords:
                    return "yes"  # 'torch.cuda.FloatTensor'
            if last in LOOKUPS:
                labels = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                if any(kind_of(label) is None and says(label, kind) for label in labels):
                    return "yes"
                if last == "getattr" and labels == ["type"]:  # getattr(device, "type", None)
                    return self.is_device(node.args[0], kind, deeper)
            if says(last, kind) and _is_not_a_count(last):
                return "yes"
            return "unknown"
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return "yes" if says(node.slice.value, kind) else "unknown"
            return self.is_device(node.value, kind, deeper)
        if isinstance(node, ast.BoolOp):
            return "yes" if any(self.is_device(v, kind, deeper) == "yes" for v in node.values) else "unknown"
        if isinstance(node, ast.IfExp):
            both = (node.body, node.orelse)
            return "yes" if any(self.is_device(v, kind, deeper) == "yes" for v in both) else "unknown"
        if isinstance(node, ast.NamedExpr):
            return self.is_device(node.value, kind, deeper)
        if isinstance(node, ast.JoinedStr):
            if template_head(node) == "cuda:":
                return "yes"
            first = node.values[0] if node.values else None
            if isinstance(first, ast.FormattedValue):
                return self.is_device(first.value, kind, deeper)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
            return "yes" if any(v in ("cpu", "mps", "xpu", "npu") for v in values) else "unknown"
        return "unknown"

    def _bound_to_device(self, node: ast.Name, kind: LiteralKind, depth: int) -> Answer:
        scope = self.tree.scope_of_name[node].find(node.id)
        if scope is None:
            return "unknown"
        for binding in scope.bindings[node.id]:
            if (
                binding.kind == "assign" and binding.value is not None and not isinstance(binding.value, ast.Constant)
            ) and self.is_device(binding.value, kind, depth) == "yes":
                return "yes"
        return self.flows(scope, node.id, kind)

    def _attribute_bound_to_device(self, attr: str, kind: LiteralKind, depth: int) -> Answer:
        for binding in self.tree.attribute_bindings.get(attr, ()):
            value = binding.value
            if (
                value is not None
                and not isinstance(value, ast.Constant)
                and not (isinstance(value, ast.Attribute) and value.attr == attr)
            ) and self.is_device(value, kind, depth) == "yes":
                return "yes"
        return "unknown"


def _is_not_a_count(name: str) -> bool:
    """``get_device`` gives a device; ``device_count`` and ``device_name`` do not."""
    return not any(word in name for word in ("count", "num_", "_num", "_id", "index", "prop", "capab", "memory"))
