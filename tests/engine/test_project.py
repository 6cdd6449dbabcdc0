from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_migrate
from ascend_migrate.engine import project
from ascend_migrate.engine.project import Request
from ascend_migrate.engine.runner import Engine
from ascend_migrate.model import Target
from ascend_migrate.sources.discovery import find

TARGET = Target("910b", "2.7.1", "2.7.1")


class Project:
    """Files, an engine that tells which of them it saw, and a cache."""

    def __init__(self, root: Path, engine: Engine, log: Path) -> None:
        self.root, self.engine, self.log = root, engine, log
        self.request = Request()

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            path = self.root / f"{name}.py"
            path.write_text(text)
            # Old enough to be told by its time; see cache._RACY_NS.
            os.utime(path, ns=(1, path.stat().st_mtime_ns - 10_000_000_000))

    def analyze(self) -> tuple[list[str], list[str]]:
        """The first words of the messages, and the files that the engine was called for."""
        self.log.write_text("")
        files = find([str(self.root)]).files
        _, reports = project.analyze(files, self.request, cache_file=self.root / "cache", engine=self.engine, jobs=1)
        messages = [report.findings[0].message.split(" | ")[0] if report.findings else "" for report in reports]
        return messages, self.log.read_text().split()


@pytest.fixture
def sample(tmp_path: Path, fake_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    monkeypatch.setattr(Request, "target", lambda self: TARGET)
    root = tmp_path / "repo"
    root.mkdir()
    made = Project(root, fake_engine, tmp_path / "log")
    made.write(a="one", b="CUDA two", c="three")
    return made


ALL = ["a.py", "b.py", "c.py"]


def test_nothing_changed(sample: Project) -> None:
    assert sample.analyze() == (["one", "CUDA two", "three"], ALL)
    assert sample.analyze() == (["one", "CUDA two", "three"], [])


def test_what_changed_is_processed_again(sample: Project) -> None:
    sample.analyze()
    sample.write(a="four!")
    assert sample.analyze() == (["four!", "CUDA two", "three"], ["a.py"])
    assert sample.analyze() == (["four!", "CUDA two", "three"], [])


def test_a_change_of_the_index_changes_all(sample: Project) -> None:
    sample.analyze()
    sample.write(a="CUDA now")
    assert sample.analyze() == (["CUDA now", "CUDA two", "three"], ALL)


def test_a_new_time_with_the_old_content(sample: Project) -> None:
    sample.analyze()
    os.utime(sample.root / "a.py", ns=(1, 5_000_000_000))
    assert sample.analyze() == (["one", "CUDA two", "three"], [])


def test_the_same_size_and_a_time_too_young_to_tell(sample: Project) -> None:
    (sample.root / "a.py").write_text("one")
    status = (sample.root / "a.py").stat()
    sample.analyze()
    (sample.root / "a.py").write_text("two")
    os.utime(sample.root / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert sample.analyze() == (["two", "CUDA two", "three"], ["a.py"])


def test_new_and_removed_files(sample: Project) -> None:
    sample.analyze()
    sample.write(d="new")
    (sample.root / "a.py").unlink()
    assert sample.analyze() == (["CUDA two", "three", "new"], ["d.py"])
    (sample.root / "b.py").unlink()
    assert sample.analyze() == (["three", "new"], ["c.py", "d.py"]), "the index has changed"


def test_other_options_are_another_cache(sample: Project) -> None:
    sample.analyze()
    sample.request = Request(ignore=("NPU2",))
    assert sample.analyze()[1] == ALL


def test_a_crash_is_not_remembered(sample: Project) -> None:
    sample.write(a="RAISE")
    assert sample.analyze() == (["", "CUDA two", "three"], ["b.py", "c.py"])
    sample.log.write_text("")
    _, reports = project.analyze(
        find([str(sample.root)]).files, sample.request, cache_file=sample.root / "cache", engine=sample.engine
    )
    assert "KeyError" in reports[0].errors[0].message
    assert sample.log.read_text() == "", "the others are"


def test_a_damaged_cache_is_made_anew(sample: Project) -> None:
    sample.analyze()
    (sample.root / "cache").write_bytes((sample.root / "cache").read_bytes()[:-7])
    assert sample.analyze()[1] == ALL
    assert sample.analyze()[1] == []


def test_without_a_cache(sample: Project) -> None:
    files = find([str(sample.root)]).files
    for _ in range(2):
        sample.log.write_text("")
        target, reports = project.analyze(files, sample.request, engine=sample.engine)
        assert (target, len(reports)) == (TARGET, 3)
        assert sample.log.read_text().split() == ALL


def test_one_file_at_hand(sample: Project) -> None:
    target, report = project.process_one(
        "buffer.py", b"CUDA x", Request(ignore=("A",)), ignored=("B",), engine=sample.engine
    )
    assert target == TARGET
    assert report.findings[0].message.startswith("CUDA x | buffer.py | A,B |")


def test_codes_that_no_rule_has_are_refused() -> None:
    assert Request(select=("NPU1",), ignore=("NPU101",)).target().soc
    with pytest.raises(ValueError, match="no rule has a code that starts with `NPU999`; the codes are NPU101, "):
        Request(select=("NPU999",)).target()
    with pytest.raises(ValueError, match="no rule has a code that starts with `X`"):
        Request(ignore=("X",)).target()


def test_a_warm_run_imports_nothing_heavy(tmp_path: Path) -> None:
    """The real command, twice; the second time neither engine nor rules nor knowledge are needed."""
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(1).cuda()\n")
    command = (
        "import sys; sys.argv = ['ascend-migrate', 'analyze', 'a.py'];"
        "from ascend_migrate.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "names = ('libcst', 'yaml', 'rich', 'ascend_migrate.rules', 'ascend_migrate.knowledge', 'multiprocessing')\n"
        "print(*(name for name in names if name in sys.modules), file=sys.stderr)"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(ascend_migrate.__file__).parent.parent),
        "ASCEND_MIGRATE_CACHE_DIR": str(tmp_path / "cache"),
    }
    cold, warm = (
        subprocess.run([sys.executable, "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
        for _ in range(2)
    )
    assert "ascend_migrate.rules" in cold.stderr.splitlines()[-1]
    assert warm.stderr.splitlines()[-1] == ""
    assert warm.stdout == cold.stdout
    assert "a.py:2:5 " in warm.stdout
