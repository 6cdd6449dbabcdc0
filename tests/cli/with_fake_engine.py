"""The command line with an engine whose answers are known; ``python with_fake_engine.py analyze PATH``.

A line that holds one of these words means: OLD an error that a conversion fixes (to NEW), MAYBE the same for
review (to MAY), STUCK an error without a fix, SLOW a warning, SHRUG an information. A file that holds BROKEN
cannot be processed, CRASH makes the engine raise, KILL ends its process, SLEEP takes a while.
"""

from __future__ import annotations

import os
import time

from ascend_migrate.engine import project, runner
from ascend_migrate.engine.index import FileFacts, ProjectIndex
from ascend_migrate.model import FileError, FileReport, Finding, Fix, Span, Target
from ascend_migrate.sources import versions

WORDS = {
    b"OLD": ("ACM101", "error", b"NEW"),
    b"MAYBE": ("ACM102", "error", b"MAY"),
    b"STUCK": ("ACM301", "error", None),
    b"SLOW": ("ACM201", "warning", None),
    b"SHRUG": ("ACM401", "info", None),
}


def process(path, data, options, index) -> FileReport:
    if b"CRASH" in data:
        raise RuntimeError("the engine stumbled")
    if b"KILL" in data:
        os._exit(9)
    if b"SLEEP" in data:
        time.sleep(0.05)
    if b"BROKEN" in data:
        line = data[: data.index(b"BROKEN")].count(b"\n") + 1
        return FileReport(path, errors=(FileError(path, line, "invalid syntax"),))
    findings, lines = [], data.split(b"\n")
    for number, line in enumerate(lines):
        for word, (code, level, new) in WORDS.items():
            if word not in line or not options.wants(code):
                continue
            column = line.index(word)
            fix = None
            if new is not None:
                lines[number] = lines[number].replace(word, new)
                safety = "review" if word == b"MAYBE" else "safe"
                fix = Fix(safety, (), line.decode("latin-1"), lines[number].decode("latin-1"))
            span = Span(number + 1, column + 1, number + 1, column + 1 + len(word))
            message = f"{word.decode()} does not run on the NPU"
            findings.append(Finding(path, span, code, level, message, f"Do without {word.decode()}.", fix))
    new_data = b"\n".join(lines)
    return FileReport(path, tuple(findings), new_bytes=None if new_data == data else new_data)


def gather(path, data) -> FileFacts | None:
    return FileFacts(path, uses_cuda=True) if b"OLD" in data else None


def build(facts) -> ProjectIndex:
    for _ in facts:
        pass
    return ProjectIndex()


def target(request) -> Target:
    if request.soc == "nonesuch":
        raise ValueError("unknown chip `nonesuch`")
    return Target(request.soc or "910b", request.torch or "2.7.1", request.torch_npu or "2.7.1")


ENGINE = runner.Engine(process, gather, build)


def main() -> None:
    runner.Engine.default = staticmethod(lambda: ENGINE)
    project.Request.target = target
    versions._installed = lambda: None
    from ascend_migrate.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
