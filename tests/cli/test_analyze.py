from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).parent / "with_fake_engine.py"


def lines(data: bytes) -> list[str]:
    return data.decode().splitlines()


def test_one_line_for_each_finding_and_a_summary_on_stderr(cli, repo: Path) -> None:
    done = cli("analyze", "repo")
    assert lines(done.stdout) == [
        "repo/pkg/model.py:2:5 ACM201 SLOW does not run on the NPU",
        "repo/pkg/model.py:2:12 ACM101 OLD does not run on the NPU",
        "repo/train.py:1:5 ACM101 OLD does not run on the NPU",
        "repo/train.py:3:5 ACM301 STUCK does not run on the NPU",
    ]
    assert lines(done.stderr) == [
        "4 findings (3 errors, 1 warning) in 2 files; 3 files scanned.",
        "By code: ACM101 2, ACM201 1, ACM301 1.",
        "Readiness 50 %: of 4 sites 2 convert automatically, 1 want a review, 1 need work.",
        "A conversion fixes 2 of 4: ascend-migrate convert",
        "For 910b with torch 2.7.1 and torch_npu 2.7.1 (the default; --torch-npu chooses).",
    ]
    assert done.returncode == 1


def test_json_has_the_schema(cli, repo: Path) -> None:
    done = cli("analyze", "repo", "--format", "json", "--soc", "310p", "--torch-npu", "2.6.0", "--torch", "2.6.0")
    document = json.loads(done.stdout)
    from ascend_migrate import __version__

    assert document["schema"] == 1
    assert document["tool"] == {"name": "ascend-migrate", "version": __version__}
    assert document["target"] == {"soc": "310p", "torch": "2.6.0", "torch_npu": "2.6.0"}
    assert document["files"] == {"scanned": 3, "with_findings": 2, "failed": 0}
    assert document["findings"][1] == {
        "path": "pkg/model.py",
        "line": 2,
        "column": 12,
        "end_line": 2,
        "end_column": 15,
        "code": "ACM101",
        "level": "error",
        "message": "OLD does not run on the NPU",
        "help": "Do without OLD.",
        "fix": {"safety": "safe", "before": "y = SLOW + OLD", "after": "y = SLOW + NEW"},
    }
    assert [finding["fix"] is None for finding in document["findings"]] == [True, False, False, True]
    assert document["errors"] == []
    assert document["summary"] == {
        "by_code": {"ACM101": 2, "ACM201": 1, "ACM301": 1},
        "by_level": {"error": 3, "warning": 1, "info": 0},
        "fixable": 2,
        "readiness": {
            "percent": 50,
            "sites": 4,
            "automatic": 2,
            "review": 1,
            "work": 1,
            "blocking": {"ACM301": 1},
        },
    }
    assert list(document) == ["schema", "tool", "target", "files", "findings", "errors", "summary"]
    assert done.stderr == b""
    assert done.returncode == 1


def test_the_number_of_processes_does_not_show(spawn, tmp_path: Path) -> None:
    repo = tmp_path / "many"
    for number in range(60):
        place = repo / f"d{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"m{number}.py").write_text(f"x = {number}  # {'pad' * 3000}\nOLD, SLOW\n")
    one, two = (spawn("analyze", "many", "--format", "json", "--no-cache", "--jobs", jobs) for jobs in (1, 2))
    assert one.stdout == two.stdout
    assert json.loads(one.stdout)["files"]["scanned"] == 60


@pytest.mark.parametrize(
    ("fail_on", "source", "code"),
    [
        (None, "OLD", 1),
        (None, "SLOW", 0),
        ("error", "SLOW", 0),
        ("warning", "SLOW", 1),
        ("warning", "SHRUG", 0),
        ("info", "SHRUG", 1),
        ("info", "", 0),
        ("never", "OLD", 0),
    ],
)
def test_exit_code_by_level(cli, tmp_path: Path, fail_on: str | None, source: str, code: int) -> None:
    (tmp_path / "a.py").write_text(source)
    assert cli("analyze", "a.py", *(("--fail-on", fail_on) if fail_on else ())).returncode == code


def test_a_file_that_fails_is_reported_and_the_rest_goes_on(cli, repo: Path) -> None:
    (repo / "broken.py").write_text("x\nBROKEN\n")
    (repo / "crash.py").write_text("CRASH\n")
    done = cli("analyze", "repo")
    assert done.returncode == 3
    assert len(lines(done.stdout)) == 4
    said = lines(done.stderr)
    assert said[0] == "repo/broken.py:2: not processed: invalid syntax"
    assert said[1].startswith(
        "repo/crash.py:1: not processed: internal error, please report it: RuntimeError: the engine stumbled"
    )
    assert said[-2] == "2 files could not be processed."


def test_select_and_ignore_take_prefixes_repeated_or_with_commas(cli, repo: Path) -> None:
    def codes(*options: str) -> list[str]:
        return sorted({line.split()[1] for line in lines(cli("analyze", "repo", *options).stdout)})

    assert codes("--select", "ACM1,ACM2") == ["ACM101", "ACM201"]
    assert codes("--select", "ACM1", "--select", "acm201") == ["ACM101", "ACM201"]
    assert codes("--ignore", "ACM") == []
    assert codes("--ignore", "ACM1", "--ignore", "ACM3") == ["ACM201"]
    done = cli("analyze", "repo", "--select", "1,2")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"`1` is not a code" in done.stderr


def test_output_goes_to_a_file(cli, repo: Path, tmp_path: Path) -> None:
    done = cli("analyze", "repo", "--format", "json", "--output", "out.json")
    assert (done.stdout, done.returncode) == (b"", 1)
    assert json.loads((tmp_path / "out.json").read_text())["files"]["scanned"] == 3
    done = cli("analyze", "repo", "-o", tmp_path / "no" / "out.txt")
    assert done.returncode == 2
    assert b"out.txt: cannot be written: No such file or directory" in done.stderr


def test_quiet_leaves_the_findings(cli, repo: Path) -> None:
    done = cli("analyze", "repo", "--quiet")
    assert len(lines(done.stdout)) == 4
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no/such",), "error: no/such: no such file or directory"),
        (("repo", "--format", "xml"), "'xml' is not one of 'text', 'json', 'sarif'"),
        (("repo", "--fail-on", "sometimes"), "'sometimes' is not one of 'error', 'warning', 'info', 'never'"),
        (("repo", "--soc", "nonesuch"), "error: unknown chip `nonesuch`"),
        (("repo", "-"), "error: `-` stands alone"),
        (("repo", "--jobs", "0"), "Invalid value for '--jobs'"),
        (("repo", "--nonesuch"), "No such option"),
    ],
)
def test_wrong_usage(cli, repo: Path, arguments: tuple[str, ...], message: str) -> None:
    done = cli("analyze", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()


def test_without_a_path_the_working_directory_is_analyzed(cli, repo: Path) -> None:
    done = cli("analyze", cwd=repo)
    assert lines(done.stdout)[0].startswith("pkg/model.py:2:5 ")


def test_several_paths_are_named_as_typed(cli, repo: Path) -> None:
    done = cli("analyze", "./repo/pkg", "repo/train.py", "--format", "json")
    paths = {finding["path"] for finding in json.loads(done.stdout)["findings"]}
    assert paths == {"repo/pkg/model.py", "repo/train.py"}
    done = cli("analyze", "repo/train.py", "repo", "--format", "json")
    assert json.loads(done.stdout)["files"]["scanned"] == 3, "a file named twice is looked at once"


def test_stdin(cli) -> None:
    done = cli("analyze", "-", "--stdin-filename", "buffer.py", stdin=b"OLD\n")
    assert lines(done.stdout) == ["buffer.py:1:1 ACM101 OLD does not run on the NPU"]
    assert done.returncode == 1


def test_the_configuration_holds_and_the_command_line_wins(cli, repo: Path) -> None:
    (repo / "pyproject.toml").write_text(
        '[tool.ascend-migrate]\nsoc = "310p"\nignore = ["ACM3"]\nfail-on = "never"\nexclude = ["pkg/"]\n'
        'torch-npu = "2.1.0"\n'
    )
    done = cli("analyze", "repo", "--format", "json")
    document = json.loads(done.stdout)
    assert document["target"] == {"soc": "310p", "torch": "2.7.1", "torch_npu": "2.1.0"}
    assert [finding["path"] for finding in document["findings"]] == ["train.py"]
    assert done.returncode == 0
    done = cli(
        "analyze", "repo", "--format", "json", "--soc", "910b", "--ignore", "ACM9", "--fail-on", "error",
        "--torch", "2.6.0",
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert document["target"] == {"soc": "910b", "torch": "2.6.0", "torch_npu": "2.7.1"}
    assert document["summary"]["by_code"] == {"ACM101": 1, "ACM301": 1}
    assert done.returncode == 1


def test_per_file_ignores(cli, repo: Path) -> None:
    (repo / "ascend-migrate.toml").write_text('[per-file-ignores]\n"pkg/**" = ["ACM2"]\n')
    done = cli("analyze", "repo")
    assert sorted(line.split()[1] for line in lines(done.stdout)) == ["ACM101", "ACM101", "ACM301"]


def test_a_wrong_configuration_is_wrong_usage(cli, repo: Path) -> None:
    (repo / "pyproject.toml").write_text("[tool.ascend-migrate]\nfailon = 1\n")
    done = cli("analyze", "repo")
    assert done.returncode == 2
    assert "pyproject.toml: unknown key `failon`; did you mean `fail-on`?" in done.stderr.decode()


def test_names_that_are_not_utf8(cli, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / os.fsdecode(b"caf\xe9 au lait.py")).write_text("OLD\n")
    (tmp_path / "repo" / "模型.py").write_text("OLD\n")
    done = cli("analyze", "repo")
    assert done.stdout.splitlines() == [
        b"repo/caf\xe9 au lait.py:1:1 ACM101 OLD does not run on the NPU",
        "repo/模型.py:1:1 ACM101 OLD does not run on the NPU".encode(),
    ]
    done = cli("analyze", "repo", "--format", "json")
    paths = [os.fsencode(finding["path"]) for finding in json.loads(done.stdout)["findings"]]
    assert paths == [b"caf\xe9 au lait.py", "模型.py".encode()]


def test_names_that_the_terminal_cannot_show(spawn, tmp_path: Path) -> None:
    (tmp_path / "模型.py").write_text("OLD\n")
    done = spawn("analyze", "模型.py", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.stdout.startswith(b"\\u6a21\\u578b.py:1:1 ACM101")


def test_a_pipe_gets_all_of_a_large_output(spawn, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("OLD\n" * 10_000)
    for unbuffered in ("", "1"):
        assert len(lines(spawn("analyze", "a.py", PYTHONUNBUFFERED=unbuffered).stdout)) == 10_000


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path, cli_environment: dict[str, str]) -> None:
    name = "a" * 200 + ".py"  # some megabytes of output, more than a pipe holds
    (tmp_path / name).write_text("OLD\n" * 10_000)
    process = subprocess.Popen(
        [sys.executable, str(LAUNCHER), "analyze", "--no-cache", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=cli_environment,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert b"Traceback" not in said
    assert process.returncode == 141


def test_unreadable_files_are_failures(spawn, repo: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (repo / "secret.py").write_text("OLD")
    (repo / "secret.py").chmod(0)
    done = spawn("analyze", "repo")
    assert done.returncode == 3
    assert b"repo/secret.py:1: not processed: cannot be read: Permission denied" in done.stderr


class TestTerminal:
    """What a person sees, through a pseudo-terminal."""

    def show(self, repo: Path, environment: dict[str, str], *options: str, **variables: str) -> str:
        pty = pytest.importorskip("pty")
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, str(LAUNCHER), "analyze", "repo", "--no-cache", *options],
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            cwd=repo.parent,
            env={**environment, "TERM": "xterm-256color", **variables},
        )
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux ends a pseudo-terminal so
                break
            if not part:
                break
            parts.append(part)
        os.close(ours)
        process.wait()
        return b"".join(parts).decode().replace("\r\n", "\n")

    def test_coloured_and_with_advice(self, repo: Path, cli_environment: dict[str, str]) -> None:
        shown = self.show(repo, cli_environment)
        assert "\x1b[" in shown
        import re

        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert plain.split("\n\n")[0].splitlines() == [
            "repo/pkg/model.py:2:5 ACM201 SLOW does not run on the NPU",
            "    Do without SLOW.",
            "repo/pkg/model.py:2:12 ACM101 [*] OLD does not run on the NPU",
            "    Do without OLD.",
        ]

    @pytest.mark.parametrize(("options", "variables"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"})])
    def test_without_colours(self, repo, cli_environment, options, variables) -> None:
        shown = self.show(repo, cli_environment, *options, **variables)
        assert "\x1b" not in shown
        assert "repo/train.py:1:5 ACM101 OLD does not run on the NPU" in shown


def test_a_baseline_leaves_what_is_new(cli, repo: Path, tmp_path: Path) -> None:
    done = cli("analyze", "repo", "--write-baseline", "known.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"4 findings written to known.json.\n")
    done = cli("analyze", "repo", "--baseline", "known.json")
    assert (done.returncode, done.stdout) == (0, b"")
    assert lines(done.stderr)[:2] == ["Nothing to migrate; 3 files scanned.", "4 findings of the baseline not shown."]
    (repo / "train.py").write_text("\n\n" + (repo / "train.py").read_text() + "b = OLD\n")
    done = cli("analyze", "train.py", "--baseline", tmp_path / "known.json", cwd=repo)
    assert lines(done.stdout) == ["train.py:6:5 ACM101 OLD does not run on the NPU"]
    assert done.returncode == 1
    (repo / "ascend-migrate.toml").write_text('baseline = "../known.json"\n')
    assert len(lines(cli("analyze", "repo").stdout)) == 1
    done = cli("analyze", "repo", "--baseline", "none.json")
    assert (done.returncode, done.stderr) == (2, b"error: none.json: cannot be read: No such file or directory\n")


def test_where_the_versions_come_from(cli, repo: Path) -> None:
    def last(*options: str) -> str:
        return lines(cli("analyze", "repo", *options).stderr)[-1]

    assert last() == "For 910b with torch 2.7.1 and torch_npu 2.7.1 (the default; --torch-npu chooses)."
    assert last("--torch-npu", "2.7.1") == "For 910b with torch 2.7.1 and torch_npu 2.7.1."
    (repo / "requirements.txt").write_text("torch==2.7.1\n")
    assert last() == "For 910b with torch 2.7.1 and torch_npu 2.7.1 (from requirements.txt)."
    (repo / "requirements.txt").write_text("torch==1.8.0\n")
    assert last().endswith("(the default: there is no torch_npu for torch 1.8.0).")
    assert cli("analyze", "repo", "--quiet").stderr == b""


def test_a_version_that_is_not_known_is_mapped_and_said_so(spawn, tmp_path: Path) -> None:
    from ascend_migrate.cli.options import tell_target
    from ascend_migrate.engine.project import Request

    request = Request(torch_npu="2.7.1.post1")
    told = tell_target(request, request.target())
    assert told == [
        "For 910b with torch 2.7.1 and torch_npu 2.7.1.",
        "torch_npu 2.7.1.post1 is not known; what is said holds for 2.7.1, the nearest known one.",
    ]


def test_own_rows_of_the_configuration(cli, repo: Path) -> None:
    (repo / "ascend-migrate.toml").write_text('rules = ["rows.yaml"]\n')
    done = cli("analyze", "repo")
    assert done.returncode == 2
    assert lines(done.stderr) == [f"error: {repo / 'rows.yaml'}: cannot be read: No such file or directory"]
    (repo / "rows.yaml").write_text('- cuda: mylib.sync\n  npu: null\n  message: "No."\n')
    assert cli("analyze", "repo").returncode == 1


def test_chinese(cli, repo: Path, cli_environment: dict[str, str]) -> None:
    said = lines(cli("analyze", "repo", "--lang", "zh").stderr)
    assert said[0] == "在 2 个文件中发现 4 个问题（3 个错误, 1 个警告）；共扫描 3 个文件。"
    cli_environment.update(LC_ALL="zh_CN.UTF-8")
    assert lines(cli("analyze", "repo").stderr) == said
    cli_environment.update(LC_ALL="C", LANG="zh_CN.UTF-8")
    assert lines(cli("analyze", "repo").stderr)[0].startswith("4 findings")
