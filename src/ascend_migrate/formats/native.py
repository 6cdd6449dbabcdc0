"""CUDA sources: ``.cu`` and ``.cuh`` files.

Nothing compiles them for the NPU. One finding a file says how much there is to port (kernels, lines, inline PTX), which
of NVIDIA's libraries it rests on, who builds it and who uses what is built.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ascend_migrate.model import FileReport

if TYPE_CHECKING:
    from ascend_migrate.engine.index import ProjectIndex
    from ascend_migrate.engine.pipeline import EngineOptions
    from ascend_migrate.rules.base import CudaSource

CODE = "NPU702"

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(
    r"__global__\s+(?:static\s+|inline\s+|__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)*"
    r"void\s+(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?(\w+)"
)
_PTX = re.compile(r"\basm\s*(?:volatile\s*)?\(")
_INCLUDE = re.compile(r"#\s*include\s*[<\"](cub|thrust|cutlass|cublas|cudnn|cufft|cusparse|cusolver|curand|mma)\b")
_SHOWN = 4
"""So many names are told, the others are counted."""


def applies(path: str) -> bool:
    return path.endswith((".cu", ".cuh"))


def process(path: str, data: bytes, options: EngineOptions, index: ProjectIndex) -> FileReport:
    from ascend_migrate.formats._findings import Findings, decode
    from ascend_migrate.language import say

    source = decode(data)
    # Comments become blanks, so that places stay what they are.
    code = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source.text)
    lines = sum(1 for line in code.splitlines() if line.strip())
    kernels = [match.group(1) for match in _KERNEL.finditer(code)]
    first = _KERNEL.search(code)
    used = _used(path, index)
    findings = Findings(path, source, options)
    message = say(
        "A CUDA source of {lines} lines, which nothing compiles for the NPU: {content}.",
        lines=lines,
        content=say("kernels {names}", names=_listed(kernels)) if kernels else say("no kernel of its own"),
    )
    needs = sorted(set(_INCLUDE.findall(code)))
    help: str = say("Use an operator of torch or torch_npu, or port the kernels to Ascend C or triton-ascend.")
    if needs:
        help = say("{help} It rests on {libraries}.", help=help, libraries=_listed(needs))
    ptx = len(_PTX.findall(code))
    if ptx:
        help = say("{help} PTX, NVIDIA's assembler, stands in it {count} times.", help=help, count=ptx)
    if used is not None:
        help = say("{help} Built by {builders}.", help=help, builders=_listed(list(used.builders)))
        if used.callers:
            help = say("{help} Used by {callers}.", help=help, callers=_listed(list(used.callers)))
    start = first.start() if first else len(code) - len(code.lstrip())
    end = first.end() if first else source.line_end(start)
    findings.add(start, end, CODE, "error" if used is not None else "warning", message, help)
    return FileReport(path, findings.sorted())


def _used(path: str, index: ProjectIndex) -> CudaSource | None:
    """Who names this file: by its last part, or by a pattern."""
    from fnmatch import fnmatchcase

    name = path.rpartition("/")[2]
    sources = index.facts.cuda_sources
    if name in sources:
        return sources[name]
    return next((used for pattern, used in sources.items() if "*" in pattern and fnmatchcase(name, pattern)), None)


def _listed(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    rest = len(distinct) - _SHOWN
    return ", ".join(distinct[:_SHOWN]) + (f" + {rest}" if rest > 0 else "")
