from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

import ascend_migrate
from ascend_migrate.engine import runner
from ascend_migrate.engine.pipeline import EngineOptions
from ascend_migrate.engine.runner import Engine, Outcome, Runner
from ascend_migrate.model import Target
from ascend_migrate.sources.discovery import SourceFile

OPTIONS = EngineOptions(Target("910b", "2.7.1", "2.7.1"), ignore=("X",))


def run(files, engine: Engine, jobs: int | None = 1, **more) -> list[Outcome]:
    with Runner(sum(file.size for file in files), OPTIONS, jobs=jobs, engine=engine) as running:
        index = running.engine.build(fact for _, fact in running.gather(files) if fact is not None)
        return list(running.process(files, index, **more))


def message(outcome: Outcome) -> str:
    (finding,) = outcome.report.findings
    return finding.message.rpartition(" | ")[0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_file_is_processed_with_the_index_of_all(fake_engine: Engine, source, jobs: int, monkeypatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_BYTES", 10)
    files = [source(f"f{number}.py", f"CUDA {number}" if number % 3 == 0 else f"{number}") for number in range(9)]
    outcomes = run(files, fake_engine, jobs)
    assert [outcome.report.path for outcome in outcomes] == [file.name for file in files]
    assert [message(outcome) for outcome in outcomes] == [
        f"{file.path.read_text()} | f0.py,f3.py,f6.py | X" for file in files
    ]
    pids = {outcome.report.findings[0].message.rpartition(" | ")[2] for outcome in outcomes}
    assert (str(os.getpid()) in pids) is (jobs == 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_raises_fails_alone(fake_engine: Engine, source, jobs: int) -> None:
    files = [
        source("a.py", "fine"),
        source("b.py", "RAISE"),
        source("c.py", "GATHER-FAILS"),
        SourceFile("missing.py", Path("no/such/file.py"), 1, 1),
        source("d.py", "fine"),
    ]
    outcomes = run(files, fake_engine, jobs)
    assert [outcome.crashed for outcome in outcomes] == [False, True, False, True, False]
    errors = [error for outcome in outcomes for error in outcome.report.errors]
    assert [error.path for error in errors] == ["b.py", "missing.py"]
    assert errors[0].message.startswith(
        "internal error, please report it: KeyError: 'no such thing' at fake_functions.py:"
    )
    assert errors[1].message == "cannot be read: No such file or directory"


def test_endless_recursion_fails_alone(fake_engine: Engine, source) -> None:
    outcomes = run([source("a.py", "RECURSE"), source("b.py", "fine")], fake_engine)
    assert "RecursionError" in outcomes[0].report.errors[0].message
    assert not outcomes[1].report.errors


def test_a_worker_that_dies_costs_only_its_file(fake_engine: Engine, source) -> None:
    files = [source("a.py", "fine"), source("b.py", "DIE"), source("c.py", "fine"), source("d.py", "DIE")]
    outcomes = run(files, fake_engine, jobs=2)
    assert [len(outcome.report.errors) for outcome in outcomes] == [0, 1, 0, 1]
    assert outcomes[1].report.errors[0].message.startswith("the process that worked on this file died")
    assert [message(outcomes[i]) for i in (0, 2)] == ["fine |  | X", "fine |  | X"]


def test_codes_ignored_in_single_files(fake_engine: Engine, source) -> None:
    files = [source("a.py", "one"), source("b.py", "two")]
    outcomes = run(files, fake_engine, ignored_in=lambda path: ("Y", "Z") if path.name == "b.py" else ())
    assert [message(outcome) for outcome in outcomes] == ["one |  | X", "two |  | X,Y,Z"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_counts_bytes(fake_engine: Engine, source, jobs: int) -> None:
    seen: list[tuple[int, int]] = []
    files = [source("a.py", "1"), source("b.py", "22"), source("c.py", "333")]
    run(files, fake_engine, jobs, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 6), (3, 6), (6, 6)]


def test_the_engine_is_warm_before_workers_are_made(fake_engine: Engine, source) -> None:
    warmed: list[EngineOptions] = []
    engine = replace(fake_engine, warm_up=warmed.append)
    run([source("a.py", "fine")], engine, jobs=1)
    assert warmed == []
    run([source("a.py", "fine")], engine, jobs=2)
    assert warmed == [OPTIONS]


def test_no_files(fake_engine: Engine) -> None:
    assert run([], fake_engine) == []
    assert run([], fake_engine, jobs=2) == []


def test_small_input_takes_one_process_and_large_input_all(monkeypatch: pytest.MonkeyPatch) -> None:
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    else:
        monkeypatch.setattr(os, "cpu_count", lambda: 4)
    per_process = runner.BYTES_PER_PROCESS
    sizes = (0, per_process, 2 * per_process - 1, 2 * per_process, 3 * per_process, 400 * per_process)
    assert [runner.automatic_jobs(size) for size in sizes] == [1, 1, 1, 2, 3, 4]


def test_chunks_keep_the_order_and_the_size(source) -> None:
    files = [SourceFile(f"{n}", Path(f"{n}"), 90_000, 0) for n in range(7)]
    chunks = list(runner._chunks(list(range(7)), files))
    assert chunks == [[0, 1, 2], [3, 4, 5], [6]]


SCRIPT = """
    import pathlib, sys
    sys.path.insert(0, {functions!r})
    import fake_functions as fake
    from ascend_migrate.engine import runner
    from ascend_migrate.engine.pipeline import EngineOptions
    from ascend_migrate.model import Target
    from ascend_migrate.sources.discovery import SourceFile

    def main():
        runner.CHUNK_BYTES = 1
        files = [SourceFile(str(n), pathlib.Path({file!r}), 10, 0) for n in range(200)]
        options = EngineOptions(Target("910b", "2.7.1", "2.7.1"))
        engine = runner.Engine(fake.process, fake.gather, fake.build)
        with runner.Runner(0, options, jobs=2, engine=engine) as running:
            for outcome in running.process(files, fake.build(())):
                print(outcome.report.findings[0].message.rpartition(" ")[2], flush=True)

    if __name__ == "__main__":
        main()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_from_outside_no_process_stays(tmp_path: Path, how: signal.Signals) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("looks at processes through /proc")
    (tmp_path / "slow.py").write_text("SLOWLY")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(SCRIPT).format(functions=str(Path(__file__).parent), file=str(tmp_path / "slow.py"))
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(ascend_migrate.__file__).parent.parent)}
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None and process.stderr is not None
    workers = {int(process.stdout.readline()) for _ in range(4)}
    process.send_signal(how)
    said = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert process.wait() != 0
    if how == signal.SIGINT:
        assert said.count("Traceback") == 1, "the workers are silent"
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker outlives its parent"
        time.sleep(0.01)
