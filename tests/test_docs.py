"""Generated pages are up to date, and everything that the tool says has been translated."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from ascend_migrate.language import catalogue, in_language, of_locale, say

SCRIPT = Path(__file__).parents[1] / "scripts" / "generate_docs.py"
REGENERATE = "run: python scripts/generate_docs.py"
TRANSLATE = "run: python scripts/generate_docs.py --missing zh, and fill in src/ascend_migrate/catalogues/"


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_fresh(docs: ModuleType) -> None:
    assert [str(path.relative_to(docs.ROOT)) for path in docs.stale()] == [], REGENERATE


def test_links_between_the_pages_lead_somewhere(docs: ModuleType) -> None:
    pages = docs.documents()
    for path, text in pages.items():
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (path.parent / link).resolve() in pages, (path.name, link)


def test_every_message_is_translated(docs: ModuleType) -> None:
    assert docs.missing("zh") == [], TRANSLATE


def test_every_page_is_translated_from_the_present_text(docs: ModuleType) -> None:
    assert docs.missing_pages("zh") == [], TRANSLATE


def test_translations_have_the_same_placeholders(docs: ModuleType) -> None:
    differing = [
        english
        for english, chinese in catalogue("zh").items()
        if docs.placeholders(english) != docs.placeholders(chinese)
    ]
    assert differing == []


def test_translations_are_chinese() -> None:
    """Not left empty, and not the English again."""
    for text, chinese in catalogue("zh").items():
        if re.search("[A-Za-z]", re.sub(r"\{[^}]*\}", "", text)):
            assert any("一" <= character <= "鿿" for character in chinese), text


def test_messages_are_found_where_they_are_made(docs: ModuleType) -> None:
    found = set(docs.messages())
    assert {
        "{old} is {new} on the NPU",  # say() in a rule
        "this file uses the NPU, which needs import torch_npu",  # a constant in a rule
        "nothing around it says device or backend",  # a reason, which becomes a value
        "NVTX needs a CUDA build.",  # a row
        "Next: {command}",  # the command line
    } <= found
    assert "import torch\n" not in found and not any("noqa" in text for text in found)


def test_values_are_translated_too() -> None:
    reason = "nothing around it says device or backend"
    message = say("{literal!r} may be a {kind}, or not: {reason}", literal="cuda", kind=say("device"), reason=reason)
    assert message == f"'cuda' may be a device, or not: {reason}"
    assert in_language(message, "zh") == "'cuda' 可能是设备，也可能不是：周围没有任何信息表明是设备或后端"
    assert in_language(message, "en") is message
    said = say("the key {text!r} does not say device or backend", text="all")
    assert in_language(said, "zh") == "键 'all' 没有表明是设备或后端", "a word may be a name, and stays"
    assert in_language("unheard of", "zh") == "unheard of"


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LC_ALL": "", "LANG": "ZH_CN"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides(variables: dict[str, str], language: str) -> None:
    assert of_locale(variables) == language


def test_findings_come_in_chinese(tmp_path: Path) -> None:
    from ascend_migrate import knowledge
    from ascend_migrate.engine.index import build
    from ascend_migrate.engine.pipeline import EngineOptions, process

    options = EngineOptions(knowledge.resolve_target(), language="zh")
    report = process("a.py", b"import torch\n\ntorch.cuda.synchronize()\nrun('cuda')\n", options, build([]))
    said = [finding.message for finding in report.findings]
    assert said == [
        "此文件使用 NPU，需要 import torch_npu",
        "torch.cuda.synchronize 在 NPU 上是 torch.npu.synchronize",
        "'cuda' 可能是设备，也可能不是：是 run() 的参数，不清楚它是否接受设备",
    ]
    assert report.findings[2].help == "如果是，请写成 'npu'；如果不是，无需处理。"
