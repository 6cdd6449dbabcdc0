"""Conversion with the checks that hold for every conversion."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from ascend_migrate import knowledge
from ascend_migrate.engine.index import ProjectIndex, build, gather
from ascend_migrate.engine.pipeline import EngineOptions, process
from ascend_migrate.model import Edit, FileError, Finding
from ascend_migrate.rules import all_rules
from ascend_migrate.syntax.text import SourceText, apply_edits
from ascend_migrate.syntax.tree import parse


@dataclass(frozen=True)
class Converted:
    """The result of one conversion, already checked."""

    data: bytes
    findings: tuple[Finding, ...]
    errors: tuple[FileError, ...]

    @property
    def text(self) -> str:
        return self.data.decode("utf-8")

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings]

    def of(self, code: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.code == code]


def _index(path: str, data: bytes, others: Mapping[str, bytes]) -> ProjectIndex:
    facts = [gather(p, d) for p, d in {path: data, **others}.items()]
    return build(f for f in facts if f is not None)


@pytest.fixture
def convert() -> Callable[..., Converted]:
    """``convert(source, path=..., torch_npu=..., others={path: bytes})``: analyze and convert one file.

    Asserts what must hold for any input: only the findings' edits change anything; the output parses when the
    input did; a second conversion changes nothing; no name outside the target's surface is new in the output.
    """

    def run(
        source: str | bytes,
        path: str = "module.py",
        torch_npu: str = "2.7.1",
        soc: str | None = None,
        others: Mapping[str, bytes] | None = None,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
    ) -> Converted:
        data = source.encode("utf-8") if isinstance(source, str) else source
        options = EngineOptions(knowledge.resolve_target(soc, torch_npu, None), select, ignore)
        index = _index(path, data, others or {})
        report = process(path, data, options, index)
        output = data if report.new_bytes is None else report.new_bytes
        check_conversion(data, output, report.findings, torch_npu)
        again = process(path, output, options, _index(path, output, others or {}))
        assert again.new_bytes is None, f"a second conversion changes it again:\n{again.new_bytes!r}"
        return Converted(output, report.findings, report.errors)

    return run


def check_conversion(data: bytes, output: bytes, findings: tuple[Finding, ...], torch_npu: str) -> None:
    """The invariants of a conversion of ``data`` into ``output``."""
    fixing = {rule.code for rule in all_rules() if rule.fixes}
    for finding in findings:
        # The check of a second conversion asks only the rules whose examples show a fix.
        assert finding.fix is None or finding.code in fixing, f"{finding.code} needs an example with a fix"
    edits: set[Edit] = {edit for f in findings if f.fix is not None for edit in f.fix.edits}
    if not edits:
        assert output == data
        return
    source = SourceText.decode(data)
    assert source.encode(apply_edits(source.text, edits)) == output
    before, after = parse(source).module, parse(SourceText.decode(output)).module
    surface = knowledge.surface(torch_npu)
    for name in _npu_names(after) - _npu_names(before):
        assert surface.has(name), f"{name} is emitted and does not exist in torch_npu {torch_npu}"


def _npu_names(module: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            if dotted.startswith(("torch.npu.", "torch_npu.")) and "(" not in dotted:
                names.add(dotted)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch_npu"):
            names.update(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("torch_npu"))
    return names
