"""Dtypes: the spellings of bfloat16, float64 on the way to the device, and the predicate for configurations."""

from __future__ import annotations

import pytest

from ascend_migrate.rules._dtypes import asks_for_bfloat16, is_bfloat16, names_dtype

FAMILY = ("NPU3",)


def levels(convert, source: str, soc: str | None = None) -> list[tuple[str, str]]:
    return [(f.code, f.level) for f in convert(source, select=FAMILY, soc=soc).findings]


@pytest.mark.parametrize(
    "line",
    [
        "x = y.to(torch.bfloat16)",
        "x = y.bfloat16()",
        "x = torch.zeros(3, dtype=torch.bfloat16)",
        "with torch.autocast('npu', dtype=torch.bfloat16): pass",
        "model = load(torch_dtype='bfloat16')",
        "trainer = Trainer(precision='bf16-mixed')",
        "args = TrainingArguments(bf16=True)",
        "accelerator = Accelerator(mixed_precision='bf16')",
        "config = {'bf16': True}",
        "config = {'dtype': 'bfloat16'}",
        "dtype = 'bfloat16'",
        "parser.add_argument('--dtype', default='bf16')",
        "bf16 = True",
    ],
)
def test_every_spelling_of_bfloat16(convert, line: str) -> None:
    source = f"import torch\n\n{line}\n"
    assert levels(convert, source, "310p") == [("NPU301", "error")]
    assert levels(convert, source, "910a") == [("NPU301", "error")]
    assert levels(convert, source, "310b") == [("NPU301", "info")]  # not known there
    assert levels(convert, source, "910b") == []


@pytest.mark.parametrize(
    "line",
    [
        "if x.dtype == torch.bfloat16: pass",
        "if x.dtype in (torch.float16, torch.bfloat16): pass",
        "TABLE = {'fp16': torch.float16, 'bf16': torch.bfloat16}",
        "args = TrainingArguments(bf16=False)",
        "parser.add_argument('--dtype', choices=['bf16', 'fp16'], default='fp16')",
        "dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16",
        "print('bfloat16')",
        "size = torch.finfo(torch.bfloat16).bits",
    ],
)
def test_what_only_speaks_of_bfloat16(convert, line: str) -> None:
    assert levels(convert, f"import torch\n\n{line}\n", "310p") == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(dtype=torch.bfloat16): pass",
        "if args.precision == 'bf16':\n    dtype = torch.bfloat16",
        "dtype = torch.bfloat16 if use_bf16 else torch.float16",
    ],
)
def test_a_choice_is_a_warning(convert, source: str) -> None:
    assert levels(convert, f"import torch\n\n{source}\n", "310p") == [("NPU301", "warning")]


@pytest.mark.parametrize(
    ("key", "value", "asked"),
    [
        ("bf16", True, True),
        ("bf16", "true", True),
        ("bf16", False, False),
        ("bf16", "auto", False),
        ("bf16", {"enabled": True}, True),
        ("bf16", {"enabled": "auto"}, False),
        ("--bf16", True, True),
        ("torch_dtype", "bfloat16", True),
        ("mixed_precision", "bf16", True),
        ("precision", "bf16-mixed", True),
        ("compute-dtype", "torch.bfloat16", True),
        ("mixed_precision", "fp16", False),
        ("name", "bf16", False),
        ("bf16_note", True, False),
    ],
)
def test_predicate_for_configurations(key: str, value: object, asked: bool) -> None:
    assert asks_for_bfloat16(key, value) is asked


def test_words() -> None:
    assert names_dtype("bnb_4bit_compute_dtype")
    assert not names_dtype("prototype")
    assert is_bfloat16("BF16")
    assert not is_bfloat16("bf16_model.pt")
    assert not is_bfloat16(True)


@pytest.mark.parametrize(
    "line",
    [
        "x.double()",
        "x.to(torch.float64)",
        "x.to(device, torch.double)",
        "x.type(torch.DoubleTensor)",
        "x.sum().to(dtype=torch.float64)",
        "torch.sum(x, dtype=torch.float64)",
        "torch.zeros(3, dtype=torch.float64, device=x.device)",
        "torch.arange(3, dtype=torch.double).to(device)",
        "torch.set_default_dtype(torch.float64)",
        "torch.set_default_tensor_type('torch.DoubleTensor')",
        "torch.from_numpy(np.random.rand(3)).to(device)",
        "torch.from_numpy(np.linspace(0, 1, 5)).cuda()",
        "torch.tensor(np.array([0.5, 1.5]), device=device)",
        "torch.nn.Linear(2, 2, dtype=torch.float64)",
    ],
)
def test_float64_that_reaches_the_device(convert, line: str) -> None:
    source = f"import numpy as np\nimport torch\n\n\ndef f(x, device):\n    return {line}\n"
    assert levels(convert, source) == [("NPU302", "warning")]


@pytest.mark.parametrize(
    "line",
    [
        "np.zeros(3, dtype=np.float64)",
        "x.cpu().double()",
        "x.double().cpu()",
        "x.double().numpy()",
        "torch.zeros(3, dtype=torch.float64)",
        "torch.zeros(3, dtype=torch.float64, device='cpu')",
        "torch.arange(3, dtype=torch.float64).float().to(device)",
        "torch.from_numpy(np.random.rand(3)).float().to(device)",
        "torch.from_numpy(np.random.rand(3)).to(device, torch.float32)",
        "torch.from_numpy(np.zeros(3, np.float32)).to(device)",
        "torch.from_numpy(np.array([1, 2])).to(device)",
        "torch.tensor(np.random.rand(3), dtype=torch.float32, device=device)",
        "torch.from_numpy(x).to(device)",
        "torch.finfo(torch.float64).eps",
        "x.to(cpu_device).double()",
    ],
)
def test_float64_that_stays_away(convert, line: str) -> None:
    source = f"import numpy as np\nimport torch\n\n\ndef f(x, device, cpu_device):\n    return {line}\n"
    assert levels(convert, source) == []


def test_numpy_through_a_name(convert) -> None:
    source = (
        "import numpy as np\nimport torch\n\n\ndef f(device):\n    a = 2 * np.random.rand(3)\n"
        "    return torch.from_numpy(a).to(device)\n"
    )
    assert levels(convert, source) == [("NPU302", "warning")]


def test_a_value_that_is_made_of_itself(convert) -> None:
    source = (
        "import torch\n\n\ndef f(n):\n    freqs = torch.arange(n, dtype=torch.float64, device={device}) / n\n"
        "    steps = torch.arange(n, dtype=torch.float64, device=freqs.device)\n"
        "    freqs = torch.outer(steps, freqs).float()\n    return torch.polar(torch.ones_like(freqs), freqs)\n"
    )
    assert levels(convert, source.format(device="'cpu'")) == []
    assert [code for code, _ in levels(convert, source.format(device="d"))] == ["NPU302", "NPU302", "NPU303"]


def test_complex_and_unsigned(convert) -> None:
    source = "import torch\n\n\ndef f(x):\n    return {}\n"
    assert levels(convert, source.format("torch.view_as_complex(x)")) == [("NPU303", "info")]
    assert levels(convert, source.format("torch.polar(x, x).to(torch.complex64)")) == [("NPU303", "info")]
    assert levels(convert, source.format("x.to(torch.complex32)")) == [("NPU303", "warning")]
    assert levels(convert, source.format("complex(1, 2)")) == []
    assert levels(convert, source.format("x.to(torch.uint64)")) == [("NPU304", "warning")]
    assert levels(convert, source.format("x.to(torch.uint8)")) == []


@pytest.mark.parametrize("infinity", ["float('-inf')", "-float('inf')", "-torch.inf", "-math.inf", "-np.inf"])
def test_infinite_masks_where_overflow_saturates(convert, infinity: str) -> None:
    source = (
        "import math\nimport numpy as np\nimport torch\n\n\ndef f(x, m):\n"
        f"    return x.half().masked_fill(m, {infinity})\n"
    )
    assert levels(convert, source, "910a") == [("NPU305", "info")]
    assert levels(convert, source, "910b") == []
    assert levels(convert, source.replace(".half()", ""), "910a") == []
