#!/usr/bin/env python3
"""Analyze and convert real PyTorch packages from PyPI, and check what must hold for every one of them.

    python scripts/corpus.py                        all packages: a table, and every broken promise
    python scripts/corpus.py timm yolov5            these only
    python scripts/corpus.py --sample 50 --seed 1   also 50 random edits and 50 random findings without a fix
    python scripts/corpus.py --left 50              also 50 random CUDA words that no finding speaks of

What is checked, file by file: the command line ends with a code it promises and no internal error; the copy
is complete; what parsed before parses after; every changed byte belongs to an edit of a finding; a second
conversion changes nothing; no name of torch_npu is written that the target version lacks.

Packages are only downloaded and unpacked, never installed or executed. A wheel comes from ``pip download``;
where there is only a source distribution, ``pip download`` would run its ``setup.py`` to learn its metadata,
so pip is asked for the link alone and the file is fetched with pip's own session. Both need the network and
are done once: the cache (``--cache``) lies outside the repository.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tokenize
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from ascend_migrate import knowledge  # noqa: E402
from ascend_migrate.engine import dispatch, index, pipeline  # noqa: E402
from ascend_migrate.model import Edit, FileReport, Finding, Target  # noqa: E402
from ascend_migrate.sources.discovery import find  # noqa: E402
from ascend_migrate.sources.kinds import PYTHON_SUFFIXES  # noqa: E402
from ascend_migrate.syntax.names import Names  # noqa: E402
from ascend_migrate.syntax.text import DecodeError, SourceText  # noqa: E402
from ascend_migrate.syntax.tree import ParseError, parse  # noqa: E402

_PYTHON = tuple(PYTHON_SUFFIXES)

_OLD_WHEEL = (
    *("--python-version", "3.8", "--implementation", "cp"),
    *("--platform", "manylinux1_x86_64", "--platform", "manylinux_2_5_x86_64"),
)
"""For a wheel with compiled parts that was built for an old Python. Its Python files are all that is read."""


@dataclass(frozen=True)
class Package:
    """A pinned distribution. ``is_sdist``: there is no wheel."""

    name: str
    version: str
    pip_options: tuple[str, ...] = ()
    is_sdist: bool = False

    @property
    def directory(self) -> str:
        return f"{self.name}-{self.version}"


PACKAGES = (
    Package("accelerate", "1.15.0"),
    Package("basicsr", "1.4.2", is_sdist=True),
    Package("denoising-diffusion-pytorch", "2.3.4"),
    Package("diffusers", "0.42.1"),
    Package("fairseq", "0.12.2", _OLD_WHEEL),
    Package("gfpgan", "1.3.8"),
    Package("kornia", "0.9.0"),
    Package("mmdet", "3.3.0"),
    Package("mmengine", "0.10.7"),
    Package("open-clip-torch", "3.3.0"),
    Package("pytorch-lightning", "2.6.6"),
    Package("segmentation-models-pytorch", "0.5.0"),
    Package("speechbrain", "1.1.2"),
    Package("timm", "1.0.31"),
    Package("torchtune", "0.6.1"),
    Package("ultralytics", "8.4.190"),
    Package("vit-pytorch", "1.9.2"),
    Package("x-transformers", "2.9.2"),
    Package("yolov5", "7.0.14"),
)
"""Chosen for what they hold: training loops, distributed code, old and new styles, several devices."""


# --------------------------------------------------------------------------------------------------------
# Getting the sources


def default_cache() -> Path:
    """``$ASCEND_MIGRATE_CORPUS``, or a folder in the user's cache."""
    chosen = os.environ.get("ASCEND_MIGRATE_CORPUS")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("ascend-migrate", appauthor=False) / "corpus"


def sources(package: Package, cache: Path) -> Path:
    """The unpacked package, downloaded when it is not there. Raises OSError or CalledProcessError."""
    place = cache / package.directory
    if place.is_dir():
        return place
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        download = Path(scratch, "download")
        unpacked = Path(scratch, "unpacked")
        download.mkdir()
        unpacked.mkdir()
        _download(package, download)
        (archive,) = download.iterdir()
        _unpack(archive, unpacked)
        unpacked.rename(place)
    return place


def _download(package: Package, into: Path) -> None:
    requirement = f"{package.name}=={package.version}"
    if package.is_sdist:
        command = [sys.executable, "-c", _FETCH_SDIST, package.name, package.version, str(into)]
    else:
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:"]
        command += [*package.pip_options, "--dest", str(into), requirement]
    subprocess.run(command, check=True)


_FETCH_SDIST = """
import sys
from pip._internal.commands import create_command
from pip._internal.models.format_control import FormatControl
from pip._internal.network.download import Downloader
from pip._vendor.packaging.specifiers import SpecifierSet

name, version, into = sys.argv[1:]
command = create_command("download")
options, _ = command.parse_args(["-qq", "--no-binary", ":all:", name])
with command.main_context():
    session = command.get_default_session(options)
    finder = command._build_package_finder(options, session)
    found = finder.find_best_candidate(name, SpecifierSet("==" + version)).best_candidate
    if found is None:
        sys.exit(f"no source distribution of {name} {version}")
    try:
        download = Downloader(session, "off", resume_retries=2)
    except TypeError:  # pip before 25.1
        download = Downloader(session, "off")
    download(found.link, into)
"""
"""Fetches a source distribution without executing it. pip has no public way; this is what its own
``download`` command does up to the point where it would ask ``setup.py`` for the metadata."""


def _unpack(archive: Path, into: Path) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(into)
        return
    with tarfile.open(archive) as sdist:
        if hasattr(tarfile, "data_filter"):
            sdist.extractall(into, filter="data")
        else:
            members = [m for m in sdist.getmembers() if m.isdir() or m.isfile()]
            sdist.extractall(into, [m for m in members if ".." not in Path(m.name).parts])


# --------------------------------------------------------------------------------------------------------
# Checking one package


@dataclass
class Outcome:
    """What one package gave. ``broken`` lists the promises that did not hold; it should be empty."""

    package: Package
    lines: int = 0
    files: int = 0
    reports: list[FileReport] = field(default_factory=list)
    originals: dict[str, bytes] = field(default_factory=dict)
    analyze_seconds: float = 0.0
    convert_seconds: float = 0.0
    broken: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        return [finding for report in self.reports for finding in report.findings]

    @property
    def edits(self) -> int:
        return sum(len(edits_of(report)) for report in self.reports)


def check(package: Package, tree: Path, target: Target) -> Outcome:
    """Analyze and convert the package as a user would, and compare with what the engine itself says."""
    outcome = Outcome(package)
    options = pipeline.EngineOptions(target)
    files = find([str(tree)]).files
    outcome.files = len(files)
    outcome.originals = {file.name: file.path.read_bytes() for file in files}
    facts = [dispatch.gather(name, data) for name, data in outcome.originals.items()]
    project = index.build(fact for fact in facts if fact is not None)
    for name, data in outcome.originals.items():
        outcome.lines += data.count(b"\n")
        report = dispatch.process(name, data, options, project)
        outcome.reports.append(report)
        outcome.broken += [f"{name}: {problem}" for problem in broken_promises(data, report, target)]
    with tempfile.TemporaryDirectory() as scratch:
        outcome.broken += _command_line(tree, Path(scratch, "out"), outcome, target)
    return outcome


def edits_of(report: FileReport) -> list[Edit]:
    """The edits of all fixes, in order, each once."""
    return sorted({edit for f in report.findings if f.fix is not None for edit in f.fix.edits})


def broken_promises(data: bytes, report: FileReport, target: Target) -> Iterator[str]:
    """What does not hold for one file, in words."""
    is_python = report.path.endswith(_PYTHON)
    for error in report.errors:
        if "please report" in error.message:
            yield f"line {error.line}: {error.message}"
        elif is_python and _parses(data):
            yield f"line {error.line}: parses, but the tool says: {error.message}"
    try:
        source = SourceText.decode(data)
    except DecodeError:
        return
    edits = edits_of(report)
    expected = _with_edits(source.text, edits)
    if expected is None:
        yield "edits overlap"
    elif source.encode(expected) != (data if report.new_bytes is None else report.new_bytes):
        yield "changed bytes that belong to no edit"
    if report.new_bytes is None or not is_python:
        return
    if _parses(data) and not _parses(report.new_bytes):
        yield "does not parse after conversion"
        return
    surface = knowledge.surface(target.torch_npu)
    for name in sorted(_npu_names(report.new_bytes) - _npu_names(data)):
        if not surface.has(name):
            yield f"{name} does not exist in torch_npu {target.torch_npu}"


def _with_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """The text with the edits made, from the last to the first; None when two of them overlap."""
    for edit, following in zip(edits, edits[1:]):
        if edit.end > following.start:
            return None
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _parses(data: bytes) -> bool:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            return False
    return True


def _npu_names(data: bytes) -> set[str]:
    """Every name of ``torch.npu`` and ``torch_npu`` that the source refers to, through its aliases too."""
    try:
        tree = parse(SourceText.decode(data), ("npu",))
    except (ParseError, DecodeError):
        return set()
    nodes = [*tree.nodes(ast.Attribute), *tree.nodes(ast.Name)]
    found = {reference.qualname for reference in Names(tree).references(nodes)}
    for statement in tree.nodes(ast.ImportFrom):
        if statement.level == 0 and statement.module:
            found.update(f"{statement.module}.{alias.name}" for alias in statement.names)
    for plain in tree.nodes(ast.Import):
        found.update(alias.name for alias in plain.names)
    return {n for n in found if n.startswith(("torch.npu.", "torch_npu.")) and not n.endswith(".*")}


def _command_line(tree: Path, out: Path, outcome: Outcome, target: Target) -> Iterator[str]:
    """Run ``analyze`` and ``convert`` and compare what they do with the engine's reports."""
    # The command line would look for versions in the environment and in the project.
    versions = ("--soc", target.soc, "--torch", target.torch, "--torch-npu", target.torch_npu)
    failed = any(report.errors for report in outcome.reports)
    has_error = any(finding.level == "error" for finding in outcome.findings)
    seconds, analyzed = _run("analyze", str(tree), "--format", "json", "--no-cache", "--jobs", "1", *versions)
    outcome.analyze_seconds = seconds
    wanted = 3 if failed else 1 if has_error else 0
    if analyzed.returncode != wanted:
        yield f"analyze ended with {analyzed.returncode}, not {wanted}: {analyzed.stderr[-300:]}"
    else:
        try:
            document = json.loads(analyzed.stdout)
        except ValueError:
            yield f"analyze wrote no JSON: {analyzed.stdout[:100]!r} {analyzed.stderr[-300:]}"
            return
        if len(document["findings"]) != len(outcome.findings):
            yield f"analyze reports {len(document['findings'])} findings, the engine {len(outcome.findings)}"
        if document["files"]["scanned"] != outcome.files:
            yield f"analyze scanned {document['files']['scanned']} files of {outcome.files}"
    wanted = 3 if failed else 0
    seconds, converted = _run("convert", str(tree), "-o", str(out), "--quiet", "--jobs", "1", *versions)
    outcome.convert_seconds = seconds
    if converted.returncode != wanted:
        yield f"convert ended with {converted.returncode}, not {wanted}: {converted.stderr[-300:]}"
        return
    for report in outcome.reports:
        expected = outcome.originals[report.path] if report.new_bytes is None else report.new_bytes
        if (out / report.path).read_bytes() != expected:
            yield f"{report.path}: the command line wrote something else than the engine"
    copied = {path.relative_to(out) for path in out.rglob("*") if path.is_file()}
    for path in tree.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and path.relative_to(tree) not in copied:
            yield f"{path.relative_to(tree)}: not in the copy"
    _, again = _run("convert", str(out), "--check", "--quiet", "--jobs", "1", *versions)
    if again.returncode != wanted:
        yield f"a second conversion would change: {again.stdout[-500:]}{again.stderr[-300:]}"


def _run(*arguments: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run the tool; the CPU seconds it took, and what came of it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "ascend_migrate", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


# --------------------------------------------------------------------------------------------------------
# What was left behind


@dataclass(frozen=True)
class Left:
    """A CUDA word in code (not in a comment or docstring) of converted source that no finding speaks of."""

    path: str
    line: int
    text: str


_WORDS = ("cuda", "nccl", "cudnn", "nvidia", "apex")


def left_behind(outcome: Outcome) -> Iterator[Left]:
    """The CUDA words of the converted package on lines that no finding without a fix is about."""
    for report in outcome.reports:
        data = outcome.originals[report.path] if report.new_bytes is None else report.new_bytes
        speaks = any(word.encode() in data.lower() for word in _WORDS)
        if not (speaks and report.path.endswith(_PYTHON) and _parses(data)):
            continue
        source = SourceText.decode(data)
        spoken_of = {f.fix.before for f in report.findings if f.fix is not None}
        original = SourceText.decode(outcome.originals[report.path])
        rows = original.text.splitlines()
        for finding in report.findings:
            if finding.fix is None:
                spoken_of.update(rows[finding.span.line - 1 : finding.span.end_line])
        docstrings = _docstring_lines(source.text)
        lines = source.text.splitlines()
        seen: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT or line in seen or line in docstrings:
                continue
            if any(word in token.string.lower() for word in _WORDS):
                seen.add(line)
                if line <= len(lines) and lines[line - 1] not in spoken_of:
                    yield Left(report.path, line, lines[line - 1].strip())


def _docstring_lines(text: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


# --------------------------------------------------------------------------------------------------------
# Output


def show_table(outcomes: Sequence[Outcome]) -> None:
    header = (
        "package",
        "files",
        "lines",
        "with",
        "findings",
        "edits",
        "unfixed",
        "errors",
        "analyze",
        "convert",
    )
    print(("{:<36}" + "{:>9}" * 9).format(*header))
    total = [0.0] * 9
    for outcome in outcomes:
        numbers = (
            outcome.files,
            outcome.lines,
            sum(1 for report in outcome.reports if report.findings),
            len(outcome.findings),
            outcome.edits,
            sum(1 for finding in outcome.findings if finding.fix is None),
            sum(1 for report in outcome.reports if report.errors),
            outcome.analyze_seconds,
            outcome.convert_seconds,
        )
        total = [a + b for a, b in zip(total, numbers)]
        _show_row(outcome.package.directory, numbers)
    _show_row(f"{len(outcomes)} packages", total)
    print("\nby code")
    codes = Counter(finding.code for outcome in outcomes for finding in outcome.findings)
    fixed = Counter(f.code for outcome in outcomes for f in outcome.findings if f.fix is not None)
    for code, number in sorted(codes.items()):
        print(f"  {code}  {number:6} findings, {fixed[code]:6} fixed")
    errors = [error for outcome in outcomes for report in outcome.reports for error in report.errors]
    print(f"\n{len(errors)} files not processed")
    for error in errors:
        print(f"  {error.path}:{error.line}: {error.message}")


def _show_row(name: str, numbers: Sequence[float]) -> None:
    whole = "".join(f"{int(number):9}" for number in numbers[:-2])
    print(f"{name:<36}{whole}{numbers[-2]:8.2f}s{numbers[-1]:8.2f}s")


def show_samples(outcomes: Sequence[Outcome], count: int, seed: int) -> None:
    chance = random.Random(seed)
    pairs = [(outcome.package, finding) for outcome in outcomes for finding in outcome.findings]
    fixed = [(package, finding) for package, finding in pairs if finding.fix is not None]
    unfixed = [(package, finding) for package, finding in pairs if finding.fix is None]
    print(f"\n{count} of {len(fixed)} edits")
    for package, finding in chance.sample(fixed, min(count, len(fixed))):
        print(f"{package.name} {finding.path}:{finding.span.line} {finding.code}")
        assert finding.fix is not None
        print(_prefixed("  - ", finding.fix.before))
        print(_prefixed("  + ", finding.fix.after))
    print(f"\n{count} of {len(unfixed)} findings without a fix")
    originals = {o.package: o.originals for o in outcomes}
    for package, finding in chance.sample(unfixed, min(count, len(unfixed))):
        rows = SourceText.decode(originals[package][finding.path]).text.splitlines()
        print(f"{package.name} {finding.path}:{finding.span.line} {finding.code} {finding.level}")
        print(f"  | {rows[finding.span.line - 1].strip()}")
        print(f"  {finding.message}")


def _prefixed(prefix: str, text: str) -> str:
    return "\n".join(prefix + line.strip() for line in text.splitlines())


def show_left(outcomes: Sequence[Outcome], count: int, seed: int) -> None:
    left = [(outcome.package, place) for outcome in outcomes for place in left_behind(outcome)]
    print(f"\n{count} of {len(left)} CUDA words that no finding speaks of")
    for package, place in random.Random(seed).sample(left, min(count, len(left))):
        print(f"{package.name} {place.path}:{place.line}: {place.text}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="names; all without any")
    parser.add_argument("--cache", type=Path, default=None, help="where the packages are kept")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--left", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None, help="also write the converted packages here")
    options = parser.parse_args(arguments)
    known = {package.name: package for package in PACKAGES}
    unknown = [name for name in options.packages if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known are {', '.join(known)}")
    target = knowledge.resolve_target(None, None, None)
    outcomes = []
    for name in options.packages or known:
        tree = sources(known[name], options.cache or default_cache())
        print(f"{known[name].directory} ...", file=sys.stderr, flush=True)
        outcome = check(known[name], tree, target)
        outcomes.append(outcome)
        if options.keep is not None:
            _keep(outcome, options.keep)
    show_table(outcomes)
    if options.sample:
        show_samples(outcomes, options.sample, options.seed)
    if options.left:
        show_left(outcomes, options.left, options.seed)
    broken = [(outcome.package.name, problem) for outcome in outcomes for problem in outcome.broken]
    print(f"\n{len(broken)} broken promises")
    for name, problem in broken:
        print(f"  {name} {problem}")
    return 1 if broken else 0


def _keep(outcome: Outcome, place: Path) -> None:
    """Write the Python files before and after, side by side, for reading with ``diff -r``."""
    for version in ("before", "after"):
        base = place / version / outcome.package.directory
        shutil.rmtree(base, ignore_errors=True)
        for report in outcome.reports:
            data = outcome.originals[report.path]
            path = base / report.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(report.new_bytes or data if version == "after" else data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
