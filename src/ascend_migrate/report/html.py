"""The HTML form: one file that holds all it needs, opens without a network, and can be searched.

The findings are in the page as they are; the script only hides what the filter does not ask for. The charts are
drawn as SVG. A content security policy in the page forbids loading anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from ascend_migrate import __version__
from ascend_migrate.language import in_language, say
from ascend_migrate.model import LEVELS, Finding, Span
from ascend_migrate.report.readiness import NEEDS, Readiness, by_module, need
from ascend_migrate.report.result import ProjectResult
from ascend_migrate.report.sources import Sources, printable
from ascend_migrate.report.text import LEVEL_NAMES

_TEMPLATES = Path(__file__).parent / "templates"
_AROUND = 2
"""Lines shown before and after those of a finding."""
_MOST_LINES = 12
"""Lines shown of a finding that spans many."""
_MOST_COLUMNS = 400
"""Characters shown of a line; minified or generated ones have no end."""

_NEEDS = {
    "automatic": say("converts automatically"),
    "review": say("wants a review"),
    "work": say("needs work"),
}


def render(result: ProjectResult) -> str:
    """The page."""
    parts = {
        "style": _template("report.css"),
        "script": _template("report.js"),
        **_Page(result).parts(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], _template("report.html"))


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


class _Page:
    """The parts of the page for one result."""

    def __init__(self, result: ProjectResult) -> None:
        self._result = result
        self._sources = Sources(result)

    def _say(self, message: str) -> str:
        """A message in the language of the result, for HTML."""
        return _html(in_language(message, self._result.language))

    def parts(self) -> dict[str, str]:
        result, t = self._result, self._say
        target = result.target
        return {
            "lang": "zh-CN" if result.language == "zh" else "en",
            "version": _html(__version__),
            "title": t(say("Migration to the Ascend NPU")),
            "target": t(
                say(
                    "Target: {soc}, torch {torch}, torch_npu {torch_npu}.",
                    soc=target.soc,
                    torch=target.torch,
                    torch_npu=target.torch_npu,
                )
            ),
            "cards": "".join(self._cards()),
            "readiness_title": t(say("Readiness")),
            "readiness": self._readiness(),
            "modules_title": t(say("By module")),
            "modules": self._modules(),
            "codes_title": t(say("By code")),
            "codes": self._codes(),
            "blocking": self._blocking(),
            "errors": self._errors(),
            "findings_title": t(say("Findings")),
            "filter": self._filter(),
            "findings": "".join(self._files()),
        }

    # -- summary -----------------------------------------------------------------------------------------------

    def _cards(self) -> Iterator[str]:
        result = self._result
        yield _card(f"{result.readiness.percent} %", self._say(say("readiness")))
        yield _card(result.scanned, self._say(say("files scanned")))
        yield _card(len(result.findings), self._say(say("findings")))
        yield _card(result.fixable, self._say(say("fixed by a conversion")))
        yield _card(len(result.readiness.blocking), self._say(say("block a first run")))
        if result.failed:
            yield _card(result.failed, self._say(say("files not processed")))

    def _readiness(self) -> str:
        readiness = self._result.readiness
        legend = "".join(
            f'<li><i class="{name}"></i>{self._say(_NEEDS[name])}: {getattr(readiness, name)}</li>' for name in NEEDS
        )
        return (
            f"<p>{self._say(readiness.sentence)}</p>"
            f"{_stacked(readiness, 28, self._say(readiness.sentence))}"
            f'<ul class="legend">{legend}</ul>'
        )

    def _modules(self) -> str:
        t = self._say
        rows = [
            f'<tr><td><code>{_html(name)}</code></td><td class="number">{part.percent} %</td>'
            f'<td class="number">{part.sites}</td><td class="number">{part.work}</td>'
            f'<td class="bar">{_stacked(part, 12, t(part.sentence))}</td></tr>'
            for name, part in by_module(self._result.findings).items()
        ]
        head = (
            f'<tr><th>{t(say("Module"))}</th><th class="number">{t(say("Readiness"))}</th>'
            f'<th class="number">{t(say("Sites"))}</th><th class="number">{t(_NEEDS["work"])}</th><th></th></tr>'
        )
        return f'<table id="modules">{head}{"".join(rows)}</table>'

    def _codes(self) -> str:
        counts = self._result.by_code
        if not counts:
            return ""
        worst: dict[str, int] = {}
        for finding in self._result.findings:
            worst[finding.code] = max(worst.get(finding.code, 0), LEVELS.index(finding.level))
        most, row = max(counts.values()), 22
        bars = "".join(
            f'<text x="0" y="{at * row + 15}">{code}</text>'
            f'<rect class="bar-{LEVELS[worst[code]]}" x="64" y="{at * row + 4}" height="14" rx="2" '
            f'width="{max(2, 300 * number // most)}"><title>{code}: {number}</title></rect>'
            f'<text x="{64 + max(2, 300 * number // most) + 6}" y="{at * row + 15}">{number}</text>'
            for at, (code, number) in enumerate(counts.items())
        )
        label = self._say(say("By code"))
        return f'<svg role="img" aria-label="{label}" viewBox="0 0 420 {row * len(counts) + 4}">{bars}</svg>'

    def _blocking(self) -> str:
        blocking = self._result.readiness.blocking
        if not blocking:
            return ""
        numbers = {id(finding): number for number, finding in enumerate(self._result.findings)}
        items = "".join(
            f'<li><a class="place" href="#f{numbers[id(finding)]}">{self._place(finding)}</a> '
            f"<b>{finding.code}</b> {_html(finding.message)}</li>"
            for finding in blocking
        )
        many = len(blocking) > 20
        title = self._say(say("Blocks a first run"))
        return (
            f'<section id="blocking"><h2>{title} ({len(blocking)})</h2>'
            f"<details{'' if many else ' open'}><summary>{len(blocking)}</summary><ul>{items}</ul></details></section>"
        )

    def _errors(self) -> str:
        if not self._result.errors:
            return ""
        items = "".join(
            f'<li><span class="place">{_html(self._result.shown(error.path))}:{error.line}</span> '
            f"{_html(error.message)}</li>"
            for error in self._result.errors
        )
        return f'<section id="errors"><h2>{self._say(say("Not processed"))}</h2><ul>{items}</ul></section>'

    # -- findings ----------------------------------------------------------------------------------------------

    def _filter(self) -> str:
        t = self._say
        boxes = "".join(
            f'<label><input type="checkbox" name="level" value="{level}" checked> {t(LEVEL_NAMES[level])}</label>'
            for level in reversed(LEVELS)
        )
        codes = "".join(
            f'<option value="{code}">{code} ({number})</option>' for code, number in self._result.by_code.items()
        )
        needs = "".join(f'<option value="{name}">{t(_NEEDS[name])}</option>' for name in NEEDS)
        return (
            f'<input type="search" id="search" placeholder="{t(say("Search"))}" aria-label="{t(say("Search"))}">'
            f'{boxes}<select id="code" aria-label="{t(say("Code"))}"><option value="">{t(say("all codes"))}</option>'
            f'{codes}</select><select id="need" aria-label="{t(say("What it needs"))}">'
            f'<option value="">{t(say("all"))}</option>{needs}</select><span id="shown" class="faint"></span>'
        )

    def _files(self) -> Iterator[str]:
        numbered = enumerate(self._result.findings)
        for path, group in groupby(numbered, key=lambda item: item[1].path):
            found = list(group)
            shown = _html(self._result.shown(path))
            lines = self._sources.lines(path)
            items = "".join(self._finding(number, finding, lines) for number, finding in found)
            yield (
                f'<details class="file" open data-path="{shown.lower()}"><summary><code>{shown}</code> '
                f'<span class="faint">{len(found)}</span></summary>{items}</details>\n'
            )

    def _finding(self, number: int, finding: Finding, lines: Sequence[str]) -> str:
        wanted = need(finding) or ""
        tag = f'<span class="tag">{self._say(_NEEDS[wanted])}</span>' if wanted else ""
        help = f'<p class="faint">{_html(finding.help)}</p>' if finding.help else ""
        excerpt = _excerpt(lines, finding.span)
        return (
            f'<article class="finding {finding.level}" id="f{number}" data-level="{finding.level}" '
            f'data-code="{finding.code}" data-need="{wanted}">'
            f'<p><span class="code">{finding.code}</span>'
            f'<span class="place faint">{self._place(finding)}</span>{tag}</p>'
            f"<p>{_html(finding.message)}</p>{help}{excerpt}{self._fix(finding)}</article>\n"
        )

    def _fix(self, finding: Finding) -> str:
        if finding.fix is None or finding.fix.before == finding.fix.after:
            return ""
        lines = [
            *(f'<span class="removed">- {_cut(line)}</span>' for line in finding.fix.before.splitlines()[:_MOST_LINES]),
            *(f'<span class="added">+ {_cut(line)}</span>' for line in finding.fix.after.splitlines()[:_MOST_LINES]),
        ]
        title = self._say(say("What a conversion writes"))
        return f"<details><summary>{title}</summary><pre>{''.join(lines)}</pre></details>"

    def _place(self, finding: Finding) -> str:
        span = finding.span
        return f"{_html(self._result.shown(finding.path))}:{span.line}:{span.column}"


def _card(value: object, label: str) -> str:
    return f'<div class="card"><b>{value}</b>{label}</div>'


def _stacked(part: Readiness, height: int, label: str) -> str:
    """One bar: the shares of what converts, wants a review, needs work."""
    width, at, bars = 600, 0.0, []
    counts: Mapping[str, int] = {name: getattr(part, name) for name in NEEDS}
    for name, number in counts.items():
        share = width * number / part.sites if part.sites else 0
        if share:
            bars.append(f'<rect class="{name}" x="{at:.1f}" y="0" width="{share:.1f}" height="{height}"/>')
        at += share
    if not bars:
        bars.append(f'<rect class="rest" x="0" y="0" width="{width}" height="{height}"/>')
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" preserveAspectRatio="none" style="height:{height}px">'
        f"<title>{label}</title>{''.join(bars)}</svg>"
    )


def _excerpt(lines: Sequence[str], span: Span) -> str:
    """The lines of a finding and some around them, with numbers, and its place marked."""
    if span.line > len(lines):
        return ""
    last = min(max(span.end_line, span.line), span.line + _MOST_LINES - 1, len(lines))
    first_shown, last_shown = max(1, span.line - _AROUND), min(len(lines), last + _AROUND)
    width = len(str(last_shown))
    shown = []
    for number in range(first_shown, last_shown + 1):
        line = lines[number - 1]
        if span.line <= number <= last:
            start = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
            end = span.end_column - 1 if number == span.end_line else len(line)
            content = f"{_cut(line[:start])}<mark>{_cut(line[start:end])}</mark>{_cut(line[end:])}"
        else:
            content = _cut(line)
        shown.append(f'<span class="number">{number:>{width}} </span>{content}')
    return "<pre>" + "\n".join(shown) + "</pre>"


def _cut(text: str) -> str:
    return _html(text if len(text) <= _MOST_COLUMNS else f"{text[:_MOST_COLUMNS]}…")


def _html(text: str) -> str:
    return escape(printable(text))
