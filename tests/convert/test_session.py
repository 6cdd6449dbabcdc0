from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ascend_migrate.convert import output, session
from ascend_migrate.convert.session import Work
from ascend_migrate.engine.index import ProjectIndex
from ascend_migrate.engine.project import Request
from ascend_migrate.engine.runner import Engine
from ascend_migrate.model import FileReport, Target
from ascend_migrate.sources.discovery import find


@pytest.fixture
def work() -> Work:
    def process(path, data, options, index) -> FileReport:
        return FileReport(path, new_bytes=b"new" if data.startswith(b"old") else None)

    engine = Engine(process, lambda path, data: None, lambda facts: ProjectIndex())
    return Work(Request(), Target("910b", "2.7.1", "2.7.1"), 1, engine=engine)


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path: Path, work: Work) -> None:
    (tmp_path / "a.py").write_text("old")
    (tmp_path / "b.py").write_text("old")
    tree = find([str(tmp_path)])
    (tmp_path / "b.py").write_text("old, and edited by someone")
    done = session.in_place(tree.files, work, prefix="", errors=())
    assert done.changed == ("a.py",)
    assert (tmp_path / "a.py").read_text() == "new"
    assert (tmp_path / "b.py").read_text() == "old, and edited by someone"
    assert [(error.path, error.message) for error in done.result.errors] == [
        ("b.py", "changed while it was being converted, and was left as it is; convert again")
    ]


def test_a_file_that_vanishes_meanwhile_is_a_failure(tmp_path: Path, work: Work) -> None:
    (tmp_path / "a.py").write_text("old")
    (tmp_path / "b.py").write_text("old")
    tree = find([str(tmp_path)])
    (tmp_path / "a.py").unlink()
    done = session.in_place(tree.files, work, prefix="", errors=())
    assert done.changed == ("b.py",)
    assert done.result.errors[0].message == "cannot be read: No such file or directory"


def test_a_write_that_fails_is_a_failure_of_that_file(tmp_path: Path, work: Work, monkeypatch) -> None:
    (tmp_path / "a.py").write_text("old")
    (tmp_path / "b.py").write_text("old")
    tree = find([str(tmp_path)])
    real = Path.write_bytes

    def write_bytes(self: Path, data: bytes) -> int:
        if ".a.py" in self.name:
            raise OSError(28, "No space left on device")
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    done = session.in_place(tree.files, work, prefix="", errors=())
    assert done.changed == ("b.py",)
    assert done.result.errors[0].message == "cannot be written: No space left on device"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_a_file_that_cannot_be_copied_does_not_stop_the_rest(tmp_path: Path, work: Work, monkeypatch) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    for name in ("a.bin", "b.bin", "c.py"):
        (repo / name).write_text("old")
    real = shutil.copy2

    def copy2(source: Path, target: Path) -> None:
        if source.name == "a.bin":
            raise PermissionError(13, "Permission denied")
        real(source, target)

    monkeypatch.setattr(shutil, "copy2", copy2)
    base, roots = output.plan([str(repo)], str(tmp_path / "out"))
    inventory = output.take_inventory(roots, base)
    place = output.Output(base, {"input": "x"})
    place.prepare(inventory, force=False)
    done = session.to_output(inventory, place, work)
    assert {path.name: path.read_text() for path in base.iterdir()} == {"b.bin": "old", "c.py": "new"}
    assert [(error.path, error.message) for error in done.result.errors] == [
        ("a.bin", "cannot be copied: Permission denied")
    ]
