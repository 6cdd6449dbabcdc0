"""What a run passes on to its script, and what it gives back."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sim, pytest.mark.usefixtures("simulated_npu")]

Launcher = Callable[..., "subprocess.Popen[str]"]

# None of these scripts imports torch, so that they start at once.
ECHO = "import sys\nprint(sys.argv[1:], sys.stdin.read().strip())\nprint('to stderr', file=sys.stderr)\n"


def finish(process: subprocess.Popen[str], given: str = "") -> tuple[int, str, str]:
    out, err = process.communicate(given)
    return process.returncode, out, err


def test_arguments_after_the_script_are_its_own(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO)
    given = ["--help", "--nproc", "3", "--", "-m", "--sim", "a b", ""]
    code, out, err = finish(launch("--sim", "-q", "echo.py", *given, cwd=tmp_path), "from stdin")
    assert (code, out, err) == (0, f"{given} from stdin\n", "to stderr\n")


def test_module(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__main__.py").write_text("from . import x\n" + ECHO)
    (tmp_path / "pack" / "x.py").touch()
    code, out, _ = finish(launch("--sim", "-q", "-m", "pack", "--help", cwd=tmp_path))
    assert (code, out) == (0, "['--help'] \n")


def test_says_once_that_it_is_a_simulation(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    code, out, err = finish(launch("--sim", "--sim-devices", "3", "empty.py", cwd=tmp_path))
    assert (code, out) == (0, "")
    (line,) = err.splitlines()
    assert line.startswith("ascend-migrate: simulated NPU on the CPU (as torch_npu ")
    assert "3 devices" in line and "not for the chip's numerics or speed" in line


def test_exit_code(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "exit.py").write_text("raise SystemExit(42)\n")
    assert finish(launch("--sim", "-q", "exit.py", cwd=tmp_path)) == (42, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_script(launch: Launcher, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "wait.py").write_text(
        "import signal, sys\n"
        f"signal.signal({int(number)}, lambda n, _: sys.exit(100 + n))\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    signal.pause()\n"
    )
    process = launch("--sim", "-q", "wait.py", cwd=tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert finish(process)[0] == 100 + number


def test_death_by_a_signal_shows(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "die.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    assert finish(launch("--sim", "-q", "die.py", cwd=tmp_path))[0] == -signal.SIGKILL


def test_import_of_the_scripts_own_folder(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "helper.py").write_text("VALUE = 7\n")
    (tmp_path / "sub" / "main.py").write_text("import helper, sys\nprint(helper.VALUE, sys.argv[0])\n")
    code, out, _ = finish(launch("--sim", "-q", "sub/main.py", cwd=tmp_path))
    assert (code, out) == (0, "7 sub/main.py\n")


def test_ranks(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "rank.py").write_text(
        "import os, sys\nopen('rank' + os.environ['RANK'], 'w').write(repr([os.environ['WORLD_SIZE'], sys.argv[1:]]))\n"
    )
    code, _, _ = finish(launch("--sim", "-q", "--nproc", "2", "rank.py", "--", "--help", cwd=tmp_path))
    assert code == 0
    for rank in ("rank0", "rank1"):
        assert (tmp_path / rank).read_text() == "['2', ['--', '--help']]"


def test_exit_code_of_a_rank(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "fail.py").write_text("import os\nraise SystemExit(7 if os.environ['RANK'] == '1' else 0)\n")
    code, _, err = finish(launch("--sim", "-q", "--nproc", "2", "-m", "fail", cwd=tmp_path))
    assert code == 7
    assert "local rank 1 failed first: exit code 7" in err


def test_signal_that_ended_a_rank(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "die.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    code, _, err = finish(launch("--sim", "-q", "--nproc", "2", "die.py", cwd=tmp_path))
    assert code == -signal.SIGKILL
    assert "SIGKILL" in err


def test_signal_to_the_launcher_of_ranks(launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text("import signal\nprint('ready', flush=True)\nsignal.pause()\n")
    process = launch("--sim", "-q", "--nproc", "2", "wait.py", cwd=tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == -signal.SIGTERM


ON_THE_CPU = (
    "import torch\nwhere = 'npu' if torch.device('npu').type == 'cuda' else 'cpu'\ntorch.ones(2, device=where)\n"
)


@pytest.mark.parametrize("ranks", [[], ["--nproc", "2"]])
def test_a_script_that_never_used_the_card_is_told_so(launch: Launcher, tmp_path: Path, ranks: list[str]) -> None:
    (tmp_path / "cpu.py").write_text(ON_THE_CPU)
    (tmp_path / "npu.py").write_text(ON_THE_CPU.replace("'cuda'", "'npu'"))
    message = "nothing was put on the simulated NPU"
    code, _, err = finish(launch("--sim", *ranks, "cpu.py", cwd=tmp_path))
    assert (code, err.count(message)) == (0, max(1, len(ranks)))
    assert message not in finish(launch("--sim", *ranks, "npu.py", cwd=tmp_path))[2]
    assert message not in finish(launch("--sim", "-q", *ranks, "cpu.py", cwd=tmp_path))[2]
