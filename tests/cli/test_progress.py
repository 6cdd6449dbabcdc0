from __future__ import annotations

import io
import subprocess
import sys

import pytest

from ascend_migrate.cli import progress


def test_short_work_shows_nothing_and_imports_nothing() -> None:
    code = (
        "import sys; from ascend_migrate.cli.progress import LazyBar\n"
        "bar = LazyBar('Working'); bar(1, 2); bar(2, 2); bar.close()\n"
        "sys.exit('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_long_work_shows_a_bar_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    bar = progress.LazyBar("Working")
    bar(1, 4)
    bar(2, 4)
    bar.close()
    bar.close()
    assert "Working" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


def test_the_last_step_alone_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    bar = progress.LazyBar("Working")
    bar(4, 4)
    bar.close()
    assert terminal.getvalue() == ""
