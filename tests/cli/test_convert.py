from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).parent / "with_fake_engine.py"


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode()


def content(root: Path) -> dict[str, str]:
    """Every path below ``root`` with what is there: the text, ``dir``, or the text of a link."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[path.relative_to(root).as_posix()] = f"-> {os.readlink(path)}"  # noqa: PTH115
        elif path.is_dir():
            found[path.relative_to(root).as_posix()] = "dir"
        else:
            found[path.relative_to(root).as_posix()] = path.read_bytes().decode("latin-1")
    return found


CONVERTED = {
    "data.txt": "OLD stays here\n",
    "pkg": "dir",
    "pkg/__init__.py": "",
    "pkg/model.py": "x = 1\ny = SLOW + NEW\n",
    "train.py": "a = NEW\nif __name__ == '__main__':\n    STUCK\n",
}


class TestOutput:
    def test_a_complete_converted_copy_and_a_summary(self, spawn, repo: Path, tmp_path: Path) -> None:
        before = content(repo)
        done = spawn("convert", "repo", "-o", "out")
        assert (done.returncode, done.stdout) == (0, b"")
        assert content(tmp_path / "out") == CONVERTED
        assert content(repo) == before
        assert said(done).splitlines() == [
            "2 files changed of 3 scanned, 2 copied as they are.",
            "Edits by code: ACM101 2.",
            "2 places left for a person:",
            "  error: out/train.py:3:5 ACM301 STUCK does not run on the NPU",
            "  warning: out/pkg/model.py:2:5 ACM201 SLOW does not run on the NPU",
            "What to do about each: ascend-migrate analyze out",
            "For 910b with torch 2.7.1 and torch_npu 2.7.1 (the default; --torch-npu chooses).",
            "Next: ascend-migrate run --sim out/train.py",
        ]

    def test_what_is_not_the_project_is_left_out(self, cli, repo: Path, tmp_path: Path) -> None:
        for place in (".git", "__pycache__", "pkg/__pycache__", ".venv", "node_modules", ".mypy_cache"):
            (repo / place).mkdir(parents=True)
            (repo / place / "f.py").write_text("OLD")
        (repo / "myenv").mkdir()
        (repo / "myenv" / "pyvenv.cfg").write_text("home = /usr")
        (repo / "myenv" / "lib.py").write_text("OLD")
        assert cli("convert", "repo", "-o", "out").returncode == 0
        assert content(tmp_path / "out") == CONVERTED

    def test_what_git_ignores_is_needed_to_run(self, cli, repo: Path, tmp_path: Path) -> None:
        (repo / ".gitignore").write_text("data/\ngenerated.py\n")
        (repo / "data").mkdir()
        (repo / "data" / "set.bin").write_bytes(bytes(range(256)))
        (repo / "generated.py").write_text("OLD")
        assert cli("convert", "repo", "-o", "out").returncode == 0
        assert (tmp_path / "out" / "data" / "set.bin").read_bytes() == bytes(range(256))
        assert (tmp_path / "out" / "generated.py").read_text() == "NEW"
        assert (tmp_path / "out" / ".gitignore").exists()

    def test_modes_and_times(self, cli, repo: Path, tmp_path: Path) -> None:
        (repo / "train.py").chmod(0o755)
        (repo / "data.txt").chmod(0o440)
        os.utime(repo / "data.txt", (1_500_000_000, 1_500_000_000))
        (repo / "empty").mkdir()
        (repo / "pkg").chmod(0o555)
        try:
            assert cli("convert", "repo", "-o", "out").returncode == 0
            out = tmp_path / "out"
            assert stat.S_IMODE((out / "train.py").stat().st_mode) == 0o755
            assert stat.S_IMODE((out / "data.txt").stat().st_mode) == 0o440
            assert stat.S_IMODE((out / "pkg").stat().st_mode) == 0o555
            assert (out / "data.txt").stat().st_mtime == 1_500_000_000
            assert (out / "empty").is_dir()
        finally:
            for place in (repo, tmp_path / "out"):
                (place / "pkg").chmod(0o755)

    def test_links(self, cli, repo: Path, tmp_path: Path) -> None:
        outside = tmp_path / "elsewhere"
        outside.mkdir()
        (outside / "other.py").write_text("OLD")
        (repo / "inside.py").symlink_to("train.py")
        (repo / "pkg" / "up").symlink_to("../data.txt")
        (repo / "absolute").symlink_to(repo / "pkg" / "model.py")
        (repo / "dangling").symlink_to("nothing")
        (repo / "leaves").symlink_to("../elsewhere")
        (repo / "directory").symlink_to("pkg")
        done = cli("convert", "repo", "-o", "deeper/out")
        assert done.returncode == 0
        out = tmp_path / "deeper" / "out"
        links = {name: text[3:] for name, text in content(out).items() if text.startswith("-> ")}
        assert links == {
            "inside.py": "train.py",
            "pkg/up": "../data.txt",
            "absolute": "pkg/model.py",
            "dangling": "nothing",
            "leaves": str(outside),
            "directory": "pkg",
        }
        assert (out / "leaves" / "other.py").read_text() == "OLD", "not followed, so not converted"
        assert "note: leaves: link out of the tree, kept; ../elsewhere is not converted" in said(done)
        assert said(done).count("note:") == 1

    def test_special_files_are_left_out(self, cli, repo: Path, tmp_path: Path) -> None:
        os.mkfifo(repo / "queue")
        done = cli("convert", "repo", "-o", "out")
        assert done.returncode == 0
        assert "note: queue: not a regular file, left out" in said(done)
        assert content(tmp_path / "out") == CONVERTED

    def test_a_file_that_fails_is_copied(self, cli, repo: Path, tmp_path: Path) -> None:
        (repo / "broken.py").write_text("OLD\nBROKEN\n")
        (repo / "crash.py").write_text("OLD\nCRASH\n")
        done = cli("convert", "repo", "-o", "out")
        assert done.returncode == 3
        assert content(tmp_path / "out") == {
            **CONVERTED,
            "broken.py": "OLD\nBROKEN\n",
            "crash.py": "OLD\nCRASH\n",
        }
        assert "out/broken.py:2: not processed: invalid syntax" in said(done)
        assert "internal error, please report it: RuntimeError: the engine stumbled" in said(done)

    def test_a_worker_that_dies_takes_only_its_file(self, spawn, repo: Path, tmp_path: Path) -> None:
        (repo / "kill.py").write_text("OLD\nKILL\n")
        done = spawn("convert", "repo", "-o", "out", "--jobs", 2)
        assert done.returncode == 3
        assert content(tmp_path / "out") == {**CONVERTED, "kill.py": "OLD\nKILL\n"}
        assert "out/kill.py:1: not processed: the process that worked on this file died" in said(done)

    def test_what_the_configuration_excludes_is_copied(self, cli, repo: Path, tmp_path: Path) -> None:
        (repo / "pyproject.toml").write_text('[tool.ascend-migrate]\nexclude = ["pkg/"]\n')
        assert cli("convert", "repo", "-o", "out").returncode == 0
        assert (tmp_path / "out" / "pkg" / "model.py").read_text() == "x = 1\ny = SLOW + OLD\n"
        assert (tmp_path / "out" / "train.py").read_text().startswith("a = NEW")
        assert cli("convert", "repo/pkg/model.py", "-o", "model.py").returncode == 0
        assert "NEW" in (tmp_path / "model.py").read_text(), "named on the command line"
        assert cli("convert", "repo/pkg/model.py", "--check", "--force-exclude").returncode == 0
        assert cli("convert", "repo/pkg/model.py", "--check").returncode == 1

    def test_a_full_place_is_refused_without_force(self, cli, repo: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.mkdir()
        assert cli("convert", "repo", "-o", "out").returncode == 0, "an empty directory is welcome"
        (out / "mine.txt").write_text("mine")
        (out / "train.py").write_text("mine")
        done = cli("convert", "repo", "-o", "out")
        assert done.returncode == 2
        assert "error: out: exists and is not empty; --force writes over it" in said(done)
        assert (out / "train.py").read_text() == "mine"
        assert cli("convert", "repo", "-o", "out", "--force").returncode == 0
        assert content(out) == {**CONVERTED, "mine.txt": "mine"}

    def test_force_goes_through_links_and_files_in_the_way(self, cli, repo: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.mkdir()
        precious = tmp_path / "precious.py"
        precious.write_text("precious")
        (out / "train.py").symlink_to(precious)
        (out / "pkg").write_text("a file where a directory goes")
        (out / "data.txt").mkdir()
        done = cli("convert", "repo", "-o", "out", "--force")
        assert precious.read_text() == "precious"
        assert content(out) == {**CONVERTED, "data.txt": "dir"}
        assert "data.txt:1: not processed: cannot be copied: the output has a directory of this name" in said(done)
        assert done.returncode == 3

    @pytest.mark.parametrize("out", ["repo/out", "repo/pkg/../out", "link/out", "repo", "link", ".", "repo/.."])
    def test_nesting_is_refused(self, cli, repo: Path, tmp_path: Path, out: str) -> None:
        (tmp_path / "link").symlink_to("repo")
        before = content(tmp_path)
        done = cli("convert", "repo", "-o", out, "--force")
        assert done.returncode == 2
        assert "lies inside the" in said(done) or "is the input itself" in said(done)
        assert content(tmp_path) == before

    def test_single_file(self, cli, repo: Path, tmp_path: Path) -> None:
        assert cli("convert", "repo/train.py", "-o", "new/npu_train.py").returncode == 0
        assert content(tmp_path / "new") == {"npu_train.py": CONVERTED["train.py"]}
        done = cli("convert", "repo/train.py", "-o", "new/npu_train.py")
        assert (done.returncode, "new/npu_train.py: exists; --force" in said(done)) == (2, True)
        assert cli("convert", "repo/train.py", "-o", "new/npu_train.py", "--force").returncode == 0
        (tmp_path / "somewhere").mkdir()
        done = cli("convert", "repo/train.py", "-o", "somewhere")
        assert content(tmp_path / "somewhere") == {"train.py": CONVERTED["train.py"]}
        assert said(done).splitlines()[-1] == "Next: ascend-migrate run --sim somewhere/train.py"
        done = cli("convert", "repo/pkg/model.py", "-o", "somewhere")
        assert (done.returncode, "somewhere: exists and is not empty" in said(done)) == (2, True)
        done = cli("convert", "repo/train.py", "-o", "repo/train.py", "--force")
        assert (done.returncode, "is the input itself" in said(done)) == (2, True)

    def test_several_paths_keep_their_names(self, cli, repo: Path, tmp_path: Path) -> None:
        done = cli("convert", "repo/pkg", "repo/train.py", "repo/data.txt", "-o", "out")
        assert done.returncode == 0
        assert content(tmp_path / "out") == CONVERTED
        (tmp_path / "train.py").write_text("")
        done = cli("convert", "train.py", "repo/train.py", "-o", "out2")
        assert (done.returncode, "two inputs are called `train.py`" in said(done)) == (2, True)

    def test_report(self, cli, repo: Path, tmp_path: Path) -> None:
        (repo / "look.py").write_text("MAYBE\n")
        done = cli("convert", "repo", "-o", "out", "--report", "report.json")
        document = json.loads((tmp_path / "report.json").read_text())
        assert document["files"] == {"scanned": 4, "changed": 3, "copied": 2, "failed": 0}
        assert document["changed"] == ["look.py", "pkg/model.py", "train.py"]
        assert [finding["code"] for finding in document["applied"]] == ["ACM102", "ACM101", "ACM101"]
        assert [finding["code"] for finding in document["left"]] == ["ACM201", "ACM301"]
        assert document["summary"]["edits_by_code"] == {"ACM101": 2, "ACM102": 1}
        assert document["schema"] == 1
        assert "1 place made, but look at:\n  error: out/look.py:1:1 ACM102" in said(done)

    def test_names_with_blanks_and_beyond_ascii(self, cli, tmp_path: Path) -> None:
        repo = tmp_path / "mein projekt"
        repo.mkdir()
        names = [
            "a b.py",
            "模型.py",
            os.fsdecode(b"caf\xe9.py"),
            os.fsdecode(b"d\xe9t\xe9.bin"),
            "x" * 240 + ".py",
        ]
        for name in names:
            (repo / name).write_text("OLD")
        done = cli("convert", "mein projekt", "-o", "das ziel")
        assert done.returncode == 0
        assert {path.name: path.read_text() for path in (tmp_path / "das ziel").iterdir()} == {
            name: "OLD" if name.endswith(".bin") else "NEW" for name in names
        }
        assert said(done).splitlines()[-1] == "Next: ascend-migrate run --sim 'das ziel/YOUR_SCRIPT.py'"


class TestKilled:
    """A conversion killed at any moment leaves no half-written file, and the next run completes it."""

    def big(self, root: Path) -> dict[str, str]:
        wanted = {}
        for number in range(24):
            place = root / f"d{number % 5}"
            place.mkdir(parents=True, exist_ok=True)
            text = f"SLEEP {number} " + "OLD\n" * 2000
            (place / f"m{number}.py").write_text(text)
            (place / f"w{number}.bin").write_bytes(bytes([number]) * 300_000)
            wanted[f"d{number % 5}"] = "dir"
            wanted[f"d{number % 5}/m{number}.py"] = text.replace("OLD", "NEW")
            wanted[f"d{number % 5}/w{number}.bin"] = chr(number) * 300_000
        return wanted

    def kill(self, cwd: Path, environment: dict[str, str], *arguments: str, when: Callable[[], bool]) -> None:
        """Start the command and end it by SIGKILL when ``when()`` is true, or let it end before."""
        process = subprocess.Popen(
            [sys.executable, str(LAUNCHER), *arguments], cwd=cwd, env=environment, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not when():
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()

    @pytest.mark.parametrize(("jobs", "moments"), [("1", (0, 17, 40)), ("2", (5, 30))])
    def test_output(self, cli, tmp_path: Path, cli_environment: dict[str, str], jobs: str, moments) -> None:
        wanted = self.big(tmp_path / "repo")
        out = tmp_path / "out"
        marker = ".ascend-migrate-unfinished"
        for files in moments:
            self.kill(
                *(tmp_path, cli_environment, "convert", "repo", "-o", "out", "-j", jobs),
                when=lambda files=files: out.exists() and sum(len(names) for *_, names in os.walk(out)) >= files,
            )
            there = {name: text for name, text in content(out).items() if not name.startswith(marker)}
            assert there == {name: wanted[name] for name in there}
        assert (out / marker).exists() or there == wanted
        done = cli("convert", "repo", "-o", "out")
        assert done.returncode == 0 or there == wanted, said(done)
        assert content(out) == wanted

    def test_another_conversion_does_not_take_over(self, cli, repo: Path, tmp_path: Path) -> None:
        marker = tmp_path / "out" / ".ascend-migrate-unfinished"
        marker.mkdir(parents=True)
        (marker / "conversion.json").write_text("{}")
        done = cli("convert", "repo", "-o", "out")
        assert done.returncode == 2
        assert "holds an unfinished conversion of something else; --force writes over it" in said(done)
        assert cli("convert", "repo", "-o", "out", "--force").returncode == 0
        assert content(tmp_path / "out") == CONVERTED

    def test_in_place(self, cli, tmp_path: Path, cli_environment: dict[str, str]) -> None:
        repo = tmp_path / "repo"
        wanted = self.big(repo)
        before = content(repo)
        for files in (1, 6, 15):
            self.kill(
                *(tmp_path, cli_environment, "convert", "repo", "--in-place"),
                when=lambda files=files: sum("NEW" in text for text in content(repo).values()) >= files,
            )
            for name, text in content(repo).items():
                if not name.endswith(".tmp"):
                    assert text in (before[name], wanted[name]), name
        assert content(repo) != before
        (repo / ".m1.py.ascend-migrate-999999999.tmp").write_text("half")
        assert cli("convert", "repo", "--in-place").returncode == 0
        assert content(repo) == wanted


class TestInPlace:
    def test_changes_only_what_must_change(self, cli, repo: Path) -> None:
        (repo / "train.py").chmod(0o755)
        times = (repo / "pkg" / "__init__.py").stat().st_mtime_ns
        done = cli("convert", "repo", "--in-place")
        assert done.returncode == 0
        assert content(repo) == CONVERTED
        assert stat.S_IMODE((repo / "train.py").stat().st_mode) == 0o755
        assert (repo / "pkg" / "__init__.py").stat().st_mtime_ns == times
        assert said(done).splitlines()[0] == "2 files changed of 3 scanned."
        done = cli("convert", "repo", "-i")
        assert said(done).splitlines()[0] == "0 files changed of 3 scanned."

    def test_what_git_ignores_is_left_alone(self, cli, repo: Path) -> None:
        (repo / ".gitignore").write_text("train.py\n")
        cli("convert", "repo", "--in-place")
        assert "OLD" in (repo / "train.py").read_text()
        cli("convert", "repo/train.py", "--in-place")
        assert "OLD" not in (repo / "train.py").read_text(), "named on the command line"

    def test_a_link_named_stays_a_link(self, cli, repo: Path) -> None:
        (repo / "link.py").symlink_to("train.py")
        assert cli("convert", "repo/link.py", "--in-place").returncode == 0
        assert (repo / "link.py").is_symlink()
        assert "NEW" in (repo / "train.py").read_text()


class TestLooking:
    def test_diff_applies_with_patch(self, spawn, repo: Path, tmp_path: Path) -> None:
        (repo / "no newline.py").write_bytes(b"a = 1\r\nOLD\r\n\x0c\n caf\xe9 OLD")
        before = content(repo)
        done = spawn("convert", "repo", "--diff")
        assert done.returncode == 0
        assert content(repo) == before
        assert "3 files would change of 4 scanned." in said(done)
        assert done.stdout.startswith(
            b"--- a/no newline.py\t\n+++ b/no newline.py\t\n@@ -1,4 +1,4 @@\n a = 1\r\n-OLD\r\n"
        )
        subprocess.run(["patch", "-p1", "--binary"], input=done.stdout, cwd=repo, check=True, capture_output=True)
        assert (repo / "no newline.py").read_bytes() == b"a = 1\r\nNEW\r\n\x0c\n caf\xe9 NEW"
        (repo / "no newline.py").unlink()
        assert content(repo) == CONVERTED

    def test_check(self, spawn, repo: Path) -> None:
        before = content(repo)
        done = spawn("convert", "repo", "--check")
        assert (done.returncode, done.stdout) == (1, b"")
        assert "would change repo/train.py\n" in said(done)
        assert content(repo) == before
        done = spawn("convert", "repo", "--check", "--diff", "--quiet")
        assert (done.returncode, done.stderr) == (1, b"")
        assert done.stdout.count(b"\n--- a/") == 1
        assert spawn("convert", "repo/pkg/__init__.py", "--check").returncode == 0

    def test_stdin(self, cli) -> None:
        done = cli("convert", "-", stdin=b"OLD\r\nx = '\xe9'")
        assert (done.returncode, done.stdout) == (0, b"NEW\r\nx = '\xe9'")
        done = cli("convert", "-", "--stdin-filename", "a.py", stdin=b"OLD\nBROKEN\n")
        assert (done.returncode, done.stdout) == (3, b"OLD\nBROKEN\n")
        assert said(done) == "a.py:2: not processed: invalid syntax\n"
        done = cli("convert", "-", "--check", stdin=b"OLD")
        assert (done.returncode, done.stdout) == (1, b"")
        done = cli("convert", "-", "--diff", "--stdin-filename", "a.py", stdin=b"OLD\n")
        assert (done.returncode, done.stdout) == (0, b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-OLD\n+NEW\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("repo",), "say where to write: -o OUT for a converted copy, --in-place, or --diff to look first"),
        (("repo", "-o", "out", "--in-place"), "-o and --in-place exclude each other"),
        (("repo", "-o", "out", "--diff"), "-o and --diff exclude each other"),
        (("repo", "--in-place", "--check"), "--in-place and --check exclude each other"),
        (("repo", "--in-place", "--force"), "--force goes with -o OUT"),
        (("-", "-o", "out"), "`-` writes to the standard output"),
        (("-", "repo", "--diff"), "`-` stands alone"),
        (("nothing", "-o", "out"), "nothing: no such file or directory"),
        (("nothing", "--diff"), "nothing: no such file or directory"),
        (("repo", "-o", "repo/train.py/out"), "lies inside the input"),
        (("repo/pkg", "-o", "repo/train.py"), "is a file; the output of a directory is a directory"),
        (("repo", "-o", "out", "--soc", "nonesuch"), "unknown chip `nonesuch`"),
    ],
)
def test_wrong_usage(cli, repo: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    before = content(tmp_path)
    done = cli("convert", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in said(done)
    assert content(tmp_path) == before
