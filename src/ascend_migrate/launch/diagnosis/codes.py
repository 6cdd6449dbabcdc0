"""From what a user types, or a line of a log holds, to the entry of a code."""

from __future__ import annotations

import re

from ascend_migrate.knowledge.error_codes import Entry, compose, error_codes, error_messages, error_names, hccl_results
from ascend_migrate.launch.diagnosis.words import word

_CODE = re.compile(r"\b(?:ERR\d{5}|E[0-9A-Z]\d{4}|\d{6}|(?:ACL|ACLNN)_ERR\w*|HCCL_E_\w+)\b", re.IGNORECASE)


def find_code(query: str) -> Entry | None:
    """The entry for ``107002``, ``EI0006``, ``ERR01002``, ``ACL_ERROR_INVALID_PARAM``, ``HCCL_E_TIMEOUT``,
    ``port-in-use``, or for the first known one in a pasted message. None when nothing is known of it."""
    exact = _exact(query.strip())
    if exact is not None:
        return exact
    for match in _CODE.finditer(query):
        entry = _exact(match[0])
        if entry is not None:
            return entry
    return next((message.entry for message in error_messages() if message.match(query)[0]), None)


def _exact(query: str) -> Entry | None:
    upper = query.upper()
    by_key = {message.entry.code: message.entry for message in error_messages()}
    return error_codes().get(upper) or error_names().get(upper) or by_key.get(query.lower()) or compose(upper)


def near_codes(query: str, limit: int = 3) -> list[str]:
    """The codes and names nearest to one that is not known."""
    from difflib import get_close_matches

    names = [*error_codes(), *error_names(), *(message.entry.code.upper() for message in error_messages())]
    close = get_close_matches(query.strip().upper(), names, n=limit, cutoff=0.7)
    return [name if name in error_codes() or name in error_names() else name.lower() for name in close]


def hccl_result(number: int) -> Entry | None:
    """The entry for what a function of HCCL returned."""
    return hccl_results().get(number)


def code_page(entry: Entry, language: str = "en") -> str:
    """A page of Markdown about a code: meaning, usual causes, what to check, what to do."""
    words = entry.words(language)
    lines = [f"# {entry.code}" + (f" {entry.names[0]}" if entry.names else ""), "", words.meaning]
    if not entry.known:
        lines.append(word("not public", language))
    if len(entry.names) > 1:
        lines += ["", word("also called", language, names=", ".join(f"`{name}`" for name in entry.names[1:]))]
    for key, points in (("causes", words.causes), ("check", words.check), ("do", words.do)):
        if points:
            lines += ["", f"## {word(key, language)}", "", *(f"- {point}" for point in points)]
    return "\n".join(lines) + "\n"
