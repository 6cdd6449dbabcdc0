"""The rules, one module each, found by walking this package."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ascend_migrate.rules.base import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, ordered by code."""
    rules: list[Rule] = []
    for module in pkgutil.iter_modules(__path__):
        if module.name == "base" or module.name.startswith("_"):
            continue
        namespace = vars(importlib.import_module(f"{__name__}.{module.name}"))
        rules.extend(
            value()
            for value in namespace.values()
            if isinstance(value, type)
            and issubclass(value, Rule)
            and value.__module__.endswith(module.name)
            and hasattr(value, "code")  # a class without one is what rules of a module share
        )
    return tuple(sorted(rules, key=lambda rule: rule.code))
