"""The documents for users say what is so: settings, commands, links; and the two READMEs say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ascend_migrate import config
from ascend_migrate.cli import COMMANDS
from ascend_migrate.knowledge.mappings import parse_api_mappings
from ascend_migrate.report import FORMATS

ROOT = Path(__file__).parents[1]
ENGLISH, CHINESE = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
SETTINGS = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_two_readmes_have_the_same_parts() -> None:
    def shape(text: str) -> list[str]:
        return [line.split(" ")[0] for line in text.splitlines() if line.startswith(("#", "|", "```"))]

    assert shape(ENGLISH) == shape(CHINESE)
    assert blocks(ENGLISH, "python") == blocks(CHINESE, "python")

    def commands(text: str) -> list[str]:
        return [line.partition("  #")[0].rstrip() for line in "".join(blocks(text, "(?:bash|yaml)")).splitlines()]

    assert commands(ENGLISH) == commands(CHINESE)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_the_readmes_name_every_command_and_format(text: str) -> None:
    table = next(part for part in text.split("## ") if "`analyze PATH...`" in part)
    assert [name for name in COMMANDS if f"`{name}" not in table] == []
    assert [name for name in FORMATS if name != "text" and name not in table] == []


def test_links_in_the_chinese_readme_are_those_of_the_english() -> None:
    def links(text: str) -> set[str]:
        return {link.replace("rules/zh/", "rules/") for link in re.findall(r"\]\((docs/[^)]+)\)", text)}

    assert links(ENGLISH) == links(CHINESE)


def test_every_setting_is_described(tmp_path: Path) -> None:
    (example,) = blocks(SETTINGS, "toml")
    (tmp_path / "pyproject.toml").write_text(example, encoding="utf-8")
    settings = config.load(tmp_path)
    assert settings.soc == "910b" and settings.rules == ("ascend-rules.yaml",)
    assert [key for key in config._KEYS if f"\n{key} = " not in example and f".{key}]" not in example] == []


def test_the_rows_of_the_example_are_right() -> None:
    (example,) = blocks(SETTINGS, "yaml")
    rows = parse_api_mappings(example, "example", own=True)
    assert [(row.cuda, row.npu, row.safety) for row in rows] == [
        ("mylib.cuda_utils.sync", "mylib.npu_utils.sync", "safe"),
        ("mylib.kernels", "mylib.npu_kernels", "review"),
        ("mylib.cuda_only.*", None, "safe"),
    ]


def test_every_format_is_described() -> None:
    assert [name for name in FORMATS if f"| `{name}` |" not in SETTINGS] == []


def test_the_comments_of_the_example_work(convert) -> None:
    (example,) = (block for block in blocks(SETTINGS, "python") if "ignore" in block)
    assert convert(f"import torch\n\n{example}").findings == ()
