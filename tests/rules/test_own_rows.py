"""A project's own rows: names of its own packages, and its own answers for names of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_migrate import knowledge
from ascend_migrate.engine.index import build, gather
from ascend_migrate.engine.pipeline import EngineOptions, process
from ascend_migrate.knowledge.mappings import DataError, load_own_rows
from ascend_migrate.model import FileReport

ROWS = """
- cuda: mylib.cuda_utils.sync
  npu: mylib.npu_utils.wait
  message: "Our sync waits for CUDA."
  help: "Use the NPU's."
- cuda: mylib.cuda_utils.flush
  npu: torch_npu.npu.synchronize
  message: "flush is synchronize."
- cuda: mylib.kernels
  npu: mylib.npu_kernels
  safety: review
  message: "The kernels were written anew."
- cuda: mylib.cuda_utils.pin.*
  npu: null
  level: warning
  message: "Pinning does nothing on the NPU."
- cuda: torch.cuda.nvtx.range_push
  npu: mylib.ranges.push
  message: "Use our ranges."
"""

Own = Callable[..., FileReport]


@pytest.fixture
def own(tmp_path: Path) -> Own:
    """``own(source)`` converts with the rows; a second conversion changes nothing."""
    file = tmp_path / "rows.yaml"
    file.write_text(ROWS)

    def run(source: str, rows: str = "") -> FileReport:
        options = EngineOptions(knowledge.resolve_target(), own_rows=load_own_rows(file))
        data = source.encode()
        facts = gather("a.py", data)
        report = process("a.py", data, options, build([facts] if facts else []))
        assert report.errors == ()
        if report.new_bytes is not None:
            assert process("a.py", report.new_bytes, options, build([])).new_bytes is None
        return report

    return run


def text(report: FileReport) -> str:
    assert report.new_bytes is not None
    return report.new_bytes.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from mylib.cuda_utils import sync\n\nsync()\n",
            "from mylib.npu_utils import wait as sync\n\nsync()\n",
        ),
        (
            "from mylib.cuda_utils import sync, other\n\nsync()\n",
            "from mylib.npu_utils import wait as sync\nfrom mylib.cuda_utils import other\n\nsync()\n",
        ),
        (
            "import mylib.cuda_utils\n\nmylib.cuda_utils.sync()\n",
            "import mylib.cuda_utils\nimport mylib.npu_utils\n\nmylib.npu_utils.wait()\n",
        ),
        (
            "from mylib import cuda_utils as cu\n\ncu.sync()\ncu.sync()\n",
            "from mylib import cuda_utils as cu\nimport mylib.npu_utils\n\n"
            "mylib.npu_utils.wait()\nmylib.npu_utils.wait()\n",
        ),
        (
            "import mylib.npu_utils\nimport mylib.cuda_utils as cu\n\ncu.sync()\n",
            "import mylib.npu_utils\nimport mylib.cuda_utils as cu\n\nmylib.npu_utils.wait()\n",
        ),
        (
            "from mylib.cuda_utils import flush\n\nflush()\n",
            "from torch_npu.npu import synchronize as flush\n\nflush()\n",
        ),
        (
            "import mylib.kernels as mk\n\nmk.gelu(mk.x)\n",
            "import mylib.npu_kernels as mk\n\nmk.gelu(mk.x)\n",
        ),
        (
            "from mylib import kernels\n\nkernels.gelu(1)\n",
            "from mylib import npu_kernels as kernels\n\nkernels.gelu(1)\n",
        ),
        (
            "import torch\n\ntorch.cuda.nvtx.range_push('a')\n",
            "import torch\nimport mylib.ranges\n\nmylib.ranges.push('a')\n",
        ),
    ],
)
def test_names_are_replaced(own: Own, before: str, after: str) -> None:
    report = own(before)
    assert text(report) == after


def test_the_row_speaks(own: Own) -> None:
    (finding,) = own("import mylib.cuda_utils as cu\n\ncu.sync()\n").findings
    assert (finding.code, finding.message, finding.help) == ("NPU101", "Our sync waits for CUDA.", "Use the NPU's.")


def test_a_forbidden_name(own: Own) -> None:
    report = own("from mylib.cuda_utils import pin\n\npin.all()\n")
    assert report.new_bytes is None
    assert [(f.code, f.level, f.message) for f in report.findings] == [
        ("NPU103", "warning", "Pinning does nothing on the NPU.")
    ] * 2, "at the import and at the use"


def test_where_the_name_is_something_else_nothing_is_written(own: Own) -> None:
    report = own("from mylib import cuda_utils\n\n\ndef f(mylib):\n    cuda_utils.sync()\n")
    assert report.new_bytes is None
    assert [f.code for f in report.findings] == ["NPU101"]
    assert own("import yourlib.cuda_utils as cu\n\ncu.sync()\n").findings == ()


def test_the_rest_converts_as_ever(own: Own) -> None:
    report = own("import torch\n\ntorch.cuda.synchronize()\ntorch.cuda.nvtx.mark('x')\n")
    assert "torch.npu.synchronize()" in text(report)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("- cuda: mylib.sync\n  npu: null\n", r"row 1 \(mylib.sync\): field 'message': is missing"),
        ('- cuda: mylib\n  npu: null\n  message: "No."\n', r"row 1 \(mylib\): field 'cuda': 'mylib' is not a name"),
        ('- cuda: a.b\n  npu: null\n  message: "No."\n  halp: x\n', "halp"),
        ('- cuda: a.b\n  npu: null\n  message: "No."\n  level: fatal\n', "field 'level': 'fatal' is none of"),
        ("a: b\n", "expected a list of rows"),
        ("- [", "rows.yaml"),
    ],
)
def test_wrong_rows_say_where(tmp_path: Path, rows: str, message: str) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text(rows)
    with pytest.raises(DataError, match=message) as raised:
        load_own_rows(file)
    assert str(file) in str(raised.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.yaml: cannot be read: No such file or directory"):
        load_own_rows(tmp_path / "none.yaml")
