"""Which files a project says are not its own: ``.gitignore`` rules, and patterns written the same way.

``pathspec`` does the matching. It is imported only when there is a pattern to match: it costs more start-up
time than a walk over a hundred files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def _compile(lines: Iterable[str]) -> GitIgnoreSpec | None:
    """The patterns of one file, or None when it holds none."""
    wanted = [line for line in lines if line.strip() and not line.startswith("#")]
    if not wanted:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(wanted)


def _read(path: Path) -> GitIgnoreSpec | None:
    """The patterns of an ignore file. One that is missing or unreadable ignores nothing, as in git."""
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return _compile(text.splitlines())


class GitIgnore:
    """The ``.gitignore`` files that hold in one directory: its own and those of the directories above.

    Immutable: :meth:`enter` gives the rules of a sub-directory. ``base`` is the directory that the paths
    given to :meth:`ignores` are relative to; a rule file lies in ``base`` or below it.
    """

    __slots__ = ("_layers",)

    def __init__(self, layers: tuple[tuple[str, GitIgnoreSpec], ...] = ()) -> None:
        self._layers = layers

    def enter(self, directory: Path, relative: str) -> GitIgnore:
        """The rules inside ``directory``, which is ``relative`` (``a/b``, or empty) to the base."""
        spec = _read(directory / ".gitignore")
        return self if spec is None else self._with(spec, relative)

    def _with(self, spec: GitIgnoreSpec, relative: str) -> GitIgnore:
        return GitIgnore((*self._layers, (f"{relative}/" if relative else "", spec)))

    def ignores(self, relative: str, *, directory: bool) -> bool:
        """Whether git would ignore the path. As in git the deepest rule file decides, and in it the last
        rule."""
        for prefix, spec in reversed(self._layers):
            below = relative[len(prefix) :]
            include = _decide_directory(spec, below) if directory else spec.check_file(below).include
            if include is not None:
                return include
        return False


def _decide_directory(spec: GitIgnoreSpec, path: str) -> bool | None:
    """What the last rule that speaks of this directory itself says.

    ``check_file()`` ranks rules for directories below rules for files, which is right for the files in them; but
    then ``*`` followed by ``!*/``, the usual way to ignore all but some files, would end at the first directory.
    A rule that matches the parent as well spoke when the parent was entered.
    """
    parent = path.rpartition("/")[0]
    for pattern in reversed(list(spec.patterns)):
        if pattern.include is None or pattern.match_file(f"{path}/") is None:
            continue
        if not parent or pattern.match_file(f"{parent}/") is None:
            return bool(pattern.include)
    return None


def gitignore_above(root: Path) -> tuple[GitIgnore, str]:
    """The rules that the git repository around ``root`` sets for it, and where ``root`` lies in it (``a/b``).

    Without a repository there are none. A directory that the user names although git ignores it was named on
    purpose, so then the rules above it do not count.
    """
    root = root.resolve()
    top = next((place for place in (root, *root.parents) if (place / ".git").exists()), None)
    if top is None:
        return GitIgnore(), ""
    rules = GitIgnore()
    exclude = _read(top / ".git" / "info" / "exclude")
    if exclude is not None:
        rules = rules._with(exclude, "")
    relative = ""
    place = top
    for part in root.relative_to(top).parts:
        rules = rules.enter(place, relative)
        place = place / part
        relative = f"{relative}/{part}" if relative else part
        if rules.ignores(relative, directory=True):
            return GitIgnore(), relative
    return rules, relative


class PathPatterns:
    """Patterns in the ``.gitignore`` notation, relative to the directory of the configuration file."""

    def __init__(self, base: Path, patterns: Sequence[str]) -> None:
        self._base = base.resolve()
        self._spec = _compile(patterns)

    def match(self, path: Path) -> bool:
        """Whether a pattern matches ``path`` or a directory that holds it. Paths outside the base never
        match."""
        if self._spec is None:
            return False
        try:
            relative = path.absolute().relative_to(self._base)
        except ValueError:
            try:
                relative = path.resolve().relative_to(self._base)
            except ValueError:
                return False
        return self._spec.match_file(relative.as_posix())
