"""Which string literals reach a place that takes a device or a backend, and through what.

The question is asked from the literal outwards: its parent decides, or hands it on (a conditional expression, a
template, a list, a variable, a parameter, a return value). Three answers: it *is* a device, it is *not* (a log
message), or it cannot be known from here, and then the reason says what would decide it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Optional, Union

from ascend_migrate.language import say
from ascend_migrate.model import Edit
from ascend_migrate.syntax.device_places import (
    AVAILABILITY,
    DEVICE_KEYS,
    DEVICE_METHODS,
    DEVICE_NAMESPACES,
    DEVICE_POSITIONS,
    FOREIGN_ROOTS,
    LOOKUPS,
    OPTION_CALLS,
    OPTION_VALUES,
    PROSE_CALLS,
    PROSE_KEYWORDS,
    TESTING_METHODS,
    TRANSPARENT_METHODS,
)
from ascend_migrate.syntax.device_values import Answer, DeviceValues, called_name, says
from ascend_migrate.syntax.literals import (
    LiteralKind,
    edit_constant,
    edit_head,
    is_unmistakable,
    kind_of,
    npu_spelling,
    template_head,
)
from ascend_migrate.syntax.names import Names
from ascend_migrate.syntax.tree import Scope, Tree

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
        self.values = DeviceValues(tree, names, lambda scope, name, kind: self._flow(scope, name, kind).answer)

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
        if type(parent).__name__ == "MatchValue" or isinstance(parent, ast.withitem):
            return self._in_pattern(parent)
        if isinstance(parent, (ast.If, ast.While, ast.Assert, ast.Expr)):
            return Verdict("no", "its value is not used as a device")
        return Verdict("unknown", "nothing around it says device or backend")

    def _in_ifexp(self, node: ast.expr, parent: ast.IfExp, kind: LiteralKind) -> Verdict:
        if node is parent.test:
            return Verdict("no", "only its truth is used")
        for sub in ast.walk(parent.test):
            if isinstance(sub, ast.Call) and self.names.qualname(sub.func) in AVAILABILITY:
                return Verdict("yes", "chosen by torch.cuda.is_available()")
        other = parent.orelse if node is parent.body else parent.body
        verdict = self._reaches(parent, kind)
        if verdict.answer == "unknown" and self.values.is_device(other) == "yes":
            return Verdict("yes", "the other branch is a device", other)
        return verdict

    def _in_boolop(self, node: ast.expr, parent: ast.BoolOp, kind: LiteralKind) -> Verdict:
        for value in parent.values:
            if value is not node and self.values.is_device(value) == "yes":
                return Verdict("yes", "an alternative of a device", value)
        return self._reaches(parent, kind)

    def _in_binop(self, node: ast.expr, parent: ast.BinOp, kind: LiteralKind) -> Verdict:
        if isinstance(parent.op, (ast.Add, ast.Mod)) and node is parent.left:
            return self._reaches(parent, kind)
        if isinstance(parent.op, ast.Add) and isinstance(node, (ast.List, ast.Tuple)):
            return self._reaches(parent, kind)
        if isinstance(parent.op, ast.BitOr):
            return self._in_pattern(node)
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
        rows = self.tree.parents[assign] if isinstance(assign, (ast.List, ast.Tuple)) else None
        if isinstance(rows, (ast.For, ast.comprehension)) and rows.iter is assign:
            target = rows.target  # `for name, backend in [("cuda", "nccl"), ...]`
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(parent.elts):
                return self._target(target.elts[parent.elts.index(node)], kind)
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
            if isinstance(text, str) and says(text, kind):
                return Verdict("yes", say("the value of the key {text!r}", text=text), key)
            owner = self._reaches(parent, kind)
            if owner.answer == "yes" or not isinstance(text, str):
                return owner
            if kind_of(text) is not None or text in DEVICE_KEYS:
                return self._table(parent, kind)
            return Verdict("unknown", say("the key {text!r} does not say device or backend", text=text), key)
        return self._table(parent, kind)

    def _table(self, table: ast.Dict, kind: LiteralKind) -> Verdict:
        """A dict one of whose keys is the literal: a table by device type, or a table of something else."""
        keys = [k.value for k in table.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
        if (
            len(keys) == len(table.keys)
            and len(keys) > 1
            and all(k in DEVICE_KEYS or kind_of(k) is not None for k in keys)
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
        if isinstance(parent, ast.Subscript) and parent.value is table and self.values.is_device(parent.slice) == "yes":
            return Verdict("yes", "looked up by a device", parent)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            target = parent.targets[0]
            scope = self.tree.scope_of_name[target]
            for use in self._uses(scope, target.id):
                holder = self.tree.parents[use]
                if isinstance(holder, ast.Subscript) and holder.value is use:
                    if self.values.is_device(holder.slice) == "yes":
                        return Verdict("yes", "looked up by a device", holder)
                elif isinstance(holder, ast.Attribute) and holder.attr == "get":
                    call = self.tree.parents[holder]
                    if isinstance(call, ast.Call) and call.args and self.values.is_device(call.args[0]) == "yes":
                        return Verdict("yes", "looked up by a device", call)
        return None

    def _in_subscript(self, node: ast.expr, parent: ast.Subscript, kind: LiteralKind) -> Verdict:
        if node is parent.slice:
            if (self.names.qualname(parent.value) or "").endswith("Literal"):
                return self._in_literal_type(parent, kind)
            for table in self._tables_of(parent.value):
                if self._table(table, kind).answer == "yes":
                    return Verdict("yes", "looks up a table by device", table)
            return Verdict("unknown", "an index that may be anything")
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            return self._reaches(parent, kind)
        return Verdict("unknown", "nothing around it says device or backend")

    def _in_literal_type(self, literal: ast.Subscript, kind: LiteralKind) -> Verdict:
        """A member of ``Literal[...]``: it is a device when what has this type is one."""
        inner: ast.AST = literal
        outer = self.tree.parents[literal]
        while isinstance(outer, ast.expr):  # Optional[Literal[...]], Literal[...] | None
            inner, outer = outer, self.tree.parents[outer]
        if isinstance(outer, ast.arg):
            return self._parameter(outer, kind)
        if isinstance(outer, ast.AnnAssign) and inner is outer.annotation:
            return self._target(outer.target, kind)
        if isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Name) and says(outer.targets[0].id, kind):
            return Verdict("yes", say("variable {id}", id=outer.targets[0].id), outer.targets[0])
        return Verdict("unknown", "a type whose name does not say device or backend")

    def _tables_of(self, holder: ast.expr) -> list[ast.Dict]:
        """The dict displays that a variable or attribute is given in this file."""
        if isinstance(holder, ast.Name):
            scope = self.tree.scope_of_name[holder].find(holder.id)
            bindings = scope.bindings[holder.id] if scope else []
        elif isinstance(holder, ast.Attribute):
            bindings = self.tree.attribute_bindings.get(holder.attr, [])
        else:
            bindings = []
        return [binding.value for binding in bindings if isinstance(binding.value, ast.Dict)]

    def _in_compare(self, node: ast.expr, parent: ast.Compare, kind: LiteralKind) -> Verdict:
        sides = [parent.left, *parent.comparators]
        at = sides.index(node)
        neighbours = [sides[i] for i in (at - 1, at + 1) if 0 <= i < len(sides)]
        for other in neighbours:
            if self.values.is_device(other, kind) == "yes":
                return Verdict("yes", "compared with a device", other)
        return Verdict("unknown", "compared with something that may be anything", neighbours[0])

    def _in_pattern(self, pattern: ast.AST) -> Verdict:
        subject = self.tree.match_subject(pattern)
        if subject is None:
            return Verdict("unknown", "nothing around it says device or backend")
        if self.values.is_device(subject) == "yes":
            return Verdict("yes", "matched against a device", subject)
        return Verdict("unknown", "matched against something that may be anything", subject)

    def _in_attribute(self, node: ast.expr, parent: ast.Attribute, kind: LiteralKind) -> Verdict:
        call = self.tree.parents[parent]
        if isinstance(call, ast.Call) and call.func is parent and parent.attr in TRANSPARENT_METHODS:
            return self._reaches(call, kind)
        return Verdict("unknown", "nothing around it says device or backend")

    # -- calls -----------------------------------------------------------------------------------------------

    def _in_call(self, node: ast.expr, call: ast.Call, kind: LiteralKind) -> Verdict:
        if node is call.func:
            return Verdict("unknown", "nothing around it says device or backend")
        position = call.args.index(node)
        qualname = self.names.qualname(call.func) or ""
        last = called_name(call)
        if qualname.split(".")[0] in FOREIGN_ROOTS:
            return Verdict("no", say("an argument of {callee}, which is not PyTorch", callee=qualname))
        if position in DEVICE_POSITIONS.get(qualname, ()) or (position == 0 and qualname.startswith(DEVICE_NAMESPACES)):
            return Verdict("yes", say("an argument of {callee}", callee=qualname))
        if qualname == "str" or (qualname in ("list", "tuple", "set", "frozenset", "sorted") and position == 0):
            return self._reaches(call, kind)
        if last in PROSE_CALLS and isinstance(node, (ast.Constant, ast.JoinedStr)):
            return Verdict("no", "a message")
        if isinstance(call.func, ast.Attribute):
            receiver = call.func.value
            if last in DEVICE_METHODS and position == 0:
                return Verdict("yes", say("the argument of .{callee}()", callee=last))
            if last in TESTING_METHODS and self.values.is_device(receiver, kind) == "yes":
                return Verdict("yes", "tested against a device", receiver)
            if last == "append" and isinstance(receiver, (ast.Name, ast.Attribute)):
                return self._target(receiver, kind)
            if last in ("join", "replace") and position <= 1 and self.values.is_device(receiver, kind) == "yes":
                return Verdict("yes", "put into a device string", receiver)
        if last in ("getattr", "hasattr") and position == 1 and self.names.qualname(call.args[0]) == "torch":
            return Verdict("yes", "the device's module of torch")
        if last in LOOKUPS and position >= 1:
            key = call.args[position - 1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and says(key.value, kind):
                return Verdict("yes", say("the value of {key!r}", key=key.value), key)
            return (
                self._reaches(call, kind)
                if last in ("get", "getattr", "getenv", "pop")
                else Verdict("unknown", "the name it is stored under does not say device or backend")
            )
        if last in OPTION_CALLS:
            return self._in_option(call, kind)
        if last == "parametrize" and position == 1:
            names = call.args[0]
            if isinstance(names, ast.Constant) and isinstance(names.value, str) and says(names.value, kind):
                return Verdict("yes", say("a value of the test parameter {names!r}", names=names.value), names)
        return self._in_callee(call, position, qualname, last, kind)

    def _in_callee(self, call: ast.Call, position: int, qualname: str, last: str, kind: LiteralKind) -> Verdict:
        local = self._local_callable(call.func)
        if local is not None:
            arguments, bound = local
            parameters = [*arguments.posonlyargs, *arguments.args][1 if bound else 0 :]
            if position < len(parameters):
                return self._parameter(parameters[position], kind)
            return Verdict("unknown", say("an argument of {callee}() that no parameter names", callee=last))
        if position in self._project_parameters.get(last, ()):
            return Verdict("yes", say("the parameter of {callee}() is named as a device", callee=last))
        if says(last, kind):
            return Verdict("yes", say("an argument of {callee}()", callee=last))
        return Verdict(
            "unknown",
            say("an argument of {callee}(), which is not known to take a device", callee=last or "a function"),
        )

    def _in_keyword(self, keyword: ast.keyword, kind: LiteralKind) -> Verdict:
        call = self.tree.parents[keyword]
        name = keyword.arg or ""
        if isinstance(call, ast.Call):
            qualname = self.names.qualname(call.func) or ""
            if qualname.split(".")[0] in FOREIGN_ROOTS:
                return Verdict("no", say("an argument of {callee}, which is not PyTorch", callee=qualname))
            if name in PROSE_KEYWORDS:
                return Verdict("no", "a text for people")
            if says(name, kind):
                return Verdict("yes", say("the argument {name}=", name=name))
            if name in OPTION_VALUES:
                option = self._in_option(call, kind)
                if option.answer == "yes":
                    return option
                assigned = self._reaches(call, kind)  # `device: str = Field(default="cuda")`
                return assigned if assigned.answer == "yes" else option
            local = self._local_callable(call.func)
            if local is not None:
                arguments = local[0]
                for arg in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                    if arg.arg == name:
                        return self._parameter(arg, kind)
        elif says(name, kind):
            return Verdict("yes", say("the argument {name}=", name=name))
        return Verdict("unknown", say("the argument {name}= does not say device or backend", name=name))

    def _in_option(self, call: ast.Call, kind: LiteralKind) -> Verdict:
        """A value of a command-line option: its name decides."""
        labels = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        labels += [
            k.value.value
            for k in call.keywords
            if k.arg in ("dest", "name") and isinstance(k.value, ast.Constant) and isinstance(k.value.value, str)
        ]
        for label in labels:
            if kind_of(label) is None and " " not in label and says(label, kind):
                return Verdict("yes", say("a value of the option {label}", label=label))
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
                if says(key.value, kind):
                    return Verdict("yes", say("stored under {key!r}", key=key.value), key)
                return Verdict("unknown", say("the key {key!r} does not say device or backend", key=key.value), key)
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
        if says(function.name, kind):
            return Verdict("yes", say("returned by {name}()", name=function.name), function)
        if function in self._functions:
            return self._functions[function] or Verdict("unknown", "")
        self._functions[function] = None
        verdict = Verdict(
            "unknown", say("nothing says that {name}() returns a device or backend", name=function.name), function
        )
        for call in self.tree.nodes(ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
            if name == function.name and self._local_function(call.func) is function:
                used = self._reaches(call, kind)
                if used.answer == "yes":
                    verdict = Verdict("yes", say("returned by {name}() to a device", name=function.name), call)
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
        if says(arg.arg, kind):
            return Verdict("yes", say("the parameter {arg}", arg=arg.arg), arg)
        return self._flow(scope, arg.arg, kind)

    def _in_loop(self, target: ast.expr, kind: LiteralKind) -> Verdict:
        if isinstance(target, (ast.Name, ast.Attribute)):
            return self._variable(target, kind)
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                if isinstance(element, ast.Name) and says(element.id, kind):
                    return Verdict("yes", say("variable {id}", id=element.id), element)
        return Verdict("unknown", "the loop variable does not say device or backend")

    # -- variables -------------------------------------------------------------------------------------------

    def _variable(self, target: ast.expr, kind: LiteralKind) -> Verdict:
        if isinstance(target, ast.Name):
            if says(target.id, kind):
                return Verdict("yes", say("variable {id}", id=target.id), target)
            scope = self.tree.scope_of_name[target].find(target.id)
            return self._flow(scope, target.id, kind)
        assert isinstance(target, ast.Attribute)
        if says(target.attr, kind):
            return Verdict("yes", say("attribute {target}", target=target.attr), target)
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
        verdict = Verdict("unknown", say("no use of {name} in this file is a place for a device or backend", name=name))
        for use in uses:
            found = self._reaches(use, kind)
            if found.answer == "yes":
                verdict = Verdict("yes", say("variable {name} becomes one", name=name), use)
                break
        self._variables[key] = verdict
        return verdict


def _method(owner: ast.ClassDef, name: str) -> ast.AST | None:
    return next(
        (s for s in owner.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) and s.name == name),
        None,
    )
