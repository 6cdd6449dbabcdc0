"""What people who move to Ascend report of environments and launches: the doctor or `explain` names cause and cure.

Each case rebuilds the environment, or the lines that a run prints, in our own words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_migrate.launch.diagnosis import LogReport, explain_log
from ascend_migrate.launch.doctor.system import Output, TorchFiles

HOME = "/usr/local/Ascend/ascend-toolkit/latest"

# Neither a look at the machine nor a log shows these in full; the checks of the launcher must name them:
#   device_map="auto" in every rank of a launch     it knows that it starts several ranks (an OOM is explained here)
#   a launch for several machines started on one    it must say: run the same command on every node
#   fewer visible devices than --nproc              only it knows how many processes it starts


def log_of(*lines: str) -> LogReport:
    return explain_log(lines)


def cured_by(report: LogReport, code: str, *words: str) -> None:
    """The log is explained by this entry, first of all, and its cure holds the words."""
    found = (report.causes or report.consequences)[0]
    assert found.entry.code == code
    for language in ("en", "zh"):
        cure = " ".join(found.entry.words(language).do)
        for word in words:
            assert word in cure, f"{word} not in {cure}"
        assert words[0] in report.to_text(language)


def raised(exception: str, file: str = "train.py") -> tuple[str, ...]:
    return ("Traceback (most recent call last):", f'  File "{file}", line 3, in <module>', "    go()", exception)


# The environment


def test_unsourced_cann(machine: Any) -> None:
    machine.environment = {"HOME": "/root"}
    check = machine.examine()["environment"]
    assert (check.status, check.fix) == ("problem", ("source /usr/local/Ascend/ascend-toolkit/set_env.sh",))
    report = log_of(
        *raised("ImportError: libhccl.so: cannot open shared object file: No such file or directory. Please check ..."),
        "[ERROR] 2026-01-01-10:00:00 (PID:1, Device:-1, RankID:-1) ERR00008 PTA resource not found",
    )
    cured_by(report, "cann-library-missing", "set_env.sh")


def test_operator_compiler_without_its_python_packages(machine: Any) -> None:
    for name in ("decorator", "sympy", "attrs"):
        del machine.packages[name]
    check = machine.examine()["packages of the operator compiler"]
    assert (check.status, check.fix) == ("problem", ("pip install attrs decorator sympy",))
    report = log_of(
        "RuntimeError: Initialize:csrc/core/npu/sys_ctrl/npu_sys_ctrl.cpp:120 NPU error, error code is 500001",
        "EH9999: Inner Error!",
        "        init env failed!",
    )
    cured_by(report, "500001", "pip install attrs decorator")
    assert report.wrappers[0].details == ["init env failed!"]


def test_tbe_not_on_the_path(machine: Any) -> None:
    machine.set(PYTHONPATH="/home/u/src")
    check = machine.examine()["environment"]
    assert "tbe" in check.reason
    assert check.fix[0].startswith("source ")
    cured_by(log_of(*raised("ModuleNotFoundError: No module named 'tbe.common'")), "no-tbe", "set_env.sh")


def test_kernels_missing(machine: Any) -> None:
    machine.remove("/usr/local/Ascend/ascend-toolkit/8.5.0/opp/built-in")
    check = machine.examine()["kernels"]
    assert check.status == "problem"
    assert check.fix == ("./Ascend-cann-kernels-910b_8.5.0_linux-aarch64.run --install",)
    report = log_of(
        "EZ9999: Inner Error!",
        "        Parse dynamic kernel config fail, binary_info_config.json is not there. check opp_kernel.",
    )
    cured_by(report, "kernels-missing", "Ascend-cann-kernels")


def test_card_that_does_not_start() -> None:
    report = log_of(
        *raised("RuntimeError: Initialize NPU function error: c10_npu::SetDevice(device_id_), error code is 507033"),
        "[ERROR] 2026-11-19-11:14:58 (PID:356, Device:0, RankID:-1) ERR00100 PTA call acl api failed",
        "E30006: 2026-11-19-11:14:58.516.606 The operator package was refused",
    )
    cured_by(report, "507033", "ASCEND_RT_VISIBLE_DEVICES")
    assert [incident.entry.code for incident in report.causes] == ["507033", "E30006"]
    assert "driver and firmware" in " ".join(report.causes[1].entry.en.do)


def test_visible_devices_set_too_late() -> None:
    report = log_of(
        "RuntimeError: SetDevice NPU function error: aclrtSetDevice, error code is 507033",
        "EL0003: [PID: 7] 2026-01-01-10:00:00.000.001 The argument is invalid.",
    )
    assert len(report.causes) == 2
    for incident in report.causes:
        cure = " ".join(incident.entry.en.do)
        assert "before" in cure
        assert "ASCEND_RT_VISIBLE_DEVICES" in cure


@pytest.mark.parametrize(("sample", "number"), [("dcmi_8005", "-8005"), ("dcmi_8020", "-8020")])
def test_npu_smi_cannot_reach_the_driver(contained: Any, sample: str, number: str) -> None:
    contained.npu_smi(sample)
    check = contained.examine()["npu-smi"]
    assert check.status == "problem"
    assert number in check.reason
    assert any("/usr/local/dcmi" in command for command in check.fix)
    report = log_of(f"dcmi module initialize failed. ret is {number}")
    cured_by(report, "dcmi", "--device /dev/davinci_manager", "/usr/local/dcmi")
    assert report.causes[0].whats == {number: 1}


def test_import_in_an_image_that_is_built(contained: Any) -> None:
    contained.remove("/usr/local/Ascend/driver")
    assert "-v /usr/local/Ascend/driver" in contained.examine()["driver"].fix[0]
    report = log_of(*raised("ImportError: libascend_hal.so: cannot open shared object file: No such file"))
    cured_by(report, "driver-library-missing", "docker run", "TORCH_DEVICE_BACKEND_AUTOLOAD=0")


def test_driver_library_not_found(machine: Any) -> None:
    machine.set(LD_LIBRARY_PATH=f"{HOME}/lib64")
    check = machine.examine()["driver library"]
    assert check.status == "problem"
    assert "driver/lib64" in check.fix[0]


def test_board_that_is_not_supported(machine: Any) -> None:
    machine.npu_smi("310b")
    assert machine.examine()["cards"].status == "warning"
    cured_by(log_of("RuntimeError: Unsupported SOC version: Ascend310B4"), "unsupported-soc", "310P")


def test_numpy_2_with_an_old_torch(machine: Any) -> None:
    machine.torch = TorchFiles("2.2.0", None, None)
    machine.packages.update({"torch-npu": "2.2.0", "numpy": "2.0.0"})
    assert machine.examine()["numpy"].fix == ("pip install 'numpy<2'",)
    report = log_of("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0 as it may crash.")
    cured_by(report, "numpy-2", "numpy<2")


# Versions that are no pair


def test_torch_replaced_after_torch_npu(machine: Any) -> None:
    machine.torch = TorchFiles("2.8.0+cpu", None, None)
    check = machine.examine()["torch_npu"]
    assert (check.status, check.fix) == ("problem", ("pip install torch-npu==2.8.0.post2",))
    symbol = "_ZTIN5torch10ValueErrorE"
    report = log_of(*raised(f"ImportError: /x/torch_npu/lib/libtorch_npu.so: undefined symbol: {symbol}"))
    cured_by(report, "torch-pair", "torch==X torch-npu==X")


def test_torch_npu_for_another_cann(machine: Any) -> None:
    machine.packages["torch-npu"] = "2.7.1"
    machine.install_cann("9.0.0")
    check = machine.examine()["torch_npu and CANN"]
    assert (check.status, check.fix) == ("problem", ("pip install torch-npu==2.7.1.post4",))
    report = log_of(*raised("ImportError: /x/libtorch_npu.so: undefined symbol: MsprofSysCycleTime"))
    cured_by(report, "cann-pair", "torch-npu")


@pytest.mark.parametrize("symbol", ["_ZN3atb15CreateOperationINS_5infer14GroupTopkParamE", "_ZN3Mki2Dl7IsValidEv"])
def test_nnal_for_another_cann(machine: Any, symbol: str) -> None:
    machine.write("/usr/local/Ascend/nnal/atb/latest/version.info", "Ascend-cann-atb : 8.0.0\n")
    machine.set(ATB_HOME_PATH="/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_0")
    check = machine.examine()["NNAL (ATB)"]
    assert (check.status, check.fix) == ("problem", ("./Ascend-cann-nnal_8.5.0_linux-aarch64.run --install",))
    report = log_of(*raised(f"ImportError: /x/libop_plugin_atb.so: undefined symbol: {symbol}"))
    cured_by(report, "atb-pair", "NNAL")


def test_extension_built_for_another_torch_npu() -> None:
    report = log_of(*raised("ImportError: /x/mmcv/_ext.so: undefined symbol: _ZN7c10_npu10NpuRunMode7IsGraphEv"))
    cured_by(report, "extension-pair", "--force-reinstall")


def test_name_that_this_torch_npu_lacks() -> None:
    report = log_of(*raised("AttributeError: module 'torch_npu' has no attribute '_npu_flash_attention'"))
    cured_by(report, "torch-npu-attribute", "torch_npu")
    assert report.causes[0].whats == {"_npu_flash_attention": 1}


def test_shim_of_an_old_cann(machine: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("import torch_npu\nimport transfer_to_npu\n", encoding="utf-8")
    check = machine.examine(project)["transfer_to_npu"]
    assert check.status == "problem"
    assert "torch_npu.contrib" in check.fix[0]
    report = log_of(*raised("AttributeError: module 'torch_npu' has no attribute '_isinstance'"))
    cured_by(report, "old-transfer-to-npu", "torch_npu.contrib")


def test_integer_as_device_means_cuda(machine: Any) -> None:
    machine.torch = TorchFiles("2.4.0", None, None)
    machine.packages["torch-npu"] = "2.4.0.post2"
    assert "2.5.1" in machine.examine()["torch_npu"].help
    report = log_of(
        *raised("AssertionError: Torch not compiled with CUDA enabled", "/x/site-packages/transformers/modeling.py")
    )
    cured_by(report, "no-cuda-build", "2.5.1", "npu:0")


def test_torch_for_cuda_beside_torch_npu(machine: Any) -> None:
    machine.torch = TorchFiles("2.7.1+cu126", "12.6", None)
    assert "+cpu" in machine.examine()["torch"].fix[0]
    report = log_of(
        *raised("RuntimeError: Two accelerators cannot be used at the same time in PyTorch: npu and cuda. You can ...")
    )
    cured_by(report, "two-accelerators", "+cpu")


# The launch


def test_ids_of_devices_that_are_dropped(machine: Any) -> None:
    for card in (4, 5, 6, 7):
        machine.remove(f"/dev/davinci{card}")
    machine.set(ASCEND_RT_VISIBLE_DEVICES="0,1,3,4")
    check = machine.examine()["ASCEND_RT_VISIBLE_DEVICES"]
    assert check.status == "problem"
    assert "there is no card 4" in check.reason
    assert check.fix == ("export ASCEND_RT_VISIBLE_DEVICES=0,1,3",)
    assert "device_count()" in check.help
    report = log_of("[rank3]: RuntimeError: aclrtSetDevice NPU function error, error code is 107001")
    cured_by(report, "107001", "ascend-migrate run --nproc auto")
    assert "dropped" in " ".join(report.causes[0].entry.en.causes)


def test_physical_ids_where_logical_ones_are_needed() -> None:
    cured_by(log_of(*raised("AssertionError: Invalid device id")), "invalid-device-id", "LOCAL_RANK")


def test_ray_hides_the_cards(machine: Any) -> None:
    machine.packages["ray"] = "2.40.0"
    assert "NOSET_ASCEND_RT_VISIBLE_DEVICES" in machine.examine()["ray"].fix[0]
    report = log_of("(TaskRunner pid=7) RuntimeError: NPU is not available")
    cured_by(report, "no-npu-available", "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES")


def test_two_ranks_on_one_card() -> None:
    report = log_of("[rank1]: EJ0003: [PID: 9] 2026-01-01-10:00:00.1 Failed to bind the IP port. Reason: in use")
    cured_by(report, "EJ0003", "set_device(local_rank)")


def test_the_last_run_is_still_there() -> None:
    report = log_of("[rank0]: EJ0001: [PID: 9] 2026-01-01-10:00:00.1 Failed to initialize the HCCP process.")
    assert report.causes[0].entry.code == "EJ0001"
    assert "wait ten seconds" in report.to_text()
    assert "等待 10 秒" in report.to_text("zh")


def test_ranks_that_start_at_different_times(machine: Any) -> None:
    report = log_of("[rank2]: EI0006: [PID: 9] 2026-01-01-10:00:00.1 Getting socket times out. Reason: late")
    cured_by(report, "EI0006", "HCCL_CONNECT_TIMEOUT=1200")
    machine.set(HCCL_CONNECT_TIMEOUT="60")
    assert machine.examine()["HCCL_CONNECT_TIMEOUT"].status == "warning"


def test_machines_whose_networks_or_tls_differ(machine: Any) -> None:
    machine.outputs["hccn_tool -i 1 -tls -g"] = Output(0, "dev_id:1, tls switch[1](0:disable, 1:enable)\n")
    machine.write("/etc/hccn.conf", "address_0=29.1.1.1\n")
    report = machine.examine()
    assert report["TLS of the cards"].fix == ("sudo hccn_tool -i 1 -tls -s enable 0",)
    assert report["addresses of the cards"].status == "warning"
    told = log_of("[rank8]: EI0006: [PID: 9] 2026-01-01-10:00:00.1 Getting socket times out. Reason: link")
    cured_by(told, "EI0006", "HCCL_SOCKET_IFNAME", "hccn_tool")


def test_a_limit_of_zero_is_not_without_limit_everywhere(machine: Any) -> None:
    machine.set(HCCL_EXEC_TIMEOUT="0")
    check = machine.examine()["HCCL_EXEC_TIMEOUT"]
    assert (check.status, check.fix) == ("warning", ("export HCCL_EXEC_TIMEOUT=7200",))
    report = log_of(
        "RuntimeError: ACL stream synchronize failed.",
        "EI9999: Inner Error!",
        "        hccl fftsplus task timeout occurred during task execution, stuck notify num:1, timeout:30min(default)",
    )
    cured_by(report, "collective-timeout", "HCCL_EXEC_TIMEOUT=7200")


def test_one_rank_is_far_behind() -> None:
    report = log_of(
        "[rank7]: RuntimeError: NPU function error: aclrtSynchronizeDevice, error code is 507046",
        "[rank7]: EE1002: [PID: 5] 2026-01-01-10:00:00.5 Stream synchronize timeout.",
    )
    cured_by(report, "507046", "HCCL_EXEC_TIMEOUT")
    assert "number of batches" in " ".join(report.consequences[0].entry.en.check)


def test_port_taken(machine: Any) -> None:
    machine.write("/proc/net/tcp", "head\n   1: 00000000:733C 00000000:0000 0A 0\n")
    assert "MASTER_PORT" in machine.examine()["port of the launcher"].fix[1]
    report = log_of(
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    )
    cured_by(report, "port-in-use", "--master-port")
    assert report.causes[0].whats == {"29500": 1}


def test_master_out_of_reach() -> None:
    report = log_of(
        "[rank8]:[E331 20:50:12.688969421 socket.cpp:1] [c10d] The client socket has timed out after 1800000ms while "
        "trying to connect to (10.0.0.1, 38321)."
    )
    cured_by(report, "master-unreachable", "MASTER_ADDR", "--node-rank")
    assert report.consequences[0].whats == {"10.0.0.1, 38321": 1}


def test_every_rank_loads_the_whole_model() -> None:
    report = log_of(*raised("torch.OutOfMemoryError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.96 GiB)"))
    cured_by(report, "out-of-memory", "expandable_segments:True", "device_map")


# What a script that was not converted yet says


@pytest.mark.parametrize(
    ("line", "code", "word"),
    [
        ("RuntimeError: No backend type associated with device type npu", "no-backend-for-npu", "hccl"),
        ("RuntimeError: Distributed package doesn't have NCCL built in", "no-nccl", "hccl"),
        ("train.py: error: argument --backend: invalid choice: 'hccl' (choose from nccl)", "backend-choice", "hccl"),
        (
            "RuntimeError: Expected one of cpu, cuda, ipu device type at start of device string: npu",
            "npu-device-unknown",
            "import torch_npu",
        ),
        ("RuntimeError: Cannot re-initialize NPU in forked subprocess.", "forked-npu", "spawn"),
        ("RuntimeError: Could not compute stream ID for 0x1 on device -1", "stream-before-set-device", "set_device"),
        ("RuntimeError: Expected all tensors to be on the same device", "other-device-tensor", "to(device)"),
        ("RuntimeError: nms_impl: implementation for device npu:0 not found.", "mmcv-operator", "FORCE_NPU=1"),
        ("ModuleNotFoundError: No module named 'flash_attn'", "no-flash-attn", "sdpa"),
        ("ModuleNotFoundError: No module named 'torch_npu'", "no-torch-npu", "torch-npu"),
        ("EZ1001: 2026-01-01 aclnnCast: not implemented for DT_BFLOAT16, should be in dtype list", "EZ1001", "float16"),
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.", "dataloader-killed", "--shm-size"),
    ],
)
def test_messages(line: str, code: str, word: str) -> None:
    cured_by(log_of(line), code, word)
