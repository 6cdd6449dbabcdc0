"""The error codes are complete, well formed, and said in both languages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_migrate.knowledge.error_codes import (
    ROLES,
    Entry,
    compose,
    error_codes,
    error_messages,
    error_names,
    hccl_results,
)

# The numbers of acl_base.h, rt_error_codes.h and torch_npu's own copy of them.
ACL_RANGES = (
    (100000, 100045),
    (148046, 148052),
    (200000, 200007),
    (300000, 300000),
    (500000, 500005),
    (107000, 107019),
    (207000, 207015),
    (207018, 207018),
    (507000, 507052),
    (507899, 507901),
)

FREQUENT = [
    *("100000", "107001", "107002", "107003", "148049", "161002", "207001", "207018", "207006", "500001", "500002"),
    *("507008", "507014", "507015", "507018", "507033", "507035", "507046", "507048", "561103"),
    *("EI0002", "EI0006", "EI0019", "EJ0001", "EJ0003", "EZ9999", "EE9999", "E39999", "EZ1001", "EH9999"),
    *("ERR99999", "ERR01002", "ERR00008"),
]

CHINESE = re.compile(r"[\u4e00-\u9fff]")


def entries() -> list[Entry]:
    return [*error_codes().values(), *(message.entry for message in error_messages())]


def test_all_acl_codes_have_a_meaning_and_a_public_name() -> None:
    numbers = [str(number) for first, last in ACL_RANGES for number in range(first, last + 1)]
    assert len(numbers) == 161
    for number in numbers:
        entry = error_codes()[number]
        assert entry.en.meaning
        assert entry.names[0].startswith("ACL_ERROR_"), number


def test_there_are_enough() -> None:
    assert len(error_codes()) >= 400
    assert len([entry for entry in error_codes().values() if entry.has_page]) >= 60


@pytest.mark.parametrize("code", FREQUENT)
def test_frequent_codes_have_a_page_in_both_languages(code: str) -> None:
    entry = error_codes()[code]
    for words in (entry.en, entry.zh):
        assert words.causes
        assert words.check
        assert words.do


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.code)
def test_well_formed(entry: Entry) -> None:
    assert entry.role in ROLES
    assert entry.en.meaning.endswith(".")
    assert not CHINESE.search(entry.en.meaning)
    assert CHINESE.search(entry.zh.meaning)
    assert entry.en.do, "what to do, of its own or of its family"
    for english, chinese in zip(entry.en.do, entry.zh.do):
        assert not CHINESE.search(english)
        # A point that is only a command is the same in both languages.
        assert CHINESE.search(chinese) or chinese == english
    assert len(entry.en.do) == len(entry.zh.do)


def test_names_lead_to_their_code() -> None:
    assert error_names()["ACL_ERROR_RT_CONTEXT_NULL"].code == "107002"
    assert error_names()["ACL_ERROR_RT_DEVIDE_OOM"].code == error_names()["ACL_ERROR_RT_DEVICE_OOM"].code == "207018"
    assert "Inner_Error" not in error_names()  # a title that many codes share


def test_torch_npu_codes_are_the_product_of_two_tables() -> None:
    codes = [code for code in error_codes() if code.startswith("ERR")]
    assert len(codes) == 6 * 16
    assert error_codes()["ERR02200"].role == "wrapper"
    assert "HCCL" in error_codes()["ERR02200"].en.meaning
    assert "ERR00013" not in codes


def test_a_code_without_a_row_is_known_by_its_module() -> None:
    unknown = compose("E10077")
    assert unknown is not None
    assert not unknown.known
    assert "graph engine" in unknown.en.meaning
    inner = compose("EB9999")
    assert inner is not None
    assert inner.role == "wrapper"
    assert compose("EQ0001") is None
    assert compose("X10001") is None


def test_small_numbers_of_hccl() -> None:
    assert hccl_results()[7].code == "HCCL_E_UNAVAIL"
    assert sorted(hccl_results()) == list(range(1, 25))


def test_messages_are_told_apart() -> None:
    kinds = [message.entry.code for message in error_messages()]
    assert len(kinds) == len(set(kinds))
    fallback = error_messages()[kinds.index("cpu-fallback")]
    line = (
        "Warning: CAUTION: The operator 'aten::isin' is not currently supported and will fall back to run on the CPU."
    )
    assert fallback.match(line) == (True, "aten::isin")
    assert fallback.match("all is well") == (False, None)


def test_the_page_is_fresh() -> None:
    script = Path(__file__).parents[2] / "scripts" / "document_error_codes.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), "run: python scripts/document_error_codes.py"
