"""The hooks of ``.pre-commit-hooks.yaml``, run by the real pre-commit on a scratch repository."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"),
]


def git(place: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "protocol.file.allow=always")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=place, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def hook_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user's ``repo:`` line points to: this project, as it is now, in a repository of its own."""
    place = tmp_path_factory.mktemp("hooks")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, place / name)
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__"))
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "The hooks")
    return place


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pre-commit's own directory, so that its environment is made once for all tests here."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def project(tmp_path: Path, hook_repository: Path) -> Path:
    """A repository with both hooks configured."""
    revision = git(hook_repository, "rev-parse", "HEAD")
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hook_repository.as_uri()}\n  rev: {revision}\n"
        "  hooks:\n  - id: ascend-migrate-check\n  - id: ascend-migrate-convert\n"
    )
    git(tmp_path, "init", "-q")
    return tmp_path


def run(project: Path, home: Path, hook: str) -> subprocess.CompletedProcess[str]:
    git(project, "add", "-A")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment.update(PRE_COMMIT_HOME=str(home), GIT_CONFIG_COUNT="1")
    environment.update(GIT_CONFIG_KEY_0="protocol.file.allow", GIT_CONFIG_VALUE_0="always")
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", hook, "--color=never"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
    )


CUDA = "import torch\n\nx = torch.zeros(1).cuda()\n"


def test_check_refuses_convert_repairs_check_is_content(project: Path, home: Path) -> None:
    (project / "my model.py").write_text(CUDA)
    (project / "notes.txt").write_text("model.cuda()\n")
    refused = run(project, home, "ascend-migrate-check")
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert "my model.py:3:5 " in refused.stdout
    assert "notes.txt" not in refused.stdout

    converted = run(project, home, "ascend-migrate-convert")
    assert converted.returncode == 1, "pre-commit stops when a hook has changed files"
    assert "files were modified by this hook" in converted.stdout
    assert ".npu()" in (project / "my model.py").read_text()
    assert (project / "notes.txt").read_text() == "model.cuda()\n"

    assert run(project, home, "ascend-migrate-convert").returncode == 0
    content = run(project, home, "ascend-migrate-check")
    assert content.returncode == 0, content.stdout


def test_what_the_configuration_excludes_is_left_alone(project: Path, home: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.ascend-migrate]\nexclude = ["third_party/"]\n')
    (project / "third_party").mkdir()
    (project / "third_party" / "kernels.py").write_text(CUDA)
    assert run(project, home, "ascend-migrate-check").returncode == 0
    assert run(project, home, "ascend-migrate-convert").returncode == 0
    assert (project / "third_party" / "kernels.py").read_text() == CUDA
