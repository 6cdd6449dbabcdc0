"""Every rule's examples are its tests, on every known version of torch_npu."""

from __future__ import annotations

import ast

import pytest

from ascend_migrate import knowledge
from ascend_migrate.rules import all_rules
from ascend_migrate.rules.base import Example, Rule

CASES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.examples)
]


def _convert(convert, example: Example):
    given = {"torch_npu": example.torch_npu} if example.torch_npu else {}
    return convert(example.before, soc=example.soc, **given)


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_example(convert, rule: Rule, example: Example) -> None:
    result = _convert(convert, example)
    assert result.errors == ()
    assert result.text == example.expected
    if example.codes is not None:
        assert tuple(result.codes) == example.codes


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_no_version_gets_a_name_it_lacks(convert, rule: Rule, example: Example) -> None:
    for version in knowledge.versions():
        convert(example.before, torch_npu=version, soc=example.soc)  # the fixture asserts that every new name exists


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_rule_is_complete(rule: Rule) -> None:
    assert rule.code.startswith("NPU")
    assert len(rule.code) == 6
    assert rule.level in ("error", "warning", "info")
    assert rule.documentation(), "the module's docstring is the documentation"
    assert rule.examples, "a rule without an example is not tested"
    for example in rule.examples:
        ast.parse(example.before)
        ast.parse(example.expected)


def test_codes_and_names_are_unique() -> None:
    rules = all_rules()
    assert len({rule.code for rule in rules}) == len(rules)
    assert len({rule.name for rule in rules}) == len(rules)


def test_every_unchanged_example_of_one_rule_is_left_alone_by_all(convert) -> None:
    for rule in all_rules():
        for example in rule.examples:
            if example.after is None:
                assert _convert(convert, example).text == example.before
