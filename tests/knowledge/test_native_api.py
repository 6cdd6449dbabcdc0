"""What is known of PyTorch's own APIs: the shipped data, how it is made, and the facts it must agree with."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge import operators

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "native_apis.py"


@pytest.fixture(scope="module")
def native_apis() -> ModuleType:
    specification = importlib.util.spec_from_file_location("native_apis", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["native_apis"] = module
    specification.loader.exec_module(module)
    return module


def test_fallbacks_of_a_version() -> None:
    assert knowledge.fallback("torch.linalg.det", "2.7.1").forward == ("_linalg_det",)
    assert knowledge.fallback("torch.Tensor.lgamma", "2.7.1") == knowledge.Fallback(("lgamma",), ("digamma",))
    assert knowledge.fallback("torch.nn.MultiLabelMarginLoss", "2.7.1").forward == ()
    assert knowledge.fallback("torch.nn.Parameter", "2.7.1") == knowledge.Fallback()
    assert knowledge.fallback("torch.linalg.cholesky", "2.1.0.post17").forward == ("linalg_cholesky_ex",)
    assert knowledge.fallback("torch.linalg.cholesky", "2.14.0").forward == ()


def test_no_operator_with_a_kernel_is_called_missing() -> None:
    for version in knowledge.versions():
        surface = knowledge.surface(version)
        for api in knowledge.fallback_apis(version):
            found = knowledge.fallback(api, version)
            for name in (*found.forward, *found.backward):
                assert not surface.has_operator(name), f"{api}: {name} has a kernel in {version}"


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0"])
def test_the_running_package_has_no_such_kernel(facts: Path, version: str) -> None:
    live = json.loads((facts / f"torch_npu_live_{version}.json").read_text(encoding="utf-8"))["dispatch"]
    kernels = {name for key in ("PrivateUse1", "AutogradPrivateUse1") for name in live[key]}
    bases = {name.split("::")[1].partition(".")[0] for name in kernels if name.startswith("aten::")}
    for api in knowledge.fallback_apis(version):
        found = knowledge.fallback(api, version)
        assert bases.isdisjoint((*found.forward, *found.backward)), api


def test_missing_operators_are_those_of_the_comparison_with_cuda(facts: Path) -> None:
    document = json.loads((facts / "cuda_ops_without_npu_kernel_2.13.0.json").read_text(encoding="utf-8"))
    missing = {name.partition(".")[0] for name in document["2.13.0(live)"]}
    claimed = {name for api in knowledge.fallback_apis("2.13.0") for name in knowledge.fallback(api, "2.13.0").forward}
    assert claimed <= missing | {"linalg_lstsq"}


def test_documented_dtypes(facts: Path) -> None:
    with (facts / "native_api_support.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["torch"] == "2.7.1" and row["dtypes"]]
    assert len(rows) == knowledge.dtype_coverage("fp32", "2.7.1")[1]
    for row in rows:
        assert knowledge.documented_dtypes(row["api"], "2.7.1") == frozenset(row["dtypes"].split())
    assert knowledge.documented_dtypes("torch.nn.Parameter", "2.7.1") is None
    assert knowledge.dtype_coverage("complex32", "2.7.1")[0] == 0


def test_documentation_of_the_nearest_release() -> None:
    assert knowledge.documentation_release("2.1.0.post17") == "2.7.1"
    assert knowledge.documentation_release("2.9.0") == "2.7.1"
    assert knowledge.documentation_release("2.12.0.post3") == "2.12.0"
    assert knowledge.documentation_release("2.14.0") == "2.13.0"


def test_unconfirmed() -> None:
    assert "torch.Tensor.to_sparse_csr" in knowledge.unconfirmed_apis("910b", "2.7.1")
    assert knowledge.unconfirmed_apis("310p", "2.7.1") == frozenset()  # the documentation does not speak of it
    assert "torch.nn.DataParallel" not in knowledge.unconfirmed_apis("910b", "2.7.1")


def test_shipped_data_is_small() -> None:
    assert operators._DATA.stat().st_size < 100_000


# -- how it is made -----------------------------------------------------------------------------------------


def test_a_tree_is_cut_where_a_kernel_is(native_apis: ModuleType) -> None:
    tree = ["composed", [["with_kernel", [["below", []]]], ["without", []], ["detach", []]]]
    assert native_apis.without_kernel(tree, {"with_kernel"}.__contains__) == {"without"}
    assert native_apis.without_kernel(tree, {"composed"}.__contains__) == set()


def test_forms_of_an_operator_count_for_each_other(native_apis: ModuleType) -> None:
    has = native_apis.kernels("2.7.1")
    assert has("add")
    assert has("add_")
    assert has("relu_")
    assert not has("digamma_")


def test_a_claim_needs_every_call(native_apis: ModuleType) -> None:
    samples = {
        "torch.always": [[["digamma", []]], [["digamma", []], ["lgamma", []]]],
        "torch.sometimes": [[["digamma", []]], [["add", []]]],
    }
    (row,) = native_apis.fallbacks(samples)
    assert row[1:] == ["digamma", "torch.always"]
    assert row[0] == (1 << len(knowledge.versions())) - 1


def test_documentation_leaves_out_what_was_traced(native_apis: ModuleType) -> None:
    row = {"torch": "2.7.1", "a2": "0", "a3": "1", "950dt": "0", "dtypes": "", "fallback_cpu": ""}
    rows = [{**row, "api": api} for api in ("torch.nested.narrow", "torch.nested.other", "torch.jit.Attribute.type")]
    found = native_apis.documented(rows, {"torch.nested.other"})
    assert found["unconfirmed"] == {"910b": [[1, "torch.nested.narrow"]]}


def test_dump_is_what_is_shipped(native_apis: ModuleType) -> None:
    text = operators._DATA.read_text(encoding="utf-8")
    assert native_apis.dump(json.loads(text)) == text
