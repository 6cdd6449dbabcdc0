"""Comparisons with what a GPU would answer."""

from __future__ import annotations

import pytest

HEAD = "import torch\nimport torch_npu\n\n"


def _found(result) -> list[tuple[str, str]]:
    return [(f.code, f.level) for f in result.findings if f.code.startswith("NPU9")]


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("if torch.npu.get_device_capability() >= (8, 0):\n    pass", "error"),
        ("if torch.npu.get_device_capability(0)[0] < 7:\n    pass", "error"),
        ("major, minor = torch.npu.get_device_capability()", "error"),
        ("cap = torch.npu.get_device_capability()\nok = cap[0] >= 8", "error"),
        ("cap = torch.npu.get_device_capability()\ncap = f'{cap[0]}.{cap[1]}'", "error"),
        ("sm = '%d%d' % (*torch.npu.get_device_capability(),)", "error"),
        ("if torch.npu.get_device_capability() == (8, 0):\n    pass", "warning"),
        ("if torch.npu.get_device_capability() in [(8, 0), (9, 0)]:\n    pass", "warning"),
        ("if on and torch.npu.get_device_capability()[0] >= 8:\n    pass", "error"),
        ("print(torch.npu.get_device_capability())", None),
        ("cap = torch.npu.get_device_capability()\nif cap and cap[0] >= 8:\n    pass", None),
        ("cap = torch.npu.get_device_capability()\nif cap is not None:\n    ok = cap >= (8, 0)", None),
        ("cap = torch.npu.get_device_capability()\nif cap is None:\n    raise E\nok = cap >= (8, 0)", None),
        ("cap = torch.npu.get_device_capability() or (0, 0)\nok = cap >= (8, 0)", None),
        ("cap = torch.npu.get_device_capability()\ncap = (1, 0)\nok = cap >= (8, 0)", None),
        ("try:\n    ok = torch.npu.get_device_capability() >= (8, 0)\nexcept TypeError:\n    ok = False", None),
    ],
)
def test_capability(convert, code: str, level: str | None) -> None:
    assert _found(convert(f"{HEAD}{code}\n")) == ([] if level is None else [("NPU901", level)])


def test_the_converted_name_is_found_too(convert) -> None:
    source = "import torch\n\nif torch.cuda.get_device_capability()[0] >= 8:\n    pass\n"
    result = convert(source)
    assert ("NPU901", "error") in _found(result)
    assert _found(convert(result.text)) == [("NPU901", "error")]


def test_the_variable_is_named_where_it_is_read(convert) -> None:
    source = f"{HEAD}ok = torch.npu.get_device_capability() >= (8, 0)\n"
    assert "TORCH_NPU_DEVICE_CAPABILITY" not in convert(source, torch_npu="2.7.1").of("NPU901")[0].message
    assert "TORCH_NPU_DEVICE_CAPABILITY" in convert(source, torch_npu="2.7.1.post4").of("NPU901")[0].message
    assert "TORCH_NPU_DEVICE_CAPABILITY" in convert(source, torch_npu="2.14.0").of("NPU901")[0].message


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("v = torch.version.cuda.split('.')", "error"),
        ("v = float(torch.version.cuda)", "error"),
        ("ok = torch.version.cuda >= '11.0'", "error"),
        ("ok = '11' in torch.version.cuda", "error"),
        ("ok = torch.version.cuda == '11.8'", "warning"),
        ("from packaging.version import parse\nok = parse(torch.version.cuda) > parse('11')", "error"),
        ("ok = torch.version.cuda is not None and torch.version.cuda >= '11'", None),
        ("if torch.version.cuda:\n    v = torch.version.cuda.split('.')", None),
        ("print(torch.version.cuda)", None),
        ("ok = torch.version.cuda is None", None),
    ],
)
def test_cuda_version(convert, code: str, level: str | None) -> None:
    result = convert(f"{HEAD}{code}\n")
    assert _found(result) == ([] if level is None else [("NPU902", level)])
    if level is not None:
        assert result.of("NPU103") == [], "said once"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("ok = 'A100' in torch.npu.get_device_name(0)", "A100"),
        ("name = torch.npu.get_device_name()\nok = name.lower().startswith('nvidia h100')", "nvidia h100"),
        ("ok = torch.npu.get_device_properties(0).name == 'Tesla V100'", "Tesla V100"),
        ("ok = torch.npu.get_device_name() in ['NVIDIA A100-SXM4-40GB']", "NVIDIA A100-SXM4-40GB"),
        ("ok = 'Ascend' in torch.npu.get_device_name(0)", None),
        ("ok = 'A100' in title", None),
        ("print('A100', torch.npu.get_device_name(0))", None),
    ],
)
def test_gpu_names(convert, code: str, text: str | None) -> None:
    findings = convert(f"{HEAD}{code}\n").of("NPU903")
    assert [repr(text) in f.message for f in findings] == ([] if text is None else [True])


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("ok = p.major >= 8", ["error"], ["error"]),
        ("ok = p.major == 8 and p.minor == 0", ["error", "error"], ["warning", "warning"]),
        ("n = p.multi_processor_count * 4", ["error"], ["error"]),
        ("from packaging import version\nv = version.parse(f'{p.major}.{p.minor}')", ["error"] * 2, ["error"] * 2),
        ("print(p.multi_processor_count)", ["error"], []),
        ("n = p.shared_memory_per_block", ["error"], ["error"]),
        ("n = p.L2_cache_size", ["error"], []),
        ("n = p.total_memory, p.name", [], []),
        ("if hasattr(p, 'warp_size'):\n    n = p.warp_size", [], []),
    ],
)
def test_properties(convert, code: str, old: list[str], new: list[str]) -> None:
    source = f"{HEAD}p = torch.npu.get_device_properties(0)\n{code}\n"
    for version, levels in (("2.6.0", old), ("2.7.1", new)):
        assert [f.level for f in convert(source, torch_npu=version).of("NPU904")] == levels, version


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("big = torch.npu.get_device_properties(0).total_memory > 40 * 1024 ** 3", 1),
        ("gb = torch.npu.get_device_properties(0).total_memory / 2**30\nbig = gb >= 24", 0),
        ("big = torch.npu.get_device_properties(0).total_memory / 2**30 >= 24", 1),
        ("big = torch.npu.mem_get_info()[1] < 16e9", 1),
        ("big = torch.npu.get_device_properties(0).total_memory > needed", 0),
        ("big = torch.npu.mem_get_info()[0] > 1e9", 0),
    ],
)
def test_memory(convert, code: str, count: int) -> None:
    assert len(convert(f"{HEAD}{code}\n").of("NPU905")) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("re.match(r'cuda:(\\d+)', d)", 1),
        ("re.compile('^cuda(:[0-9]+)?$')", 1),
        ("re.fullmatch('cuda', d)", 1),
        ("re.match(r'cudart.*', d)", 0),
        ("re.sub('cuda_home', '', d)", 0),
        ("re.match(pattern, 'cuda:0')", 0),
    ],
)
def test_patterns(convert, code: str, count: int) -> None:
    assert len(convert(f"import re\n\n{code}\n").of("NPU906")) == count
