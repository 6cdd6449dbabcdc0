from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from ascend_migrate.report.diff import coloured, unified


def test_form() -> None:
    old = b"".join(b"%d\n" % n for n in range(1, 21))
    new = old.replace(b"3\n4\n", b"3\nfour\n", 1).replace(b"18\n", b"")
    assert unified("pkg/a.py", old, new).decode() == (
        "--- a/pkg/a.py\n+++ b/pkg/a.py\n"
        "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n"
        "@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "body"),
    [
        (b"a", b"b", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"),
        (b"a\n", b"a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
        (b"a", b"x\na", "@@ -1 +1,2 @@\n+x\n a\n\\ No newline at end of file\n"),
        (b"", b"x\n", "@@ -0,0 +1 @@\n+x\n"),
        (b"x\n", b"", "@@ -1 +0,0 @@\n-x\n"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"),
        (b"a\rb\x0cc\n", b"a\rb\x0cd\n", "@@ -1 +1 @@\n-a\rb\x0cc\n+a\rb\x0cd\n"),
    ],
)
def test_ends_of_lines_and_files(old: bytes, new: bytes, body: str) -> None:
    assert unified("a", old, new).decode() == "--- a/a\n+++ b/a\n" + body


def test_colours() -> None:
    assert coloured(unified("a", b"1\n2\n", b"1\n3\n")) == (
        b"\x1b[1m--- a/a\x1b[m\n\x1b[1m+++ b/a\x1b[m\n\x1b[36m@@ -1,2 +1,2 @@\x1b[m\n"
        b" 1\n\x1b[31m-2\x1b[m\n\x1b[32m+3\x1b[m\n"
    )


def test_equal() -> None:
    assert unified("a", b"x\n", b"x\n") == b""


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a b.py", b"a/a b.py\t"),
        ("模型.py", "a/模型.py".encode()),
        ("caf\udce9.py", b"a/caf\xe9.py"),
        ('q".py', b'"a/q\\".py"'),
        ("t\tn\n\\\x01.py", b'"a/t\\tn\\n\\\\\\001.py"'),
    ],
)
def test_names_are_written_as_git_does(name: str, header: bytes) -> None:
    assert unified(name, b"1\n", b"2\n").split(b"\n")[0] == b"--- " + header


def test_large_tables_of_equal_lines() -> None:
    """By a matcher that compares every line with every other this would not end."""
    old = b"    0,\n" * 200_000
    lines = old.split(b"\n")
    for place in range(1000, 200_000, 1000):
        lines[place] = b"    1,"
    diff = unified("table.py", old, b"import x\n" + b"\n".join(lines))
    assert diff.count(b"\n+") == 199 + 1 + 1  # and the header
    assert diff.count(b"\n-    0,\n") == 199


def test_a_change_beyond_the_window_is_still_a_diff() -> None:
    old = b"".join(b"%d\n" % n for n in range(1000))
    new = b"".join(b"%d\n" % n for n in range(1000) if not 100 <= n < 900)
    diff = unified("a", old, new)
    assert diff.count(b"\n-") == 800 and b"\n+" not in diff.split(b"@@")[-1]


def edited(chance: random.Random, old: bytes) -> bytes:
    """Some lines of ``old`` changed, added and removed."""
    lines = old.split(b"\n")
    for _ in range(chance.randrange(1, 12)):
        place = chance.randrange(len(lines))
        action = chance.randrange(3)
        if action == 0:
            lines[place : place + 1] = []
        elif action == 1:
            lines[place:place] = [b"new %d" % chance.randrange(5)] * chance.randrange(1, 4)
        else:
            lines[place] = lines[place] + b"!"
        lines = lines or [b""]
    return b"\n".join(lines)


@pytest.mark.parametrize("tool", ["patch", "git"])
def test_the_tools_take_it(tmp_path: Path, tool: str) -> None:
    """Random texts, many of their lines equal, through the real tools."""
    chance = random.Random(tool)
    wanted, diffs = {}, []
    names = ["a b.py", "模型.py", "plain.py", "deep/er/x.py"] + [f"f{n}.py" for n in range(60)]
    for name in names:
        end = chance.choice([b"\n", b"\r\n"])
        words = [b"", b"x", b"caf\xe9", b"\x0c", b"if y:", b"    pass  ", b"\\", b"- a", b"+ b", b"@@ -1 +1 @@"]
        old = end.join(chance.choice(words) for _ in range(chance.randrange(1, 60))) + chance.choice([b"", end])
        new = edited(chance, old)
        if not old or not new:  # becoming empty means removal to these tools
            continue
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(old)
        wanted[name] = new
        diffs.append(unified(name, old, new))
    command = ["patch", "-p1", "--binary"] if tool == "patch" else ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=b"".join(diffs), cwd=tmp_path, check=True, capture_output=True)
    assert {name: (tmp_path / name).read_bytes() for name in wanted} == wanted


def test_lines_that_stay_between_changes_are_context() -> None:
    old = b"a = x.cuda()\nkeep\nb = y.cuda()\nkeep too\nc = z.cuda()\n"
    diff = unified("f.py", old, old.replace(b".cuda()", b".npu()"))
    assert diff.splitlines()[3:] == [
        b"-a = x.cuda()",
        b"+a = x.npu()",
        b" keep",
        b"-b = y.cuda()",
        b"+b = y.npu()",
        b" keep too",
        b"-c = z.cuda()",
        b"+c = z.npu()",
    ]
