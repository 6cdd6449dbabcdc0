"""What a rule is, and what it is given.

A rule is one module of this package that defines one subclass of :class:`Rule`; the module's docstring is its
documentation and its examples are its tests. ``check`` looks at a parsed file through a :class:`Context` and
yields findings; a finding that carries edits is a fix that ``convert`` applies. Rules know nothing of files,
output or how edits are spliced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from ascend_migrate.language import in_language
from ascend_migrate.model import Edit, Finding, Fix, Level, Safety, Target
from ascend_migrate.syntax.aware import NpuAwareness
from ascend_migrate.syntax.devices import DeviceLiteral, Devices
from ascend_migrate.syntax.names import Names, Reference
from ascend_migrate.syntax.text import apply_edits
from ascend_migrate.syntax.tree import Scope, Tree

if TYPE_CHECKING:
    from ascend_migrate.knowledge import ApiMapping, Surface


@dataclass(frozen=True)
class Example:
    """Complete source before and after conversion with every rule on. Without ``after`` it stays as it is.

    ``codes`` are the codes that must be found in ``before``, where they are part of what is shown. ``soc`` and
    ``torch_npu`` are the target, where it is not the default one.
    """

    before: str
    after: str | None = None
    codes: tuple[str, ...] | None = None
    soc: str | None = None
    torch_npu: str | None = None

    @property
    def expected(self) -> str:
        return self.before if self.after is None else self.after


@dataclass(frozen=True)
class CudaSource:
    """The files that name a CUDA source (to build it), and those that import the module built from it."""

    builders: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProjectFacts:
    """What rules may know of the rest of the project.

    ``device_parameters``: function or class name -> positions of parameters named as a device or backend.
    ``cuda_classes``: names of classes that define ``cuda`` themselves; True when that method moves tensors.
    ``uses_cuda``: some file of the project has CUDA code. ``trains``: some file runs a backward pass.
    ``cuda_sources``: last part of the path of a CUDA source, or a pattern such as ``*.cu`` -> who builds and uses it.
    """

    device_parameters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    cuda_classes: Mapping[str, bool] = field(default_factory=dict)
    uses_cuda: bool = False
    trains: bool = False
    cuda_sources: Mapping[str, CudaSource] = field(default_factory=dict)


def dotted_marker(name: str) -> str:
    """The marker for a dotted name: however it is imported, all its parts are words somewhere in the file."""
    return "&".join(f"={part}" for part in sorted(set(name.split("."))))


class Rule:
    """Base of all rules. Subclasses set the class attributes and define :meth:`check`."""

    code: ClassVar[str]
    """Stable: ``NPU`` and three digits, the first of which is the family."""
    name: ClassVar[str]
    """A short kebab-case name for people."""
    level: ClassVar[Level]
    """The level of its findings where nothing more is known."""
    markers: ClassVar[tuple[str, ...]] = ("cuda",)
    """The file is only shown to the rule when its text holds one of these; see :mod:`ascend_migrate.engine.scout`:
    ``a&b`` asks for both, ``=a`` for the whole word, and a whole word costs next to nothing."""
    examples: ClassVar[tuple[Example, ...]] = ()
    runs_last: ClassVar[bool] = False
    """Runs after all others, on every file that another rule looks at and on the scripts (``__main__``) of a
    project that uses CUDA elsewhere; it sees in the context what the others fixed."""

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield what there is to say about one file."""
        raise NotImplementedError

    def applies(self, target: Target) -> bool:
        """Whether the rule can have anything to say for this target. A rule for some chips costs the others
        nothing."""
        return True

    @cached_property
    def all_markers(self) -> tuple[str, ...]:
        """:attr:`markers`, and those that come from data."""
        return self.markers

    @cached_property
    def fixes(self) -> bool:
        """Whether the rule ever fixes something, told by its examples."""
        return any(example.after is not None for example in self.examples)

    @classmethod
    def documentation(cls) -> str:
        """The docstring of the rule, where it has one, and of the module that defines it."""
        import inspect
        import sys

        texts = (cls.__dict__.get("__doc__"), sys.modules[cls.__module__].__doc__)
        return "\n\n".join(inspect.cleandoc(text) for text in texts if text)


class Context:
    """One parsed file as rules see it: the tree, what names mean, what is known of the target."""

    def __init__(
        self,
        path: str,
        tree: Tree,
        target: Target,
        surface: Surface,
        project: ProjectFacts,
        mapping: Callable[[str], ApiMapping | None],
        language: str = "en",
        roots: frozenset[str] = frozenset({"torch"}),
    ) -> None:
        self.language = language
        self.roots = roots
        """The top-level packages whose names ``mapping`` may speak of."""
        self.path = path
        self.tree = tree
        self.source = tree.source
        self.target = target
        self.surface = surface
        self.project = project
        self.mapping = mapping
        self.names = Names(tree)
        self.memo: dict[str, Any] = {}
        """What rules that share work leave for each other."""
        self.npu_sites: list[ast.AST] = []
        """The nodes whose fixes make the file use the NPU."""
        self.torch_npu_named: list[ast.AST] = []
        """The nodes whose fixes write the name ``torch_npu``."""

    # -- what the file holds, computed once ------------------------------------------------------------------

    @cached_property
    def awareness(self) -> NpuAwareness:
        return NpuAwareness(self.tree)

    @cached_property
    def devices(self) -> Devices:
        return Devices(self.tree, self.names, dict(self.project.device_parameters))

    @cached_property
    def device_literals(self) -> list[DeviceLiteral]:
        return self.devices.literals()

    @cached_property
    def references(self) -> list[Reference]:
        """Every maximal dotted expression that is read, in source order."""
        nodes = [*self.tree.nodes(ast.Attribute), *self.tree.nodes(ast.Name)]
        found = list(self.names.references(nodes))
        found.sort(key=lambda r: (r.node.lineno, r.node.col_offset))
        return found

    @cached_property
    def imports_torch(self) -> bool:
        """Whether any import of the file, however nested, takes from torch or a package named after it."""
        names = [alias.name for node in self.tree.nodes(ast.Import) for alias in node.names]
        names += [node.module or "" for node in self.tree.nodes(ast.ImportFrom)]
        return any(name.split(".")[0].startswith("torch") for name in names)

    def references_under(self, *prefixes: str) -> Iterator[Reference]:
        """The references to one of the dotted ``prefixes`` or to anything below."""
        for reference in self.references:
            for prefix in prefixes:
                if reference.qualname == prefix or reference.qualname.startswith(prefix + "."):
                    yield reference
                    break

    def qualname(self, node: ast.AST | None) -> str | None:
        return self.names.qualname(node)

    def knows_npu(self, node: ast.AST) -> bool:
        """Whether ``node`` is the CUDA side of code that has its NPU side already."""
        return self.awareness.covers(node)

    # -- making findings -------------------------------------------------------------------------------------

    def finding(
        self,
        rule: Rule,
        node: ast.AST,
        message: str,
        help: str = "",
        *,
        edits: Sequence[Edit | None] = (),
        safety: Safety = "safe",
        level: Level | None = None,
        uses_npu: bool = True,
        place: tuple[int, int] | None = None,
    ) -> Finding:
        """A finding at ``node`` (or at the character range ``place``).

        ``edits`` make it fixable; a None among them means that the source could not be edited there, and the
        finding stays without a fix. ``uses_npu`` says that the converted file uses the NPU and therefore
        wants ``import torch_npu``. Texts are made with :func:`ascend_migrate.language.say`.
        """
        start, end = place or (self.tree.start(node), self.tree.end(node))
        fix = None
        exact = [edit for edit in edits if edit is not None]
        if exact and len(exact) == len(edits):
            fix = self._fix(exact, safety)
            if uses_npu:
                self.npu_sites.append(node)
        return Finding(
            self.path,
            self.source.span(start, end),
            rule.code,
            level or rule.level,
            in_language(message, self.language),
            in_language(help, self.language),
            fix,
        )

    def _fix(self, edits: list[Edit], safety: Safety) -> Fix:
        ordered = tuple(sorted(set(edits)))
        first = self.source.position(ordered[0].start)[0]
        last = self.source.position(ordered[-1].end)[0]
        start = self.source.line_starts[first - 1]
        end = self.source.line_end(self.source.line_starts[last - 1])
        before = self.source.text[start:end]
        shifted = [Edit(e.start - start, e.end - start, e.text) for e in ordered]
        return Fix(safety, ordered, before, apply_edits(before, shifted))

    def name_for(self, package: str, node: ast.AST) -> str | None:
        """How to write the top-level ``package`` (``torch`` or ``torch_npu``) at ``node``; None if it is unbound
        there. ``torch_npu`` is imported where it is needed, and that is noted."""
        scope = self.scope_at(node)
        home = scope.find(package)
        if home is not None:
            bound = [b for b in home.bindings[package] if b.qualname == package]
            return package if bound else None
        if package == "torch_npu":
            self.torch_npu_named.append(node)
            return package
        for name, bindings in self.tree.scope.bindings.items():
            if any(b.qualname == package for b in bindings) and scope.find(name) is self.tree.scope:
                return name
        return package if self.tree.scope.star_import else None

    def scope_at(self, node: ast.AST) -> Scope:
        """The scope in which the expression or statement ``node`` is evaluated."""
        for ancestor in self.tree.ancestors(node):
            if ancestor in self.tree.scopes:
                return self.tree.scopes[ancestor]
        return self.tree.scope

    def edit_node(self, node: ast.AST, text: str) -> Edit:
        """Replace a whole expression or statement."""
        return Edit(self.tree.start(node), self.tree.end(node), text)

    def edit_attribute(self, node: ast.Attribute, name: str) -> Edit:
        """Replace the last component of a dotted expression."""
        end = self.tree.end(node)
        return Edit(end - len(node.attr), end, name)
