"""Who may import whom, and what must not be imported at start-up."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_migrate

PACKAGE = Path(ascend_migrate.__file__).parent

ALLOWED = {
    "model": set(),
    "language": set(),
    "knowledge": {"model", "language"},
    "syntax": {"model", "language"},
    "rules": {"model", "language", "knowledge", "syntax"},
    "sources": {"model", "language", "formats"},
    "config": {"model", "language", "knowledge", "sources"},
    "formats": {"model", "language", "knowledge", "syntax", "rules", "engine", "sources"},
    "engine": {"model", "language", "knowledge", "syntax", "rules", "sources", "formats"},
    "report": {"model", "language", "knowledge", "rules", "engine", "sources", "syntax"},
    "convert": {"model", "language", "engine", "sources", "report", "knowledge", "syntax"},
    "launch": {"model", "language", "knowledge", "simulator"},
    "simulator": {"model", "language", "knowledge"},
}


def _imports(path: Path) -> set[str]:
    """What a module imports when it runs; imports for type checkers alone bind nothing to anything."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(module)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(module):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _modules() -> list[tuple[str, Path]]:
    return [
        (path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if "stand_in" not in path.parts
    ]


def test_layers() -> None:
    wrong = []
    for part, path in _modules():
        if part not in ALLOWED:
            continue
        for name in _imports(path):
            pieces = name.split(".")
            if pieces[0] != "ascend_migrate" or len(pieces) < 2 or pieces[1].startswith("_"):
                continue
            if pieces[1] not in {*ALLOWED[part], part}:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_the_engine_knows_no_concrete_rule() -> None:
    rules = {path.stem for path in (PACKAGE / "rules").glob("*.py")} - {"__init__", "base"}
    for path in (PACKAGE / "engine").glob("*.py"):
        for name in _imports(path):
            assert not (name.startswith("ascend_migrate.rules.") and name.split(".")[2] in rules), (path.name, name)


@pytest.mark.parametrize("part", ["launch", "simulator", "syntax", "rules"])
def test_libcst_is_only_imported_for_newer_python(part: str) -> None:
    for owner, path in _modules():
        if owner == part and path.name != "newer.py":
            assert not any(name.split(".")[0] == "libcst" for name in _imports(path)), path


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from ascend_migrate.cli import main; sys.argv = ['ascend-migrate', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'libcst', 'rich', 'yaml', 'torch', 'typer', 'ascend_migrate.rules', 'ascend_migrate.knowledge'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_analysis_and_conversion_need_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise AssertionError('torch was imported')\n")
    (tmp_path / "train.py").write_text("import torch\ntorch.zeros(1).cuda()\n")
    result = subprocess.run(
        [sys.executable, "-m", "ascend_migrate", "convert", str(tmp_path / "train.py"), "--diff"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "HOME": str(tmp_path)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "+torch.zeros(1).npu()" in result.stdout
