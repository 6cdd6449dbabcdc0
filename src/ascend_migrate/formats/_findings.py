"""What the formats share: findings at places of a text, in the user's language."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from ascend_migrate.engine import pragmas
from ascend_migrate.language import in_language
from ascend_migrate.model import Finding, Level
from ascend_migrate.syntax.text import SourceText

if TYPE_CHECKING:
    from ascend_migrate.engine.pipeline import EngineOptions


class Findings:
    """Collects the findings of one file, as far as they are asked for."""

    def __init__(self, path: str, source: SourceText, options: EngineOptions) -> None:
        self.path = path
        self.source = source
        self._options = options
        self._found: list[Finding] = []

    def add(self, start: int, end: int, code: str, level: Level, message: str, help: str) -> None:
        """A finding at a range of characters."""
        if self._options.wants(code):
            language = self._options.language
            self._found.append(
                Finding(
                    self.path,
                    self.source.span(start, end),
                    code,
                    level,
                    in_language(message, language),
                    in_language(help, language),
                )
            )

    def sorted(self) -> tuple[Finding, ...]:
        """The findings in the order of their places, without those that a comment in the file leaves out."""
        found = self._found
        if found and pragmas.MARKER.decode() in self.source.text:
            asked = pragmas.of_lines(self.source.text)
            found = [finding for finding in found if not asked.ignores(finding)]
        return tuple(sorted(found, key=lambda finding: finding.sort_key))


def decode(data: bytes) -> SourceText:
    """The text of a file that says nothing of its encoding: UTF-8, else every byte one character."""
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        return SourceText(data[len(codecs.BOM_UTF8) if bom else 0 :].decode("utf-8"), "utf-8", bom)
    except UnicodeDecodeError:
        return SourceText(data.decode("latin-1"), "latin-1")
