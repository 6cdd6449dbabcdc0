"""Launches that cannot start: exit code 2 and a message that says what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from ascend_migrate.launch import environment, runner
from ascend_migrate.launch.errors import LaunchError
from ascend_migrate.launch.runner import Launch
from ascend_migrate.simulator import SimulatedNpu, SimulatorError

Launcher = Callable[..., "subprocess.Popen[str]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "no such script: missing.py"),
        (["--sim", "missing.py"], "no such script: missing.py"),
        (["--wrong", "script.py"], "no such option: --wrong"),
        (["--sim-devices", "2", "script.py"], "--sim-devices needs --sim"),
        (["--sim", "--nproc", "0", "script.py"], "--nproc must be at least 1, not 0"),
        (["--sim", "--sim-devices", "0", "script.py"], "1 to 64 NPUs, not 0"),
        (["--sim", "--nproc", "65", "script.py"], "1 to 64 NPUs, not 65"),
    ],
)
def test_wrong_usage(launch: Launcher, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "script.py").touch()
    process = launch(*arguments, cwd=tmp_path)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.startswith("ascend-migrate: error: ") and message in err


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").touch()
    return "script.py"


def installed(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """As if of torch and torch_npu only these were installed."""

    def find_spec(name: str) -> ModuleSpec | None:
        return ModuleSpec(name, None) if name in packages else None

    monkeypatch.setattr("importlib.util.find_spec", find_spec)


def test_no_torch(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    with pytest.raises(LaunchError, match="PyTorch is not installed"):
        runner.start(Launch(script), print)
    with pytest.raises(LaunchError, match=r"pip install .ascend-migrate\[sim\]"):
        runner.start(Launch(script, simulate=True), print)


def test_no_torch_npu_offers_the_simulation(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "torch")
    with pytest.raises(LaunchError, match=r"torch_npu is not installed.*add --sim"):
        runner.start(Launch(script), print)


def test_no_card_offers_the_simulation(script: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, "torch", "torch_npu")
    monkeypatch.setattr(environment, "has_npu", lambda: False)
    with pytest.raises(LaunchError, match=r"no Ascend NPU found.*add --sim"):
        runner.start(Launch(script), print)


def test_card_is_found_by_its_device_node(tmp_path: Path) -> None:
    (tmp_path / "davinci_manager").touch()
    assert not environment.has_npu(tmp_path)
    (tmp_path / "davinci0").touch()
    assert environment.has_npu(tmp_path)


def started(monkeypatch: pytest.MonkeyPatch, launch: Launch) -> tuple[list[str], dict[str, str]]:
    """The command and environment that a launch becomes."""
    seen: list[tuple[list[str], dict[str, str]]] = []

    def execve(_: str, command: list[str], child: Mapping[str, str]) -> None:
        seen.append((command, dict(child)))

    monkeypatch.setattr("os.execve", execve)
    runner.start(launch, print)
    return seen[0]


def test_run_on_a_card_changes_nothing(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "torch", "torch_npu")
    monkeypatch.setattr(environment, "has_npu", lambda: True)
    monkeypatch.setenv("PYTHONPATH", "own")
    command, child = started(monkeypatch, Launch(script, ("-x",)))
    assert command[1:] == ["script.py", "-x"]
    assert child["PYTHONPATH"] == "own" and "ASCEND_MIGRATE_SIM_DEVICES" not in child


def test_environment_of_a_simulated_run(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = SimulatedNpu("2.13.0+cpu", "2.13.0", (Path("stand_in"), Path("library")))
    monkeypatch.setattr(runner, "prepare", lambda say: simulator)
    monkeypatch.setenv("PYTHONPATH", "own")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    command, child = started(monkeypatch, Launch(script, processes=2, simulate=True))
    assert command[1:] == ["-m", "ascend_migrate.launch.ranks", "2", "script", "script.py"]
    assert child["PYTHONPATH"].split(":") == ["stand_in", "library", "own"]
    assert child["ASCEND_MIGRATE_SIM_DEVICES"] == "2"
    assert child["CUDA_VISIBLE_DEVICES"] == ""
    assert int(child["OMP_NUM_THREADS"]) >= 1


def test_a_simulator_that_cannot_be_built(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(say: Callable[[str], None]) -> SimulatedNpu:
        raise SimulatorError("no C++ compiler found")

    monkeypatch.setattr(runner, "prepare", prepare)
    with pytest.raises(LaunchError, match=r"no C\+\+ compiler found"):
        runner.start(Launch(script, simulate=True), print)
