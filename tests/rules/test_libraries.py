"""Libraries at their imports, by how much the code depends on them, and in setup.py."""

from __future__ import annotations

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge import Library
from ascend_migrate.rules._requirements import CODES

IMPORTED = [row for row in knowledge.libraries().values() if row.imports and row.status != "works"]


def _libraries(result) -> list[tuple[str, str, int]]:
    return [(f.code, f.level, f.span.line) for f in result.findings if f.code.startswith("NPU60")]


@pytest.mark.parametrize("row", IMPORTED, ids=lambda row: row.name)
def test_every_row_is_found_at_its_import(convert, row: Library) -> None:
    for name in row.imports:
        module, _, member = name.rpartition(".")
        source = f"from {module} import {member}\n" if module else f"import {name}\n"
        assert _libraries(convert(source)) == [(CODES[row.status], row.level, 1)], source


@pytest.mark.parametrize(
    "row", [r for r in knowledge.libraries().values() if r.status == "works"], ids=lambda r: r.name
)
def test_what_works_is_not_reported(convert, row: Library) -> None:
    for name in row.imports:
        assert convert(f"import {name}\n").findings == ()


@pytest.mark.parametrize(
    ("source", "level"),
    [
        ("import flash_attn\n", "error"),
        ("from flash_attn.bert_padding import unpad_input\n", "error"),
        ("try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n", "info"),
        ("try:\n    import flash_attn\nexcept (ImportError, OSError):\n    pass\n", "info"),
        ("try:\n    import flash_attn\nexcept:\n    pass\n", "info"),
        ("try:\n    import flash_attn\nexcept ImportError:\n    raise RuntimeError('install it')\n", "error"),
        ("try:\n    import flash_attn\nexcept ValueError:\n    pass\n", "error"),
        ("if is_flash_attn_available():\n    import flash_attn\n", "info"),
        ("if HAS_FLASH:\n    import flash_attn\n", "info"),
        ("if x > 1:\n    import flash_attn\n", "error"),
        ("def f():\n    if not is_flash_attn_available():\n        return\n    import flash_attn\n", "info"),
        ("def f():\n    if not is_flash_attn_available():\n        raise E\n    import flash_attn\n", "warning"),
        ("def f():\n    import flash_attn\n", "warning"),
        ("def f():\n    try:\n        import flash_attn\n    except ImportError:\n        return None\n", "info"),
        ("from contextlib import suppress\nwith suppress(ImportError):\n    import flash_attn\n", "info"),
        ("import importlib\nm = importlib.import_module('flash_attn')\n", "error"),
        ("m = __import__('flash_attn')\n", "error"),
    ],
)
def test_how_much_the_code_depends_on_it(convert, source: str, level: str) -> None:
    assert [(code, found) for code, found, _ in _libraries(convert(source))] == [("NPU603", level)]


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import flash_attn\n",
        "import importlib.util\nok = importlib.util.find_spec('flash_attn')\n",
        "from .flash_attn import f\n",
        "flash_attn = None\nprint(flash_attn)\n",
        "'''We use flash_attn and triton.'''\n",
        "if is_npu_available():\n    from torch_npu import npu_fusion_attention\nelse:\n    import flash_attn\n",
        "import numba\n\n@numba.njit\ndef f(): ...\n",
        "import faiss\n\nindex = faiss.IndexFlatL2(8)\n",
        "import pytorch_lightning as pl\n\nclass M(pl.LightningModule): ...\n",
        "import torchvision\n\ntorchvision.ops.box_iou(a, b)\n",
        "import apexlib\n",
    ],
)
def test_silent(convert, source: str) -> None:
    assert _libraries(convert(source)) == []


def test_once_per_file_at_the_use_that_matters_most(convert) -> None:
    source = (
        "try:\n    import triton\nexcept ImportError:\n    triton = None\n\n\ndef f():\n    import triton.language\n"
    )
    assert _libraries(convert(source)) == [("NPU603", "warning", 8)]


def test_a_guarded_import_makes_its_uses_harmless(convert) -> None:
    source = (
        "try:\n    from apex import amp\nexcept ImportError:\n    amp = None\n\n\ndef scale(loss, optimizer):\n"
        "    return amp.scale_loss(loss, optimizer)\n"
    )
    assert _libraries(convert(source)) == [("NPU603", "info", 2)]


def test_the_part_says_more_than_the_whole(convert) -> None:
    (finding,) = convert("import apex\nfrom apex.optimizers import FusedAdam\n").of("NPU603")
    assert "optimizers" in finding.message


def test_the_project_itself_is_no_library(convert) -> None:
    source = "from mmcv.ops import nms\n"
    assert _libraries(convert(source, path="mmcv/ops/box.py")) == []
    assert _libraries(convert(source, path="detector/box.py")) == [("NPU604", "warning", 1)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("providers = ['CUDAExecutionProvider']\n", [("NPU603", "warning", 1)]),
        ("if 'CUDAExecutionProvider' in names:\n    pass\n", [("NPU603", "info", 1)]),
        ("providers = ['CANNExecutionProvider', 'CPUExecutionProvider']\n", []),
    ],
)
def test_execution_providers(convert, source: str, found: list[tuple[str, str, int]]) -> None:
    assert _libraries(convert(source)) == found


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        ("install_requires=['flash-attn>=2', 'numpy']", [("NPU603", "error", 3)]),
        ("extras_require={'fast': ['flash-attn']}", [("NPU603", "info", 3)]),
        ("install_requires=['torch==2.7.1+cu118']", [("NPU606", "error", 3)]),
        ("install_requires=['torch>=1.8,<2']", [("NPU607", "warning", 3)]),
        ("install_requires=['torch>=2.0', 'transformers']", []),
        ("install_requires=['accelerate==0.15.0']", [("NPU604", "warning", 3)]),
        ("keywords=['flash-attn']", []),
    ],
)
def test_setup_py(convert, argument: str, found: list[tuple[str, str, int]]) -> None:
    assert _libraries(convert(f"from setuptools import setup\n\nsetup({argument})\n")) == found
