"""The pages: of a rule, an API, an environment variable. Markdown, for ``explain``, the documentation and SARIF.

What is said comes from the rules (docstring, level, examples) and from the rows of the knowledge; here it is only
put in order. The texts of the rules in other languages lie in ``catalogues/pages.<language>.yaml``.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ascend_migrate.language import Text, in_language, say
from ascend_migrate.model import Level, Target
from ascend_migrate.report.text import LEVEL_NAMES

if TYPE_CHECKING:
    from ascend_migrate.knowledge import ApiMapping, EnvironmentVariable, Library
    from ascend_migrate.rules.base import Example, Rule

_CATALOGUES = Path(__file__).parents[1] / "catalogues"
_NEWLINES = re.compile(r"\n{3,}")

Fixable = Literal["yes", "sometimes", "no"]

LEVEL_MEANINGS: Mapping[Level, Text] = {
    "error": say("fails on the NPU as the code stands"),
    "warning": say("runs on the NPU, but differs or must be looked at"),
    "info": say("has no effect on the NPU"),
}

FIXABLE_NAMES: Mapping[Fixable, Text] = {"yes": say("yes"), "sometimes": say("sometimes"), "no": say("no")}

_FIXABLE: Mapping[Fixable, Text] = {
    "yes": say("a conversion fixes it"),
    "sometimes": say("a conversion fixes it where the code shows how"),
    "no": say("a conversion leaves it to a person"),
}


STATUSES: Mapping[str, Text] = {
    "works": say("Runs on the NPU as it is."),
    "needs": say("Runs on the NPU with a plugin, another build or a newer version."),
    "replaced": say("Something else takes its place on the NPU."),
    "unavailable": say("Does not run on the NPU."),
    "unknown": say("Nothing published says whether it runs on the NPU."),
}


# -- rules ---------------------------------------------------------------------------------------------------


def rule_text(rule: Rule, language: str = "en") -> str:
    """What the rule is about, as Markdown: the docstring of its class, or of its module, or the translation."""
    if language != "en":
        translated = _translations(language).get(rule.code)
        if translated is not None:
            return translated["text"].strip()
    return _markdown(_docstring(rule))


def text_digest(rule: Rule) -> str:
    """Eight hexadecimal digits for the English text; a translation names those of the text it was made from."""
    return hashlib.sha256(_docstring(rule).encode()).hexdigest()[:8]


def translated_digest(rule: Rule, language: str) -> str | None:
    """The digest that the translation names, or None where there is no translation."""
    entry = _translations(language).get(rule.code)
    return None if entry is None else entry["of"]


@cache
def _translations(language: str) -> Mapping[str, Mapping[str, str]]:
    import yaml

    path = _CATALOGUES / f"pages.{language}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {} if path.is_file() else {}


def rule_summary(rule: Rule, language: str = "en") -> str:
    """The first sentence of the rule's text."""
    paragraph = " ".join(rule_text(rule, language).split("\n\n")[0].split())
    if language == "zh":
        head, stop, _ = paragraph.partition("。")
        return head + stop
    match = re.match(r".*?[.;](?=\s|$)", paragraph)
    return match.group().rstrip(".;") if match else paragraph


def fixable(rule: Rule) -> Fixable:
    """Whether a conversion fixes what the rule finds, as its examples show."""
    changed = [e for e in rule.examples if e.expected != e.before]
    stays = [e for e in rule.examples if e.expected == e.before and rule.code in (e.codes or ())]
    if not changed:
        return "no"
    return "sometimes" if stays else "yes"


def rule_page(rule: Rule, language: str = "en", *, heading: bool = True) -> str:
    """The whole page of a rule."""
    t = _speaker(language)
    parts = [f"# {rule.code}: {rule.name}"] if heading else []
    level = say(
        "**{level}**: {meaning}; {fixable}.",
        level=LEVEL_NAMES[rule.level],
        meaning=LEVEL_MEANINGS[rule.level],
        fixable=_FIXABLE[fixable(rule)],
    )
    parts += [t(level), rule_text(rule, language)]
    examples = [part for example in rule.examples for part in _example(example, rule.code, t)]
    if examples:
        parts += [f"## {t(say('Examples'))}", *examples]
    parts += [
        f"## {t(say('Leaving it out'))}",
        t(
            say(
                "In one place: `# ascend-migrate: ignore[{code}]` at the end of the line. In files: `per-file-ignores` "
                'of the configuration. Everywhere: `ignore = ["{code}"]` there, or `--ignore {code}`.',
                code=rule.code,
            )
        ),
    ]
    return _joined(parts)


def _example(example: Example, code: str, t: Callable[[str], str]) -> Iterator[str]:
    if example.expected != example.before:
        yield _code(example.before)
        yield t(say("becomes"))
        yield _code(example.expected)
    else:
        yield t(say("Reported, and left as it is:")) if code in (example.codes or ()) else t(say("Not touched:"))
        yield _code(example.before)


def _docstring(rule: Rule) -> str:
    own = type(rule).__dict__.get("__doc__")
    return inspect.cleandoc(own or sys.modules[type(rule).__module__].__doc__ or "")


def _markdown(docstring: str) -> str:
    """Docstrings mark code as reStructuredText does."""
    return docstring.replace("``", "`")


def _code(source: str) -> str:
    return f"```python\n{source.rstrip()}\n```"


# -- rows of the knowledge -----------------------------------------------------------------------------------


def api_page(row: ApiMapping, target: Target, language: str = "en") -> str:
    """The page of a name that a row speaks of, for a target."""
    t = _speaker(language)
    new = row.replacement(target)
    parts = [f"# `{row.cuda}`", t(row.message)]
    if new is not None:
        parts.append(t(say("On the NPU: `{new}` (torch_npu {version}).", new=new, version=target.torch_npu)))
    else:
        meaning = LEVEL_MEANINGS[row.level]
        parts.append(
            t(say("No replacement in torch_npu {version}: it {meaning}.", version=target.torch_npu, meaning=meaning))
        )
    if row.help:
        parts.append(t(row.help))
    if row.example.before:
        parts += [f"## {t(say('Examples'))}", _code(row.example.before)]
        if row.example.after != row.example.before:
            parts += [t(say("becomes")), _code(row.example.after)]
    if row.source:
        parts.append(t(say("Source: {source}", source=row.source)))
    return _joined(parts)


def name_page(cuda: str, target: Target, language: str = "en") -> str | None:
    """The page of a name of ``torch.cuda`` or ``torch_npu`` that no row speaks of; None when nothing is known."""
    from ascend_migrate import knowledge

    t = _speaker(language)
    parts = cuda.split(".")
    new = ".".join(["torch", "npu", *parts[2:]]) if parts[:2] == ["torch", "cuda"] else cuda
    if parts[:2] not in (["torch", "cuda"], ["torch", "npu"]) and parts[0] != "torch_npu":
        return None
    versions = knowledge.versions_with(new)
    if not versions:
        return None
    if knowledge.surface(target.torch_npu).has(new):
        said = say("torch_npu {version} has it: `{new}`.", version=target.torch_npu, new=new)
    else:
        said = say("torch_npu {version} does not have `{new}`.", version=target.torch_npu, new=new)
    from ascend_migrate.rules._translate import listed

    where = say("`{new}` exists in torch_npu {versions}.", new=new, versions=listed(versions))
    source = say("Source: {source}", source="names read from the torch_npu packages on PyPI")
    return _joined([f"# `{cuda}`", t(said), t(where), t(source)])


def variable_page(row: EnvironmentVariable, language: str = "en") -> str:
    """The page of an environment variable."""
    t = _speaker(language)
    parts = [f"# `{row.name}`", t(row.message)]
    if row.npu is not None and row.same_values:
        parts.append(t(say("On the NPU: `{new}`, with the same values.", new=row.npu)))
    elif row.npu is not None:
        parts.append(t(say("On the NPU: `{new}`, with other values.", new=row.npu)))
    else:
        parts.append(t(say("The NPU has no such variable.")))
    parts += [t(row.help), t(say("Source: {source}", source=row.source))]
    return _joined(parts)


def library_page(row: Library, language: str = "en") -> str:
    """The page of a library."""
    t = _speaker(language)
    parts = [f"# {row.name}", f"**{t(STATUSES[row.status])}**", t(row.message), t(row.help)]
    if row.min_version is not None:
        parts.append(t(say("Needs at least version {version}.", version=row.min_version)))
    known_by = [f"`{name}`" for name in (*row.imports, *row.distributions)]
    parts.append(t(say("Recognized by: {names}", names=", ".join(dict.fromkeys(known_by)))))
    parts.append(t(say("Source: {source}", source=row.source)))
    return _joined(parts)


def operator_page(name: str, target: Target, language: str = "en") -> str | None:
    """The page of an aten operator (``aten::cumsum`` or ``cumsum.dim_name``); None when no torch_npu has it."""
    from ascend_migrate import knowledge
    from ascend_migrate.rules._translate import listed

    t = _speaker(language)
    operator = name[len("aten::") :] if name.startswith("aten::") else name
    versions = tuple(v for v in knowledge.versions() if knowledge.surface(v).has_operator(operator))
    if not versions:
        return None
    if knowledge.surface(target.torch_npu).has_operator(operator):
        said = say("The operator has an NPU kernel in torch_npu {version}.", version=target.torch_npu)
    else:
        said = say(
            "The operator has no NPU kernel in torch_npu {version}: it runs on the CPU.", version=target.torch_npu
        )
    where = say("NPU kernel in torch_npu {versions}.", versions=listed(versions))
    source = say("Source: {source}", source="operators read from the torch_npu packages on PyPI")
    return _joined([f"# `{operator}`", t(said), t(where), t(source)])


def _speaker(language: str) -> Callable[[str], str]:
    return lambda message: in_language(message, language)


def _joined(parts: Iterable[str]) -> str:
    return _NEWLINES.sub("\n\n", "\n\n".join(part for part in parts if part)) + "\n"
