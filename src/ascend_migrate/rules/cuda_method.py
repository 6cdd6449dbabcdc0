"""``.cuda()`` moves a tensor or a module to the GPU; on the NPU it is ``.npu()``, with the same arguments.

The call is rewritten unless the object is known to be something else: a kernel library (numba, cupy, pycuda), or
an instance of a class of the project whose ``cuda`` has nothing to do with tensors. Where such a class is in use
and the object cannot be told, the call is left and reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule

_FOREIGN = frozenset({"numba", "cupy", "pycuda", "jax", "cv2", "faiss", "tensorflow", "paddle", "mxnet", "tvm"})
_METHOD_OWNERS = ("torch.Tensor.cuda", "torch.nn.Module.cuda", "torch.nn.parameter.Parameter.cuda")


class CudaMethod(Rule):
    code = "NPU110"
    name = "cuda-method"
    level = "error"
    examples = (
        Example(
            "import torch\n\nx = torch.ones(2).cuda(non_blocking=True)\nmodel = net.cuda(0)\n",
            "import torch\nimport torch_npu  # noqa: F401\n\n"
            "x = torch.ones(2).npu(non_blocking=True)\nmodel = net.npu(0)\n",
        ),
        Example(
            "import torch\n\nbatch = list(map(torch.Tensor.cuda, xs))\n",
            "import torch\nimport torch_npu  # noqa: F401\n\nbatch = list(map(torch.Tensor.npu, xs))\n",
        ),
        Example("import numba\n\nnumba.cuda.select_device(0)\n\nif args.cuda and not self.cuda:\n    pass\n"),
        Example(
            "class Garage:\n    def cuda(self):\n        return 'Plymouth Barracuda'\n\n\nprint(Garage().cuda())\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        unrelated = _unrelated_classes(context)
        for attribute in context.tree.nodes(ast.Attribute):
            if attribute.attr != "cuda" or not isinstance(attribute.ctx, ast.Load):
                continue
            qualname = context.qualname(attribute)
            parent = context.tree.parent(attribute)
            called = isinstance(parent, ast.Call) and parent.func is attribute
            if not called and qualname not in _METHOD_OWNERS:
                continue
            if qualname == "torch.cuda" or (qualname and qualname.split(".")[0] in _FOREIGN):
                continue
            if context.knows_npu(attribute):
                continue
            owner = class_of(context, attribute.value)
            if owner in unrelated:
                continue
            if owner is None and unrelated and _mentions(context, unrelated) and qualname not in _METHOD_OWNERS:
                yield context.finding(
                    self,
                    attribute,
                    say(
                        ".cuda() on an object that may be a tensor, or one of {classes}",
                        classes=", ".join(sorted(unrelated & _names_in(context))),
                    ),
                    "Write .npu() by hand if it is a tensor or a module.",
                )
                continue
            yield context.finding(
                self,
                attribute,
                ".cuda() is .npu() on the NPU",
                edits=[context.edit_attribute(attribute, "npu")],
            )


def _unrelated_classes(context: Context) -> frozenset[str]:
    """Classes of the project that define ``cuda`` without moving a tensor in it."""
    known = {name for name, moves in context.project.cuda_classes.items() if not moves}
    for node in context.tree.nodes(ast.ClassDef):
        method = cuda_method_of(node)
        if method is not None:
            (known.discard if moves_tensors(context, node, method) else known.add)(node.name)
    return frozenset(known)


def cuda_method_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    """The method ``cuda`` that a class itself defines (not a property)."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "cuda" and not statement.decorator_list:
            return statement
    return None


def is_cuda_property_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    """The plain property ``is_cuda`` that a class itself defines."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "is_cuda":
            decorators = [d.id for d in statement.decorator_list if isinstance(d, ast.Name)]
            return statement if decorators == ["property"] else None
    return None


def moves_tensors(context: Context, owner: ast.ClassDef, method: ast.FunctionDef) -> bool:
    """Whether a class's own ``cuda`` moves tensors: by its base, or by what it calls."""
    for base in owner.bases:
        qualname = context.qualname(base) or ""
        if qualname.startswith("torch.") or qualname.endswith(("Module", "Tensor")):
            return True
    for part in ast.walk(method):
        if isinstance(part, ast.Attribute):
            if part.attr in ("cuda", "npu", "to", "_apply") and isinstance(context.tree.parent(part), ast.Call):
                return True
            if (context.qualname(part) or "").startswith("torch."):
                return True
    return False


def class_of(context: Context, receiver: ast.expr) -> str | None:
    """The name of the class that ``receiver`` is an instance of, where the file shows it."""
    if isinstance(receiver, ast.Call):
        name = receiver.func.attr if isinstance(receiver.func, ast.Attribute) else getattr(receiver.func, "id", None)
        return name if name and name[:1].isupper() else None
    if isinstance(receiver, ast.Name):
        if receiver.id in ("self", "cls"):
            owner = context.tree.enclosing(receiver, ast.ClassDef)
            return owner.name if isinstance(owner, ast.ClassDef) else None
        scope = context.scope_at(receiver).find(receiver.id)
        bindings = scope.bindings[receiver.id] if scope else []
        if len(bindings) == 1 and isinstance(bindings[0].value, ast.Call):
            return class_of(context, bindings[0].value)
        return None
    if isinstance(receiver, ast.Attribute):
        values = [b.value for b in context.tree.attribute_bindings.get(receiver.attr, ())]
        if len(values) == 1 and isinstance(values[0], ast.Call):
            return class_of(context, values[0])
    return None


def _names_in(context: Context) -> frozenset[str]:
    names = {node.id for node in context.tree.nodes(ast.Name)}
    names.update(node.name for node in context.tree.nodes(ast.ClassDef))
    names.update(node.attr for node in context.tree.nodes(ast.Attribute))
    return frozenset(names)


def _mentions(context: Context, classes: frozenset[str]) -> bool:
    return bool(classes & _names_in(context))
