from __future__ import annotations

import ast
import importlib
import json
import re
import textwrap
from pathlib import Path

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge.mappings import is_npu_name, parse_api_mappings, parse_environment_variables
from ascend_migrate.model import Target

NEWEST = knowledge.resolve_target(torch_npu=knowledge.versions()[-1])
ROWS = knowledge.api_mappings()
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cuda)


@each_row
def test_a_row_is_complete(row: knowledge.ApiMapping) -> None:
    assert row.message.endswith(".")
    assert row.help
    assert row.source
    assert re.search(r"https?://|torch_npu|PyTorch|CUDA|torch\.", row.source)
    assert row.covers(row.name)


@each_row
def test_the_example_is_a_program_that_uses_the_name(row: knowledge.ApiMapping) -> None:
    ast.parse(row.example.before)
    ast.parse(row.example.after)
    assert row.name.rpartition(".")[2] in row.example.before
    if row.npu is None:
        assert row.example.after == row.example.before
    else:
        assert row.npu in row.example.after
        assert "import torch_npu  # noqa: F401" in row.example.after


@each_row
def test_the_replacement_exists_wherever_it_is_given(row: knowledge.ApiMapping) -> None:
    given = 0
    for version in knowledge.versions():
        target = knowledge.resolve_target(torch_npu=version)
        name = row.replacement(target)
        if name is not None:
            given += 1
            assert not is_npu_name(name) or knowledge.surface(version).has(name)
    assert (given > 0) == (row.npu is not None)
    assert row.replacement(NEWEST) == row.npu


KNOWN_TO_CUDA_BUILDS_ONLY = (
    "torch.distributed.ProcessGroupNCCL",
    "torch.distributed.distributed_c10d.ProcessGroupNCCL",
)


@each_row
def test_pytorch_has_the_name(row: knowledge.ApiMapping) -> None:
    pytest.importorskip("torch")
    if row.name in KNOWN_TO_CUDA_BUILDS_ONLY:
        pytest.skip("needs a PyTorch with CUDA")
    parts = row.name.split(".")
    value = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part):
            importlib.import_module(".".join(parts[:depth]))
        value = getattr(value, part)


def test_every_public_name_of_torch_cuda_is_answered() -> None:
    torch_cuda = pytest.importorskip("torch.cuda")
    surface = knowledge.surface(NEWEST.torch_npu)
    names = [name for name in torch_cuda.__all__ if not surface.has(f"torch.npu.{name}")]
    assert "CUDAGraph" in names
    assert [name for name in names if knowledge.find_api_mapping(f"torch.cuda.{name}") is None] == []


def test_every_collected_gap_is_answered(facts: Path) -> None:
    gaps = json.loads((facts / "torch_cuda_without_npu.json").read_bytes())
    for version, names in gaps.items():
        for name in names:
            row = knowledge.find_api_mapping(f"torch.cuda.{name}")
            assert row is not None, (version, name)
            assert row.replacement(knowledge.resolve_target(torch_npu=version)) != f"torch.npu.{name}"


@pytest.mark.parametrize(
    ("name", "torch_npu", "replacement"),
    [
        ("torch.cuda.CUDAGraph", "2.7.1", "torch.npu.NPUGraph"),
        ("torch.cuda.CUDAGraph", "2.1.0.post8", None),
        ("torch.cuda.OutOfMemoryError", "2.5.1", "torch.OutOfMemoryError"),
        ("torch.cuda.OutOfMemoryError", "2.4.0", None),
        ("torch.cuda.get_stream_from_external", "2.13.0", "torch.npu.ExternalStream"),
        ("torch.cuda.get_stream_from_external", "2.7.1", None),
        ("torch.cuda.nvtx.range_push", "2.12.0", "torch.npu.mstx.range_push"),
        ("torch.cuda.nvtx.range_push", "2.7.1", None),
        ("torch.cuda.nvtx.mark", "2.7.1", "torch.npu.mstx.mark"),
        ("torch.cuda.cudart", "2.14.0", None),
        ("torch.distributed.is_nccl_available", "2.1.0.post8", "torch_npu.distributed.is_hccl_available"),
    ],
)
def test_replacements(name: str, torch_npu: str, replacement: str | None) -> None:
    row = knowledge.find_api_mapping(name)
    assert row is not None
    assert row.replacement(knowledge.resolve_target(torch_npu=torch_npu)) == replacement


def test_min_torch_npu_is_heeded() -> None:
    row = parse_api_mappings(row_text(npu="torch.npu.Stream", extra='min_torch_npu: "2.9.0"'), "rows.yaml")[0]
    assert row.replacement(Target("910b", "2.8.0", "2.8.0")) is None
    assert row.replacement(Target("910b", "2.9.0", "2.9.0")) == "torch.npu.Stream"


def test_the_nearest_row_speaks() -> None:
    found = {
        name: getattr(knowledge.find_api_mapping(name), "cuda", None)
        for name in (
            "torch.cuda.nvtx.range_push",
            "torch.cuda.nvtx.something_new",
            "torch.cuda.nvtx",
            "torch.cuda.nvtxx",
            "torch.backends.cudnn.version",
            "torch.backends.cudnn.benchmark",
            "torch.nn.DataParallel.forward",
            "torch.cuda.Stream",
        )
    }
    assert found == {
        "torch.cuda.nvtx.range_push": "torch.cuda.nvtx.range_push",
        "torch.cuda.nvtx.something_new": "torch.cuda.nvtx.*",
        "torch.cuda.nvtx": "torch.cuda.nvtx.*",
        "torch.cuda.nvtxx": None,
        "torch.backends.cudnn.version": "torch.backends.cudnn.version",
        "torch.backends.cudnn.benchmark": "torch.backends.cudnn.*",
        "torch.nn.DataParallel.forward": None,
        "torch.cuda.Stream": None,
    }


def row_text(
    cuda: str = "torch.cuda.Thing",
    npu: str = "null",
    message: str = "It is so.",
    example: str = "{before: 'x = 1'}",
    extra: str = "",
) -> str:
    if npu != "null" and example == "{before: 'x = 1'}":
        example = "{before: 'x = 1', after: 'x = 2'}"
    return textwrap.dedent(
        f"""
        - cuda: "{cuda}"
          npu: {npu}
          message: "{message}"
          help: Do that.
          source: somewhere
          example: {example}
          {extra}
        """
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rows: 1", "expected a list of rows"),
        ("- 1", "row 1: expected fields"),
        ("- {npu: null}", "row 1: field 'cuda' is missing"),
        ("a: [", "rows.yaml: while parsing"),
        (row_text() + row_text(), r"row 2 \(torch.cuda.Thing\): field 'cuda': is there twice"),
        (row_text(cuda="torch cuda"), "'torch cuda' is not a name"),
        (row_text(npu="7"), "field 'npu': 7 is not a name"),
        (row_text(cuda="torch.cuda.nvtx.*", npu="torch.npu.Stream"), "cannot have one replacement"),
        (row_text().replace("  npu: null\n", ""), "field 'npu': is missing"),
        (row_text(message="It is so"), "must be a sentence"),
        (row_text(message="x" * 200 + "."), "must be short"),
        (row_text().replace("Do that.", "''"), "field 'help': is missing or no text"),
        (row_text().replace("somewhere", "[1]"), "field 'source': is missing or no text"),
        (row_text(extra="level: fatal"), "'fatal' is none of info, warning, error"),
        (row_text(extra="safety: unsafe"), "'unsafe' is neither safe nor review"),
        (row_text(extra="min_torch: 2.5"), "field 'min_torch': 2.5 must be quoted"),
        (row_text(extra="min_torch_npu: new"), "not a version number: 'new'"),
        (row_text(extra="sorce: typo"), "field 'sorce': is not a field of these rows"),
        (row_text(example="x = 1"), "field 'example': must have the fields"),
        (row_text(example="{before: 1}"), "'before' is no text"),
        (row_text(example="{before: 'a = 1', after: 'a = 2'}"), "must differ exactly when"),
        (row_text(npu="torch.npu.Stream", example="{before: 'a = 1', after: 'a = 1'}"), "must differ exactly when"),
    ],
)
def test_wrong_rows_are_named(text: str, problem: str) -> None:
    with pytest.raises(knowledge.DataError, match=problem):
        parse_api_mappings(text, "rows.yaml")


VARIABLES = list(knowledge.environment_variables().values())


@pytest.mark.parametrize("row", VARIABLES, ids=lambda row: row.name)
def test_a_variable_is_complete(row: knowledge.EnvironmentVariable) -> None:
    assert row.message.endswith(".")
    assert row.help
    assert row.source
    assert row.npu is None or not re.search("CUDA|NCCL|NVIDIA", row.npu)


def test_variables() -> None:
    twins = {name: row.npu for name, row in knowledge.environment_variables().items()}
    assert twins["CUDA_VISIBLE_DEVICES"] == "ASCEND_RT_VISIBLE_DEVICES"
    assert twins["PYTORCH_CUDA_ALLOC_CONF"] == "PYTORCH_NPU_ALLOC_CONF"
    assert twins["CUDA_LAUNCH_BLOCKING"] == "ASCEND_LAUNCH_BLOCKING"
    assert twins["NCCL_SOCKET_IFNAME"] == "HCCL_SOCKET_IFNAME"
    assert twins["NCCL_DEBUG"] is None


def test_the_nearest_variable_speaks() -> None:
    def found(name: str) -> str | None:
        row = knowledge.find_environment_variable(name)
        return row.name if row else None

    assert found("NCCL_DEBUG") == "NCCL_DEBUG"
    assert found("NCCL_P2P_LEVEL") == "NCCL_*"
    assert found("TORCH_NCCL_SOMETHING") == "TORCH_NCCL_*"
    assert found("HOME") is None


VARIABLE = "- {name: X_Y, npu: null, message: So., help: Do., source: here}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (VARIABLE.replace("X_Y", "x y"), "'x y' is not a name"),
        (VARIABLE.replace("X_Y", "X_*").replace("null", "Y_Z"), "a row for a prefix cannot have a replacement"),
        (VARIABLE.replace("null", "lower"), "'lower' is not a name"),
        (VARIABLE.replace("here}", "here, same_values: maybe}"), "'maybe' is neither true nor false"),
        (VARIABLE.replace("here}", "here, cuda: x}"), "'cuda': is not a field"),
        (VARIABLE + "\n" + VARIABLE, "is there twice"),
    ],
)
def test_wrong_variables_are_named(text: str, problem: str) -> None:
    assert parse_environment_variables(VARIABLE, "rows.yaml")["X_Y"].same_values
    with pytest.raises(knowledge.DataError, match=problem):
        parse_environment_variables(text, "rows.yaml")
