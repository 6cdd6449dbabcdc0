"""The command line, and this machine itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ascend_migrate.launch.doctor import System, environment_python, examine, interpreter_at, report


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ascend_migrate", "doctor", *arguments], capture_output=True, text=True, check=False
    )


def test_text_and_exit_code(tmp_path: Path) -> None:
    done = run(str(tmp_path))
    assert done.stderr == ""
    assert "\nPython\n" in done.stdout
    # The machines that run the tests have no card, or no CANN.
    assert done.returncode == int("  problem" in done.stdout)
    assert "\x1b" not in done.stdout


def test_json(tmp_path: Path) -> None:
    data = json.loads(run(str(tmp_path), "--format", "json").stdout)
    assert data["schema"] == 1
    assert set(data["summary"]) == {"ok", "warning", "problem", "unknown"}
    assert sum(data["summary"].values()) == len(data["checks"])
    assert {"group", "name", "status", "reason", "fix", "help"} == set(data["checks"][0])


def test_torch_is_not_imported() -> None:
    code = (
        "import sys; from ascend_migrate.launch.doctor import examine; examine(); "
        "print([name for name in ('torch', 'numpy', 'libcst') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_another_python(tmp_path: Path) -> None:
    done = run(str(tmp_path), "--python", "/nonexistent/python")
    assert done.returncode == 2
    assert "is not a Python that can be run" in done.stderr
    interpreter = interpreter_at(sys.executable)
    assert interpreter is not None
    assert interpreter.version == sys.version_info[:3]


def test_the_python_of_the_active_environment(tmp_path: Path) -> None:
    active = tmp_path / "env" / "bin" / "python"
    active.parent.mkdir(parents=True)
    active.touch(mode=0o755)
    assert environment_python({"VIRTUAL_ENV": str(tmp_path / "env")}) == str(active)
    assert environment_python({"VIRTUAL_ENV": sys.prefix}) is None
    assert environment_python({}) is None


def test_this_machine() -> None:
    system = System()
    assert system.package("pytest") is not None
    assert system.package("no-such-distribution") is None
    assert system.run("no-such-program") is None
    assert system.read("/proc/self/limits")
    assert examine(system)


def test_torch_is_read_as_text(tmp_path: Path) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    interpreter = interpreter_at(sys.executable)
    assert interpreter is not None
    system = System(python=type(interpreter)("python", (3, 10, 0), (str(tmp_path),)))
    assert system.torch_files() is None
    (package / "version.py").write_text(
        "from typing import Optional\n__version__ = '2.7.1+cu126'\ndebug = False\ncuda: Optional[str] = '12.6'\n"
        "git_version = 'e2d1'\nhip: Optional[str] = None\n",
        encoding="utf-8",
    )
    files = system.torch_files()
    assert files is not None
    assert (files.version, files.cuda, files.hip) == ("2.7.1+cu126", "12.6", None)


def test_script(machine: Any) -> None:
    machine.environment = {"HOME": "/root"}
    machine.closed = {"/dev/davinci0"}
    script = report.to_script(machine.examine().checks)
    lines = script.splitlines()
    assert lines[0] == "#!/bin/sh"
    assert "source /usr/local/Ascend/ascend-toolkit/set_env.sh" in lines
    # What needs root is for the reader to decide.
    assert "# sudo usermod -aG HwHiAiUser trainer" in lines
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_script_of_a_healthy_machine(machine: Any) -> None:
    assert "# No problems were found." in report.to_script(machine.examine().checks)


def test_nothing_is_changed(machine: Any) -> None:
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in machine.root.rglob("*"))
    machine.examine()
    assert sorted((str(path), path.lstat().st_mtime_ns) for path in machine.root.rglob("*")) == before


def test_summary(machine: Any) -> None:
    checks = machine.examine().checks
    assert report.summary(checks).startswith("0 problems, 0 warnings, ")
    text = report.to_text(checks, lambda text, colour: f"<{colour}>{text}")
    assert "<green>ok" in text
