"""What one line of requirements means for the NPU, whatever file it stands in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_migrate import knowledge
from ascend_migrate.language import say
from ascend_migrate.model import Level, Target

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import Specifier

CODES = {"needs": "NPU604", "replaced": "NPU603", "unavailable": "NPU602", "unknown": "NPU605"}
"""Status of a library -> code of the findings about it."""

CUDA_BUILD = "NPU606"
TORCH_VERSION = "NPU607"

_CUDA_INDEX = re.compile(r"/whl/(?:\w+/)?cu\d+\b")
_CUDA_LOCAL = re.compile(r"\+cu\d+|cu\d+(?=[-.].*\.whl)")
_REPOSITORY = re.compile(r"^(?:[\w.-]+\s*@\s*)?(?:git\+|https?://|git://|ssh://)")
_EGG = re.compile(r"[#&]egg=([\w.-]+)")
_LAST_PART = re.compile(r"/([\w.-]+?)(?:\.git)?(?:@[^/]*)?(?:#.*)?$")
_TORCH = frozenset({"torch", "torchvision", "torchaudio", "pytorch"})


@dataclass(frozen=True)
class Judgement:
    """What there is to say about a requirement."""

    code: str
    level: Level
    message: str
    help: str


def judge(text: str, target: Target, *, optional: bool = False) -> Judgement | None:
    """What is to be said about a requirement as pip reads it, or None.

    ``optional``: it stands among the extras, so that its failure stops nobody who does not ask for it.
    """
    text = text.strip()
    if _CUDA_INDEX.search(text) or (_CUDA_LOCAL.search(text) and _name_of(text) in _TORCH):
        return Judgement(
            CUDA_BUILD,
            "info" if optional else "error",
            "This asks for a build of PyTorch for CUDA, which torch_npu does not work with.",
            say(
                "Ask for torch {torch} without +cu; on x86 from https://download.pytorch.org/whl/cpu, and torch-npu "
                "{torch_npu} beside it.",
                torch=target.torch,
                torch_npu=target.torch_npu,
            ),
        )
    name = _name_of(text)
    if name is None:
        return None
    if name == "torch":
        return _judge_torch(text, target, optional)
    library = knowledge.library_of_distribution(name)
    if library is None:
        return None
    if library.status == "works":
        minimum = library.min_version
        if minimum is None or not excludes_from(text, minimum):
            return None
        return Judgement("NPU604", "info" if optional else library.level, library.message, library.help)
    level: Level = "info" if optional else library.level
    return Judgement(CODES[library.status], level, library.message, library.help)


def _judge_torch(text: str, target: Target, optional: bool) -> Judgement | None:
    requirement = _parse(text)
    if requirement is None or not requirement.specifier or requirement.specifier.contains(target.torch, True):
        return None
    return Judgement(
        TORCH_VERSION,
        "info" if optional else "warning",
        say(
            "torch_npu {torch_npu} goes with torch {torch}, which {specifier} leaves out.",
            torch_npu=target.torch_npu,
            torch=target.torch,
            specifier=str(requirement.specifier),
        ),
        "Change the requirement, or choose the torch_npu that belongs to this torch with --torch-npu.",
    )


def excludes_from(text: str, minimum: str) -> bool:
    """Whether a requirement leaves out ``minimum`` and every later version."""
    from packaging.version import Version

    requirement = _parse(text)
    return requirement is not None and any(_bounds_below(s, Version(minimum)) for s in requirement.specifier)


def _bounds_below(specifier: Specifier, minimum: object) -> bool:
    from packaging.version import InvalidVersion, Version

    operator, version = specifier.operator, specifier.version
    if operator not in ("==", "===", "<", "<=", "~="):
        return False
    try:
        if operator == "~=":
            # `~= 1.4.2` ends before 1.5
            parts = version.split(".")[:-1]
            parts[-1] = str(int(parts[-1]) + 1)
            return bool(Version(".".join(parts)) <= minimum)  # type: ignore[operator]
        if version.endswith(".*"):
            return False
        bound = Version(version)
    except (InvalidVersion, ValueError):
        return False
    return bool(bound <= minimum if operator == "<" else bound < minimum)  # type: ignore[operator]


def _name_of(text: str) -> str | None:
    """The normalized name of the distribution that a requirement is about."""
    from ascend_migrate.knowledge.third_party import normalize

    if _REPOSITORY.match(text):
        found = _EGG.search(text) or re.match(r"([\w.-]+)\s*@", text) or _LAST_PART.search(text)
        if found is None:
            return None
        name = found.group(1)
        if name.endswith(".whl"):
            name = name.split("-")[0]
        return normalize(name)
    match = re.match(r"[A-Za-z0-9][\w.-]*", text)
    return normalize(match.group().rstrip(".-_")) if match else None


def _parse(text: str) -> Requirement | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None
