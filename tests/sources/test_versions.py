from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.sources import versions
from ascend_migrate.sources.versions import Versions, detect


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_site_directories", lambda: iter(()))


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("requirements.txt", "torch==2.7.1\n", Versions("2.7.1", None, "requirements.txt")),
        ("requirements.txt", "numpy\ntorch_npu == 2.6.0.post3\n", Versions(None, "2.6.0.post3", "requirements.txt")),
        ("requirements-npu.txt", "torch-npu==2.7.1.post2\ntorch==2.7.1+cpu # pin\n",
         Versions("2.7.1", "2.7.1.post2", "requirements-npu.txt")),
        ("requirements.txt", "torch[opt]~=2.6.0 ; python_version > '3.8'", Versions("2.6.0", None, "requirements.txt")),
        ("pyproject.toml", 'dependencies = ["torch==2.5.1", "numpy"]\n', Versions("2.5.1", None, "pyproject.toml")),
        ("setup.py", "install_requires=['numpy', 'torch==2.4.0']", Versions("2.4.0", None, "setup.py")),
        ("environment.yml", "dependencies:\n  - pytorch=2.3.1\n", Versions("2.3.1", None, "environment.yml")),
        ("requirements.txt", "torch>=2.0\n", None),
        ("requirements.txt", "# torch==2.7.1\nxtorch==2.1.0\ntorch-geometric==2.5.0\nmy.torch==2.0.0\n", None),
        ("requirements.txt", "torchvision==0.20.1\n", None),
        ("other.txt", "torch==2.7.1\n", None),
    ],
)  # fmt: skip
def test_pins(tmp_path: Path, nothing_installed: None, name: str, content: str, found: Versions | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(content)
    assert detect(tmp_path) == found


def test_the_nearest_manifest_upward_counts(tmp_path: Path, nothing_installed: None) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.1.0\n")
    deep = tmp_path / "src" / "pkg"
    deep.mkdir(parents=True)
    (deep / "train.py").write_text("")
    assert detect(deep / "train.py") == Versions("2.1.0", None, "requirements.txt")
    (tmp_path / "src" / "setup.cfg").write_text("[metadata]\n")
    assert detect(deep) is None, "that is the manifest of the project, and it pins nothing"


def test_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (site / "torch-2.6.0+cpu.dist-info").mkdir(parents=True)
    (site / "torchvision-0.21.0.dist-info").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    assert detect(project) == Versions("2.6.0+cpu", None)
    (project / "requirements.txt").write_text("torch==2.5.1\n")
    assert detect(project) == Versions("2.5.1", None, "requirements.txt"), "what the project pins counts more"
    (site / "torch_npu-2.6.0.post3.dist-info").mkdir()
    assert detect(project) == Versions("2.6.0+cpu", "2.6.0.post3"), "a machine with NPUs counts most"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    monkeypatch.setattr("sys.path", [str(site), str(tmp_path / "missing-packages")])
    assert detect(project) == Versions("2.6.0+cpu", "2.6.0.post3")
