"""Codes are found, and logs are explained: the cause before what follows from it."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from ascend_migrate.launch.diagnosis import code_page, explain_files, explain_log, find_code, near_codes
from ascend_migrate.launch.diagnosis.lines import parse, rank_of_file
from ascend_migrate.launch.diagnosis.tracebacks import Builder


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("107002", "107002"),
        (" ei0006 ", "EI0006"),
        ("ERR01002", "ERR01002"),
        ("ACL_ERROR_INVALID_PARAM", "100000"),
        ("ACLNN_ERR_PARAM_INVALID", "161002"),
        ("EZ9999", "EZ9999"),
        ("E39999", "E39999"),
        ("HCCL_E_TIMEOUT", "HCCL_E_TIMEOUT"),
        ("port-in-use", "port-in-use"),
        ("NPU function error: aclrtSynchronizeDevice, error code is 507046", "507046"),
        ("AssertionError: Torch not compiled with CUDA enabled", "no-cuda-build"),
        ("E10999", "E10999"),
    ],
)
def test_find_code(query: str, code: str) -> None:
    entry = find_code(query)
    assert entry is not None
    assert entry.code == code


@pytest.mark.parametrize("query", ["", "hello", "123456", "EQ1234", "NPU102"])
def test_what_is_not_a_code(query: str) -> None:
    assert find_code(query) is None


def test_near_codes() -> None:
    assert "107002" in near_codes("1070022")
    assert near_codes("ACL_ERROR_INVALID_PARM")[0] == "ACL_ERROR_INVALID_PARAM"
    assert near_codes("port-in-us") == ["port-in-use"]


def test_page() -> None:
    entry = find_code("107002")
    assert entry is not None
    page = code_page(entry)
    assert page.startswith("# 107002 ACL_ERROR_RT_CONTEXT_NULL\n")
    assert "## Do\n" in page
    assert "set_device" in page
    assert "## 处理\n" in code_page(entry, "zh")


TIMEOUT = """\
[rank7]: Traceback (most recent call last):
[rank7]:   File "/opt/conda/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 3690, in barrier
[rank7]:     work.wait()
[rank7]: RuntimeError: npuSynchronizeDevice:csrc/core/npu/NPUStream.cpp:435 NPU function error: \
aclrtSynchronizeDevice, error code is 507046
[rank7]: [ERROR] 2026-03-08-16:21:40 (PID:524, Device:7, RankID:7) ERR00100 PTA call acl api failed
[rank7]: [Error]: In the specified timeout waiting event, all tasks in the specified stream are not completed.
[rank7]: EE1002: [PID: 524] 2026-03-08-16:21:40.515.589 Stream synchronize timeout.
[rank7]:         Possible Cause: 1. The timeout interval may be improperly set.
[rank7]:         TraceBack (most recent call last):
[rank7]:         the device waits for nothing any more
"""

FAILED = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/u/train.py", line 44, in step
[rank3]:     loss = criterion(out[99], y)
[rank3]:   File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1773, in _wrapped_call_impl
[rank3]:     return self._call_impl(*args, **kwargs)
[rank3]: IndexError: index 99 is out of bounds
"""


def test_an_exception_comes_before_the_timeouts_it_caused() -> None:
    report = explain_log((TIMEOUT + FAILED + "[rank5]: waiting\n").splitlines())
    assert [incident.title for incident in report.causes] == ["IndexError"]
    assert report.failed_first == 3
    cause = report.causes[0]
    assert cause.traceback is not None
    assert cause.traceback.project is not None
    assert (cause.traceback.project.file, cause.traceback.project.line) == ("/home/u/train.py", 44)
    assert cause.traceback.project.code == "loss = criterion(out[99], y)"
    assert [incident.entry.code for incident in report.consequences] == ["507046", "EE1002"]
    assert report.consequences[1].details == ["the device waits for nothing any more"]
    assert [incident.entry.code for incident in report.wrappers] == ["ERR00100"]
    text = report.to_text()
    assert text.index("IndexError") < text.index("507046") < text.index("ERR00100")
    assert 'File "/home/u/train.py", line 44, in step' in text


def test_only_consequences_point_to_the_rank_that_said_nothing() -> None:
    report = explain_log((TIMEOUT + "[rank5]: epoch 1\n[rank7]: bye\n").splitlines())
    assert report.causes == []
    assert report.silent_ranks == [5]
    assert "No error in the log of rank 5" in report.to_text()
    assert "rank 5 的日志中没有错误" in report.to_text("zh")


def test_the_code_in_an_exception_explains_its_traceback() -> None:
    report = explain_log(TIMEOUT.splitlines())
    incident = report.consequences[0]
    assert incident.traceback is not None
    assert incident.count == 1
    assert incident.ranks == {7}


def test_the_launcher_tells_who_failed_first() -> None:
    log = """\
[rank0]: ValueError: this line is no traceback
[rank0]: Traceback (most recent call last):
[rank0]:   File "a.py", line 1, in f
[rank0]: KeyError: 'x'
[rank2]: Traceback (most recent call last):
[rank2]:   File "a.py", line 9, in g
[rank2]: ZeroDivisionError: division by zero
Traceback (most recent call last):
  File "/opt/torch/distributed/launcher/api.py", line 317, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-09-07_13:03:29
  rank      : 0 (local_rank: 0)
  exitcode  : -9 (pid: 14689)
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-09-07_13:02:58
  host      : localhost
  rank      : 2 (local_rank: 2)
  exitcode  : 1 (pid: 14690)
============================================================
"""
    report = explain_log(log.splitlines())
    assert report.failed_first == 2
    assert [incident.title for incident in report.causes] == ["ZeroDivisionError", "KeyError"]


def test_a_rank_that_was_killed() -> None:
    log = """\
E0907 13:02:58.123000 9 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 1 \
(pid: 14690) of binary: /usr/bin/python
Root Cause (first observed failure):
[0]:
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 14690)
"""
    report = explain_log(log.splitlines())
    assert report.failed_first == 1
    assert [incident.entry.code for incident in report.causes] == ["killed"]


def test_err99999_is_explained_by_the_traceback_above_it() -> None:
    log = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    cfg["lr"]
KeyError: 'lr'
[ERROR] 2026-01-01-10:00:00 (PID:9, Device:0, RankID:0) ERR99999 UNKNOWN applicaiton exception
"""
    report = explain_log(log.splitlines())
    assert [incident.title for incident in report.causes] == ["KeyError"]
    assert [incident.entry.code for incident in report.wrappers] == ["ERR99999"]


def test_chained_exceptions_the_first_counts() -> None:
    log = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
    import torch_npu
ImportError: libhccl.so: cannot open shared object file: No such file or directory

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 2, in g
    raise RuntimeError("no backend") from error
RuntimeError: no backend
done
"""
    report = explain_log(log.splitlines())
    assert [incident.entry.code for incident in report.causes] == ["cann-library-missing"]
    assert report.causes[0].whats == {"libhccl.so": 1}


def test_fallbacks_are_collected_by_operator() -> None:
    warning = (
        "[W610 18:26:03.055 VariableFallbackKernel.cpp:250] Warning: CAUTION: The operator '{}' is not currently "
        "supported on the NPU backend and will fall back to run on the CPU. (function npu_cpu_fallback)"
    )
    report = explain_log([warning.format(name) for name in ("aten::isin", "aten::isin", "torchvision::nms")])
    assert report.causes == []
    assert report.notes[0].whats == {"aten::isin": 2, "torchvision::nms": 1}
    assert "aten::isin (2)" in report.to_text()


def test_fallbacks_with_the_line_of_the_script() -> None:
    report = explain_log(
        [
            "[rank0]: /home/u/train.py:12: UserWarning: CAUTION: The operator 'aten::isin' is not currently supported "
            "on the NPU backend and will fall back to run on the CPU. (Triggered internally at x.ts:74.)"
        ]
    )
    assert report.notes[0].whats == {"aten::isin at /home/u/train.py:12": 1}


def test_a_worker_of_vllm_behind_its_logger() -> None:
    prefix = "(Worker pid=17148) (Worker_DP0_TP6_EP6 pid=17148) ERROR 03-25 06:14:02 [multiproc_executor.py:880] "
    log = [
        "Traceback (most recent call last):",
        '  File "/usr/lib/python3.11/site-packages/vllm/worker.py", line 96, in execute',
        "    self.model()",
        '  File "/srv/plugin/runner.py", line 7, in model',
        "    torch.npu.synchronize()",
        "RuntimeError: synchronize:x.ts:361 NPU function error: AclrtSynchronizeStream, error code is 507015",
        "[ERROR] 2026-03-25-06:14:02 (PID:17148, Device:6, RankID:-1) ERR00100 PTA call acl api failed",
        "EZ9999: Inner Error!",
        "        The error from device(chipId:6), fault kernel_name=GatherV2, there is an exception of aivec error.",
    ]
    report = explain_log([prefix + line for line in log])
    cause = report.causes[0]
    assert cause.entry.code == "507015"
    assert cause.first.time == "03-25 06:14:02.000000"
    assert cause.traceback is not None
    assert cause.traceback.project is not None
    assert cause.traceback.project.file == "/srv/plugin/runner.py"
    inner = report.wrappers[-1]
    assert inner.entry.code == "EZ9999"
    assert "GatherV2" in inner.details[0]


def test_a_log_in_a_string() -> None:
    report = explain_log([r'{"detail": "SetDevice, error code is 507033\n[ERROR] x\nE30006: 2026-11-19 refused\n"}'])
    assert [incident.entry.code for incident in report.causes] == ["507033", "E30006"]


def test_codes_of_plog_and_of_newer_cann() -> None:
    log = """\
[ERROR] RUNTIME(14163,python3):2026-12-13 12:15:25.025.554 [stream.cc:1402]14595 Sync:failed, runtime result = 507033
[PID: 591] 2026-04-30-03:58:27.508.178 Invalid_Argument(EL0003): The argument is invalid.
        Solution: Try again with a valid argument.
RuntimeError: InnerRunOpApi HCCL function error: HcclAllreduce, error code is 7
"""
    report = explain_log(log.splitlines())
    assert [incident.entry.code for incident in report.causes] == ["507033", "EL0003"]
    assert report.causes[0].first.time == "12-13 12:15:25.025000"
    assert [incident.entry.code for incident in report.wrappers] == ["HCCL_E_UNAVAIL"]


def test_several_files_are_ordered_by_time(tmp_path: Path) -> None:
    for rank, second, error in ((0, 50, "EZ1001: late"), (1, 10, "EI0019: early")):
        folder = tmp_path / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(f"2026-01-01 10:00:{second} starts\n{error}\n", encoding="utf-8")
    report = explain_files([str(tmp_path / "attempt_0" / str(rank) / "stderr.log") for rank in (0, 1)])
    assert [incident.entry.code for incident in report.causes] == ["EI0019", "EZ1001"]
    assert report.failed_first == 1
    assert report.ranks == {0, 1}


def test_workers_of_ray_and_vllm_are_kept_apart() -> None:
    log = """\
(Worker_TP0 pid=10) Traceback (most recent call last):
(Worker_TP1 pid=11) Traceback (most recent call last):
(Worker_TP0 pid=10)   File "a.py", line 1, in f
(Worker_TP1 pid=11)   File "b.py", line 2, in g
(Worker_TP0 pid=10) ValueError: a
(Worker_TP1 pid=11) TypeError: b
"""
    report = explain_log(log.splitlines())
    assert [incident.title for incident in report.causes] == ["ValueError", "TypeError"]
    assert report.causes[1].traceback is not None
    assert report.causes[1].traceback.last is not None
    assert report.causes[1].traceback.last.file == "b.py"


def test_nothing_to_explain() -> None:
    report = explain_log(["epoch 1 loss 0.5", "E12345 is not printed as an error", "saved 507015 images"])
    assert report.incidents == []
    assert report.to_text() == "No known error in 3 lines.\n"


def test_json() -> None:
    report = explain_log(FAILED.splitlines(), source="train.log")
    data = json.loads(json.dumps(report.to_json("zh")))
    assert data["schema"] == 1
    assert data["failed_first"] == 3
    cause = data["causes"][0]
    assert cause["code"] == "IndexError"
    assert cause["first"] == {"source": "train.log", "line": 6, "rank": 3, "time": None}
    assert cause["traceback"]["file"] == "/home/u/train.py"
    assert "脚本抛出" in cause["meaning"]


def test_a_file_gives_what_its_lines_give(tmp_path: Path) -> None:
    """Files are read in blocks, of which most are not taken apart."""
    filler = "[rank6]: step 1: loss 0.25\n" * 20000
    log = filler + FAILED + filler + TIMEOUT + filler
    path = tmp_path / "train.log"
    path.write_text(log, encoding="utf-8")
    of_file, of_lines = explain_files([str(path)]), explain_log(log.splitlines(), source=str(path))
    assert of_file.to_json() == of_lines.to_json()
    assert of_file.lines == log.count("\n")
    assert 6 in of_file.ranks


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("w", encoding="utf-8") as stream:
        for number in range(4000):
            stream.write(f"[rank{number % 8}]: ValueError {number} EZ9999: Inner Error! number {number}\n")
            stream.write(f"progress {number}\r" * 20)
            stream.write(
                f'Traceback (most recent call last):\n  File "x.py", line {number}, in f\n    x\nE{number}: y\n'
            )
    explain_files([str(path)])  # what is loaded once does not count
    tracemalloc.start()
    try:
        report = explain_files([str(path)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(report.incidents) <= 200
    assert report.lines == path.read_bytes().count(b"\n")
    assert peak < 16 * 2**20


def test_missing_file() -> None:
    with pytest.raises(OSError, match="No such file"):
        explain_files(["/nonexistent/train.log"])


@pytest.mark.parametrize(
    ("raw", "text", "rank", "time"),
    [
        ("[default3]:hello", "hello", 3, None),
        ("\x1b[31m[rank12]: x\x1b[0m", "x", 12, None),
        ("[1,5]<stderr>: x", "x", 5, None),
        ("worker-1: x", "x", 1, None),
        ("[rank1]:[E1213 17:25:50.849797607 a] y", "[E1213 17:25:50.849797607 a] y", 1, "12-13 17:25:50.849797"),
        ("[ERROR] 2026-03-08-16:21:40 (PID:5, Device:7, RankID:-1) ERR00100", None, None, "03-08 16:21:40.000000"),
        ("2026-10-21 10:42:00,218 - a", None, None, "10-21 10:42:00.218000"),
    ],
)  # fmt: skip
def test_lines(raw: str, text: str | None, rank: int | None, time: str | None) -> None:
    line = parse(raw)
    assert line.text == (raw if text is None else text)
    assert (line.rank, line.time) == (rank, time)


def test_rank_of_file() -> None:
    assert rank_of_file("/logs/none_abc/attempt_0/12/stderr.log") == 12
    assert rank_of_file("out/train_rank3.log") == 3
    assert rank_of_file("train.log") is None


def test_a_traceback_that_is_cut_off() -> None:
    builder = Builder()
    builder.feed("Traceback (most recent call last):")
    builder.feed('  File "a.py", line 1, in f')
    assert builder.busy
    assert builder.finish() == []
    assert not builder.busy
