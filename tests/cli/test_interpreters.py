"""The installed command on the oldest and the newest Python: the same answers as on this one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"

pytestmark = pytest.mark.network


def candidates(version: str) -> Iterator[Path]:
    found = shutil.which(f"python{version}")
    if found:
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"))


def interpreter(version: str) -> Path | None:
    """A Python of this version. A shim that leads nowhere does not count."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    for path in candidates(version):
        done = subprocess.run([path, "-c", ask], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return path
    return None


@pytest.fixture(scope="module", params=["3.9", "3.13"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with the project installed from a wheel."""
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"there is no Python {request.param} here")
    place = tmp_path_factory.mktemp(f"python-{request.param}")
    subprocess.run([found, "-m", "venv", place], check=True)
    made = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
    done = subprocess.run(pip, capture_output=True, text=True, env=clean())
    assert done.returncode == 0, done.stderr
    return made


def clean(**more: str) -> dict[str, str]:
    """The variables without those that would lead to the checkout."""
    return {**{key: value for key, value in os.environ.items() if key != "PYTHONPATH"}, **more}


def run(python: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    # What a newer Python deprecates must not be in our way; what others do at import is theirs.
    command = [
        python,
        "-W",
        "error::DeprecationWarning:ascend_migrate",
        "-W",
        "error::DeprecationWarning:multiprocessing",
    ]
    environment = clean(ASCEND_MIGRATE_CACHE_DIR=str(cwd / "cache"))
    return subprocess.run(
        [*command, "-m", "ascend_migrate", *map(str, arguments)], cwd=cwd, env=environment, capture_output=True
    )


def here(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "ASCEND_MIGRATE_CACHE_DIR": str(cwd / "cache-here")}
    return subprocess.run(
        [sys.executable, "-m", "ascend_migrate", *map(str, arguments)], cwd=cwd, env=environment, capture_output=True
    )


def test_command_and_help(python: Path, tmp_path: Path) -> None:
    command = python.with_name("ascend-migrate")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, env=clean())
    assert (done.returncode, done.stdout.split()[0]) == (0, "ascend-migrate")
    for name in ("analyze", "convert", "run"):
        done = run(python, name, "--help", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")


def test_analyze_cold_warm_and_with_processes(python: Path, tmp_path: Path) -> None:
    expected = here("analyze", FIXTURES, "--format", "json", cwd=tmp_path)
    assert json.loads(expected.stdout)["findings"]
    for options in ((), (), ("--no-cache", "--jobs", "2")):
        done = run(python, "analyze", FIXTURES, "--format", "json", *options, cwd=tmp_path)
        assert done.stdout == expected.stdout
        assert (done.stderr, done.returncode) == (expected.stderr, expected.returncode)


def test_convert(python: Path, tmp_path: Path) -> None:
    options = ("--report", "report.json", "--jobs", "2")
    assert here("convert", FIXTURES, "-o", "here", cwd=tmp_path).returncode == 0
    done = run(python, "convert", FIXTURES, "-o", "there", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = {}
    for root in ("here", "there"):
        files = [path for path in (tmp_path / root).rglob("*") if path.is_file()]
        written[root] = {path.relative_to(tmp_path / root): path.read_bytes() for path in files}
    assert written["here"] == written["there"]
    assert json.loads((tmp_path / "report.json").read_text())["changed"]


def test_configuration(python: Path, tmp_path: Path) -> None:
    """TOML is read by the standard library on new interpreters, by tomli on old ones."""
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(1).cuda()\n")
    (tmp_path / "ascend-migrate.toml").write_text('fail-on = "never"\n')
    assert run(python, "analyze", "a.py", cwd=tmp_path).returncode == 0
    (tmp_path / "ascend-migrate.toml").write_text("fail-on = \n")
    assert run(python, "analyze", "a.py", cwd=tmp_path).returncode == 2
