"""Every row of the knowledge converts its own example as it says."""

from __future__ import annotations

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge import ApiMapping

ROWS = knowledge.api_mappings()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cuda)
def test_example(convert, row: ApiMapping) -> None:
    newest = knowledge.versions()[-1]
    result = convert(row.example.before, torch_npu=newest)
    assert result.text == row.example.after
    assert result.errors == ()
    if row.npu is None:
        messages = [(finding.message, finding.level) for finding in result.findings]
        assert (row.message, row.level) in messages


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cuda)
def test_no_version_gets_a_name_it_lacks(convert, row: ApiMapping) -> None:
    for version in knowledge.versions():
        convert(row.example.before, torch_npu=version)  # the fixture asserts that every new name exists


@pytest.mark.parametrize("variable", knowledge.environment_variables().values(), ids=lambda row: row.name)
def test_environment_variable(convert, variable) -> None:
    name = variable.name.replace("*", "SOMETHING")
    source = f"import os\n\nvalue = os.environ.get({name!r})\n"
    result = convert(source)
    (finding,) = result.findings
    if variable.npu is not None and variable.same_values:
        assert result.text == source.replace(name, variable.npu)
    else:
        assert result.text == source
        assert finding.level == variable.level
        assert finding.help
