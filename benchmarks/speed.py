#!/usr/bin/env python3
"""How much CPU and memory the tool takes on real packages, beside two yardsticks on the same files.

    python benchmarks/speed.py                 everything; some ten minutes
    python benchmarks/speed.py --runs 3        fewer repetitions
    python benchmarks/speed.py --ruff PATH     a ruff that is not on the path

Every figure is that of a whole process, start-up included: user plus system CPU time of it and the processes
it started, and the largest resident set of any one of them, from the kernel's accounting. Each case is run several
times, in turn with ``ruff check --no-cache`` and with a process that does nothing but ``ast.parse`` of every file,
and the medians count: on a machine that does other work absolute figures vary by a factor of two, the ratios by
much less. Nothing is asserted; this is for reading and for comparing two versions.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import corpus  # noqa: E402

PROJECT = "yolov5"
THOUSAND_FILES = 1000
THOUSAND_FROM = ("timm", "mmengine", "torchtune", "speechbrain", "yolov5", "basicsr", "open-clip-torch", "vit-pytorch")
"""Packages whose files are mixed, in turn, until there are a thousand."""

BUDGETS = {
    "--help": 0.25,
    "convert": 1.5,
    "analyze, warm": 0.4,
    "analyze 1,000 files": 3.0,
    "convert 1,000 files": 3.0,
}
"""CPU seconds that each case is meant to stay under on a machine of today."""

MEMORY_BUDGET_MB = 150


@dataclass(frozen=True)
class Cost:
    """What one process, with its children, cost."""

    cpu: float
    wall: float
    memory_mb: float


def measure(command: Sequence[str], environment: dict[str, str]) -> Cost:
    """Run the command and account for it. Raises RuntimeError when it ends with a code that says failure."""
    probe = [sys.executable, "-S", "-c", _PROBE, *command]
    done = subprocess.run(probe, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-500:]}")
    code, cpu, wall, memory = done.stdout.split()
    if int(code) not in (0, 1, 3):  # 1: something was found, 3: some files could not be read
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return Cost(float(cpu), float(wall), float(memory) / 1024)


_PROBE = """
import os, resource, subprocess, sys, time
start = time.perf_counter()
with open(os.devnull, "w") as nothing:
    code = subprocess.run(sys.argv[1:], stdout=nothing, stderr=nothing).returncode
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, wall, used.ru_maxrss)
"""
"""Runs one command in a process of its own, so that ``RUSAGE_CHILDREN`` is the cost of that command alone."""


_PARSE_ALL = """
import ast, gc, pathlib, sys, warnings
gc.disable()
warnings.simplefilter("ignore")
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    try:
        ast.parse(path.read_bytes())
    except SyntaxError:
        pass
"""


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.wall for cost in costs),
        max(cost.memory_mb for cost in costs),
    )


class Bench:
    """Runs cases in turn with ruff and prints a line for each."""

    def __init__(self, runs: int, ruff: str, scratch: Path) -> None:
        self.runs = runs
        self.large_runs = (runs + 1) // 2
        self.ruff = ruff
        self.scratch = scratch
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "ASCEND_MIGRATE_CACHE_DIR": str(scratch / "cache"),
        }

    def tool(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ascend_migrate", *arguments]

    def case(
        self,
        name: str,
        command: Sequence[str],
        tree: Path | None,
        before: Callable[[], None] = lambda: None,
        *,
        large: bool = False,
    ) -> Cost:
        """Measure ``command``; ``before`` prepares every run of it. With a tree the yardsticks are run in between."""
        ours: list[Cost] = []
        ruff: list[Cost] = []
        parse: list[Cost] = []
        for _ in range(self.runs if large is False else self.large_runs):
            before()
            ours.append(measure(command, self.environment))
            if tree is not None:
                check = [self.ruff, "check", "--no-cache", "--isolated", "--quiet", str(tree)]
                ruff.append(measure(check, self.environment))
                parse.append(measure([sys.executable, "-c", _PARSE_ALL, str(tree)], self.environment))
        cost = median(ours)
        line = f"{name:<34}{cost.cpu:7.2f} s CPU{cost.wall:8.2f} s{cost.memory_mb:7.0f} MB"
        if tree is not None:
            line += f"   {cost.cpu / median(ruff).cpu:5.1f} x ruff, {cost.cpu / median(parse).cpu:5.2f} x ast.parse"
        if name in BUDGETS:
            line += f"   budget {BUDGETS[name]} s: {'met' if cost.cpu <= BUDGETS[name] else 'MISSED'}"
        print(line, flush=True)
        return cost


def mixed(sources: Sequence[Path], into: Path, count: int) -> Path:
    """A tree of ``count`` files, taken in turn from the packages; again from the start when they are used up."""
    files = [[path for path in sorted(tree.rglob("*.py")) if path.stat().st_size] for tree in sources]
    into.mkdir()
    for number in range(count):
        group = files[number % len(files)]
        source = group[number // len(files) % len(group)]
        place = into / f"part{number // 100:03}" / f"{number:05}_{source.name}"
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, place)
    return into


def size_of(tree: Path) -> str:
    files = list(tree.rglob("*.py"))
    content = [path.read_bytes() for path in files]
    return f"{len(files)} files, {sum(c.count(10) for c in content):,} lines, {sum(map(len, content)) / 1e6:.1f} MB"


def run(bench: Bench, cache: Path) -> None:
    known = {package.name: package for package in corpus.PACKAGES}

    def tree(name: str) -> Path:
        place: Path = corpus.sources(known[name], cache)
        return place

    project = tree(PROJECT)
    out = bench.scratch / "out"
    fresh = bench.scratch / "cache"

    def no_output() -> None:
        shutil.rmtree(out, ignore_errors=True)

    def no_cache() -> None:
        shutil.rmtree(fresh, ignore_errors=True)

    print(f"\n{known[PROJECT].directory}: {size_of(project)}")
    bench.case("python -c pass", [sys.executable, "-c", "pass"], None)
    bench.case("--help", bench.tool("--help"), None)
    bench.case("convert", bench.tool("convert", str(project), "-o", str(out)), project, no_output)
    bench.case("analyze, cold", bench.tool("analyze", str(project)), project, no_cache)
    bench.case("analyze, warm", bench.tool("analyze", str(project)), project)

    thousand = mixed([tree(name) for name in THOUSAND_FROM], bench.scratch / "x1", THOUSAND_FILES)
    print(f"\na mix of {len(THOUSAND_FROM)} packages: {size_of(thousand)}")
    one = ("--jobs", "1")
    x1 = bench.case(
        "analyze 1,000 files", bench.tool("analyze", str(thousand), "--no-cache", *one), thousand, large=True
    )
    bench.case(
        "convert 1,000 files",
        bench.tool("convert", str(thousand), "-o", str(out), *one),
        thousand,
        no_output,
        large=True,
    )
    sizes = {1: x1}
    for factor in (2, 4):
        more = bench.scratch / f"x{factor}"
        for copy in range(factor):
            shutil.copytree(thousand, more / f"copy{copy}")
        sizes[factor] = bench.case(
            f"analyze {factor},000 files", bench.tool("analyze", str(more), "--no-cache", *one), more, large=True
        )
    print(
        "CPU per file, relative to 1,000 files: "
        + ", ".join(f"{factor}x: {cost.cpu / factor / x1.cpu:.2f}" for factor, cost in sizes.items())
    )
    memory = max(cost.memory_mb for cost in sizes.values())
    verdict = "met" if memory < MEMORY_BUDGET_MB else "MISSED"
    print(f"largest memory: {memory:.0f} MB   budget {MEMORY_BUDGET_MB} MB: {verdict}")

    large = bench.scratch / "x4"
    walls = {}
    for jobs in (1, 2):
        command = bench.tool("analyze", str(large), "--no-cache", "--jobs", str(jobs))
        walls[jobs] = bench.case(
            f"analyze 4,000 files, {jobs} process{'es' * (jobs > 1)}", command, None, large=True
        ).wall
    print(f"two processes take {walls[2] / walls[1]:.2f} of the time of one")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="repetitions of every case")
    parser.add_argument("--ruff", default=None, help="the ruff to compare with")
    parser.add_argument("--corpus", type=Path, default=None, help="where scripts/corpus.py keeps the packages")
    options = parser.parse_args(arguments)
    ruff = options.ruff or shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    with tempfile.TemporaryDirectory() as scratch:
        run(Bench(options.runs, ruff, Path(scratch)), options.corpus or corpus.default_cache())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
