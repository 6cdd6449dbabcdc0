"""Is this expression a tensor, and where does it live? Answers only what the file itself proves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Union

from ascend_migrate.rules._dtypes import dtype_of, word_set
from ascend_migrate.syntax.literals import words

if TYPE_CHECKING:
    from ascend_migrate.rules.base import Context
    from ascend_migrate.syntax.tree import Binding

Place = Literal["cpu", "device"]
"""``cpu`` is proven to stay on the host, ``device`` is proven to be given a device that is not the CPU."""

CREATORS = word_set(
    "arange as_tensor asarray blackman_window complex empty empty_strided eye from_numpy full hamming_window "
    "hann_window kaiser_window linspace logspace normal ones rand randint randn randperm tensor tril_indices "
    "triu_indices zeros"
)
"""Functions of ``torch`` that make a tensor on the default device unless ``device=`` names one. Some of them may be
given tensors; then these decide."""

_GIVEN_TENSORS = frozenset({"as_tensor", "asarray", "complex", "normal"})

_TENSOR_FUNCTIONS = CREATORS | word_set(
    "abs add addmm argmax argmin bmm cat clamp concat conj cos cross cumprod cumsum det diag diff div dot einsum "
    "empty_like exp flatten flip full_like gather imag inverse log log1p logsumexp matmul maximum mean meshgrid "
    "minimum mm mul norm ones_like outer permute polar pow prod rand_like randint_like randn_like real relu "
    "repeat_interleave reshape roll round rsqrt sigmoid sin softmax sqrt square squeeze stack std sub sum tanh tile "
    "transpose tril triu unsqueeze var view_as_complex view_as_real vstack where zeros_like"
)

_TENSOR_METHODS = word_set(
    "clamp_ contiguous detach expand_as index_select masked_fill masked_fill_ masked_select new_empty new_full "
    "new_ones new_tensor new_zeros permute repeat_interleave requires_grad_ scatter_ scatter_add_ softmax log_softmax "
    "sigmoid_ squeeze unflatten unsqueeze unsqueeze_ view_as zero_"
)
"""Methods that give a tensor and that few other objects have. (``squeeze`` is numpy's too; nothing is decided by it
alone that numpy would get wrong.)"""

_NOT_TENSORS = word_set(
    "backward dim element_size get_device item ndimension nelement numel numpy retain_grad size stride storage "
    "storage_offset tolist type_as_tuple untyped_storage is_contiguous is_floating_point data_ptr"
)
_SAME_TENSOR_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "data", "grad", "real", "imag"})
_HOST_WORDS = frozenset({"cpu", "host"})
_MAX_DEPTH = 6


def is_tensor(context: Context, node: ast.AST | None, depth: int = 0) -> bool:
    """Whether ``node`` is proven to be a tensor: made by torch, computed from one, or annotated as one."""
    if node is None or depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.Call):
        qualname = context.qualname(node.func)
        if qualname is not None:
            package, _, name = qualname.rpartition(".")
            if package == "torch":
                return name in _TENSOR_FUNCTIONS
            if package in ("torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"):
                return True
        if isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in _NOT_TENSORS or _is_imported(context, node.func.value):
                return False
            return method in _TENSOR_METHODS or is_tensor(context, node.func.value, depth + 1)
        return False
    if isinstance(node, ast.Attribute):
        return node.attr in _SAME_TENSOR_ATTRIBUTES and is_tensor(context, node.value, depth + 1)
    if isinstance(node, ast.Subscript):
        return is_tensor(context, node.value, depth + 1)
    if isinstance(node, ast.BinOp):
        return is_tensor(context, node.left, depth + 1) or is_tensor(context, node.right, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return is_tensor(context, node.operand, depth + 1)
    if isinstance(node, ast.Name):
        bindings = bindings_of(context, node)
        return bool(bindings) and all(_binds_tensor(context, binding, depth) for binding in bindings)
    return False


def is_foreign(context: Context, node: ast.AST) -> bool:
    """Whether ``node`` is known not to be a tensor or module: a module, a literal, or made by another package."""
    if isinstance(node, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set)):
        return True
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if _is_imported(context, node):
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        if _is_imported(context, node):
            return True
        bindings = bindings_of(context, node)
        values = [binding.value for binding in bindings]
        return bool(values) and all(isinstance(v, ast.Call) and _is_imported(context, v.func) for v in values)
    return False


def place_of(context: Context, node: ast.AST | None) -> Place | None:
    """Where the tensor ``node`` is, as far as the file proves it."""
    place = _place(context, node, 0)
    return None if place == "itself" else place


_Found = Union[Place, Literal["itself"], None]
"""``itself``: where the name is whose value is being looked for, as in ``x = x + 1``."""


def _place(context: Context, node: ast.AST | None, depth: int) -> _Found:
    if node is None or depth > 2 * _MAX_DEPTH:
        return None
    if isinstance(node, ast.Call):
        return _place_of_call(context, node, depth)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return _place(context, node.value, depth + 1)
    if isinstance(node, ast.Compare):
        return _place(context, node.left, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return _place(context, node.operand, depth + 1)
    if isinstance(node, ast.BinOp):
        sides: set[_Found] = {_place(context, node.left, depth + 1), _place(context, node.right, depth + 1)}
        if "device" in sides:
            return "device"
        if "cpu" in sides:
            sides.discard(
                None
            )  # a number, or a tensor that must be on the CPU too, unless one of them has no dimension
        return _agreed(sides)
    if isinstance(node, ast.Name):
        looked_for: list[tuple[str, object]] = context.memo.setdefault("places_looked_for", [])
        name = (node.id, id(context.tree.scope_of_name.get(node, context.tree.scope).find(node.id)))
        if name in looked_for:
            return "itself"
        looked_for.append(name)
        places = {_place(context, b.value, depth + 1) if b.value else None for b in bindings_of(context, node)}
        looked_for.pop()
        return _agreed(places)
    return None


def _agreed(places: set[_Found]) -> _Found:
    """The one place that all give, but for those that refer back to the question."""
    if places != {"itself"}:
        places.discard("itself")
    return places.pop() if len(places) == 1 else None


def bindings_of(context: Context, node: ast.Name) -> list[Binding]:
    """What gives the name its value; empty for names that the file does not bind."""
    home = context.tree.scope_of_name.get(node, context.tree.scope).find(node.id)
    return list(home.bindings[node.id]) if home is not None else []


def calls_after(context: Context, node: ast.AST) -> Iterator[ast.Call]:
    """The calls chained behind ``node``: for ``x`` in ``x.to(d).half()`` first ``.to``, then ``.half``."""
    while True:
        attribute = context.tree.parent(node)
        call = context.tree.parent(attribute) if attribute is not None else None
        chained = isinstance(attribute, ast.Attribute) and attribute.value is node
        if not (chained and isinstance(call, ast.Call) and call.func is attribute):
            return
        yield call
        node = call


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def is_cpu_device(context: Context, node: ast.AST | None) -> bool:
    """``"cpu"``, ``torch.device("cpu")``, or a name that says so: ``cpu_device``, ``host``."""
    if isinstance(node, ast.Call) and context.qualname(node.func) == "torch.device" and node.args:
        node = node.args[0]
    if isinstance(node, (ast.Name, ast.Attribute)):
        return not _HOST_WORDS.isdisjoint(words(node.id if isinstance(node, ast.Name) else node.attr))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split(":")[0] == "cpu"


def _place_of_call(context: Context, call: ast.Call, depth: int) -> _Found:
    device = keyword(call, "device")
    if device is not None:
        if isinstance(device, ast.Attribute) and device.attr == "device":
            return _place(context, device.value, depth + 1) or "device"
        return "cpu" if is_cpu_device(context, device) else "device"
    qualname = context.qualname(call.func)
    if qualname is not None and qualname.startswith("torch."):
        package, _, name = qualname.rpartition(".")
        if package == "torch" and name in CREATORS and not _has_default_device(context):
            given = name in _GIVEN_TENSORS and call.args
            return _place(context, call.args[0], depth + 1) if given else "cpu"
        places = [_place(context, argument, depth + 1) for argument in call.args[:1]]
        return places[0] if places else None
    if not isinstance(call.func, ast.Attribute):
        return None
    method, receiver = call.func.attr, call.func.value
    if method in ("cpu", "numpy", "tolist", "item"):
        return "cpu"
    if method in ("cuda", "npu"):
        return "device"
    if method == "to" and call.args:
        first = call.args[0]
        if is_cpu_device(context, first):
            return "cpu"
        if _is_dtype(context, first):
            return _place(context, receiver, depth + 1)
        return None
    return _place(context, receiver, depth + 1)


def _has_default_device(context: Context) -> bool:
    """Whether the file sets where tensors are born, so that a missing ``device=`` says nothing."""
    found: bool | None = context.memo.get("default_device")
    if found is None:
        text = context.source.text
        found = any(word in text for word in ("set_default_device", "set_default_tensor_type", "with torch.device("))
        context.memo["default_device"] = found
    return found


def _is_dtype(context: Context, node: ast.AST) -> bool:
    return dtype_of(context, node) is not None


def _is_imported(context: Context, node: ast.AST) -> bool:
    """Whether ``node`` is a name of a package other than torch."""
    reference = context.names.reference(node)
    if reference is None or reference.parts[0] in ("torch", "torch_npu"):
        return False
    home = context.tree.scope_of_name.get(reference.root, context.tree.scope).find(reference.root.id)
    return home is not None and any(binding.qualname for binding in home.bindings[reference.root.id])


def _binds_tensor(context: Context, binding: Binding, depth: int) -> bool:
    if binding.kind == "param":
        annotation = getattr(binding.node, "annotation", None)
        return annotation is not None and _names_tensor(context, annotation)
    return binding.kind == "assign" and is_tensor(context, binding.value, depth + 1)


def _names_tensor(context: Context, annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Subscript) and context.qualname(annotation.value) == "typing.Optional":
        annotation = annotation.slice
    if isinstance(annotation, ast.Constant):
        return annotation.value in ("torch.Tensor", "Tensor")
    return context.qualname(annotation) in ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor")
