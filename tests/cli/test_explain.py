from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("NPU102", "# NPU102: no-counterpart\n"),
        ("npu102", "# NPU102: no-counterpart\n"),
        ("no-counterpart", "# NPU102: no-counterpart\n"),
        ("torch.cuda.nvtx.range_push", "range_push"),
        ("torch.cuda.OutOfMemoryError", "On the NPU: `torch.OutOfMemoryError`"),
        ("torch.cuda.Stream", "torch_npu 2.7.1 has it: `torch.npu.Stream`."),
        ("torch_npu.npu_swiglu", "torch_npu 2.7.1 has it"),
        ("flash_attn", "# flash-attn\n"),
        ("flash-attn", "# flash-attn\n"),
        ("CUDA_VISIBLE_DEVICES", "On the NPU: `ASCEND_RT_VISIBLE_DEVICES`, with the same values."),
        ("NCCL_IB_HCA", "# `NCCL_"),
        ("aten::cumsum", "The operator has an NPU kernel in torch_npu 2.7.1."),
        ("107002", "# 107002"),
        ("EI0006", "# EI0006"),
        ("ERR01002", "# ERR01002"),
    ],
)
def test_pages(cli, query: str, said: str) -> None:
    done = cli("explain", query)
    assert done.stderr == b""
    assert said in done.stdout.decode()
    assert done.returncode == 0


def test_the_version_decides(cli) -> None:
    said = cli("explain", "torch.cuda.OutOfMemoryError", "--torch-npu", "2.1.0.post8").stdout.decode()
    assert "No replacement in torch_npu 2.1.0.post8: it fails on the NPU as the code stands." in said
    done = cli("explain", "NPU101", "--torch-npu", "new")
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("no-counterpar", "`no-counterpart`"),
        ("torch.cuda.nvtxx", "`torch.cuda.nvtx`"),
        ("CUDA_VISIBLE_DEVICE", "`CUDA_VISIBLE_DEVICES`"),
        ("flash_attnn", "`flash_attn`"),
    ],
)
def test_near_matches(cli, query: str, near: str) -> None:
    done = cli("explain", query)
    assert (done.returncode, done.stdout) == (2, b"")
    said = done.stderr.decode()
    assert f"nothing is known of `{query}`. Did you mean " in said and near in said


def test_nothing_near(cli) -> None:
    done = cli("explain", "qqqqqqqqqqqq")
    assert done.stderr.decode() == "error: nothing is known of `qqqqqqqqqqqq`.\n"
    assert cli("explain").returncode == 2


def test_logs(cli, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("start\nRuntimeError: call aclrtSetDevice failed, error code is 107001\n")
    done = cli("explain", "--log", "run.log")
    assert done.returncode == 0
    assert "107001" in done.stdout.decode()
    document = json.loads(cli("explain", "--log", "run.log", "--format", "json").stdout)
    assert document["lines"] == 2
    done = cli("explain", "--log", "none.log")
    assert (done.returncode, done.stderr) == (2, b"error: none.log: cannot be read: No such file or directory\n")


def test_in_chinese(cli) -> None:
    said = cli("explain", "CUDA_VISIBLE_DEVICES", "--lang", "zh").stdout.decode()
    assert "在 NPU 上" in said


def test_rules(cli) -> None:
    lines = cli("rules").stdout.decode().splitlines()
    assert lines[0].split() == ["Code", "Name", "Level", "Fixed", "About"]
    assert any(line.startswith("NPU101  torch-cuda ") and "  yes " in line for line in lines)
    rows = json.loads(cli("rules", "--format", "json").stdout)["rules"]
    by_code = {row["code"]: row for row in rows}
    assert by_code["NPU102"]["fixable"] == "no" and by_code["NPU101"]["fixable"] == "yes"
    assert by_code["NPU110"]["level"] == "error"
    assert all(row["summary"] and len(row["summary"]) < 250 for row in rows)
    assert [row["code"] for row in rows] == sorted(by_code)


def test_targets(cli) -> None:
    said = cli("targets").stdout.decode()
    assert "Atlas 800T A2" in said and "310p" in said
    assert "2.7.1*" in said
    document = json.loads(cli("targets", "--format", "json").stdout)
    assert {chip["code"] for chip in document["chips"]} >= {"910a", "910b", "910_93", "310p"}
    row = next(row for row in document["versions"] if row["torch_npu"] == "2.7.1")
    assert (row["torch"], row["cann"]) == ("2.7.1", "8.3.RC1")
