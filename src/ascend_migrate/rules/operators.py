"""PyTorch's own functions, Tensor methods and modules that have no kernel on the NPU.

Two kinds of knowledge, and every message says which one speaks. *Verified* is what the torch_npu package itself lists:
an API that comes down to an operator without a kernel runs that operator on the CPU, with copies both ways and a
warning (an error with ``TORCH_NPU_FALLBACK_CPU_DISABLE=1``). *Documented* is what torch_npu's documentation says of an
API; where it says nothing, that is no proof that the API fails.

A call is left alone when its tensor is proven to be on the CPU. A method counts when few other objects have one of that
name, or when its receiver is proven to be a tensor.

Source: the operator lists in the torch-npu wheels, PyTorch's operators recorded by running its functions, and the
tables of native APIs in torch_npu's documentation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Finding, Target
from ascend_migrate.rules._dtypes import dtype_of, word_set
from ascend_migrate.rules._tensors import calls_after, is_foreign, is_tensor, keyword, place_of
from ascend_migrate.rules.base import Context, Example, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

_METHOD = "torch.Tensor."
_DISTRIBUTIONS = "torch.distributions."

_SHARED_METHODS = word_set(
    "binomial cholesky copysign det fmax fmin frexp heaviside hypot i0 lcm logit lu mode nextafter poisson unfold"
)
"""Methods that other objects have too (NumPy and SciPy modules, SymPy, geometry): only proven tensors count."""

_FAILING = {
    "torch.linalg.lstsq": "linalg_lstsq",
}
"""APIs whose fallback to the CPU itself fails, with the operator without kernel. Source: torch_npu's documentation on
unsupported operators shows ``aten::linalg_lstsq`` falling back and then ending with ERR01007."""

_ALTERNATIVES = {
    "torch.linalg.inv": ("torch.inverse", "inverse"),
    "torch.nn.HuberLoss": ("torch.nn.SmoothL1Loss(beta=delta), times delta,", "smooth_l1_loss"),
    "torch.nn.functional.huber_loss": (
        "torch.nn.functional.smooth_l1_loss(..., beta=delta), times delta,",
        "smooth_l1_loss",
    ),
    "torch.hypot": ("torch.sqrt(x * x + y * y)", "sqrt"),
    "torch.copysign": ("torch.abs(x) * torch.sign(y), which differs where y is 0,", "sign"),
    "torch.bitwise_left_shift": ("x << n", "__lshift__"),
    "torch.bitwise_right_shift": ("x >> n", "__rshift__"),
}
"""API -> what gives the same, and the operator with a kernel that it comes down to."""

_PACKAGES = ("linalg", "special", "distributions")
"""Packages of torch whose members have common names (``inv``, ``solve``, ``Beta``): the package is looked for."""


_COMMON_WORDS = frozenset({"det", "logit", "lu", "binomial", "poisson", "hypot"})
"""Names of APIs that are common names of variables too: only their calls are looked for."""


@cache
def _markers() -> tuple[str, ...]:
    """The words one of which a file must hold to call an API of which something runs on the CPU."""
    apis = {api for version in knowledge.versions() for api in knowledge.fallback_apis(version)}
    packages = [f"{start}{package}" for package in _PACKAGES for start in ("torch.", "import ")]
    names = {api.rpartition(".")[2] for api in apis if api.split(".")[1] not in _PACKAGES}
    written = {f".{name}(" if name in _COMMON_WORDS else f"=torch&={name}" for name in names}
    return (*packages, "from torch.distributions", *sorted(written))


@dataclass(frozen=True)
class ApiUse:
    """A call of ``api``. ``tensor`` is the receiver or the first argument."""

    node: ast.Call
    api: str
    tensor: ast.expr | None


@cache
def _methods(apis: frozenset[str]) -> Mapping[str, str]:
    return {api[len(_METHOD) :]: api for api in apis if api.startswith(_METHOD)}


def uses_of(context: Context, apis: frozenset[str]) -> Iterator[ApiUse]:
    """The calls of any of ``apis`` on tensors that are not proven to be on the CPU."""
    methods, last_names = _methods(apis), _last_names(apis)
    for call in context.tree.nodes(ast.Call):
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
        if name not in last_names:
            continue
        use = None
        if isinstance(function, ast.Attribute) and name in methods and _is_method(context, function):
            use = ApiUse(call, methods[function.attr], function.value)
        else:
            qualname = context.qualname(function)
            if qualname is not None and qualname.startswith("torch."):
                api = public_name(qualname)
                if api in apis and not (api.startswith(_DISTRIBUTIONS) and not _given_tensor(context, call)):
                    use = ApiUse(call, api, call.args[0] if call.args else None)
        if use is None or place_of(context, use.tensor) == "cpu" or context.knows_npu(call):
            continue
        yield use


@cache
def _last_names(apis: frozenset[str]) -> frozenset[str]:
    return frozenset(api.rpartition(".")[2] for api in apis)


def _fallback_uses(context: Context) -> list[ApiUse]:
    """The uses of APIs of which something runs on the CPU, found once for all rules."""
    found: list[ApiUse] | None = context.memo.get("fallback_uses")
    if found is None:
        found = list(uses_of(context, knowledge.fallback_apis(context.target.torch_npu)))
        context.memo["fallback_uses"] = found
    return found


def _given_tensor(context: Context, call: ast.Call) -> bool:
    """Whether a parameter of a distribution is proven to be a tensor. Numbers make it draw on the CPU."""
    return any(is_tensor(context, value) for value in (*call.args, *(k.value for k in call.keywords)))


def _is_method(context: Context, function: ast.Attribute) -> bool:
    if function.attr in _SHARED_METHODS:
        return is_tensor(context, function.value)
    reference = context.names.reference(function.value)
    if reference is not None and reference.parts[0] == "torch":
        return False  # torch.lgamma(x), or torch.Tensor.lgamma itself
    return not is_foreign(context, function.value)


def public_name(qualname: str) -> str:
    """The documented name: ``torch.distributions.Beta`` for ``torch.distributions.beta.Beta``."""
    parts = qualname.split(".")
    if len(parts) == 4 and parts[1] == "distributions":
        return f"torch.distributions.{parts[3]}"
    if parts[:3] == ["torch", "nn", "modules"]:
        return f"torch.nn.{parts[-1]}"
    if parts[:2] == ["torch", "functional"]:
        return ".".join(["torch", *parts[2:]])
    return qualname


def _operators(names: tuple[str, ...]) -> str:
    return ", ".join(f"aten::{name}" for name in names)


_HELP = (
    "Every call copies its tensors to the CPU and back and waits for the device: keep it out of the inner loop or do "
    "without it. TORCH_NPU_FALLBACK_CPU_DISABLE=1 turns this into an error."
)


def _help(context: Context, api: str) -> str:
    alternative = _ALTERNATIVES.get(api)
    if alternative is not None and context.surface.has_operator(alternative[1]):
        return say("{new} is the same and has a kernel.", new=alternative[0])
    return _HELP


class OperatorOnCpu(Rule):
    """An API that comes down to an operator without an NPU kernel: it runs on the CPU."""

    code = "NPU201"
    name = "operator-on-cpu"
    level = "warning"
    examples = (
        Example("import torch\n\nparameter = torch.nn.Parameter(torch.zeros(3))\n", codes=()),
        Example(
            "import numpy as np\nfrom scipy import special\n\nd = np.linalg.det(m) + special.digamma(x)\n", codes=()
        ),
        Example("import torch\n\n\ndef f(m):\n    return torch.linalg.det(m.cpu())\n", codes=()),
        Example("import torch\n\nx = torch.rand(3, 3)\nd = torch.linalg.det(x)\n", codes=()),
        Example("import torch\n\n\ndef f(m):\n    return torch.linalg.det(m)\n", codes=("NPU201",)),
        Example("import torch\n\n\ndef f(x):\n    return x.lgamma() + torch.digamma(x)\n", codes=("NPU201",) * 2),
        Example("import torch\n\n\ndef f(poly):\n    return poly.det()\n", codes=()),
        Example("import torch\n\n\ndef f(m: torch.Tensor):\n    return m.det()\n", codes=("NPU201",)),
        Example(
            "from torch.distributions import Beta\n\nlam = Beta(0.4, 0.4).sample()\n"
            "\n\ndef draw(x: 'torch.Tensor'):\n    return Beta(x, x).sample()\n",
            codes=("NPU201",),
        ),
        Example("from torch import nn\n\nloss = nn.HuberLoss()\n", codes=("NPU201",)),
        Example(
            "import torch\n\n\ndef f(m):\n    return torch.linalg.cholesky(m)\n",
            codes=("NPU201",),
            torch_npu="2.1.0.post17",
        ),
    )

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return _markers()

    def check(self, context: Context) -> Iterator[Finding]:
        version = context.target.torch_npu
        for use in _fallback_uses(context):
            missing = knowledge.fallback(use.api, version).forward
            if missing and use.api not in _FAILING:
                yield context.finding(
                    self,
                    use.node.func,
                    say(
                        "{api} runs on the CPU: torch_npu {version} has no kernel for {operators}",
                        api=use.api,
                        operators=_operators(missing),
                        version=version,
                    ),
                    _help(context, use.api),
                )


class GradientOnCpu(Rule):
    """An API that has an NPU kernel, but whose gradient needs an operator that has none."""

    code = "NPU202"
    name = "gradient-on-cpu"
    level = "warning"
    examples = (
        Example("import torch\n\ncriterion = torch.nn.MultiLabelMarginLoss()\n", codes=()),
        Example(
            "import torch\n\ncriterion = torch.nn.MultiLabelMarginLoss()\ncriterion(model(x), y).backward()\n",
            codes=("NPU202",),
        ),
    )

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        return _markers()

    def check(self, context: Context) -> Iterator[Finding]:
        if not context.project.trains:
            return
        version = context.target.torch_npu
        for use in _fallback_uses(context):
            known = knowledge.fallback(use.api, version)
            if known.backward and not known.forward:
                yield context.finding(
                    self,
                    use.node.func,
                    say(
                        "The gradient of {api} runs on the CPU: torch_npu {version} has no kernel for {operators}",
                        api=use.api,
                        operators=_operators(known.backward),
                        version=version,
                    ),
                    _HELP,
                )


class OperatorFails(Rule):
    """An operator without an NPU kernel whose fallback to the CPU does not work either."""

    code = "NPU203"
    name = "operator-fails"
    level = "error"
    markers = ("=lstsq",)
    examples = (
        Example("import numpy as np\n\nx = np.linalg.lstsq(a, b)\n", codes=()),
        Example("import torch\n\n\ndef f(a, b):\n    return torch.linalg.lstsq(a.cpu(), b.cpu())\n", codes=()),
        Example("import torch\n\n\ndef f(a, b):\n    return torch.linalg.lstsq(a, b)\n", codes=("NPU203",)),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for use in uses_of(context, frozenset(_FAILING)):
            operator = _FAILING[use.api]
            if not context.surface.has_operator(operator):
                yield context.finding(
                    self,
                    use.node.func,
                    say(
                        "{api} fails on NPU tensors: aten::{operator} has no kernel, and torch_npu's documentation "
                        "shows its fallback to the CPU failing (ERR01007)",
                        api=use.api,
                        operator=operator,
                    ),
                    "Move the tensors to the CPU yourself, and the result back: f(a.cpu(), b.cpu()).",
                )


class ApiNotConfirmed(Rule):
    """An API that needs kernels of its own and that torch_npu's documentation does not confirm on the chip.

    Asked are compressed sparse layouts, nested tensors and quantization. Everything else that the documentation leaves
    open is not reported: most of that plainly runs.
    """

    code = "NPU204"
    name = "api-not-confirmed"
    level = "info"
    markers = (
        *(
            "torch.nested",
            "torch.ao.",
            "=quantize_per_tensor",
            "=quantize_per_channel",
            "=to_mkldnn",
            "=smm",
            "=sspaddmm",
        ),
        *("=sparse_csr_tensor", "=sparse_csc_tensor", "=sparse_bsr_tensor", "=sparse_bsc_tensor"),
        *("=to_sparse_csr", "=to_sparse_csc", "=to_sparse_bsr", "=to_sparse_bsc"),
    )
    examples = (
        Example("import torch\n\nx = torch.sparse_coo_tensor(i, v)\n", codes=()),
        Example("import torch\n\n\ndef f(x):\n    return x.to_sparse_csr()\n", codes=("NPU204",)),
        Example("import torch\n\n\ndef f(x):\n    return x.to_sparse_csr()\n", codes=(), soc="310p"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        target = context.target
        for use in uses_of(context, knowledge.unconfirmed_apis(target.soc, target.torch_npu)):
            yield context.finding(
                self,
                use.node.func,
                say(
                    "torch_npu's documentation (for torch {release}) does not confirm {api} on {soc}",
                    api=use.api,
                    release=knowledge.documentation_release(target.torch_npu),
                    soc=target.soc,
                ),
                "It may work: try it on the card before building on it.",
            )


_MOVES = word_set("to type cpu cuda npu float half double numpy item tolist detach clone")
_CASTS = {"half": "fp16", "double": "fp64"}
_SHORT = {"float16": "fp16", "float64": "fp64"}


class DtypeNotListed(Rule):
    """A tensor of float16 or float64 given to an API that the documentation lists without that dtype.

    Only where the cast is written right at the call. (bfloat16 is in none of the lists, so nothing is said of it.)
    """

    code = "NPU205"
    name = "dtype-not-listed"
    level = "info"
    markers = (".half()", ".double()", ".to(torch.float16)", ".to(torch.float64)")
    examples = (
        Example("import torch\n\n\ndef f(x):\n    return torch.nn.functional.softmax(x.half(), 0)\n", codes=()),
        Example(
            "import torch\n\n\ndef f(x):\n    return torch.nn.functional.grid_sample(x.half(), g)\n", codes=("NPU205",)
        ),
    )

    def applies(self, target: Target) -> bool:
        return bool(knowledge.unconfirmed_apis(target.soc, target.torch_npu))  # what the documentation speaks of

    def check(self, context: Context) -> Iterator[Finding]:
        version = context.target.torch_npu
        for cast in context.tree.nodes(ast.Call):
            dtype = _cast_to(context, cast)
            api, place = _user_of(context, cast) if dtype is not None else (None, cast)
            listed = knowledge.documented_dtypes(api, version) if api is not None else None
            if dtype is None or listed is None or dtype in listed or "fp32" not in listed:
                continue  # a list without float32 says something of other kinds of numbers
            if place_of(context, cast) == "cpu":
                continue
            yield context.finding(
                self,
                place,
                say(
                    "torch_npu's documentation (for torch {release}) lists {api} for {listed}, not for {dtype}",
                    api=api,
                    release=knowledge.documentation_release(version),
                    listed=", ".join(sorted(listed)),
                    dtype=dtype,
                ),
                "It may be refused or run on the CPU; cast for this call where that matters.",
            )


def _cast_to(context: Context, call: ast.Call) -> str | None:
    if not isinstance(call.func, ast.Attribute) or len(call.args) + len(call.keywords) > 1:
        return None
    if call.func.attr in _CASTS and not call.args:
        return _CASTS[call.func.attr]
    if call.func.attr == "to":
        named = dtype_of(context, call.args[0] if call.args else keyword(call, "dtype"))
        return _SHORT.get(named or "")
    return None


def _user_of(context: Context, cast: ast.Call) -> tuple[str | None, ast.AST]:
    """The API that the result of a cast is given to."""
    parent = context.tree.parent(cast)
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is cast:
        qualname = context.qualname(parent.func)
        if qualname is not None and qualname.startswith("torch."):
            return public_name(qualname), parent.func
    for call in calls_after(context, cast):
        if isinstance(call.func, ast.Attribute) and call.func.attr not in _MOVES:
            return _METHOD + call.func.attr, call
        break
    return None, cast
