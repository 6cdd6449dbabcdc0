from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ascend_migrate.sources.discovery import SourcesError, find, walk


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(*arguments: str) -> list[str]:
    return [file.name for file in find(arguments or (".",)).files]


class TestGitignore:
    def test_nested_files_negation_and_anchors(self, tree: Path) -> None:
        write(tree, ".gitignore", text="/build\n*.gen.py\n!keep.gen.py\nlogs/\n# a.py\n\n")
        write(tree, "sub/.gitignore", text="b.py\n!x.gen.py\n")
        write(tree, "a.py", "b.py", "build/a.py", "sub/build/a.py", "sub/b.py", "sub/deep/b.py")
        write(tree, "x.gen.py", "keep.gen.py", "sub/x.gen.py", "logs/l.py", "sub/logs/l.py")
        assert names() == ["a.py", "b.py", "keep.gen.py", "sub/build/a.py", "sub/x.gen.py"]

    def test_a_file_in_an_ignored_directory_cannot_be_taken_back(self, tree: Path) -> None:
        write(tree, ".gitignore", text="vendor/\n!vendor/a.py\n")
        write(tree, "vendor/a.py", "b.py")
        assert names() == ["b.py"]

    def test_rules_above_the_argument(self, tree: Path) -> None:
        (tree / ".git" / "info").mkdir(parents=True)
        write(tree, ".git/info/exclude", text="private.py\n")
        write(tree, ".gitignore", text="/pkg/gen/\nskip.py\n")
        write(tree, "pkg/gen/a.py", "pkg/skip.py", "pkg/private.py", "pkg/a.py")
        assert names("pkg") == ["a.py"]
        assert names("pkg/gen") == ["a.py"], "an ignored directory was named on purpose"

    def test_without_a_repository_rules_above_do_not_count(self, tree: Path) -> None:
        write(tree, ".gitignore", text="a.py\n")
        write(tree, "pkg/a.py")
        assert names("pkg") == ["a.py"]

    def test_the_same_as_git(self, tree: Path) -> None:
        rules = "*.tmp.py\n/only_top.py\ndoc/**/x.py\na?c.py\n[0-9]*.py\n!3keep.py\ntrailing/ \n\\#odd.py\nb/*/c.py\n"
        write(tree, ".gitignore", text=rules)
        write(tree, "m.tmp.py", "only_top.py", "p/only_top.py", "doc/x.py", "doc/1/2/x.py", "abc.py", "ac.py")
        write(tree, "1.py", "3keep.py", "trailing/t.py", "#odd.py", "b/1/c.py", "b/1/2/c.py", "p/q/b/1/c.py")
        write(tree, "p/.gitignore", text="*\n!*/\n!ok.py\n")
        write(tree, "p/ok.py", "p/q/ok.py", "p/no.py")
        subprocess.run(["git", "init", "-q"], check=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--others", "--exclude-standard", "*.py"], check=True, capture_output=True
        ).stdout
        assert names() == sorted(os.fsdecode(listed).split("\0")[:-1])


def test_what_is_never_entered(tree: Path) -> None:
    places = (".git", ".hg", ".svn", "__pycache__", ".venv", ".tox", ".nox", ".eggs", "node_modules", ".mypy_cache")
    write(tree, *(f"{place}/a.py" for place in places), *(f"deep/{place}/a.py" for place in places))
    write(tree, "my-env/pyvenv.cfg", "my-env/lib/a.py", "conda/conda-meta/history", "conda/a.py")
    write(tree, "venv/a.py", "env/a.py", "build/a.py")
    assert names() == ["build/a.py", "env/a.py", "venv/a.py"]


def test_a_file_named_is_taken_whatever_the_rules_say(tree: Path) -> None:
    write(tree, ".gitignore", text="a.py\n")
    write(tree, "a.py", ".venv/b.py", "c")
    assert names("a.py", ".venv/b.py", "c") == [".venv/b.py", "a.py", "c"]


def test_a_file_named_that_is_not_python_is_noted(tree: Path) -> None:
    write(tree, "notes.txt", "a.py")
    found = find(["notes.txt", "a.py"])
    assert [file.name for file in found.files] == ["a.py"]
    assert found.notes == ("notes.txt: skipped, not a Python file (.py, .pyi, .pyw)",)


def test_order_is_that_of_the_names(tree: Path) -> None:
    write(tree, "b.py", "a/z.py", "a.py", "B.py", "a/é.py", "a b.py", "10.py", "9.py")
    assert names() == ["10.py", "9.py", "B.py", "a b.py", "a.py", "a/z.py", "a/é.py", "b.py"]


def test_sizes_and_times_are_those_of_the_files(tree: Path) -> None:
    write(tree, "a.py", text="12345")
    os.utime("a.py", ns=(1, 1_234_567_890))
    (file,) = find(["."]).files
    assert (file.size, file.mtime_ns) == (5, 1_234_567_890)


@pytest.mark.parametrize(
    ("arguments", "prefix", "expected"),
    [
        (["."], "", ["repo/a.py"]),
        (["repo"], "repo", ["a.py"]),
        (["./repo/"], "repo", ["a.py"]),
        (["repo/../repo"], "repo", ["a.py"]),
        (["repo/a.py"], "", ["repo/a.py"]),
        (["./repo/a.py"], "", ["repo/a.py"]),
        (["repo", "repo/a.py"], "", ["repo/a.py"]),
        (["repo", "other"], "", ["other/b.py", "repo/a.py"]),
    ],
)
def test_names(tree: Path, arguments: list[str], prefix: str, expected: list[str]) -> None:
    write(tree, "repo/a.py")
    if "other" in arguments:
        write(tree, "other/b.py")
    found = find(arguments)
    assert (found.prefix, [file.name for file in found.files]) == (prefix, expected)
    assert all(Path(found.prefix, file.name).samefile(file.path) for file in found.files)


def test_absolute_arguments(tree: Path) -> None:
    write(tree, "repo/a.py")
    found = find([str(tree / "repo")])
    assert (found.prefix, found.files[0].name) == ((tree / "repo").as_posix(), "a.py")


def test_links_are_not_followed_but_those_named_are(tree: Path) -> None:
    write(tree, "repo/a.py", "outside/b.py")
    (tree / "repo" / "inside.py").symlink_to("a.py")
    (tree / "repo" / "loop").symlink_to(".")
    (tree / "repo" / "leaves").symlink_to("../outside")
    (tree / "repo" / "file.py").symlink_to(tree / "outside" / "b.py")
    (tree / "named").symlink_to("repo")
    found = find(["repo"])
    assert [file.name for file in found.files] == ["a.py"]
    assert found.notes == (
        "repo/file.py: link out of the tree, not followed",
        "repo/leaves: link out of the tree, not followed",
    )
    assert names("named") == ["a.py"]
    assert names("repo/inside.py") == ["repo/inside.py"]


def test_excluded_by_the_configuration(tree: Path) -> None:
    write(tree, "a.py", "b.py")
    found = find([".", "b.py"], excluded=lambda path: path.name in ("a.py", "b.py"))
    assert [file.name for file in found.files] == ["b.py"], "named on the command line"
    assert not find(["b.py"], excluded=lambda _: True, force_exclude=True).files


def test_missing_and_special(tree: Path) -> None:
    with pytest.raises(SourcesError, match=r"^nothing\.py: no such file or directory$"):
        find(["nothing.py"])
    with pytest.raises(SourcesError, match="neither a file nor a directory"):
        find(["/dev/null"])


def test_a_directory_that_cannot_be_listed_is_a_failure(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree, "repo/a.py", "repo/closed/b.py")
    real = os.scandir

    def scandir(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = find(["repo"])
    assert [file.name for file in found.files] == ["a.py"]
    assert [(e.path, e.message) for e in found.errors] == [("closed", "cannot list the directory: Permission denied")]


def test_walk_tells_kinds_and_left_overs(tree: Path) -> None:
    write(tree, "a.py", "d/b.bin", ".a.py.ascend-migrate-12.tmp", ".ascend-migrate-unfinished/x")
    (tree / "l").symlink_to("a.py")
    os.mkfifo(tree / "p")
    stale: list[Path] = []
    entries = walk(tree, on_error=lambda error: pytest.fail(str(error)), on_stale=stale.append)
    assert [(entry.name, entry.kind) for entry in entries] == [
        ("a.py", "file"),
        ("d", "directory"),
        ("d/b.bin", "file"),
        ("l", "link"),
        ("p", "special"),
    ]
    assert stale == [tree / ".a.py.ascend-migrate-12.tmp"]
