"""Which string literals reach a place that takes a device or a backend, and through what.

The question is asked from the literal outwards: its parent decides, or hands it on (a conditional expression, a
template, a list, a variable, a parameter, a return value). Three answers: it *is* a device, it is *not* (a log
message), or it cannot be known from here, and then the reason says what would decide it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal, Optional, Union

from ascend_migrate.model import Edit
from ascend_migrate.syntax.literals import (
    LiteralKind,
    edit_constant,
    edit_head,
    is_unmistakable,
    kind_of,
    names_backend,
    names_device,
    npu_spelling,
    template_head,
)
from ascend_migrate.syntax.names import Names
from ascend_migrate.syntax.tree import Scope, Tree

Answer = Literal["yes", "no", "unknown"]
StringNode = Union[ast.Constant, ast.JoinedStr]
_VariableKey = tuple[Optional[int], str, LiteralKind]


@dataclass(frozen=True)
class Verdict:
    """``place`` is where the decision fell, when that is not where the literal stands."""

    answer: Answer
    reason: str
    place: ast.AST | None = None


@dataclass(frozen=True)
class DeviceLiteral:
    """A literal that is spelled like a device, a backend or a tensor type, and what is known of it."""

    node: StringNode
    value: str
    kind: LiteralKind
    verdict: Verdict


def literal_edit(tree: Tree, literal: DeviceLiteral) -> Edit | None:
    """The edit that spells a literal for the NPU; None when the source spells it in an unusual way."""
    new = npu_spelling(literal.value)
    if isinstance(literal.node, ast.JoinedStr):
        return edit_head(tree, literal.node, literal.value, new)
    return edit_constant(tree, literal.node, literal.value, new)


#: Positional arguments of torch callables that take a device (the position, from 0).
_DEVICE_POSITIONS: dict[str, tuple[int, ...]] = {
    "torch.device": (0,),
    "torch.Generator": (0,),
    "torch.autocast": (0,),
    "torch.amp.autocast": (0,),
    "torch.amp.autocast_mode.autocast": (0,),
    "torch.amp.GradScaler": (0,),
    "torch.amp.grad_scaler.GradScaler": (0,),
    "torch.amp.is_autocast_available": (0,),
    "torch.is_autocast_enabled": (0,),
    "torch.get_autocast_dtype": (0,),
    "torch.set_autocast_enabled": (0,),
    "torch.set_autocast_dtype": (0,),
    "torch.set_default_device": (0,),
    "torch.get_device_module": (0,),
    "torch.Stream": (0,),
    "torch.Event": (0,),
    "torch.load": (1,),
    "torch.jit.load": (1,),
    "torch.set_default_tensor_type": (0,),
    "torch.random.fork_rng": (3, 4),
    "torch.random.get_rng_state": (0,),
    "torch.nn.Module.to": (1,),
    "torch.Tensor.to": (1,),
    "torch.accelerator.set_device_index": (0,),
    "torch.distributed.init_process_group": (0,),
    "torch.distributed.init_device_mesh": (0,),
    "torch.distributed.device_mesh.init_device_mesh": (0,),
    "torch.distributed.DeviceMesh": (0,),
    "torch.distributed.device_mesh.DeviceMesh": (0,),
    "torch.distributed.tensor.DeviceMesh": (0,),
    "torch.distributed.is_backend_available": (0,),
    "torch.distributed.Backend": (0,),
    "torch.cuda.set_device": (0,),
    "torch.cuda.device": (0,),
    "torch.npu.set_device": (0,),
    "torch.npu.device": (0,),
    "torch.Tensor.cuda": (1,),
}
_DEVICE_NAMESPACES = ("torch.cuda.", "torch.npu.", "torch_npu.npu.")

#: Methods of tensors, modules and storages whose first argument may be a device.
_DEVICE_METHODS = frozenset({"to", "type", "to_empty", "cuda", "npu"})
#: Methods of strings that give a device again when called on one.
_TRANSPARENT_METHODS = frozenset({"lower", "upper", "strip", "format", "casefold", "rstrip", "lstrip"})
#: Methods of strings that test or cut a device string given as receiver.
_TESTING_METHODS = frozenset(
    {
        "startswith",
        "endswith",
        "split",
        "replace",
        "find",
        "index",
        "count",
        "removeprefix",
        "partition",
        "rsplit",
    }
)
_LOOKUPS = frozenset({"get", "pop", "setdefault", "getenv", "getattr", "setattr", "get_attr"})
_OPTION_CALLS = frozenset({"add_argument", "option", "Option", "argument", "Argument", "add_option"})
_OPTION_VALUES = frozenset({"default", "choices", "const", "type", "values", "value"})
_PROSE_CALLS = frozenset(
    {"print", "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "write"}
)
_PROSE_KEYWORDS = frozenset({"help", "description", "title", "label", "desc", "doc", "msg", "message", "reason"})
_DEVICE_KEYS = frozenset(
    {
        "cpu",
        "cuda",
        "mps",
        "xpu",
        "npu",
        "hpu",
        "xla",
        "mlu",
        "musa",
        "meta",
        "rocm",
        "hip",
        "gpu",
        "tpu",
        "auto",
    }
)
_FOREIGN_ROOTS = frozenset({"jax", "jaxlib", "tensorflow", "tf", "cupy", "numba", "pycuda", "paddle", "mxnet"})
_AVAILABILITY = frozenset({"torch.cuda.is_available", "torch.npu.is_available", "torch.cuda.device_count"})

_NOT_THE_DEVICE = ("count", "num_", "_num", "_id", "index", "prop", "capab", "memory")

_YES_HERE = Verdict("yes", "")


class Devices:
    """Decides the device literals of one tree.

    ``project_parameters`` names, for functions and classes of the project, the positions of the parameters
    whose names say device or backend.
    """

    def __init__(self, tree: Tree, names: Names, project_parameters: dict[str, tuple[int, ...]] | None = None) -> None:
        self.tree = tree
        self.names = names
        self._project_parameters = project_parameters or {}
        self._variables: dict[_VariableKey, Verdict | None] = {}
        self._functions: dict[ast.AST, Verdict | None] = {}

    def literals(self) -> list[DeviceLiteral]:
        """All literals of the file that are spelled like a device, a backend or a tensor type."""
        found: list[DeviceLiteral] = []
        for constant in self.tree.nodes(ast.Constant):
            value = constant.value
            if not isinstance(value, str) or len(value) > 80:
                continue
            kind = kind_of(value)
            if kind is None or isinstance(self.tree.parents[constant], (ast.JoinedStr, ast.Expr)):
                continue
            verdict = _YES_HERE if is_unmistakable(value) else self.verdict(constant, kind)
            found.append(DeviceLiteral(constant, value, kind, verdict))
        for joined in self.tree.nodes(ast.JoinedStr):
            head = template_head(joined)
            if head is not None and len(joined.values) > 1:
                found.append(DeviceLiteral(joined, head, "device", self.verdict(joined, "device")))
        found.sort(key=lambda literal: self.tree.start(literal.node))
        return found

    # -- outwards: where does a value go? --------------------------------------------------------------------

    def verdict(self, node: ast.expr, kind: LiteralKind = "device") -> Verdict:
        """Whether the value of ``node`` reaches a device or backend."""
        return self._reaches(node, kind)

    def _says(self, name: str, kind: LiteralKind) -> bool:
        return names_device(name) or (kind == "backend" and names_backend(name))

    def _reaches(self, node: ast.expr, kind: LiteralKind) -> Verdict:
        parent = self.tree.parents[node]
        if isinstance(parent, ast.expr):
            handler = getattr(self, f"_in_{type(parent).__name__.lower()}", None)
            if handler is not None:
                verdict: Verdict = handler(node, parent, kind)
                return verdict
            return Verdict("unknown", "nothing around it says device or backend")
        if isinstance(parent, ast.keyword):
            return self._in_keyword(parent, kind)
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return self._in_assignment(parent, node, kind)
        if isinstance(parent, ast.Return):
            return self._in_return(parent, kind)
        if isinstance(parent, ast.arguments):
            return self._in_default(parent, node, kind)
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and node is parent.iter:
            return self._in_loop(parent.target, kind)
        if type(parent).__name__ == "MatchValue":
            return self._in_pattern(parent)
        if isinstance(parent, (ast.If, ast.While, ast.Assert, ast.Expr)):
            return Verdict("no", "its value is not used as a device")
        return Verdict("unknown", "nothing around it says device or backend")

    def _in_ifexp(self, node: ast.expr, parent: ast.IfExp, kind: LiteralKind) -> Verdict:
        if node is parent.test:
            return Verdict("no", "only its truth is used")
        for sub in ast.walk(parent.test):
            if isinstance(sub, ast.Call) and self.names.qualname(sub.func) in _AVAILABILITY:
                return Verdict("yes", "chosen by torch.cuda.is_available()")
        other = parent.orelse if node is parent.body else parent.body
        verdict = self._reaches(parent, kind)
        if verdict.answer == "unknown" and self.is_device(other) == "yes":
            return Verdict("yes", "the other branch is a device", other)
        return verdict

    def _in_boolop(self, node: ast.expr, parent: ast.BoolOp, kind: LiteralKind) -> Verdict:
        for value in parent.values:
            if value is not node and self.is_device(value) == "yes":
                return Verdict("yes", "an alternative of a device", value)
        return self._reaches(parent, kind)

    def _in_binop(self, node: ast.expr, parent: ast.BinOp, kind: LiteralKind) -> Verdict:
        if isinstance(parent.op, (ast.Add, ast.Mod)) and node is parent.left:
            return self._reaches(parent, kind)
        if isinstance(parent.op, ast.Add) and isinstance(node, (ast.List, ast.Tuple)):
            return self._reaches(parent, kind)
        return Verdict("unknown", "it is only a part of a longer string")

    def _in_namedexpr(self, node: ast.expr, parent: ast.NamedExpr, kind: LiteralKind) -> Verdict:
        verdict = self._variable(parent.target, kind)
        return verdict if verdict.answer == "yes" else self._reaches(parent, kind)

    def _in_starred(self, node: ast.expr, parent: ast.Starred, kind: LiteralKind) -> Verdict:
        return self._reaches(parent, kind)

    def _in_await(self, node: ast.expr, parent: ast.Await, kind: LiteralKind) -> Verdict:
        return self._reaches(parent, kind)

    def _in_list(self, node: ast.expr, parent: ast.expr, kind: LiteralKind) -> Verdict:
        return self._reaches(parent, kind)

    _in_set = _in_list
    _in_listcomp = _in_list

    def _in_tuple(self, node: ast.expr, parent: ast.Tuple, kind: LiteralKind) -> Verdict:
        assign = self.tree.parents[parent]
        if isinstance(assign, ast.Assign):
            index = parent.elts.index(node)
            for target in assign.targets:
                if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(parent.elts):
                    return self._target(target.elts[index], kind)
        return self._reaches(parent, kind)

    def _in_formattedvalue(self, node: ast.expr, parent: ast.FormattedValue, kind: LiteralKind) -> Verdict:
        joined = self.tree.parents[parent]
        if isinstance(joined, ast.JoinedStr) and joined.values[0] is parent:
            rest = joined.values[1:]
            if not rest or (
                isinstance(rest[0], ast.Constant) and str(rest[0].value).startswith(":") and len(rest) <= 2
            ):
                return self._reaches(joined, kind)
        return Verdict("unknown", "it becomes part of a text")

    def _in_dict(self, node: ast.expr, parent: ast.Dict, kind: LiteralKind) -> Verdict:
        if node in parent.values:
            key = parent.keys[parent.values.index(node)]
            text = key.value if isinstance(key, ast.Constant) else None
            if isinstance(text, str):
                if self._says(text, kind):
                    return Verdict("yes", f"the value of the key {text!r}", key)
                if kind_of(text) is not None:
                    return self._table(parent, kind)
                if text in _DEVICE_KEYS:
                    return self._table(parent, kind)
                owner = self._reaches(parent, kind)
                if owner.answer == "yes" and owner.reason.startswith("variable"):
                    return owner
                return Verdict("unknown", f"the key {text!r} does not say device or backend", key)
            return self._reaches(parent, kind)
        return self._table(parent, kind)

    def _table(self, table: ast.Dict, kind: LiteralKind) -> Verdict:
        """A dict one of whose keys is the literal: a table by device type, or a table of something else."""
        keys = [k.value for k in table.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
        if (
            len(keys) == len(table.keys)
            and len(keys) > 1
            and all(k in _DEVICE_KEYS or kind_of(k) is not None for k in keys)
        ):
            return Verdict("yes", "a table whose keys are all device types", table)
        values = [v.value for v in table.values if isinstance(v, ast.Constant)]
        if any(isinstance(v, str) and kind_of(v) == "backend" for v in values):
            return Verdict("yes", "a table from device types to backends", table)
        owner = self._reaches_as_table(table)
        if owner is not None:
            return owner
        return Verdict("unknown", "a dictionary key that may be anything")

    def _reaches_as_table(self, table: ast.Dict) -> Verdict | None:
        """Whether the variable that holds ``table`` is subscripted by a device somewhere."""
        parent = self.tree.parents[table]
        if isinstance(parent, ast.Subscript) and parent.value is table and self.is_device(parent.slice) == "yes":
            return Verdict("yes", "looked up by a device", parent)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            target = parent.targets[0]
            scope = self.tree.scope_of_name[target]
            for use in self._uses(scope, target.id):
                holder = self.tree.parents[use]
                if isinstance(holder, ast.Subscript) and holder.value is use:
                    if self.is_device(holder.slice) == "yes":
                        return Verdict("yes", "looked up by a device", holder)
                elif isinstance(holder, ast.Attribute) and holder.attr == "get":
                    call = self.tree.parents[holder]
                    if isinstance(call, ast.Call) and call.args and self.is_device(call.args[0]) == "yes":
                        return Verdict("yes", "looked up by a device", call)
        return None

    def _in_subscript(self, node: ast.expr, parent: ast.Subscript, kind: LiteralKind) -> Verdict:
        if node is parent.slice:
            base = parent.value
            if isinstance(base, ast.Name):
                scope = self.tree.scope_of_name[base].find(base.id)
                for binding in scope.bindings[base.id] if scope else ():
                    if isinstance(binding.value, ast.Dict) and self._table(binding.value, kind).answer == "yes":
                        return Verdict("yes", "looks up a table by device", binding.value)
            return Verdict("unknown", "an index that may be anything")
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            return self._reaches(parent, kind)
        return Verdict("unknown", "nothing around it says device or backend")

    def _in_compare(self, node: ast.expr, parent: ast.Compare, kind: LiteralKind) -> Verdict:
        sides = [parent.left, *parent.comparators]
        at = sides.index(node)
        neighbours = [sides[i] for i in (at - 1, at + 1) if 0 <= i < len(sides)]
        for other in neighbours:
            if self.is_device(other, kind) == "yes":
                return Verdict("yes", "compared with a device", other)
        return Verdict("unknown", "compared with something that may be anything", neighbours[0])

    def _in_pattern(self, pattern: ast.AST) -> Verdict:
        match = next(a for a in self.tree.ancestors(pattern) if type(a).__name__ == "Match")
        subject: ast.expr = match.subject  # type: ignore[attr-defined]
        if self.is_device(subject) == "yes":
            return Verdict("yes", "matched against a device", subject)
        return Verdict("unknown", "matched against something that may be anything", subject)

    def _in_attribute(self, node: ast.expr, parent: ast.Attribute, kind: LiteralKind) -> Verdict:
        call = self.tree.parents[parent]
        if isinstance(call, ast.Call) and call.func is parent and parent.attr in _TRANSPARENT_METHODS:
            return self._reaches(call, kind)
        return Verdict("unknown", "nothing around it says device or backend")

    # -- calls -----------------------------------------------------------------------------------------------

    def _in_call(self, node: ast.expr, call: ast.Call, kind: LiteralKind) -> Verdict:
        if node is call.func:
            return Verdict("unknown", "nothing around it says device or backend")
        position = call.args.index(node)
        qualname = self.names.qualname(call.func) or ""
        last = _called_name(call)
        if qualname.split(".")[0] in _FOREIGN_ROOTS:
            return Verdict("no", f"an argument of {qualname}, which is not PyTorch")
        if position in _DEVICE_POSITIONS.get(qualname, ()) or (
            position == 0 and qualname.startswith(_DEVICE_NAMESPACES)
        ):
            return Verdict("yes", f"an argument of {qualname}")
        if qualname == "str" or (qualname in ("list", "tuple", "set", "frozenset", "sorted") and position == 0):
            return self._reaches(call, kind)
        if last in _PROSE_CALLS and isinstance(node, (ast.Constant, ast.JoinedStr)):
            return Verdict("no", "a message")
        if isinstance(call.func, ast.Attribute):
            receiver = call.func.value
            if last in _DEVICE_METHODS and position == 0:
                return Verdict("yes", f"the argument of .{last}()")
            if last in _TESTING_METHODS and self.is_device(receiver, kind) == "yes":
                return Verdict("yes", "tested against a device", receiver)
            if last == "append" and isinstance(receiver, (ast.Name, ast.Attribute)):
                return self._target(receiver, kind)
            if last in ("join", "replace") and position <= 1 and self.is_device(receiver, kind) == "yes":
                return Verdict("yes", "put into a device string", receiver)
        if last in ("getattr", "hasattr") and position == 1 and self.names.qualname(call.args[0]) == "torch":
            return Verdict("yes", "the device's module of torch")
        if last in _LOOKUPS and position >= 1:
            key = call.args[position - 1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and self._says(key.value, kind):
                return Verdict("yes", f"the value of {key.value!r}", key)
            return (
                self._reaches(call, kind)
                if last in ("get", "getattr", "getenv", "pop")
                else Verdict("unknown", "the name it is stored under does not say device or backend")
            )
        if last in _OPTION_CALLS:
            return self._in_option(call, kind)
        if last == "parametrize" and position == 1:
            names = call.args[0]
            if isinstance(names, ast.Constant) and isinstance(names.value, str) and self._says(names.value, kind):
                return Verdict("yes", f"a value of the test parameter {names.value!r}", names)
        return self._in_callee(call, position, qualname, last, kind)

    def _in_callee(self, call: ast.Call, position: int, qualname: str, last: str, kind: LiteralKind) -> Verdict:
        local = self._local_callable(call.func)
        if local is not None:
            arguments, bound = local
            parameters = [*arguments.posonlyargs, *arguments.args][1 if bound else 0 :]
            if position < len(parameters):
                return self._parameter(parameters[position], kind)
            return Verdict("unknown", f"an argument of {last}() that no parameter names")
        if position in self._project_parameters.get(last, ()):
            return Verdict("yes", f"the parameter of {last}() is named as a device")
        if self._says(last, kind):
            return Verdict("yes", f"an argument of {last}()")
        return Verdict("unknown", f"an argument of {last or 'a function'}(), which is not known to take a device")

    def _in_keyword(self, keyword: ast.keyword, kind: LiteralKind) -> Verdict:
        call = self.tree.parents[keyword]
        name = keyword.arg or ""
        if isinstance(call, ast.Call):
            qualname = self.names.qualname(call.func) or ""
            if qualname.split(".")[0] in _FOREIGN_ROOTS:
                return Verdict("no", f"an argument of {qualname}, which is not PyTorch")
            if name in _PROSE_KEYWORDS:
                return Verdict("no", "a text for people")
            if self._says(name, kind):
                return Verdict("yes", f"the argument {name}=")
            if name in _OPTION_VALUES:
                option = self._in_option(call, kind)
                if option.answer == "yes":
                    return option
                assigned = self._reaches(call, kind)  # `device: str = Field(default="cuda")`
                return assigned if assigned.answer == "yes" else option
            if qualname == "dict" and name in _DEVICE_KEYS and kind == "backend":
                return Verdict("yes", "a table from device types to backends")
            local = self._local_callable(call.func)
            if local is not None:
                arguments = local[0]
                for arg in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                    if arg.arg == name:
                        return self._parameter(arg, kind)
        elif self._says(name, kind):
            return Verdict("yes", f"the argument {name}=")
        return Verdict("unknown", f"the argument {name}= does not say device or backend")

    def _in_option(self, call: ast.Call, kind: LiteralKind) -> Verdict:
        """A value of a command-line option: its name decides."""
        labels = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        labels += [
            k.value.value
            for k in call.keywords
            if k.arg in ("dest", "name") and isinstance(k.value, ast.Constant) and isinstance(k.value.value, str)
        ]
        for label in labels:
            if kind_of(label) is None and " " not in label and self._says(label, kind):
                return Verdict("yes", f"a value of the option {label}")
        return Verdict("unknown", "the option's name does not say device or backend")

    def _local_callable(self, func: ast.expr) -> tuple[ast.arguments, bool] | None:
        """The parameters of the function, method or constructor of this file that ``func`` calls."""
        node: ast.AST | None = None
        bound = False
        if isinstance(func, ast.Name):
            scope = self.tree.scope_of_name[func].find(func.id)
            bindings = scope.bindings[func.id] if scope else []
            if len(bindings) == 1:
                node = bindings[0].node
        elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in ("self", "cls"):
            owner = self.tree.enclosing(func, ast.ClassDef)
            if isinstance(owner, ast.ClassDef):
                node = _method(owner, func.attr)
                bound = True
        if isinstance(node, ast.ClassDef):
            node = _method(node, "__init__")
            bound = True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return node.args, bound
        return None

    # -- statements ------------------------------------------------------------------------------------------

    def _in_assignment(
        self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, node: ast.expr, kind: LiteralKind
    ) -> Verdict:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        verdict = Verdict("unknown", "")
        for target in targets:
            verdict = self._target(target, kind)
            if verdict.answer == "yes":
                return verdict
        return verdict

    def _target(self, target: ast.expr, kind: LiteralKind) -> Verdict:
        if isinstance(target, ast.Starred):
            target = target.value
        if isinstance(target, ast.Subscript):
            key = target.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                if self._says(key.value, kind):
                    return Verdict("yes", f"stored under {key.value!r}", key)
                return Verdict("unknown", f"the key {key.value!r} does not say device or backend", key)
            return self._target(target.value, kind)
        if isinstance(target, (ast.Name, ast.Attribute)):
            return self._variable(target, kind)
        return Verdict("unknown", "nothing around it says device or backend")

    def _in_return(self, statement: ast.Return, kind: LiteralKind) -> Verdict:
        function = self.tree.enclosing(statement, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return Verdict("unknown", "nothing around it says device or backend")
        return self._function(function, kind)

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef, kind: LiteralKind) -> Verdict:
        """Whether the result of a function is a device: by its name, or by what its calls are used for."""
        if self._says(function.name, kind):
            return Verdict("yes", f"returned by {function.name}()", function)
        if function in self._functions:
            return self._functions[function] or Verdict("unknown", "")
        self._functions[function] = None
        verdict = Verdict("unknown", f"nothing says that {function.name}() returns a device or backend", function)
        for call in self.tree.nodes(ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
            if name == function.name and self._local_function(call.func) is function:
                used = self._reaches(call, kind)
                if used.answer == "yes":
                    verdict = Verdict("yes", f"returned by {function.name}() to a device", call)
                    break
        self._functions[function] = verdict
        return verdict

    def _local_function(self, func: ast.expr) -> ast.AST | None:
        if isinstance(func, ast.Name):
            scope = self.tree.scope_of_name[func].find(func.id)
            bindings = scope.bindings[func.id] if scope else []
            return bindings[0].node if len(bindings) == 1 else None
        owner = self.tree.enclosing(func, ast.ClassDef)
        if isinstance(func, ast.Attribute) and isinstance(owner, ast.ClassDef):
            return _method(owner, func.attr)
        return None

    def _in_default(self, arguments: ast.arguments, node: ast.expr, kind: LiteralKind) -> Verdict:
        positional = [*arguments.posonlyargs, *arguments.args]
        if node in arguments.defaults:
            arg = positional[len(positional) - len(arguments.defaults) + arguments.defaults.index(node)]
        else:
            arg = arguments.kwonlyargs[arguments.kw_defaults.index(node)]
        return self._parameter(arg, kind)

    def _parameter(self, arg: ast.arg, kind: LiteralKind) -> Verdict:
        function = self.tree.parents[self.tree.parents[arg]]
        scope = self.tree.scopes[function]
        if self._says(arg.arg, kind):
            return Verdict("yes", f"the parameter {arg.arg}", arg)
        return self._flow(scope, arg.arg, kind)

    def _in_loop(self, target: ast.expr, kind: LiteralKind) -> Verdict:
        if isinstance(target, (ast.Name, ast.Attribute)):
            return self._variable(target, kind)
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                if isinstance(element, ast.Name) and self._says(element.id, kind):
                    return Verdict("yes", f"variable {element.id}", element)
        return Verdict("unknown", "the loop variable does not say device or backend")

    # -- variables -------------------------------------------------------------------------------------------

    def _variable(self, target: ast.expr, kind: LiteralKind) -> Verdict:
        if isinstance(target, ast.Name):
            if self._says(target.id, kind):
                return Verdict("yes", f"variable {target.id}", target)
            scope = self.tree.scope_of_name[target].find(target.id)
            return self._flow(scope, target.id, kind)
        assert isinstance(target, ast.Attribute)
        if self._says(target.attr, kind):
            return Verdict("yes", f"attribute {target.attr}", target)
        return self._flow(None, target.attr, kind)

    def _uses(self, scope: Scope, name: str) -> list[ast.Name]:
        """All loads of the variable ``name`` bound in ``scope``, in it and in the scopes inside it."""
        return [
            use
            for candidate in self.tree.scopes.values()
            if name in candidate.uses
            for use in candidate.uses[name]
            if candidate is scope or candidate.find(name) is scope
        ]

    def _flow(self, scope: Scope | None, name: str, kind: LiteralKind) -> Verdict:
        """Whether any use of a variable (or, without a scope, of an attribute) is a device's place."""
        key = (None if scope is None else id(scope), name, kind)
        if key in self._variables:
            return self._variables[key] or Verdict("unknown", "")
        self._variables[key] = None  # being decided: a cycle decides nothing
        uses: list[ast.expr]
        if scope is None:
            uses = [a for a in self.tree.nodes(ast.Attribute) if a.attr == name and isinstance(a.ctx, ast.Load)]
        else:
            uses = list(self._uses(scope, name))
        verdict = Verdict("unknown", f"no use of {name} in this file is a place for a device or backend")
        for use in uses:
            found = self._reaches(use, kind)
            if found.answer == "yes":
                verdict = Verdict("yes", f"variable {name} becomes one", use)
                break
        self._variables[key] = verdict
        return verdict

    # -- inwards: is this expression a device? ---------------------------------------------------------------

    def is_device(self, node: ast.expr, kind: LiteralKind = "device", depth: int = 0) -> Answer:
        """Whether the value of an expression is a device, a device's type, its string, or a backend."""
        if depth > 12:
            return "unknown"
        deeper = depth + 1
        if isinstance(node, ast.Name):
            if self._says(node.id, kind):
                return "yes"
            return self._bound_to_device(node, kind, deeper)
        if isinstance(node, ast.Attribute):
            if self._says(node.attr, kind):
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
            last = _called_name(node)
            if isinstance(node.func, ast.Attribute):
                if last in _TRANSPARENT_METHODS or last in ("split", "partition", "rsplit", "replace"):
                    return self.is_device(node.func.value, kind, deeper)
                if last == "type" and not node.args and not node.keywords:
                    return "yes"  # 'torch.cuda.FloatTensor'
            if last in _LOOKUPS:
                labels = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                if any(kind_of(label) is None and self._says(label, kind) for label in labels):
                    return "yes"
            if self._says(last, kind) and words_are_not_a_count(last):
                return "yes"
            return "unknown"
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return "yes" if self._says(node.slice.value, kind) else "unknown"
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
        return self._flow(scope, node.id, kind).answer

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


def words_are_not_a_count(name: str) -> bool:
    """``get_device`` gives a device; ``device_count`` and ``device_name`` do not."""
    return not any(word in name for word in ("count", "num_", "_num", "_id", "index", "prop", "capab", "memory"))


def _called_name(call: ast.Call) -> str:
    """The last component of what is called, as it is written; empty for ``f()()``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _method(owner: ast.ClassDef, name: str) -> ast.AST | None:
    return next(
        (s for s in owner.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) and s.name == name),
        None,
    )
