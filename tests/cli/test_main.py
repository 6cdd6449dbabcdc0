from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascend_migrate import __version__
from ascend_migrate.cli import COMMANDS

LAUNCHER = Path(__file__).parent / "with_fake_engine.py"


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(cli, option: str) -> None:
    done = cli(option)
    assert (done.returncode, done.stdout.decode()) == (0, f"ascend-migrate {__version__}\n")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_the_commands(cli, option: str) -> None:
    done = cli(option)
    assert done.returncode == 0
    for name, (_, line) in COMMANDS.items():
        assert f"  {name}" in done.stdout.decode()
        assert line in done.stdout.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_that_begins_with_its_line(cli, name: str) -> None:
    done = cli(name, "--help")
    assert done.returncode == 0
    assert done.stdout.decode().startswith(f"Usage: ascend-migrate {name} [OPTIONS]")


def test_without_a_command_help_is_shown(cli) -> None:
    done = cli()
    assert b"Commands:" in done.stdout + done.stderr


def test_a_command_misspelled(cli) -> None:
    done = cli("analyse")
    assert (done.returncode, done.stdout) == (2, b"")
    assert "No such command 'analyse'. Did you mean 'analyze'?" in done.stderr.decode()
    assert "Did you mean" not in cli("xyz").stderr.decode()


def test_the_module_is_the_command(cli_environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ascend_migrate", "--version"], env=cli_environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"ascend-migrate {__version__}\n")


def test_help_imports_no_command_and_nothing_heavy(cli_environment: dict[str, str]) -> None:
    code = (
        "import sys; sys.argv = ['ascend-migrate', '--help']\n"
        "from ascend_migrate.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "ours = sorted(name for name in sys.modules if name.startswith('ascend_migrate'))\n"
        "print(*ours, *({'rich', 'libcst', 'yaml', 'pathspec'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=cli_environment, capture_output=True, text=True)
    assert done.stderr.split() == ["ascend_migrate", "ascend_migrate.cli"]


def test_interrupted(tmp_path: Path, cli_environment: dict[str, str]) -> None:
    for number in range(200):
        (tmp_path / f"m{number}.py").write_text("SLEEP OLD")
    process = subprocess.Popen(
        [sys.executable, str(LAUNCHER), "convert", "-i", "."],
        cwd=tmp_path,
        env=cli_environment,
        stderr=subprocess.PIPE,
    )
    while "NEW" not in (tmp_path / "m0.py").read_text() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert (process.returncode, said.decode().strip()) == (130, "Interrupted.")
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
