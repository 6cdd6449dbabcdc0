"""Analyze a project, with what the last analysis left in the cache.

A run in which nothing changed imports neither the engine, nor the rules, nor the knowledge base.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_migrate.engine import cache
from ascend_migrate.model import FileReport, Target
from ascend_migrate.sources.discovery import SourceFile

if TYPE_CHECKING:
    from ascend_migrate.engine.pipeline import EngineOptions
    from ascend_migrate.engine.runner import Engine, Progress
    from ascend_migrate.knowledge import ApiMapping
    from ascend_migrate.sources.versions import Versions

IgnoredIn = Callable[[Path], tuple[str, ...]]


@dataclass(frozen=True)
class Request:
    """What the user asks of the engine: the target as typed, the code prefixes wanted and not wanted, the language,
    the project's own rows; and the versions found, which count where none are asked for."""

    soc: str | None = None
    torch: str | None = None
    torch_npu: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    language: str = "en"
    own_rows: tuple[ApiMapping, ...] = ()
    found: Versions | None = None

    def target(self) -> Target:
        """The target that this means.

        Raises:
            ValueError: there is no such chip or version, the versions do not go together, or no rule has a code
                that starts so.
        """
        _check_codes((*self.select, *self.ignore))
        from ascend_migrate.knowledge import UnknownTarget, resolve_target

        if self.torch_npu is None and self.torch is None and self.found is not None:
            resolve_target(self.soc)  # what the user typed is wrong or right whatever was found
            with suppress(UnknownTarget):  # a torch without torch_npu, say: the user did not ask for it
                # torch follows from torch_npu, and a pair that does not fit is no reason to stop.
                return resolve_target(
                    self.soc, self.found.torch_npu, None if self.found.torch_npu else self.found.torch
                )
        return resolve_target(self.soc, self.torch_npu, self.torch)

    def options(self, target: Target) -> EngineOptions:
        """The same in the words of the engine."""
        from ascend_migrate.engine.pipeline import EngineOptions

        return EngineOptions(target, self.select, self.ignore, self.language, self.own_rows)


def _check_codes(prefixes: Sequence[str]) -> None:
    """Refuse a code that no rule has: it would leave out what it was to find, and look like success."""
    if not prefixes:
        return
    from ascend_migrate.rules import all_rules

    codes = [rule.code for rule in all_rules()]
    for prefix in prefixes:
        if not any(code.startswith(prefix) for code in codes):
            raise ValueError(f"no rule has a code that starts with `{prefix}`; the codes are {', '.join(codes)}")


def analyze(
    files: Sequence[SourceFile],
    request: Request,
    *,
    per_file_ignores: Sequence[object] = (),
    ignored_in: IgnoredIn | None = None,
    jobs: int | None = None,
    cache_file: Path | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> tuple[Target, list[FileReport]]:
    """The target and the report of every file, in order; the reports hold no edits.

    Args:
        per_file_ignores: what ``ignored_in`` decides by; a part of the cache key.
        ignored_in: the codes ignored in one file.
        cache_file: where results are remembered, or None.
        engine: the functions to call; the real ones by default.

    Raises:
        ValueError: the target does not exist.
    """
    wanted = cache.key((request, tuple(per_file_ignores)))
    old = cache.load(cache_file, wanted) if cache_file is not None else None
    known = _unchanged(files, old) if old is not None else {}
    if old is not None and len(known) == len(files) == len(old.entries):
        if any(old.entries[name] is not entry for name, entry in known.items()) and cache_file is not None:
            cache.save(cache_file, replace(old, entries=known))
        return old.target, [known[file.name].report for file in files]

    chosen = old.target if old is not None else request.target()
    from ascend_migrate.engine.runner import Runner

    size = sum(file.size for file in files if file.name not in known)
    with Runner(size, request.options(chosen), jobs=jobs, engine=engine) as runner:
        facts = {name: cache.unpack(entry.facts) for name, entry in known.items()}
        unknown = [file for file in files if file.name not in known]
        facts.update((file.name, fact) for file, fact in runner.gather(unknown))
        index = runner.engine.build(fact for fact in facts.values() if fact is not None)
        if old is not None and old.index_digest != index.digest:
            known = {}
        todo = [file for file in files if file.name not in known]
        outcomes = list(runner.process(todo, index, ignored_in=ignored_in, progress=progress))
    fresh = {outcome.report.path: cache.without_edits(outcome.report) for outcome in outcomes}
    if cache_file is not None:
        entries = dict(known)
        for file, outcome in zip(todo, outcomes):
            if not outcome.crashed:
                digest = _hash(file)
                if digest is not None:
                    entries[file.name] = cache.Entry(
                        file.mtime_ns, file.size, digest, cache.pack(facts[file.name]), fresh[file.name]
                    )
        cache.save(cache_file, cache.Cache(wanted, chosen, index.digest, entries))
    return chosen, [known[file.name].report if file.name in known else fresh[file.name] for file in files]


def _unchanged(files: Sequence[SourceFile], old: cache.Cache) -> dict[str, cache.Entry]:
    """The entries of the files that are as they were, by time and size, or by content."""
    known = {}
    for file in files:
        entry = old.entries.get(file.name)
        if entry is None or entry.size != file.size:
            continue
        if entry.mtime_ns == file.mtime_ns:
            known[file.name] = entry
        elif _hash(file) == entry.sha256:
            known[file.name] = replace(entry, mtime_ns=file.mtime_ns)
    return known


def _hash(file: SourceFile) -> bytes | None:
    try:
        return hashlib.sha256(file.path.read_bytes()).digest()
    except OSError:
        return None


def process_one(
    name: str, data: bytes, request: Request, *, ignored: tuple[str, ...] = (), engine: Engine | None = None
) -> tuple[Target, FileReport]:
    """The target and the report of a single file at hand, such as the standard input.

    Raises:
        ValueError: the target does not exist.
    """
    from ascend_migrate.engine.runner import Engine as RealEngine
    from ascend_migrate.engine.runner import gather_one, process_bytes

    engine = engine or RealEngine.default()
    target = request.target()
    facts = gather_one(engine.gather, name, data)
    index = engine.build(() if facts is None else (facts,))
    return target, process_bytes(engine.process, name, data, ignored, request.options(target), index).report
