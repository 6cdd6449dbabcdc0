"""Builds are made once, whole, and by one process; what is missing for them is named."""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path

import pytest

from ascend_migrate.simulator import SimulatorError, cache_folder, compiler
from ascend_migrate.simulator.cache import _ensure
from ascend_migrate.simulator.torch_installation import TorchInstallation, find_torch, require_torch


def fake_torch(folder: Path, version: str = "2.13.0+cpu") -> TorchInstallation:
    (folder / "include" / "ATen").mkdir(parents=True)
    (folder / "include" / "ATen" / "ATen.h").touch()
    return TorchInstallation(version, folder)


def test_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_MIGRATE_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path.resolve() / "simulated-npu"
    monkeypatch.delenv("ASCEND_MIGRATE_CACHE_DIR")
    assert cache_folder().name == "simulated-npu"


def _slow_build(temporary: Path) -> None:
    with (temporary.parent / "builds").open("a") as log:
        log.write("build\n")
    time.sleep(0.2)
    (temporary / "library.so").write_text("whole")


def _build(folder: Path) -> None:
    _ensure(folder, _slow_build, None)
    assert (folder / "library.so").read_text() == "whole"


def test_processes_at_once_build_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_ensure, args=(tmp_path / "key", _slow_build, None)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert (tmp_path / "builds").read_text() == "build\n"
    assert (tmp_path / "key" / "library.so").read_text() == "whole"


def test_what_a_killed_builder_left_does_not_matter(tmp_path: Path) -> None:
    left_over = tmp_path / "key.tmp-killed"
    left_over.mkdir()
    (left_over / "library.so").write_text("half")
    (tmp_path / "key.lock").touch()
    _build(tmp_path / "key")
    assert not left_over.exists()


def test_a_failed_build_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    def fail(temporary: Path) -> None:
        (temporary / "half").touch()
        raise SimulatorError("did not compile")

    with pytest.raises(SimulatorError, match="did not compile"):
        _ensure(tmp_path / "key", fail, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key.lock"]
    _build(tmp_path / "key")


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SimulatorError, match="ASCEND_MIGRATE_CACHE_DIR"):
        _ensure(tmp_path / "file" / "key", _slow_build, None)


def test_waiting_is_said(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=_ensure, args=(tmp_path / "key", _slow_build, None))
    other.start()
    while not (tmp_path / "builds").exists():
        time.sleep(0.01)
    said: list[str] = []
    _ensure(tmp_path / "key", _slow_build, said.append)
    other.join()
    assert said in ([], ["another process is building the simulated NPU; waiting for it ..."])
    assert (tmp_path / "builds").read_text() == "build\n"


def test_compiler_is_named_when_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimulatorError, match=r"no C\+\+ compiler found.*apt install g\+\+"):
        compiler.find_toolchain(fake_torch(tmp_path / "torch"))
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(SimulatorError, match="CXX does not exist: no-such-compiler"):
        compiler.find_compiler()


def test_headers_are_named_when_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", sys.executable)
    torch = fake_torch(tmp_path / "torch")
    (torch.root / "include" / "ATen" / "ATen.h").unlink()
    with pytest.raises(SimulatorError, match="this torch has no C"):
        compiler.find_toolchain(torch)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(SimulatorError, match=r"Python's C headers are missing.*python3-dev"):
        compiler.find_toolchain(fake_torch(tmp_path / "other"))


def test_the_compilers_own_words_are_passed_on(tmp_path: Path) -> None:
    complain = f"{sys.executable} -c \"import sys; sys.exit('x.cpp:1: error: what is this')\""
    toolchain = compiler.Toolchain(("sh", "-c", complain), (), ())
    with pytest.raises(SimulatorError, match=r"x\.cpp:1: error: what is this"):
        compiler.compile_library(fake_torch(tmp_path / "torch"), toolchain, tmp_path)


def test_torch_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "version.py").write_text("__version__ = '2.9.1+cu128'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    found = find_torch()
    assert found is not None
    assert (found.version, found.root, found.release) == ("2.9.1+cu128", package, (2, 9, 1))
    (package / "version.py").write_text("__version__ = '2.6.0'\n")
    with pytest.raises(SimulatorError, match=r"needs torch 2\.7 or newer, and torch 2\.6\.0 is installed"):
        require_torch()
