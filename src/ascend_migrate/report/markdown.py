"""The Markdown form: a comment for a pull request. What blocks comes first, the rest is folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ascend_migrate.language import in_language, say
from ascend_migrate.model import Finding, Level
from ascend_migrate.report import text
from ascend_migrate.report.readiness import Readiness
from ascend_migrate.report.result import ProjectResult
from ascend_migrate.report.sources import printable

SHOWN_BLOCKING = 20
SHOWN = 300
"""Findings listed. A comment on GitHub has at most 65,536 characters."""


def render(result: ProjectResult) -> str:
    """The comment."""
    return "\n\n".join(_parts(result)) + "\n"


def _parts(result: ProjectResult) -> Iterable[str]:
    def t(message: str) -> str:
        return in_language(message, result.language)

    target = result.target
    yield t(say("## Ascend NPU migration"))
    yield "\n".join([_bar(result.readiness), "", *(_escaped(line) for line in text.summary(result))])
    yield t(
        say(
            "Target: {soc}, torch {torch}, torch_npu {torch_npu}.",
            soc=target.soc,
            torch=target.torch,
            torch_npu=target.torch_npu,
        )
    )
    blocking = result.readiness.blocking
    if blocking:
        yield t(say("### Blocks a first run"))
        yield "\n".join(
            [*(_item(result, f) for f in blocking[:SHOWN_BLOCKING]), *_more(result, blocking, SHOWN_BLOCKING)]
        )
    if result.errors:
        yield t(say("### Not processed"))
        yield "\n".join(f"- `{_place(result, e.path, e.line)}` {_escaped(e.message)}" for e in result.errors)
    if result.findings:
        yield "\n".join(_by_code(result))
        yield f"<details><summary>{t(say('All findings'))}</summary>"
        for path, group in groupby(result.findings[:SHOWN], key=lambda finding: finding.path):
            yield f"**`{_code(result.shown(path))}`**"
            yield "\n".join(_item(result, finding, named=False) for finding in group)
        yield from _more(result, result.findings, SHOWN)
        yield "</details>"


def _bar(readiness: Readiness) -> str:
    """Twenty squares: what converts automatically, wants a review, needs work."""
    if not readiness.sites:
        return "🟩" * 20
    work = -(-20 * readiness.work // readiness.sites)
    review = min(20 - work, -(-20 * readiness.review // readiness.sites))
    return "🟩" * (20 - work - review) + "🟨" * review + "🟥" * work


def _by_code(result: ProjectResult) -> Iterable[str]:
    def t(message: str) -> str:
        return in_language(message, result.language)

    fixed = dict.fromkeys(result.by_code, 0)
    levels: dict[str, Level] = {}
    for finding in result.findings:
        levels.setdefault(finding.code, finding.level)
        fixed[finding.code] += finding.fix is not None
    yield f"| {t(say('Code'))} | {t(say('Level'))} | {t(say('Findings'))} | {t(say('Fixed by a conversion'))} |"
    yield "|---|---|---:|---:|"
    for code, number in result.by_code.items():
        yield f"| {code} | {t(text.LEVEL_NAMES[levels[code]])} | {number} | {fixed[code]} |"


def _item(result: ProjectResult, finding: Finding, *, named: bool = True) -> str:
    path = _place(result, finding.path, finding.span.line) if named else str(finding.span.line)
    fix = " 🔧" if finding.fix is not None else ""
    said = f"- `{path}` **{finding.code}**{fix} {_escaped(finding.message)}"
    return f"{said} — {_escaped(finding.help)}" if finding.help else said


def _more(result: ProjectResult, findings: Sequence[Finding], shown: int) -> Iterable[str]:
    if len(findings) > shown:
        yield in_language(say("and {number} more", number=len(findings) - shown), result.language)


def _place(result: ProjectResult, path: str, line: int) -> str:
    return f"{_code(result.shown(path))}:{line}"


def _code(content: str) -> str:
    return printable(content).replace("`", "'").replace("\n", " ")


def _escaped(content: str) -> str:
    """Plain text in Markdown: only what would be read as markup is escaped, and names stay names."""
    line = " ".join(printable(content).split())
    for character in "\\`*_[]<>|#":
        line = line.replace(character, f"\\{character}") if character in line else line
    return line.replace("@", "@\u200b")  # no one is to be notified
