from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate import knowledge
from ascend_migrate.model import Target


def test_defaults() -> None:
    assert knowledge.resolve_target() == Target(soc="910b", torch="2.7.1", torch_npu="2.7.1")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("910a", "910a"),
        ("910", "910a"),
        ("Ascend910A", "910a"),
        ("atlas 800 (model 9000)", "910a"),
        ("910b", "910b"),
        ("A2", "910b"),
        ("Ascend910B3", "910b"),
        ("910B4-1", "910b"),
        ("atlas-800t-a2", "910b"),
        ("Atlas 300I A2", "910b"),
        ("910_93", "910_93"),
        ("910c", "910_93"),
        ("a3", "910_93"),
        ("Ascend910_9392", "910_93"),
        ("950", "950"),
        ("Ascend 950PR", "950"),
        ("310p", "310p"),
        ("Ascend310P3", "310p"),
        ("atlas-300i-pro", "310p"),
        ("Atlas 300I Duo", "310p"),
        ("atlas_300v_pro", "310p"),
        ("300i duo", "310p"),
        ("310b", "310b"),
        ("Atlas 200I DK A2", "310b"),
    ],
)
def test_chips_and_products(name: str, code: str) -> None:
    assert knowledge.find_soc(name).code == code
    assert knowledge.resolve_target(soc=name).soc == code


def test_no_name_means_two_chips() -> None:
    from ascend_migrate.knowledge.targets import _normal

    owner: dict[str, str] = {}
    for soc in knowledge.socs():
        for name in soc.names:
            assert owner.setdefault(_normal(name), soc.code) == soc.code, name
            assert knowledge.find_soc(name) is soc


def test_facts_about_chips() -> None:
    chips = {soc.code: soc for soc in knowledge.socs()}
    assert {code for code, soc in chips.items() if soc.bf16} == {"910b", "910_93", "950"}
    assert chips["310b"].bf16 is None
    assert chips["310p"].bf16 is False
    assert {code for code, soc in chips.items() if soc.jit_compile} == {"910a", "310p"}
    assert chips["910b"].jit_compile is False
    assert {code for code, soc in chips.items() if soc.inference} == {"310p", "310b"}
    for soc in chips.values():
        assert soc.facts
        for fact in soc.facts:
            assert fact.text.endswith(".")
            assert fact.source


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("atlas-300-duo", "Atlas 300I Duo"),
        ("910bb", "910b"),
        ("atlas 800t a5", "Atlas 800T A"),
        ("h100", "known chips"),
    ],
)
def test_unknown_chip(name: str, suggestion: str) -> None:
    with pytest.raises(knowledge.UnknownTarget, match=suggestion):
        knowledge.resolve_target(soc=name)


@pytest.mark.parametrize(
    ("torch_npu", "torch", "expected"),
    [
        ("2.13.0", None, ("2.13.0", "2.13.0")),
        ("2.7.1.post2", None, ("2.7.1", "2.7.1.post2")),
        ("2.7.1.post3", None, ("2.7.1", "2.7.1.post2")),
        ("2.7.1.post2", "2.7.1+cpu", ("2.7.1", "2.7.1.post2")),
        (None, "2.6", ("2.6.0", "2.6.0.post5")),
        (None, "2.9.1+cu128", ("2.9.1", "2.9.1")),
    ],
)
def test_version_pairs(torch_npu: str | None, torch: str | None, expected: tuple[str, str]) -> None:
    target = knowledge.resolve_target(torch_npu=torch_npu, torch=torch)
    assert (target.torch, target.torch_npu) == expected


@pytest.mark.parametrize(
    ("torch_npu", "torch", "message"),
    [
        ("newest", None, "'newest' is not a torch_npu version"),
        (None, "newest", "'newest' is not a torch version"),
        (None, "2.2.0", "no torch_npu on PyPI for torch 2.2.0; there is one for 2.1.0, 2.3.1"),
        ("2.9.0", "2.8.0", r"torch_npu 2.9.0 belongs to torch 2.9.0, not 2.8.0: use torch_npu 2.8.0.post5"),
        ("2.9.0", "2.2.0", "not 2.2.0: there is no torch_npu on PyPI"),
    ],
)
def test_versions_that_do_not_fit(torch_npu: str | None, torch: str | None, message: str) -> None:
    with pytest.raises(knowledge.UnknownTarget, match=message):
        knowledge.resolve_target(torch_npu=torch_npu, torch=torch)


def test_version_table() -> None:
    table = {row.torch_npu: row for row in knowledge.version_table()}
    assert table["2.7.1.post2"].cann == "8.5.0"
    assert table["2.7.1"].pythons == ("3.9", "3.10", "3.11", "3.12", "3.13")
    assert table["2.7.1"].on_pypi
    assert table["2.2.0"].torch == "2.2.0"
    assert not table["2.2.0"].on_pypi
    newest = knowledge.version_table()[0]
    assert newest.torch_npu == knowledge.versions()[-1]
    assert newest.cann is None  # the documentation's table is older: not known
    assert newest.pythons == ()
    assert set(knowledge.versions()) == {name for name, row in table.items() if row.on_pypi}


def test_version_table_agrees_with_the_facts(facts: Path) -> None:
    table = {row.torch_npu: row for row in knowledge.version_table()}
    lines = (facts / "torch_npu_compatibility.csv").read_text(encoding="utf-8").splitlines()
    checked = 0
    for line in lines:
        torch_npu, torch, cann, _, pythons = line.split(",")
        if torch_npu[0].isdigit():  # headers stand in the middle, too
            row = table[torch_npu]
            assert (row.torch, row.cann, " ".join(row.pythons)) == (torch, cann, pythons)
            checked += 1
    assert checked >= 55
