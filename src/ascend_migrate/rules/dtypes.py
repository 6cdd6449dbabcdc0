"""Dtypes that the chosen chip lacks, or that few operators of the NPU take.

bfloat16 exists from the Ascend 910B on; 910A and 310P do not have it, and an operator that is given one there fails.
float64, complex numbers and the wide unsigned integers are no native types of the computing cores: some operators take
them, others do so on the chip's slow general-purpose core, others refuse. How many do is in the messages, counted in
torch_npu's documentation.

Only what is proven to reach a device, or not proven to stay on the CPU, is reported: a table of dtypes, a comparison
with one, or a tensor born on the CPU are no findings.

Source: ``IsBF16Supported`` and ``IsSupportInfNan`` in torch_npu, and the tables of native APIs in its documentation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Finding, Level, Target
from ascend_migrate.rules._dtypes import asks_for_bfloat16, dtype_of, names_dtype, word_set
from ascend_migrate.rules._tensors import (
    CREATORS,
    bindings_of,
    calls_after,
    is_cpu_device,
    is_foreign,
    is_tensor,
    keyword,
    place_of,
)
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.syntax.literals import words

_OTHER_CHIPS = frozenset({"tpu", "xla", "hpu"})
"""Words in the path of a file that is about another kind of chip."""

_CASTING_METHODS = frozenset({"to", "type"})
_CAST_NAMES = {"float64": "double", "complex64": "cfloat", "complex128": "cdouble", "complex32": "chalf"}
_DTYPE_METHODS = _CASTING_METHODS | frozenset(_CAST_NAMES.values())


class Bfloat16(Rule):
    """bfloat16 on a chip that does not have it.

    A choice between dtypes that asks ``is_bf16_supported()`` is right as it is. A dtype that is only used when an
    option or a test chooses it is a warning; one that is always used is an error.
    """

    code = "NPU301"
    name = "bfloat16"
    level = "error"
    markers = ("bfloat16", "bf16", "=BFloat16Tensor")
    examples = (
        Example("import torch\n\nx = y.to(torch.bfloat16)\n", codes=()),
        Example("import torch\n\nDTYPES = {'fp16': torch.float16, 'bf16': torch.bfloat16}\n", codes=(), soc="310p"),
        Example("import torch\n\nif x.dtype == torch.bfloat16:\n    x = x.float()\n", codes=(), soc="310p"),
        Example(
            "import torch\n\ndtype = torch.bfloat16 if torch.npu.is_bf16_supported() else torch.float16\n",
            codes=(),
            soc="910a",
        ),
        Example("import torch\n\nx = y.to(torch.bfloat16)\nz = x.bfloat16()\n", codes=("NPU301",) * 2, soc="910a"),
        Example("args = TrainingArguments(bf16=True)\n", codes=("NPU301",), soc="310p"),
        Example("args = TrainingArguments(bf16=False)\n", codes=(), soc="310p"),
        Example("accelerator = Accelerator(mixed_precision='bf16')\n", codes=("NPU301",), soc="310p"),
        Example(
            "parser.add_argument('--dtype', default='bfloat16', choices=['bfloat16'])\n", codes=("NPU301",), soc="910a"
        ),
    )

    def applies(self, target: Target) -> bool:
        return knowledge.find_soc(target.soc).bf16 is not True

    def check(self, context: Context) -> Iterator[Finding]:
        if not _OTHER_CHIPS.isdisjoint(words(context.path)):
            return
        soc = knowledge.find_soc(context.target.soc)
        seen: set[ast.AST] = set()
        for node in self._places(context):
            if node in seen or context.knows_npu(node):
                continue
            seen.add(node)
            chosen = _is_chosen(context, node)
            if chosen == "asks":
                continue
            level: Level = "warning" if chosen == "chosen" else "error"
            if soc.bf16 is None:
                message = say("Whether {chip} computes in bfloat16 is not known", chip=soc.title)
                level = "info"
            elif chosen == "chosen":
                message = say("{chip} has no bfloat16: this choice fails there", chip=soc.title)
            else:
                message = say("{chip} has no bfloat16", chip=soc.title)
            yield context.finding(
                self, node, message, "Use float16 with torch.npu.amp.GradScaler, or float32.", level=level
            )

    def _places(self, context: Context) -> Iterator[ast.AST]:
        for attribute in context.tree.nodes(ast.Attribute):
            named = attribute.attr in ("bfloat16", "BFloat16Tensor") and dtype_of(context, attribute) == "bfloat16"
            if named and not _is_only_named(context, attribute):
                yield attribute
        for call in context.tree.nodes(ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "bfloat16" and not call.args:
                yield call
            for argument in call.keywords:
                if argument.arg and _asks(argument.arg, argument.value):
                    yield argument.value
            option = _option_name(call)
            default = keyword(call, "default") if option else None
            if option and default is not None and _asks(option, default):
                yield default
        for mapping in context.tree.nodes(ast.Dict):
            for key, value in zip(mapping.keys, mapping.values):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _asks(key.value, value):
                    yield value
        yield from _named_values(context)


def _named_values(context: Context) -> Iterator[ast.AST]:
    """Strings and flags that a variable, a field or a parameter is given: ``dtype = "bfloat16"``, ``bf16 = True``."""
    assigns: list[ast.Assign | ast.AnnAssign] = [*context.tree.nodes(ast.Assign), *context.tree.nodes(ast.AnnAssign)]
    for assign in assigns:
        targets = assign.targets if isinstance(assign, ast.Assign) else [assign.target]
        for target in targets:
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", None)
            if not name or assign.value is None:
                continue
            value = assign.value
            for part in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                if _asks(name, part):
                    yield part
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef]
    functions = [*context.tree.nodes(ast.FunctionDef), *context.tree.nodes(ast.AsyncFunctionDef)]
    for function in functions:
        positional = [*function.args.posonlyargs, *function.args.args]
        pairs = [
            *zip(positional[len(positional) - len(function.args.defaults) :], function.args.defaults),
            *zip(function.args.kwonlyargs, function.args.kw_defaults),
        ]
        for parameter, default in pairs:
            if default is not None and _asks(parameter.arg, default):
                yield default


def _asks(name: str, value: ast.AST) -> bool:
    return isinstance(value, ast.Constant) and asks_for_bfloat16(name, value.value)


def _option_name(call: ast.Call) -> str | None:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function not in ("add_argument", "option", "Option"):
        return None
    names = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return next((name for name in names if name.startswith("--")), names[0] if names else None)


_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


def _is_only_named(context: Context, node: ast.AST) -> bool:
    """Whether a dtype is compared, listed, looked up or annotated rather than used."""
    child = node
    for parent in context.tree.ancestors(node):
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, _CONTAINERS):
            return not (isinstance(parent, ast.Dict) and len(parent.values) == 1 and child in parent.values)
        if isinstance(parent, (ast.arg, ast.AnnAssign)) and child is getattr(parent, "annotation", None):
            return True
        if isinstance(parent, ast.Call):
            function = context.qualname(parent.func) or ""
            return function in ("isinstance", "getattr", "str", "torch.finfo", "register_dtype") or (
                isinstance(parent.func, ast.Attribute) and parent.func.attr in ("parametrize", "get", "append", "add")
            )
        if isinstance(parent, (ast.stmt, ast.Lambda)):
            return isinstance(parent, (ast.Expr, ast.Return, ast.Assert, ast.FunctionDef)) and child is node
        child = parent
    return False


def _is_chosen(context: Context, node: ast.AST) -> str | None:
    """``asks``: a test around ``node`` asks the chip; ``chosen``: a test around it speaks of dtypes or precision, or it
    is a default that a caller may override."""
    child, found = node, "chosen" if isinstance(context.tree.parent(node), ast.arguments) else None
    for parent in context.tree.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            text = context.tree.text(parent.test)
            if "supported" in text or "capability" in text:
                return "asks"
            if any(word in text for word in ("bf16", "bfloat16", "dtype", "precision", "amp", "half", "fp16")):
                found = "chosen"
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        child = parent
    return found


def _coverage(context: Context, dtype: str) -> tuple[int, int]:
    return knowledge.dtype_coverage(dtype, context.target.torch_npu)


class Float64(Rule):
    """float64 on the device: few operators take it.

    NumPy's numbers are float64 by default and keep that type through ``torch.from_numpy``.
    """

    code = "NPU302"
    name = "float64"
    level = "warning"
    markers = (
        "torch.float64",
        "=torch&=double",
        "=DoubleTensor",
        "=from_numpy&=cuda",
        "=from_numpy&=device",
        "tensor(np.",
    )
    examples = (
        Example("import numpy as np\n\nx = np.zeros(3, dtype=np.float64)\n", codes=()),
        Example("import torch\n\nx = torch.linspace(0, 1, 10, dtype=torch.float64)\n", codes=()),
        Example("import torch\n\n\ndef f(x):\n    return x.cpu().double()\n", codes=()),
        Example("import torch\n\n\ndef f(x):\n    return x.double().cpu()\n", codes=()),
        Example("import torch\n\nif x.dtype == torch.float64:\n    pass\n", codes=()),
        Example("import torch\n\n\ndef f(x):\n    return x.double().sum()\n", codes=("NPU302",)),
        Example("import torch\n\n\ndef f(x):\n    return x.to(torch.float64)\n", codes=("NPU302",)),
        Example(
            "import torch\n\n\ndef f(x, d):\n    return torch.zeros(3, dtype=torch.float64, device=d)\n",
            codes=("NPU302",),
        ),
        Example("import torch\n\ntorch.set_default_dtype(torch.float64)\n", codes=("NPU302",)),
        Example(
            "import numpy as np\nimport torch\n\n\ndef f(device):\n"
            "    return torch.from_numpy(np.random.rand(3)).to(device)\n",
            codes=("NPU302",),
        ),
        Example(
            "import numpy as np\nimport torch\n\n\ndef f(device):\n"
            "    return torch.from_numpy(np.random.rand(3)).float().to(device)\n",
            codes=(),
        ),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        known, total = _coverage(context, "fp64")
        for call, what in self._places(context):
            if context.knows_npu(call):
                continue
            yield context.finding(
                self,
                call,
                say(
                    "{what}: of the {total} APIs whose dtypes torch_npu's documentation lists, {known} take float64; "
                    "the others fail or run on the CPU",
                    what=what,
                    total=total,
                    known=known,
                ),
                "Use float32 on the NPU, or compute this part on the CPU.",
            )

    def _places(self, context: Context) -> Iterator[tuple[ast.AST, str]]:
        for call in context.tree.nodes(ast.Call):
            function = call.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            qualname = context.qualname(function) if name in _TENSOR_MAKERS else None
            if qualname in ("torch.set_default_dtype", "torch.set_default_tensor_type"):
                if call.args and (
                    dtype_of(context, call.args[0]) == "float64" or _is_text(call.args[0], "torch.DoubleTensor")
                ):
                    yield call, say("New tensors are float64")
            elif qualname in ("torch.from_numpy", "torch.tensor", "torch.as_tensor"):
                if _arrives_as_float64(context, call):
                    yield call, say("NumPy's float64 goes to the device")
                elif qualname != "torch.from_numpy" and _gives(context, call, "float64"):
                    yield call, say("A float64 tensor is made on the device")
            elif _names_a_dtype(call) and _gives(context, call, "float64"):
                yield call, say("A tensor becomes float64")


_TENSOR_MAKERS = frozenset({"set_default_dtype", "set_default_tensor_type", "from_numpy", "tensor", "as_tensor"})


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _names_a_dtype(call: ast.Call) -> bool:
    """Whether the call can be one that :func:`_gives` looks for, judged by its spelling."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _DTYPE_METHODS:
        return True
    return any(k.arg == "dtype" for k in call.keywords)


def _gives(context: Context, call: ast.Call, dtype: str) -> bool:
    """Whether the call makes a tensor of ``dtype`` that is not proven to be on the CPU."""
    function = call.func
    qualname = context.qualname(function) or ""
    if isinstance(function, ast.Attribute) and not qualname.startswith("torch."):
        if not _casts(context, call, function, dtype) or is_foreign(context, function.value):
            return False
    elif qualname.startswith("torch."):
        if dtype_of(context, keyword(call, "dtype")) != dtype or qualname.startswith(("torch.finfo", "torch.iinfo")):
            return False
        if qualname.rpartition(".")[2] in CREATORS and keyword(call, "device") is None:
            return _goes_to_device(context, call)
    else:
        return False
    return place_of(context, call) != "cpu" and not _leaves(context, call)


def _casts(context: Context, call: ast.Call, function: ast.Attribute, dtype: str) -> bool:
    if function.attr == _CAST_NAMES.get(dtype):
        return not call.args and not call.keywords
    if function.attr in _CASTING_METHODS:
        given = [*call.args, *(k.value for k in call.keywords if k.arg == "dtype")]
        return any(dtype_of(context, argument) == dtype for argument in given)
    named = keyword(call, "dtype")
    return named is not None and dtype_of(context, named) == dtype and is_tensor(context, function.value)


def _leaves(context: Context, call: ast.Call) -> bool:
    """Whether what is chained behind the call takes the tensor to the CPU, or to another dtype, at once."""
    after = next(calls_after(context, call), None)
    if after is None or not isinstance(after.func, ast.Attribute):
        return False
    if after.func.attr == "to" and after.args:
        return is_cpu_device(context, after.args[0])
    return after.func.attr in ("cpu", "numpy", "tolist", "item")


def _goes_to_device(context: Context, node: ast.AST) -> bool:
    """Whether the calls chained behind ``node`` move it to a device before they change its dtype."""
    for call in calls_after(context, node):
        if not isinstance(call.func, ast.Attribute):
            return False
        method = call.func.attr
        if method in ("cuda", "npu"):
            return True
        if method in ("float", "half", "bfloat16", "int", "long", "type", "numpy", "cpu"):
            return False
        if method == "to":
            given = [*call.args, *(k.value for k in call.keywords if k.arg in ("device", "dtype"))]
            dtypes = [argument for argument in given if _may_be_dtype(context, argument)]
            return bool(given) and not dtypes and not is_cpu_device(context, given[0])
    return False


def _may_be_dtype(context: Context, node: ast.AST) -> bool:
    if dtype_of(context, node) is not None:
        return True
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return names_dtype(name)


_NUMPY_FLOATS = word_set(
    "numpy.linspace numpy.logspace numpy.zeros numpy.ones numpy.empty numpy.eye numpy.random.rand numpy.random.randn "
    "numpy.random.random numpy.random.random_sample numpy.random.uniform numpy.random.normal "
    "numpy.random.standard_normal "
    "numpy.random.beta numpy.random.gamma numpy.random.exponential"
)


def _arrives_as_float64(context: Context, call: ast.Call) -> bool:
    if len(call.args) != 1 or any(k.arg == "dtype" for k in call.keywords):
        return False
    if not _is_numpy_float64(context, call.args[0]):
        return False
    device = keyword(call, "device")
    if device is not None:
        return not is_cpu_device(context, device)
    return _goes_to_device(context, call)


def _is_numpy_float64(context: Context, node: ast.AST | None, depth: int = 0) -> bool:
    if isinstance(node, ast.Name) and depth < 4:
        bindings = bindings_of(context, node)
        return len(bindings) == 1 and _is_numpy_float64(context, bindings[0].value, depth + 1)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(_is_numpy_float64(context, side, depth + 1) for side in sides) and all(
            isinstance(side, ast.Constant) or _is_numpy_float64(context, side, depth + 1) for side in sides
        )
    if not isinstance(node, ast.Call) or any(k.arg == "dtype" for k in node.keywords):
        return False
    qualname = context.qualname(node.func)
    if qualname in _NUMPY_FLOATS:
        # The second position of these is the dtype (zeros, ones, empty), or a number.
        return not (qualname in ("numpy.zeros", "numpy.ones", "numpy.empty") and len(node.args) > 1)
    if qualname == "numpy.array" and len(node.args) == 1:
        leaves = [n for n in ast.walk(node.args[0]) if isinstance(n, (ast.Constant, ast.Name, ast.Call, ast.Attribute))]
        return any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in leaves) and all(
            isinstance(n, ast.Constant) for n in leaves
        )
    return False


_COMPLEX_FUNCTIONS = frozenset({"torch.view_as_complex", "torch.complex", "torch.polar"})


class ComplexNumbers(Rule):
    """Complex tensors on the device: few operators take them, and none takes complex32."""

    code = "NPU303"
    name = "complex-numbers"
    level = "info"
    markers = (*("=view_as_complex", "torch.complex", "=torch&=polar", "=cfloat", "=cdouble", "=chalf"),)
    examples = (
        Example("import torch\n\nif torch.is_complex(x):\n    pass\n", codes=()),
        Example("import torch\n\n\ndef f(x):\n    return torch.view_as_complex(x)\n", codes=("NPU303",)),
        Example("import torch\n\n\ndef f(x):\n    return x.to(torch.complex32)\n", codes=("NPU303",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in context.tree.nodes(ast.Call):
            half = found = False
            if _makes_complex(context, call):
                found = place_of(context, call.args[0] if call.args else None) != "cpu"
            elif _names_a_dtype(call) and not _is_cast_of_complex(context, call):
                half = _gives(context, call, "complex32")
                found = half or _gives(context, call, "complex64") or _gives(context, call, "complex128")
            if not found or context.knows_npu(call):
                continue
            dtype = "complex32" if half else "complex64"
            known, total = _coverage(context, dtype)
            yield context.finding(
                self,
                call,
                say(
                    "A complex tensor: of the {total} APIs whose dtypes torch_npu's documentation lists, {known} take "
                    "{dtype}",
                    total=total,
                    known=known,
                    dtype=dtype,
                ),
                "Where an operator refuses it, compute with the real and the imaginary part.",
                level="warning" if half else "info",
            )


def _makes_complex(context: Context, call: ast.AST) -> bool:
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("view_as_complex", "complex", "polar") and context.qualname(call.func) in _COMPLEX_FUNCTIONS


def _is_cast_of_complex(context: Context, call: ast.Call) -> bool:
    """Whether a cast to complex64 is chained behind a call that is reported itself. complex32 is another matter."""
    if not isinstance(call.func, ast.Attribute) or not _makes_complex(context, call.func.value):
        return False
    return not _gives(context, call, "complex32")


class WideUnsigned(Rule):
    """uint16, uint32 and uint64 on the device: no API of the NPU is documented for them."""

    code = "NPU304"
    name = "wide-unsigned-integers"
    level = "warning"
    markers = ("=torch&=uint16", "=torch&=uint32", "=torch&=uint64")
    examples = (
        Example("import torch\n\nif x.dtype == torch.uint16:\n    pass\n", codes=()),
        Example("import torch\n\n\ndef f(x):\n    return x.to(torch.uint32)\n", codes=("NPU304",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for call in context.tree.nodes(ast.Call):
            if not _names_a_dtype(call):
                continue
            for dtype in ("uint16", "uint32", "uint64"):
                if _gives(context, call, dtype) and not context.knows_npu(call):
                    yield context.finding(
                        self,
                        call,
                        say("torch_npu's documentation lists no API that takes {dtype}", dtype=dtype),
                        "Use int32 or int64 on the NPU, or keep these numbers on the CPU.",
                    )


class InfiniteMask(Rule):
    """An attention mask of minus infinity in code that computes in float16, on a chip that saturates.

    Where an overflow gives the largest number instead of infinity, minus infinity becomes the smallest number of
    float16, and a row that is masked everywhere gives equal weights instead of nan: a test for nan finds nothing.
    """

    code = "NPU305"
    name = "infinite-mask-in-float16"
    level = "info"
    markers = tuple(
        f"={fill}&={word}" for fill in ("masked_fill", "masked_fill_") for word in ("half", "float16", "autocast")
    )
    examples = (
        Example("import torch\n\n\ndef f(x, m):\n    return x.half().masked_fill(m, float('-inf'))\n", codes=()),
        Example(
            "import torch\n\n\ndef f(x, m):\n    return x.half().masked_fill(m, float('-inf'))\n",
            codes=("NPU305",),
            soc="910a",
        ),
        Example("import torch\n\n\ndef f(x, m):\n    return x.masked_fill(m, float('-inf'))\n", codes=(), soc="910a"),
    )

    def applies(self, target: Target) -> bool:
        return knowledge.find_soc(target.soc).inf_nan is False

    def check(self, context: Context) -> Iterator[Finding]:
        soc = knowledge.find_soc(context.target.soc)
        for call in context.tree.nodes(ast.Call):
            function = call.func
            is_fill = isinstance(function, ast.Attribute) and function.attr in ("masked_fill", "masked_fill_")
            if not is_fill or len(call.args) != 2 or not _is_minus_infinity(context, call.args[1]):
                continue
            is_score = _SCORES.search(context.tree.text(call.func)) is not None
            if _computes_in_half(context, context.tree.module if is_score else call):
                yield context.finding(
                    self,
                    call.args[1],
                    say("{chip} has the largest number of float16 in place of infinity", chip=soc.title),
                    "A row that is masked everywhere gives equal weights, not nan. torch.finfo(x.dtype).min says so.",
                )


_SCORES = re.compile(r"att(?:entio)?n|score|energy|logit|sim\b", re.IGNORECASE)


def _computes_in_half(context: Context, node: ast.AST) -> bool:
    """Whether the function around ``node``, or the module that it is, speaks of float16 or autocast."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    scope = node if isinstance(node, ast.Module) else context.tree.enclosing(node, *kinds)
    for part in ast.walk(scope) if scope is not None else ():
        if isinstance(part, ast.Attribute) and part.attr in ("half", "autocast"):
            return True
        if isinstance(part, (ast.Attribute, ast.Name)) and dtype_of(context, part) == "float16":
            return True
    return False


def _is_minus_infinity(context: Context, node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and context.qualname(node.func) == "float" and len(node.args) == 1:
        value = node.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value.strip().lower() in ("-inf", "-infinity")
        return False
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if isinstance(node.operand, ast.Call) and context.qualname(node.operand.func) == "float":
            return any(isinstance(a, ast.Constant) and a.value == "inf" for a in node.operand.args)
        return context.qualname(node.operand) in ("torch.inf", "math.inf", "numpy.inf")
    return context.qualname(node) in ("numpy.NINF",)
