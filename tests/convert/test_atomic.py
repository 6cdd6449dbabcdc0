from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_migrate.convert import atomic


def test_replace_takes_content_and_mode(tmp_path: Path) -> None:
    like = tmp_path / "like"
    like.write_text("")
    like.chmod(0o750)
    path = tmp_path / "a.py"
    path.write_text("old")
    atomic.replace(path, b"new", like=like)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.py", "like"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    actions = (
        lambda: atomic.replace(path, b"new", like=path),
        lambda: atomic.write_text(path, "new"),
        lambda: atomic.copy(Path(__file__), path),
        lambda: atomic.link("x", path),
    )
    for action in actions:
        with pytest.raises(OSError, match="No space left"):
            action()
        assert path.read_text() == "old"
        assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_the_stage_holds_the_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = tmp_path / "stage"
    stage.mkdir()
    seen = []
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        seen.append(self.parent)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    atomic.replace(tmp_path / "a", b"1", like=Path(__file__), stage=stage)
    atomic.copy(Path(__file__), tmp_path / "b", stage=stage)
    atomic.link("b", tmp_path / "c", stage=stage)
    assert seen == [stage] * 3
    assert (tmp_path / "b").stat().st_mtime_ns == Path(__file__).stat().st_mtime_ns


def test_stale_files_of_dead_processes_go(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = tmp_path / f".a.py.ascend-migrate-{ended.pid}.tmp"
    alive = tmp_path / f".a.py.ascend-migrate-{os.getpid()}.tmp"
    strange = tmp_path / ".a.py.ascend-migrate-me.tmp"
    for path in (dead, alive, strange):
        path.write_text("")
    atomic.remove_stale([dead, alive, strange, tmp_path / f".gone.ascend-migrate-{ended.pid}.tmp"])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([alive.name, strange.name])
