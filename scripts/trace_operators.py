"""Which aten operators PyTorch's own functions, Tensor methods and modules come down to, by running them.

Every function and module of PyTorch's test database (``OpInfo``, ``ModuleInfo``) is called on its first sample
inputs, forward and backward, under the profiler; what is recorded is the tree of operators that were dispatched.
A tree is cut where an operator has a kernel of its own for CUDA: below that, what runs belongs to this machine's
CPU. Operators that have a kernel for the CPU only (oneDNN's, for example) are left out, so that nothing is said
of a path that another device does not take.

Run by ``update_knowledge.py --apis`` with a PyTorch that has ``expecttest`` beside it. Writes JSON to the file
named by its only argument: ``{"torch": version, "forward": {api: [tree, ...]}, "backward": ...}``, one tree for
each sample, a tree being a list of ``[operator, [subtree, ...]]``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
import torchgen
import yaml
from torch.autograd.profiler import profile

SAMPLES = 6
"""Calls per API. A claim is only made of what all of them do."""

ALLOCATIONS = frozenset(
    {"empty", "empty_like", "empty_strided", "as_strided", "as_strided_", "resize_", "resolve_conj"}
)
"""What kernels call to get their memory."""

Tree = list[Any]


def kinds_of_operators() -> dict[str, set[str]]:
    """For the name of each operator, without overload: ``composite``, ``CUDA``, ``CPU``."""
    path = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    kernels = {entry["func"].partition("(")[0]: entry.get("dispatch", {}) for entry in entries}
    kinds: dict[str, set[str]] = {}
    for entry in entries:
        name, _, _ = entry["func"].partition("(")
        found = kinds.setdefault(name.partition(".")[0], set())
        if "structured_delegate" in entry:
            found.update({"CPU", "CUDA"} & set(", ".join(kernels[entry["structured_delegate"]]).split(", ")))
        keys = {key.strip() for listed in entry.get("dispatch", {}) for key in listed.split(",")}
        if not keys and "structured_delegate" not in entry:
            found.add("composite")
        for key in keys:
            if key.startswith("Composite") and not key.endswith("NonFunctional"):
                found.add("composite")
            found.update({key} & {"CPU", "CUDA"})
    return kinds


KINDS = kinds_of_operators()


def tree_of(event: Any) -> Tree | None:
    """The operators below a profiler event, down to those with kernels of their own."""
    name = event.name.removeprefix("aten::")
    if event.name == name or name not in KINDS:
        children = [tree for child in event.cpu_children if (tree := tree_of(child)) is not None]
        return ["", children] if children else None
    kinds = KINDS[name]
    below = {child.name.removeprefix("aten::") for child in event.cpu_children}
    if "composite" in kinds and ("CPU" not in kinds or "CUDA" not in kinds or below - ALLOCATIONS):
        # The profiler does not tell overloads apart. Where only some are composed of others, what was called
        # below decides; a kernel that calls more than allocations is then taken for a composition, and its own
        # name is not claimed.
        children = [tree for child in event.cpu_children if (tree := tree_of(child)) is not None]
        return [name, children] if children else None
    return [name, []] if "CUDA" in kinds else None


def trees(run: Callable[[], object]) -> list[Tree]:
    with profile(use_kineto=False) as profiler:
        run()
    roots = [event for event in profiler.function_events if event.cpu_parent is None]
    found: dict[str, Tree] = {}
    for root in roots:
        tree = tree_of(root)
        if tree is not None:
            found[json.dumps(tree)] = tree
    return list(found.values())


def differentiable(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from differentiable(item)


class Recorder:
    """What was recorded, by API."""

    def __init__(self) -> None:
        self.forward: dict[str, list[list[Tree]]] = {}
        self.backward: dict[str, list[list[Tree]]] = {}

    def call(self, api: str, function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> None:
        result: list[Any] = []
        try:
            forward = trees(lambda: result.append(function(*args, **kwargs)))
        except Exception as error:
            print(f"{api}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            return
        self.forward.setdefault(api, []).append(forward)
        outputs = [t for t in differentiable(result) if t.is_floating_point()]
        if not outputs:
            return
        try:
            gradients = [torch.ones_like(t) for t in outputs]
            backward = trees(lambda: torch.autograd.backward(outputs, gradients))
        except Exception as error:
            print(f"{api} backward: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            return
        self.backward.setdefault(api, []).append(backward)


def public_name(function: object, database_name: str) -> str | None:
    """``torch.linalg.det`` for the function a user calls by that name."""
    try:
        name = torch.overrides.resolve_name(function)
    except (AttributeError, TypeError, RuntimeError):
        name = None
    if name is None:
        try:
            found = attrgetter(database_name)(torch)
        except AttributeError:
            return None
        return f"torch.{database_name}" if found is function else None
    name = name.removeprefix("torch.")
    short = name.removeprefix("functional.")
    if hasattr(torch, short):
        name = short
    return None if name.startswith("aten.") else f"torch.{name}"


def record_functions(recorder: Recorder) -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if "." in info.variant_test_name or "sparse" in info.name or info.name.startswith("_"):
            continue
        dtypes = info.dtypes
        dtype = next((d for d in (torch.float32, torch.int64, torch.complex64) if d in dtypes), None)
        if dtype is None:
            continue
        needs_grad = info.supports_autograd and dtype.is_floating_point
        for variant in (info, *info.aliases):
            spelled = [(getattr(variant, "op", None), None)]
            spelled.append((getattr(variant, "method_variant", None), "torch.Tensor."))
            spelled.append((getattr(variant, "inplace_variant", None), "torch.Tensor."))
            for function, prefix in spelled:
                if function is None:
                    continue
                api = (
                    public_name(function, variant.name)
                    if prefix is None
                    else prefix + getattr(function, "__name__", "?")
                )
                if api is None or "<" in api or "?" in api:
                    continue
                inplace = api.endswith("_") and prefix is not None
                try:
                    samples = list(islice(info.sample_inputs("cpu", dtype, requires_grad=needs_grad), SAMPLES))
                except Exception as error:
                    print(f"{api}: no samples: {error}", file=sys.stderr)
                    break
                for sample in samples:
                    if inplace and sample.broadcasts_input:
                        continue
                    first = sample.input
                    if inplace and isinstance(first, torch.Tensor) and first.requires_grad:
                        first = first.clone()  # a leaf may not be changed
                    recorder.call(api, function, (first, *sample.args), sample.kwargs)


def record_modules(recorder: Recorder) -> None:
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        cls = info.module_cls
        home = "torch.nn" if cls.__module__.startswith("torch.nn.modules") else cls.__module__
        if home != "torch.nn" or not hasattr(torch.nn, cls.__name__):
            continue
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=True)
        for given in islice(inputs, SAMPLES):
            if given.forward_input is None:
                continue
            try:
                module = cls(*given.constructor_input.args, **given.constructor_input.kwargs)
            except Exception as error:
                print(f"{cls.__name__}: {error}", file=sys.stderr)
                continue
            arguments = given.forward_input
            recorder.call(f"torch.nn.{cls.__name__}", module, arguments.args, arguments.kwargs)


def record_random(recorder: Recorder) -> None:
    """Random functions without a place in the database, and what distributions do to draw a sample."""
    rates = torch.rand(4) + 0.5
    recorder.call("torch.poisson", torch.poisson, (rates,), {})
    recorder.call("torch.binomial", torch.binomial, (torch.full((4,), 9.0), torch.rand(4)), {})
    distributions = torch.distributions
    one, many = torch.ones(4), torch.full((4,), 9.0)
    examples = {
        "Bernoulli": (one / 2,),
        "Beta": (one, one),
        "Binomial": (many, one / 2),
        "Categorical": (one,),
        "Cauchy": (one, one),
        "Chi2": (one,),
        "ContinuousBernoulli": (one / 4,),
        "Dirichlet": (one,),
        "Exponential": (one,),
        "FisherSnedecor": (one, one),
        "Gamma": (one, one),
        "Geometric": (one / 2,),
        "Gumbel": (one, one),
        "HalfCauchy": (one,),
        "HalfNormal": (one,),
        "Kumaraswamy": (one, one),
        "Laplace": (one, one),
        "LogNormal": (one, one),
        "LogisticNormal": (one, one),
        "MultivariateNormal": (one, torch.eye(4)),
        "NegativeBinomial": (many, one / 2),
        "Normal": (one, one),
        "OneHotCategorical": (one,),
        "Pareto": (one, one),
        "Poisson": (one,),
        "RelaxedBernoulli": (one, one / 2),
        "RelaxedOneHotCategorical": (one, one),
        "StudentT": (one,),
        "Uniform": (one, one + 1),
        "VonMises": (one, one),
        "Weibull": (one, one),
        "Wishart": (many[0], torch.eye(4)),
    }
    for name, parameters in examples.items():
        distribution = getattr(distributions, name)(*parameters)
        recorder.call(f"torch.distributions.{name}", distribution.sample, (), {})


def main(output: str) -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    recorder = Recorder()
    record_random(recorder)
    record_functions(recorder)
    record_modules(recorder)
    Path(output).write_text(
        json.dumps({"torch": torch.__version__, "forward": recorder.forward, "backward": recorder.backward})
    )


if __name__ == "__main__":
    main(sys.argv[1])
