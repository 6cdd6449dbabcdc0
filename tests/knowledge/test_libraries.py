"""The rows of libraries: every one is complete, and a wrong one is refused with its place."""

from __future__ import annotations

import re

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge import DataError, Library
from ascend_migrate.knowledge.third_party import parse_libraries

ROWS = list(knowledge.libraries().values())

GOOD = """
- name: fastlib
  imports: [fastlib, fastlib_cuda]
  distributions: [Fast_Lib, fastlib-cu*]
  status: replaced
  message: "It is CUDA code."
  help: "Use slowlib."
  source: "https://example.org"
"""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(row: Library) -> None:
    assert "https://" in row.source or "torch_npu" in row.source, "a claim has a source"
    assert row.help.endswith(".")
    if row.status == "unknown":
        assert re.search("Nothing published|no published", row.message), "what is not known is said to be not known"
        assert row.level != "error", "what is not known is no failure"
    if row.min_version is not None:
        assert row.status in ("works", "needs")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_names_of_torch_npu_in_the_help_exist(row: Library) -> None:
    newest = knowledge.surface(knowledge.versions()[-1])
    for name in re.findall(r"torch(?:_npu|\.npu)[\w.]*\w", row.help):
        assert newest.has(name), name


def test_reading() -> None:
    (row,) = parse_libraries(GOOD, "libraries.yaml").values()
    assert row == Library(
        "fastlib",
        ("fastlib", "fastlib_cuda"),
        ("fast-lib", "fastlib-cu*"),
        "replaced",
        "error",
        "It is CUDA code.",
        "Use slowlib.",
        "https://example.org",
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("status: replaced", "status: fine", "field 'status': 'fine' is none of"),
        ("status: replaced", "", "field 'status': None is none of"),
        ("imports: [fastlib, fastlib_cuda]", "imports: fastlib", "field 'imports': 'fastlib' is not a list"),
        ("imports: [fastlib, fastlib_cuda]", "imports: [fast-lib]", "field 'imports': 'fast-lib' is not a name"),
        ("fastlib_cuda]", "fastlib]", "field 'imports': fastlib belongs to fastlib already"),
        ("CUDA code.", "CUDA code", "field 'message': must be a sentence"),
        ("help:", "halp:", "field 'help': is missing"),
        ('source: "https://example.org"', 'source: "x"\n  colour: red', "field 'colour': is not a field"),
        (
            "imports: [fastlib, fastlib_cuda]\n  distributions: [Fast_Lib, fastlib-cu*]",
            "imports: []",
            "must say how the library is recognized",
        ),
    ],
)
def test_a_wrong_row_is_refused(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    with pytest.raises(DataError) as error:
        parse_libraries(GOOD.replace(old, new), "libraries.yaml")
    assert str(error.value).startswith("libraries.yaml: row 1 (fastlib)")
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("dotted", "library", "name"),
    [
        ("flash_attn.bert_padding.unpad_input", "flash-attn", "flash_attn"),
        ("apex.amp.initialize", "apex.amp", "apex.amp"),
        ("apex", "apex", "apex"),
        ("faiss.StandardGpuResources", "Faiss for GPU", "faiss.StandardGpuResources"),
    ],
)
def test_imports(dotted: str, library: str, name: str) -> None:
    found = knowledge.library_of_import(dotted)
    assert found is not None
    assert (found[0].name, found[1]) == (library, name)


@pytest.mark.parametrize("dotted", ["faiss", "numpy", "torch.cuda", "numba.njit", "nvidia"])
def test_imports_of_no_row(dotted: str) -> None:
    assert knowledge.library_of_import(dotted) is None


@pytest.mark.parametrize(
    ("distribution", "library"),
    [
        ("flash_attn", "flash-attn"),
        ("Flash-Attn", "flash-attn"),
        ("cupy-cuda12x", "CuPy"),
        ("nvidia-cudnn-cu12", "NVIDIA's CUDA libraries"),
        ("nvidia-ml-py", "NVML"),
        ("faiss-cpu", None),
        ("numpy", None),
    ],
)
def test_distributions(distribution: str, library: str | None) -> None:
    found = knowledge.library_of_distribution(distribution)
    assert (found and found.name) == library
