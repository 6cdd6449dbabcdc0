"""From what a user types to the page that tells about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_migrate import knowledge
from ascend_migrate.model import Target
from ascend_migrate.report import pages
from ascend_migrate.rules import all_rules

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_OF_THE_NPU = re.compile("npu|mstx|hccl|acl", re.IGNORECASE)
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def page(query: str, target: Target, language: str = "en") -> str | None:
    """The page about a rule (code or name), an environment variable, an API, a library, or an aten operator;
    None when nothing is known of it. What depends on the version is said for ``target``."""
    query = query.strip()
    for rule in all_rules():
        if query.upper() == rule.code or query.lower() == rule.name:
            return pages.rule_page(rule, language)
    if _VARIABLE.fullmatch(query):
        variable = knowledge.find_environment_variable(query)
        if variable is not None:
            return pages.variable_page(variable, language)
    if _DOTTED.fullmatch(query):
        row = knowledge.find_api_mapping(query)
        if row is not None and row.covers(query):
            return pages.api_page(row, target, language)
        known = pages.name_page(query, target, language)
        if known is not None:
            return known
    library = _library(query)
    if library is not None:
        return pages.library_page(library, language)
    return pages.operator_page(query, target, language) if re.fullmatch(r"(aten::)?[\w.]+", query) else None


def _library(query: str) -> knowledge.Library | None:
    rows = knowledge.libraries()
    by_name = {name.lower(): row for name, row in rows.items()}
    if query.lower() in by_name:
        return by_name[query.lower()]
    imported = knowledge.library_of_import(query)
    return imported[0] if imported is not None else knowledge.library_of_distribution(query)


def near(query: str, limit: int = 3) -> list[str]:
    """What the user may have meant: the nearest names of everything that has a page."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(_names()))
    by_lower = {name.lower(): name for name in names}
    close = get_close_matches(query.lower(), by_lower, n=limit, cutoff=0.6)
    return [by_lower[name] for name in close]


def _names() -> Iterator[str]:
    for rule in all_rules():
        yield rule.code
        yield rule.name
    for row in knowledge.api_mappings():
        yield row.name
    yield from knowledge.environment_variables()
    for library in knowledge.libraries().values():
        yield library.name
        yield from library.imports
        yield from library.distributions
    names = knowledge.surface(knowledge.versions()[-1]).exported("torch_npu.npu")
    yield from (f"torch.npu.{name}" for name in sorted(names))
    yield from (f"torch.cuda.{name}" for name in sorted(names) if not _OF_THE_NPU.search(name))
