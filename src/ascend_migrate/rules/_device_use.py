"""Calls that use a device, and what is certain to have run before a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ascend_migrate.syntax.literals import kind_of, template_head

if TYPE_CHECKING:
    from ascend_migrate.rules.base import Context

DEVICES = ("cuda", "npu")
SET_DEVICE = frozenset(f"torch.{device}{module}.set_device" for device in DEVICES for module in ("", ".utils"))
DEVICE_GUARDS = frozenset(f"torch.{device}.{name}" for device in DEVICES for name in ("device", "device_of"))
_STARTING = frozenset(
    f"torch.{device}.{name}"
    for device in DEVICES
    for name in (
        "init",
        "set_device",
        "current_device",
        "synchronize",
        "get_device_properties",
        "get_device_name",
        "mem_get_info",
        "current_stream",
        "default_stream",
        "Stream",
    )
)
"""Calls that start the device's runtime in this process. ``is_available`` and ``device_count`` do not: before the
start they read the environment again. Source: torch_npu/npu/__init__.py and utils.py of torch_npu 2.7.1 and 2.13.0."""


def starts_device(context: Context, call: ast.Call) -> bool:
    """Whether a call certainly starts the device's runtime."""
    return context.qualname(call.func) in _STARTING or allocates(context, call)


def allocates(context: Context, call: ast.Call) -> bool:
    """Whether a call certainly puts something on the current device, named without an index."""
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
        if name in DEVICES and not call.args and not call.keywords:
            return context.qualname(call.func) is None or not (context.qualname(call.func) or "").startswith("torch.")
        if name == "to" and call.args:
            return names_current_device(context, call.args[0])
    device = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    qualname = context.qualname(call.func) or ""
    return device is not None and qualname.startswith("torch.") and names_current_device(context, device)


def names_current_device(context: Context, node: ast.expr) -> bool:
    """Whether an expression is the device ``cuda`` or ``npu`` without an index."""
    if isinstance(node, ast.Constant):
        return node.value in DEVICES
    if isinstance(node, ast.Call) and context.qualname(node.func) == "torch.device" and len(node.args) == 1:
        return names_current_device(context, node.args[0]) and not node.keywords
    return False


def names_device(context: Context, node: ast.expr) -> bool:
    """Whether an expression is a literal CUDA or NPU device, with an index or without."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return kind_of(node.value) == "device" or node.value.split(":")[0] == "npu"
    head = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
    if isinstance(node, ast.JoinedStr) and template_head(node) is not None:
        return True
    return isinstance(head, ast.Constant) and head.value == "npu:"


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that run when ``node`` runs: not those inside functions that it defines."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            yield part
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(part))


def certainly_before(context: Context, node: ast.AST) -> Iterator[ast.stmt]:
    """The simple statements that have run whenever ``node`` runs, the nearest first, within its function."""
    child: ast.AST = context.tree.statement(node)
    for parent in context.tree.ancestors(child):
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and child in block:
                for statement in reversed(block[: block.index(child)]):
                    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)):
                        yield statement
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return
        child = parent


def function_named(context: Context, node: ast.expr | None) -> ast.FunctionDef | None:
    """The function of this file that an expression names."""
    if not isinstance(node, ast.Name):
        return None
    home = context.tree.scope_of_name[node].find(node.id)
    bindings = home.bindings[node.id] if home is not None else []
    if len(bindings) == 1 and isinstance(bindings[0].node, ast.FunctionDef):
        return bindings[0].node
    return None


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The argument of a call that is given by name or by position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if position is not None and len(call.args) > position else None
