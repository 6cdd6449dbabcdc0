"""The tables of npu-smi in the layouts that its versions have."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.launch.doctor.npu_smi import NpuSmi, parse

OUTPUTS = Path(__file__).parent / "outputs"


def sample(name: str) -> NpuSmi:
    return parse((OUTPUTS / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "version", "chips", "chip", "used", "total"),
    [
        ("910b", "24.1.rc3", 8, "910B3", 3197, 65536),
        ("910a", "23.0.3", 2, "910A", 0, 32768),
        ("a3", "26.0.rc2", 16, "Ascend910", 3416, 65536),
        ("310p_duo", "25.2.0", 2, "310P3", 1529, 44280),
        ("310p", "24.1.rc2", 1, "310P3", 1460, 44280),
        ("310b", "23.0.0", 1, "310B4", 1460, 15609),
    ],
)
def test_layouts(name: str, version: str, chips: int, chip: str, used: int, total: int) -> None:
    answer = sample(name)
    assert answer.version == version
    assert len(answer.chips) == chips
    first = answer.chips[0]
    assert (first.name, first.health, first.used, first.total) == (chip, "OK", used, total)
    assert answer.failure is None


def test_two_chips_a_card() -> None:
    assert [(chip.card, chip.chip) for chip in sample("a3").chips[:4]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [(chip.card, chip.chip, chip.bus) for chip in sample("310p_duo").chips] == [
        (2, 0, "0000:01:00.0"),
        (2, 1, "0000:01:00.0"),
    ]
    assert sample("a3").physical_ids
    assert not sample("910b").physical_ids


def test_processes_and_health() -> None:
    answer = sample("910b_busy_alarm")
    assert answer.chips[3].health == "Alarm"
    assert (answer.chips[5].used, answer.chips[5].total) == (64021, 65536)
    assert [(p.card, p.chip, p.pid, p.name, p.memory) for p in answer.processes] == [
        (5, 0, 499214, "python3.11", 60822)
    ]
    # A column more, as newer versions have it.
    assert [(p.card, p.pid, p.memory) for p in sample("a3").processes] == [(0, 632268, 197)]
    assert sample("910b").processes == ()


@pytest.mark.parametrize(("name", "failure"), [("dcmi_8005", "-8005"), ("dcmi_8020", "-8020")])
def test_the_driver_cannot_be_reached(name: str, failure: str) -> None:
    assert sample(name) == NpuSmi(None, (), (), failure)


def test_nonsense() -> None:
    assert parse("") == NpuSmi(None, (), ())
    assert parse("| NPU | x | y |\n| a | b |\n| 0 910B | OK | |\n") == NpuSmi(None, (), ())
