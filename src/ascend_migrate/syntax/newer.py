"""Files written for a newer Python than the one that runs.

``ast`` reads the syntax of its own interpreter only; libcst reads that of all. So libcst finds the new
constructs, and each is masked by older syntax *of the same length*, in which all positions and all names that
matter are where they were. The mask is only ever read: edits are made in the real text.

=====================  ====================  ===========================================
``match x:``           ``while x:``          the subject stays an expression
``case p if guard:``   ``with p or guard:``  a pattern reads as an expression
``except* E:``         ``except  E:``
``def f[T](x):``       ``def f   (x):``
``type X = int``       ``type;X = int``
``tuple[*Ts]``         ``tuple[ Ts]``
=====================  ====================  ===========================================
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_migrate.syntax.text import SourceText

_SAFE_DEPTH = 60
_SAFE_LINE = 5000


@dataclass(frozen=True)
class Masked:
    """``text`` in older syntax, and the offsets at which a ``case`` became a ``with``."""

    text: str
    cases: frozenset[int]


def is_safe_for_libcst(text: str) -> bool:
    """Whether libcst may be given ``text``: its parser recurses in native code, and too deep an input ends
    the process."""
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest <= _SAFE_DEPTH and len(max(text.splitlines(), key=len, default="")) <= _SAFE_LINE


def mask(source: SourceText) -> Masked | None:
    """The mask of a file, or None when libcst cannot read it either, or has nothing to mask in it."""
    text = source.text
    if not is_safe_for_libcst(text):
        return None
    import libcst as cst
    from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return None
    if wrapper.module.code != text:
        return None  # libcst's round trip is not exact for every file, and then its positions are not ours
    places = wrapper.resolve(PositionProvider)
    masked = list(text)
    cases: set[int] = set()

    def offsets(node: cst.CSTNode) -> tuple[int, int]:
        place = places[node]
        assert isinstance(place, CodeRange)
        starts = source.line_starts
        return (
            starts[place.start.line - 1] + place.start.column,
            starts[place.end.line - 1] + place.end.column,
        )

    def put(start: int, new: str) -> None:
        masked[start : start + len(new)] = new

    def put_after(start: int, old: str, new: str) -> None:
        at = text.find(old, start)
        if at >= 0:
            put(at, new)

    class Visitor(cst.CSTVisitor):
        def visit_Match(self, node: cst.Match) -> None:
            put(offsets(node)[0], "while")

        def visit_MatchCase(self, node: cst.MatchCase) -> None:
            start = offsets(node)[0]
            cases.add(start)
            put(start, "with")
            if node.guard is not None:
                put_after(offsets(node.pattern)[1], "if", "or")

        def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
            put_after(offsets(node)[0], "*", " ")

        def visit_TypeParameters(self, node: cst.TypeParameters) -> None:
            start, end = offsets(node)
            blank(start, end)

        def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
            put(offsets(node)[0] + len("type"), ";")

        def visit_Index(self, node: cst.Index) -> None:
            if getattr(node, "star", None):
                put_after(offsets(node)[0], "*", " ")

    def blank(start: int, end: int) -> None:
        put(start, "".join(c if c in "\r\n" else " " for c in text[start:end]))

    wrapper.module.visit(Visitor())
    result = "".join(masked)
    if result == text or len(result.encode()) != len(text.encode()):
        return None
    return Masked(result, frozenset(cases))


def is_readable(text: str) -> bool:
    """Whether libcst can read ``text``."""
    if not is_safe_for_libcst(text):
        return False
    import libcst as cst

    try:
        cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return False
    return True
