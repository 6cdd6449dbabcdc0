"""One Python file: bytes in, findings and new bytes out. Pure: no I/O, no globals."""

from __future__ import annotations

import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from ascend_migrate import knowledge
from ascend_migrate.engine import pragmas
from ascend_migrate.engine.index import ProjectIndex
from ascend_migrate.engine.scout import Scout
from ascend_migrate.knowledge.mappings import ApiMapping, RowIndex
from ascend_migrate.model import Edit, FileError, FileReport, Finding, Target
from ascend_migrate.rules import all_rules
from ascend_migrate.rules.base import Context, ProjectFacts, Rule, dotted_marker
from ascend_migrate.syntax.newer import is_readable
from ascend_migrate.syntax.text import DecodeError, SourceText, apply_edits
from ascend_migrate.syntax.tree import ParseError, parse, read


@dataclass(frozen=True)
class EngineOptions:
    """What decides a result besides the bytes: the target, the code prefixes wanted and not wanted, the language of
    the messages, and the project's own rows, which win over those of the knowledge."""

    target: Target
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    language: str = "en"
    own_rows: tuple[ApiMapping, ...] = ()

    def wants(self, code: str) -> bool:
        """Whether findings of ``code`` are asked for. The longer prefix wins, as in ruff; a tie ignores."""
        selected = max((len(p) for p in self.select if code.startswith(p)), default=-1 if self.select else 0)
        ignored = max((len(p) for p in self.ignore if code.startswith(p)), default=-1)
        return selected >= 0 and selected > ignored


def process(path: str, data: bytes, options: EngineOptions, index: ProjectIndex) -> FileReport:
    """Analyze and convert one Python file. Never raises for what the bytes are."""
    wanted = _wanted(data, options, index.facts)
    if not wanted:
        return FileReport(path)
    try:
        source = SourceText.decode(data)
    except DecodeError as error:
        return FileReport(path, errors=(FileError(path, 1, str(error)),))
    try:
        findings = _check(path, source, wanted, options, index.facts)
    except ParseError as error:
        return FileReport(path, errors=(FileError(path, error.line, _parse_message(source, error)),))
    except RecursionError:
        return FileReport(path, errors=(FileError(path, 1, "an expression is nested too deeply"),))
    findings, edits = _compatible(findings)
    if not edits:
        return FileReport(path, tuple(findings))
    text = apply_edits(source.text, edits)
    new_bytes = source.encode(text)
    problem = _verify(path, new_bytes, SourceText(text, source.encoding, source.bom), options, index.facts)
    if problem is not None:
        unfixed = tuple(replace(finding, fix=None) for finding in findings)
        return FileReport(path, unfixed, (FileError(path, 1, problem),))
    return FileReport(path, tuple(findings), new_bytes=new_bytes)


@lru_cache(maxsize=8)
def _rules(options: EngineOptions) -> tuple[Rule, ...]:
    return tuple(rule for rule in all_rules() if options.wants(rule.code) and rule.applies(options.target))


@lru_cache(maxsize=8)
def _markers(options: EngineOptions) -> tuple[tuple[Rule, frozenset[str]], ...]:
    own = _own_markers(options)
    return tuple((rule, frozenset((*rule.all_markers, *own))) for rule in _rules(options) if not rule.runs_last)


@lru_cache(maxsize=8)
def _scout(options: EngineOptions) -> Scout:
    return Scout(marker for _, markers in _markers(options) for marker in markers)


def _own_markers(options: EngineOptions) -> tuple[str, ...]:
    """What a file must hold to have any name that the project's own rows speak of."""
    return tuple(sorted({dotted_marker(row.name) for row in options.own_rows}))


@lru_cache(maxsize=8)
def _mapping(options: EngineOptions) -> Callable[[str], ApiMapping | None]:
    """Dotted name -> the row that speaks of it."""
    if not options.own_rows:
        return knowledge.find_api_mapping
    own = RowIndex(options.own_rows)
    return lambda dotted: own.find(dotted) or knowledge.find_api_mapping(dotted)


def _wanted(data: bytes, options: EngineOptions, facts: ProjectFacts) -> list[Rule]:
    """The rules that can have something to say about ``data``, by a look at its bytes."""
    held = _scout(options).held(data)
    wanted = [rule for rule, markers in _markers(options) if not markers.isdisjoint(held)]
    entry = facts.uses_cuda and b"__main__" in data and b"torch" in data
    wanted += [rule for rule in _rules(options) if rule.runs_last and (wanted or entry)]
    return wanted


def _check(
    path: str, source: SourceText, rules: Iterable[Rule], options: EngineOptions, facts: ProjectFacts
) -> list[Finding]:
    """All findings of one file, in the order of their places. Raises :class:`ParseError`."""
    rules = list(rules)
    markers = tuple(sorted({marker for rule in rules for marker in (*rule.all_markers, *_own_markers(options))}))
    tree = parse(source, markers)
    target = options.target
    surface = knowledge.surface(target.torch_npu)
    roots = frozenset({"torch", *(row.name.split(".")[0] for row in options.own_rows)})
    context = Context(path, tree, target, surface, facts, _mapping(options), options.language, roots)
    asked = pragmas.of_python(source.text) if pragmas.MARKER.decode() in source.text else None
    if asked is not None and asked.ignores_file:
        return []
    findings: list[Finding] = []
    sites = named = 0
    for rule in sorted(rules, key=lambda rule: (rule.runs_last, rule.code)):
        for finding in rule.check(context):
            if asked is None or not asked.ignores(finding):
                findings.append(finding)
            else:  # what it left in the context for the rule that imports torch_npu goes with it
                del context.npu_sites[sites:]
                del context.torch_npu_named[named:]
            sites, named = len(context.npu_sites), len(context.torch_npu_named)
    return sorted(findings, key=lambda finding: finding.sort_key)


def _compatible(findings: list[Finding]) -> tuple[list[Finding], list[Edit]]:
    """All edits that fit together. A fix that overlaps an earlier one is withdrawn, not half applied."""
    taken: list[Edit] = []  # sorted, and none overlaps another
    kept: list[Finding] = []
    for finding in findings:
        if finding.fix is not None:
            new = [edit for edit in finding.fix.edits if not _is_in(edit, taken)]
            if any(_collides(edit, taken) for edit in new):
                finding = replace(finding, fix=None)
            else:
                for edit in new:
                    insort(taken, edit)
        kept.append(finding)
    return kept, taken


def _is_in(edit: Edit, ordered: list[Edit]) -> bool:
    at = bisect_left(ordered, edit)
    return at < len(ordered) and ordered[at] == edit


def _collides(edit: Edit, ordered: list[Edit]) -> bool:
    """Whether ``edit`` overlaps one of ``ordered``: only its neighbours can."""
    at = bisect_left(ordered, edit)
    return any(_overlap(edit, other) for other in ordered[max(at - 2, 0) : at + 2])


def _overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.end and other.start == other.end:
        return one.start == other.start  # two insertions at one place: their order would be a guess
    return one.start < other.end and other.start < one.end


def _verify(path: str, data: bytes, source: SourceText, options: EngineOptions, facts: ProjectFacts) -> str | None:
    """What is wrong with converted text: it must parse, and a second conversion must change nothing.

    Only the rules that ever fix something are asked again, and none where their markers are gone.
    """
    rules = [rule for rule in _wanted(data, options, facts) if rule.fixes]
    try:
        if all(rule.runs_last for rule in rules):
            read(source)
            return None
        again = _check(path, source, rules, options, facts)
    except ParseError as error:
        return f"left unchanged: the converted text would not parse (line {error.line}: {error}); please report"
    rest = [finding for finding in again if finding.fix is not None]
    if rest:
        first = rest[0]
        return (
            f"left unchanged: a second conversion would change it again ({first.code} at line "
            f"{first.span.line}); please report"
        )
    return None


def _parse_message(source: SourceText, error: ParseError) -> str:
    """Why a file could not be read, in words that say what to do."""
    version = ".".join(str(part) for part in sys.version_info[:2])
    if is_readable(source.text):
        return f"newer than this Python {version} can read ({error}); run ascend-migrate with a newer Python"
    return f"not valid Python {version}: {error}"
