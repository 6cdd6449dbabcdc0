"""Names of torch_npu that do not exist, moved, or are deprecated; the shim that patches PyTorch."""

from __future__ import annotations

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge import ApiMapping

ROWS = knowledge.npu_names()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cuda)
def test_row(convert, row: ApiMapping) -> None:
    result = convert(row.example.before, torch_npu=knowledge.versions()[-1])
    assert result.text == row.example.after
    assert result.errors == ()
    assert [finding.level for finding in result.findings] == [row.level] * len(result.findings)
    assert result.codes[0] == ("NPU503" if row.level == "info" else "NPU501")
    if row.npu is None:
        assert row.message in [finding.message for finding in result.findings]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cuda)
def test_what_a_row_says_of_existence_is_so(row: ApiMapping) -> None:
    found = knowledge.versions_with(row.cuda) if not row.cuda.startswith("acl.") else ()
    assert bool(found) == (row.level == "info"), "deprecated names exist, the others do not"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.npu_format_cast(x, 2)", "torch_npu.npu_format_cast(x, 2)"),
        ("torch.npu.npu_format_cast(x, 2)", "torch_npu.npu_format_cast(x, 2)"),
        ("torch.npu.OutOfMemoryError", "torch.OutOfMemoryError"),
        ("torch.npu.CUDAGraph()", "torch.npu.NPUGraph()"),
        ("torch_npu.synchronize()", "torch_npu.npu.synchronize()"),
        ("torch_npu.amp.GradScaler()", "torch_npu.npu.amp.GradScaler()"),
        ("torch_npu.DataLoader(d)", "torch.utils.data.DataLoader(d)"),
        ("torch.npu.clip_grad_norm_(p, 1)", "torch.nn.utils.clip_grad_norm_(p, 1)"),
        ("torch.npu.npu_no_such(x)", None),
        ("torch_npu.amp.no_such()", None),
        ("torch.npu.nvtx.range_push('a')", None),
    ],
)
def test_the_right_name_is_written(convert, before: str, after: str | None) -> None:
    head = "import torch\nimport torch_npu\n\n"
    result = convert(f"{head}{before}\n")
    assert result.text == f"{head}{before if after is None else after}\n"
    assert result.codes == ["NPU501"]
    assert result.findings[0].help


def test_an_operator_of_torch_brings_the_import_it_needs(convert) -> None:
    result = convert("import torch\n\ny = torch.npu_format_cast(x, 2)\n")
    assert result.text == "import torch\nimport torch_npu  # noqa: F401\n\ny = torch_npu.npu_format_cast(x, 2)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from torch_npu.amp import autocast", "from torch_npu.npu.amp import autocast"),
        ("from torch_npu import set_device, synchronize", "from torch_npu.npu import set_device, synchronize"),
        ("from torch_npu import npu, set_device", None),
        ("from torch_npu import no_such", None),
        ("import torch_npu.amp", None),
    ],
)
def test_imports(convert, before: str, after: str | None) -> None:
    result = convert(f"{before}\n")
    assert result.text == f"{before if after is None else after}\n"
    assert "NPU501" in result.codes


@pytest.mark.parametrize(
    "code",
    [
        "import torch_npu\ntry:\n    torch_npu.npu_no_such(x)\nexcept AttributeError:\n    pass\n",
        "try:\n    from torch_npu import no_such\nexcept ImportError:\n    no_such = None\n",
        "import torch_npu\nf = torch_npu.npu_no_such if hasattr(torch_npu, 'npu_no_such') else None\n",
        "from torch_npu import _C\n_C.anything()\n",
        "npu_format_cast = 1\n",
        "torch.npu_format_cast\n\nclass torch:\n    pass\n",
    ],
)
def test_silent(convert, code: str) -> None:
    assert "NPU501" not in convert(code).codes


def test_the_nearest_name_is_told(convert) -> None:
    (finding,) = convert("import torch_npu\n\ntorch_npu.optim.NpuFusedLAMBS(p)\n").findings
    assert "NpuFusedLamb" in finding.help


def test_versions_with_the_name_are_told(convert) -> None:
    source = "import torch\nimport torch_npu\n\ntorch.npu.NPUGraph()\n"
    (finding,) = convert(source, torch_npu="2.1.0.post8").findings
    assert "2.14.0" in finding.help
    assert convert(source, torch_npu="2.7.1").findings == ()


def test_the_shim_and_channels_last(convert) -> None:
    source = (
        "import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n\n"
        "x = x.to(memory_format=torch.channels_last)\n"
    )
    assert [(f.code, f.level) for f in convert(source).findings] == [("NPU502", "info"), ("NPU502", "warning")]
