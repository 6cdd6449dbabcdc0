"""Messages in the user's language.

A message is written in English where it is made, as a template and its values: ``say("{old} is {new}", old=...,
new=...)`` is the English string, and remembers both. :func:`in_language` says the same with the template that the
catalogue of another language has for it. What has no translation stays English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

LANGUAGES = ("en", "zh")

_CATALOGUES = Path(__file__).parent / "catalogues"


class Text(str):
    """An English message that knows its template and values, so that it can be said in another language."""

    template: str
    values: Mapping[str, object]

    def __reduce__(self) -> tuple[object, ...]:
        return (str, (str(self),))  # what crosses to another process has been put into its language before


def say(template: str, **values: object) -> Text:
    """``template`` with ``values`` put in as by ``str.format``."""
    message = Text(template.format(**values) if values else template)
    message.template = template
    message.values = values
    return message


def in_language(message: str, language: str) -> str:
    """``message`` in ``language`` (one of :data:`LANGUAGES`), or as it is where there is no translation."""
    if language == "en":
        return message
    entries = catalogue(language)
    if not isinstance(message, Text):
        return entries.get(message, message)
    template = entries.get(message.template)
    if template is None:
        return message
    values = {k: in_language(v, language) if _is_said(v) else v for k, v in message.values.items()}
    return template.format(**values) if values else template


def _is_said(value: object) -> TypeGuard[str]:
    """Whether a value is a message itself: a :class:`Text`, or a constant of several words. A single word may be a
    name from the source."""
    return isinstance(value, Text) or (isinstance(value, str) and " " in value)


def of_locale(variables: Mapping[str, str]) -> str:
    """The language of a POSIX locale in the environment: Chinese where it begins with ``zh``, else English."""
    chosen = next((variables[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if variables.get(name)), "")
    return "zh" if chosen.lower().startswith("zh") else "en"


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """English template -> template in ``language``, from ``catalogues/<language>.yaml``."""
    import yaml

    path = _CATALOGUES / f"{language}.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=loader) if path.is_file() else None
    return entries or {}
