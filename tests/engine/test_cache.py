from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest

from ascend_migrate.engine import cache
from ascend_migrate.engine.index import FileFacts, build
from ascend_migrate.engine.pipeline import EngineOptions, process
from ascend_migrate.knowledge import resolve_target
from ascend_migrate.model import Edit, FileError, FileReport, Finding, Fix, Span, Target

OLD = time.time_ns() - 3_600_000_000_000


def example(mtime_ns: int = OLD) -> cache.Cache:
    finding = Finding("a.py", Span(1, 2, 3, 4), "NPU1", "error", "no", "do", Fix("safe", (), "b", "a"))
    report = FileReport("a.py", (finding,), (FileError("a.py", 3, "bad"),))
    facts = cache.pack(FileFacts("a.py", uses_cuda=True))
    entry = cache.Entry(mtime_ns, 10, b"\1" * 32, facts, report)
    return cache.Cache(cache.key(("x",)), Target("910b", "2.7.1", "2.7.1"), "digest", {"a.py": entry})


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "c.pickle"
    cache.save(path, example())
    found = cache.load(path, cache.key(("x",)))
    assert found == example()
    assert cache.unpack(found.entries["a.py"].facts) == FileFacts("a.py", uses_cuda=True)
    assert [file.name for file in path.parent.iterdir()] == ["c.pickle"], "no temporary file stays"


def test_reports_of_the_real_engine_survive(tmp_path: Path) -> None:
    source = b"import torch\n\ntorch.cuda.nvtx.mark('x')\nmodel.cuda()\nrun('cuda')\nx.to(device='cuda')\n"
    report = process("a.py", source, EngineOptions(resolve_target(None, None, None)), build(()))
    assert len(report.findings) >= 4
    entry = cache.Entry(OLD, 10, b"\1" * 32, cache.pack(None), cache.without_edits(report))
    path = tmp_path / "c.pickle"
    cache.save(path, cache.Cache(cache.key(("x",)), Target("910b", "2.7.1", "2.7.1"), "digest", {"a.py": entry}))
    found = cache.load(path, cache.key(("x",)))
    assert found is not None
    assert found.entries["a.py"].report == cache.without_edits(report)


def test_a_cache_for_something_else_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "c.pickle"
    cache.save(path, example())
    assert cache.load(path, cache.key(("y",))) is None
    assert cache.load(tmp_path / "other", cache.key(("x",))) is None


def test_the_key_depends_on_version_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {cache.key(("x",)), cache.key(("y",))}
    monkeypatch.setattr("ascend_migrate.__version__", "999")
    keys.add(cache.key(("x",)))
    monkeypatch.setattr("sys.version_info", (3, 99, 0))
    keys.add(cache.key(("x",)))
    monkeypatch.setattr(cache, "_own_files", lambda: (1, 2, 3))
    keys.add(cache.key(("x",)))
    assert len(keys) == 5


@pytest.mark.parametrize("keep", [0, 10, 66, 70, 150, -1])
def test_damage_is_no_cache(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "c.pickle"
    cache.save(path, example())
    path.write_bytes(path.read_bytes()[:keep])
    assert cache.load(path, cache.key(("x",))) is None


def test_garbage_behind_the_key_is_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "c.pickle"
    key = cache.key(("x",))
    for garbage in (b"garbage", pickle.dumps("a text"), pickle.dumps({"a": 1})):
        path.write_bytes(key.encode() + b"\n" + garbage)
        assert cache.load(path, key) is None


class _Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_a_cache_cannot_run_code(tmp_path: Path) -> None:
    key = cache.key(("x",))
    path = tmp_path / "c.pickle"
    path.write_bytes(key.encode() + b"\n" + pickle.dumps(_Evil(tmp_path / "made")))
    assert cache.load(path, key) is None
    with pytest.raises(pickle.UnpicklingError, match=r"mkdir does not belong in a cache"):
        cache.unpack(pickle.dumps(_Evil(tmp_path / "made")))
    assert not (tmp_path / "made").exists()


def test_a_file_just_changed_is_compared_by_content(tmp_path: Path) -> None:
    path = tmp_path / "c.pickle"
    cache.save(path, example(mtime_ns=time.time_ns()))
    found = cache.load(path, cache.key(("x",)))
    assert found is not None and found.entries["a.py"].mtime_ns == -1


def test_a_place_that_cannot_be_written_to_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache.save(tmp_path / "file" / "c.pickle", example())
    assert (tmp_path / "file").read_text() == ""


def test_old_caches_are_removed(tmp_path: Path) -> None:
    for name, age in (("old", 31 * 24 * 3600), ("recent", 29 * 24 * 3600)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    cache.save(tmp_path / "c.pickle", example())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.pickle", "recent"]


def test_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_MIGRATE_CACHE_DIR", str(tmp_path))
    assert cache.directory() == tmp_path
    monkeypatch.chdir(tmp_path)
    here = {cache.location(["a"]), cache.location(["b"]), cache.location(["a", "b"]), cache.location(["a"])}
    assert len(here) == 3
    monkeypatch.chdir("/")
    assert cache.location(["a"]) not in here
    monkeypatch.delenv("ASCEND_MIGRATE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert cache.directory() == tmp_path / "xdg" / "ascend-migrate"


def test_edits_and_bytes_are_left_out() -> None:
    fix = Fix("safe", (Edit(0, 1, "x"),), "b", "a")
    finding = Finding("a.py", Span(1, 1, 1, 2), "NPU1", "error", "no", "", fix)
    plain = Finding("a.py", Span(1, 1, 1, 2), "NPU2", "error", "no")
    slim = cache.without_edits(FileReport("a.py", (finding, plain), (), b"new"))
    assert slim == FileReport(
        "a.py",
        (Finding("a.py", Span(1, 1, 1, 2), "NPU1", "error", "no", "", Fix("safe", (), "b", "a")), plain),
    )
