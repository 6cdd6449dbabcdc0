"""Each check on a machine with one thing changed: what is said, and how it is cured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_migrate.launch.doctor.system import Interpreter, Output, TorchFiles

GB = 2**30
HOME = "/usr/local/Ascend/ascend-toolkit/latest"
DRIVER = "/usr/local/Ascend/driver"


def test_a_healthy_machine(machine: Any) -> None:
    report = machine.examine()
    assert report.bad == []
    assert report["cards"].reason.startswith("8 x 910B3, ")
    assert report["torch_npu and CANN"].reason == "torch_npu 2.7.1.post2 belongs to CANN 8.5.0"
    assert report["toolkit"].reason == f"8.5.0 at {HOME}"
    assert report["TLS of the cards"].reason.startswith("off for all")


def test_a_healthy_container(contained: Any) -> None:
    report = contained.examine()
    assert report.bad == []
    assert report["container"].status == "ok"
    assert report["firmware"].status == "unknown"


def test_no_card(empty: Any) -> None:
    report = empty.examine()
    assert report["cards"].status == "problem"
    assert "run --sim" in report["cards"].help
    # One problem, and not one for each thing that only a machine with a card has.
    assert report["toolkit"].status == "warning"
    groups = {check.group for check in report.checks}
    assert "Access" not in groups
    assert "Driver" not in groups


# Hardware


def test_chips(machine: Any) -> None:
    for card in range(8, 16):
        machine.write(f"/dev/davinci{card}")
    machine.npu_smi("a3")
    machine.install_cann("8.5.0", "ascend910_93")
    report = machine.examine()
    assert "A3" in report["cards"].reason
    assert report["kernels"].reason == "for ascend910_93"


def test_a_chip_that_torch_npu_does_not_know(machine: Any) -> None:
    text = "| NPU   Name  | Health | x |\n| Chip | Bus-Id | AICore(%) Memory-Usage(MB) HBM-Usage(MB) |\n"
    machine.outputs["npu-smi info"] = Output(0, text + "| 0 777X | OK | 1 |\n| 0 | 0000:C1:00.0 | 0 0 / 0 1 / 2 |\n")
    assert machine.examine()["cards"].status == "problem"


def test_boards_that_most_torch_npu_do_not_support(machine: Any) -> None:
    machine.npu_smi("310b")
    assert "Unsupported SOC version" in machine.examine()["cards"].reason


def test_driver_not_loaded(machine: Any) -> None:
    for card in range(8):
        machine.remove(f"/dev/davinci{card}")
    check = machine.examine()["cards"]
    assert check.status == "problem"
    assert "8 x Ascend 910B on the PCI bus, but no /dev/davinci*" in check.reason
    assert "driver is not installed or not loaded" in check.reason


def test_cards_not_passed_into_the_container(contained: Any) -> None:
    for card in range(8):
        contained.remove(f"/dev/davinci{card}")
    check = contained.examine()["cards"]
    assert check.status == "problem"
    assert "--device /dev/davinci0" in check.fix[0]


def test_no_npu_smi(machine: Any, contained: Any) -> None:
    del machine.outputs["npu-smi info"]
    report = machine.examine()
    assert report["npu-smi"].status == "warning"  # the two fixtures are one machine: this is a container
    assert report["health"].status == "unknown"
    assert report["processes"].status == "unknown"


@pytest.mark.parametrize(
    ("sample", "words"), [("dcmi_8005", "another container uses the same card"), ("dcmi_8020", "the card is in use")]
)
def test_dcmi(contained: Any, sample: str, words: str) -> None:
    contained.npu_smi(sample)
    check = contained.examine()["npu-smi"]
    assert check.status == "problem"
    assert words in check.reason
    assert any("--device /dev/davinci_manager" in command for command in check.fix)


def test_health_memory_and_processes(machine: Any) -> None:
    machine.npu_smi("910b_busy_alarm")
    machine.write(f"{DRIVER}/version.info", "Version=25.2.0\n")
    report = machine.examine()
    assert report["health"].status == "problem"
    assert report["health"].reason == "card 3 chip 0 (910B3): health is Alarm"
    assert report["health"].fix == ("npu-smi info -t health -i 3 -c 0",)
    assert report["card memory"].reason == "card 5 chip 0: 64021 of 65536 MB are in use"
    assert report["processes"].fix == ("kill 499214",)
    assert "499214 (python3.11) on card 5" in report["processes"].reason


def test_fewer_cards_in_the_container_than_npu_smi_shows(contained: Any) -> None:
    contained.remove("/dev/davinci7")
    assert contained.examine()["npu-smi"].reason == "version 24.1.rc3, 8 chips, but 7 device files"


# Driver


def test_driver(machine: Any) -> None:
    machine.write(f"{DRIVER}/version.info", "Version=23.0.3\n")
    check = machine.examine()["driver"]
    assert check.status == "warning"
    assert "driver 23.0.3, but npu-smi is of 24.1.rc3" in check.reason


def test_driver_not_mounted(contained: Any) -> None:
    contained.remove(DRIVER)
    report = contained.examine()
    assert report["driver"].status == "problem"
    assert "-v /usr/local/Ascend/driver:/usr/local/Ascend/driver" in report["driver"].fix[0]
    assert report["container"].status == "problem"


def test_driver_elsewhere(machine: Any) -> None:
    machine.write("/etc/ascend_install.info", "Driver_Install_Path_Param=/opt/hw\n")
    machine.write("/opt/hw/driver/version.info", "Version=24.1.rc3\n")
    report = machine.examine()
    assert report["driver"].status == "ok"
    assert report["driver library"].status == "problem"
    assert "not under /opt/hw/driver/lib64" in report["driver library"].reason


def test_driver_library_not_on_the_path(machine: Any) -> None:
    machine.set(LD_LIBRARY_PATH=f"{HOME}/lib64")
    check = machine.examine()["driver library"]
    assert check.status == "problem"
    assert "libascend_hal.so will not be found" in check.reason
    assert check.fix[0].startswith(f"export LD_LIBRARY_PATH={DRIVER}/lib64/driver:")
    machine.write("/etc/ld.so.conf.d/ascend_driver_so.conf", f"{DRIVER}/lib64/driver\n")
    assert machine.examine()["driver library"].status == "ok"


# CANN


def test_not_sourced(machine: Any) -> None:
    machine.environment = {"HOME": "/home/user"}
    check = machine.examine()["environment"]
    assert check.status == "problem"
    assert "set_env.sh was not sourced" in check.reason
    assert check.fix == ("source /usr/local/Ascend/ascend-toolkit/set_env.sh",)


@pytest.mark.parametrize(
    ("variables", "words", "status"),
    [
        ({"ASCEND_OPP_PATH": None}, "ASCEND_OPP_PATH is not set", "problem"),
        ({"ASCEND_OPP_PATH": "/gone/opp"}, "/gone/opp, which does not exist", "problem"),
        ({"LD_LIBRARY_PATH": "/usr/lib"}, "LD_LIBRARY_PATH holds nothing", "problem"),
        ({"PYTHONPATH": "/home/u/src"}, "tbe", "warning"),
    ],
)
def test_environment_incomplete(machine: Any, variables: dict[str, str | None], words: str, status: str) -> None:
    machine.set(**variables)
    check = machine.examine()["environment"]
    assert check.status == status
    assert words in check.reason
    assert check.fix == ("source /usr/local/Ascend/ascend-toolkit/set_env.sh",)


def test_two_versions_sourced(machine: Any) -> None:
    machine.write("/opt/cann/8.3.RC1/opp/x")
    machine.set(ASCEND_OPP_PATH="/opt/cann/8.3.RC1/opp")
    assert "of another CANN" in machine.examine()["environment"].reason


def test_no_cann(machine: Any) -> None:
    machine.remove("/usr/local/Ascend/ascend-toolkit")
    machine.environment = {"HOME": "/home/user"}
    check = machine.examine()["toolkit"]
    assert check.status == "problem"
    assert "torch_npu 2.7.1.post2 belongs to CANN 8.5.0" in check.help


@pytest.mark.parametrize(
    ("home", "extra"),
    [
        ("/usr/local/Ascend/cann-9.0.0", {}),
        ("/home/user/Ascend/ascend-toolkit/9.0.0", {}),
        ("/data/ascend/latest", {"/etc/Ascend/ascend_cann_install.info": "Toolkit_InstallPath=/data/ascend\n"}),
    ],
)
def test_where_cann_may_be(machine: Any, home: str, extra: dict[str, str]) -> None:
    machine.remove("/usr/local/Ascend/ascend-toolkit")
    machine.environment = {"HOME": "/home/user"}
    machine.write(f"{home}/version.cfg", "toolkit_running_version=[9.0.0.1.5:9.0.0]\n")
    machine.write(f"{home}/set_env.sh")
    for path, text in extra.items():
        machine.write(path, text)
    report = machine.examine()
    assert report["toolkit"].reason == f"9.0.0 at {home}"
    assert report["environment"].fix == (f"source {home}/set_env.sh",)


def test_kernels_of_another_chip(machine: Any) -> None:
    machine.install_cann("8.5.0", "ascend310p")
    check = machine.examine()["kernels"]
    assert check.status == "problem"
    assert "no compiled kernels for this chip (ascend910b), only for ascend310p" in check.reason
    assert check.fix == ("./Ascend-cann-kernels-910b_8.5.0_linux-aarch64.run --install",)


def test_kernels_of_another_version(machine: Any) -> None:
    machine.write(
        "/usr/local/Ascend/ascend-toolkit/8.5.0/aarch64-linux/ascend_ops_install.info",
        "package_name=Ascend-cann-910b-ops\nversion=8.3.RC1\n",
    )
    check = machine.examine()["kernels"]
    assert check.status == "problem"
    assert check.reason == "Ascend-cann-910b-ops is 8.3.RC1, the toolkit 8.5.0: they must be the same"


def test_atb(machine: Any) -> None:
    info = "/usr/local/Ascend/nnal/atb/latest/version.info"
    machine.write(info, "Ascend-cann-atb : 8.5.0\nPlatform : aarch64\n")
    assert machine.examine()["NNAL (ATB)"].fix == ("source /usr/local/Ascend/nnal/atb/set_env.sh",)
    machine.set(ATB_HOME_PATH="/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1")
    assert machine.examine()["NNAL (ATB)"].status == "ok"
    machine.write(info, "Ascend-cann-atb : 8.3.RC1\n")
    check = machine.examine()["NNAL (ATB)"]
    assert check.status == "problem"
    assert "NNAL is 8.3.RC1, the toolkit 8.5.0" in check.reason


# Python


def test_torch_npu_of_another_cann(machine: Any) -> None:
    machine.install_cann("9.0.0")
    check = machine.examine()["torch_npu and CANN"]
    assert check.status == "problem"
    assert check.reason == "torch_npu 2.7.1.post2 belongs to CANN 8.5.0, but CANN is 9.0.0"
    assert check.fix == ("pip install torch-npu==2.7.1.post4",)
    assert "install CANN 8.5.0" in check.help


def test_a_neighbour_release_of_cann_is_only_a_warning(machine: Any) -> None:
    machine.install_cann("8.5.1")
    assert machine.examine()["torch_npu and CANN"].status == "warning"


def test_a_torch_npu_that_the_table_does_not_have(machine: Any) -> None:
    machine.packages["torch-npu"] = "2.7.1.dev20260101"
    report = machine.examine()
    assert report["torch_npu and CANN"].status == "unknown"
    assert report["torch_npu"].status == "ok"


def test_torch_of_another_release(machine: Any) -> None:
    machine.torch = TorchFiles("2.8.0+cpu", None, None)
    check = machine.examine()["torch_npu"]
    assert check.status == "problem"
    assert "torch_npu 2.7.1.post2 belongs to torch 2.7.1, but torch is 2.8.0+cpu" in check.reason
    assert check.fix == ("pip install torch-npu==2.8.0.post2",)
    assert check.help == "Or: pip install torch==2.7.1"


def test_torch_for_cuda(machine: Any) -> None:
    machine.torch = TorchFiles("2.7.1+cu126", "12.6", None)
    check = machine.examine()["torch"]
    assert check.status == "problem"
    assert "Two accelerators" in check.reason
    assert check.fix == ("pip install torch==2.7.1+cpu --index-url https://download.pytorch.org/whl/cpu",)
    del machine.packages["torch-npu"]
    assert machine.examine()["torch"].status == "warning"


def test_nothing_installed(machine: Any) -> None:
    machine.torch = None
    machine.packages.clear()
    report = machine.examine()
    assert report["torch"].status == "problem"
    # The newest pair for the CANN and the Python that are there.
    assert report["torch_npu"].fix == ("pip install torch==2.9.0 torch-npu==2.9.0",)
    assert report["numpy"].status == "warning"
    assert report["packages of the operator compiler"].fix == (
        "pip install attrs cffi decorator numpy psutil pyyaml scipy sympy",
    )


def test_python_that_torch_npu_is_not_made_for(machine: Any) -> None:
    machine.python = Interpreter("/usr/bin/python3.14", (3, 14, 0), (), "aarch64")
    check = machine.examine()["Python"]
    assert check.status == "problem"
    assert check.fix == ("conda create -n npu python=3.13",)


def test_numpy_2(machine: Any) -> None:
    machine.packages["numpy"] = "2.0.0"
    assert machine.examine()["numpy"].status == "ok"
    machine.torch = TorchFiles("2.2.0", None, None)
    machine.packages["torch-npu"] = "2.2.0"
    check = machine.examine()["numpy"]
    assert check.status == "problem"
    assert check.fix == ("pip install 'numpy<2'",)


def test_integers_as_devices_before_2_5_1(machine: Any) -> None:
    machine.torch = TorchFiles("2.4.0", None, None)
    machine.packages["torch-npu"] = "2.4.0.post2"
    check = machine.examine()["torch_npu"]
    assert check.status == "warning"
    assert "device_map" in check.reason


# Access


def test_permissions(machine: Any) -> None:
    machine.closed = {f"/dev/davinci{card}" for card in range(8)}
    check = machine.examine()["device files"]
    assert check.status == "problem"
    assert "they belong to the group HwHiAiUser" in check.reason
    assert check.fix == ("sudo usermod -aG HwHiAiUser trainer",)


def test_mounts(contained: Any) -> None:
    contained.remove("/dev/hisi_hdc")
    contained.remove("/dev/devmm_svm")
    check = contained.examine()["container"]
    assert check.status == "problem"
    assert check.fix == ("docker run --device /dev/devmm_svm --device /dev/hisi_hdc IMAGE",)


def test_without_npu_smi_the_container_still_trains(contained: Any) -> None:
    contained.remove("/usr/local/bin/npu-smi")
    contained.remove("/usr/local/dcmi")
    assert contained.examine()["container"].status == "warning"


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("/run/.containerenv", "", "Podman"),
        ("/proc/1/cgroup", "12:pids:/kubepods/besteffort/pod1\n", "kubepods"),
    ],
)
def test_kinds_of_containers(machine: Any, path: str, text: str, kind: str) -> None:
    machine.write(path, text)
    assert machine.examine()["container"].reason.startswith(kind)


# Collectives


def test_addresses(machine: Any) -> None:
    machine.write("/etc/hccn.conf", "address_0=29.1.1.1\naddress_1=29.1.1.1\n")
    assert machine.examine()["addresses of the cards"].reason == "two cards have the address 29.1.1.1"
    machine.write("/etc/hccn.conf", "address_0=29.1.1.1\n")
    check = machine.examine()["addresses of the cards"]
    assert check.status == "warning"
    assert check.reason.startswith("card 1, 2, 3, 4, 5, 6, 7 has none")
    machine.remove("/etc/hccn.conf")
    assert machine.examine()["addresses of the cards"].status == "unknown"


def test_tls(machine: Any) -> None:
    machine.outputs["hccn_tool -i 2 -tls -g"] = Output(0, "dev_id:2, tls switch[1](0:disable, 1:enable)\n")
    check = machine.examine()["TLS of the cards"]
    assert check.status == "problem"
    assert check.fix == ("sudo hccn_tool -i 2 -tls -s enable 0",)
    for card in range(8):
        del machine.outputs[f"hccn_tool -i {card} -tls -g"]
    assert machine.examine()["TLS of the cards"].status == "unknown"


def test_ports(machine: Any) -> None:
    listening = "   0: 00000000:EA61 00000000:0000 0A 0\n   1: 00000000:733C 00000000:0000 0A 0\n"
    machine.write("/proc/net/tcp", "head\n" + listening + "   2: 0100007F:EA62 0100007F:0016 01 0\n")
    report = machine.examine()
    assert report["ports of HCCL"].status == "problem"
    assert report["ports of HCCL"].reason.startswith("port 60001 is taken")
    assert "export HCCL_IF_BASE_PORT=61000" in report["ports of HCCL"].fix
    assert report["port of the launcher"].status == "warning"
    machine.set(HCCL_IF_BASE_PORT="61000", MASTER_PORT="29500")
    report = machine.examine()
    assert report["ports of HCCL"].status == "ok"
    assert report["port of the launcher"].status == "problem"
    assert "export MASTER_PORT=29511" in report["port of the launcher"].fix


def test_ports_that_the_system_gives_away(machine: Any) -> None:
    machine.write("/proc/sys/net/ipv4/ip_local_reserved_ports", "\n")
    check = machine.examine()["ports of HCCL"]
    assert check.status == "warning"
    assert check.fix == ("sudo sysctl -w net.ipv4.ip_local_reserved_ports=60000-60015",)


# Settings


@pytest.mark.parametrize(
    ("value", "words", "left", "fix"),
    [
        ("0,1,3,8", "there is no card 8", 3, "0,1,3"),
        ("1,0", "0 does not ascend", 1, "0,1"),
        ("0, 1", "no blanks are allowed", 1, "0,1"),
        ("0,0", "0 does not ascend", 1, "0"),
        ("npu:0", "is no number", 0, ""),
    ],
)
def test_visible_devices(machine: Any, value: str, words: str, left: int, fix: str) -> None:
    machine.set(ASCEND_RT_VISIBLE_DEVICES=value)
    check = machine.examine()["ASCEND_RT_VISIBLE_DEVICES"]
    assert check.status == "problem"
    assert words in check.reason
    assert f"so {left} cards are left" in check.reason
    assert check.fix == (f"export ASCEND_RT_VISIBLE_DEVICES={fix}",)


def test_good_visible_devices(machine: Any) -> None:
    machine.set(ASCEND_RT_VISIBLE_DEVICES="4,5", CUDA_VISIBLE_DEVICES="0")
    assert machine.examine()["ASCEND_RT_VISIBLE_DEVICES"].reason == "4,5: in the process they are npu:0 to npu:1"
    machine.set(ASCEND_RT_VISIBLE_DEVICES="")
    assert machine.examine()["ASCEND_RT_VISIBLE_DEVICES"].fix == ("unset ASCEND_RT_VISIBLE_DEVICES",)
    machine.set(ASCEND_RT_VISIBLE_DEVICES=None)
    assert machine.examine()["ASCEND_RT_VISIBLE_DEVICES"].status == "warning"  # only the variable of CUDA is set


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("HCCL_EXEC_TIMEOUT", "0", "warning"),
        ("HCCL_EXEC_TIMEOUT", "60", "warning"),
        ("HCCL_EXEC_TIMEOUT", "7200", "ok"),
        ("HCCL_CONNECT_TIMEOUT", "20m", "problem"),
        ("ASCEND_LAUNCH_BLOCKING", "1", "warning"),
        ("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:64", "problem"),
    ],
)
def test_settings(machine: Any, name: str, value: str, status: str) -> None:
    machine.set(**{name: value})
    assert machine.examine()[name].status == status


def test_ray(machine: Any) -> None:
    machine.packages["ray"] = "2.40.0"
    check = machine.examine()["ray"]
    assert check.fix == ("export RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES=1",)
    machine.set(RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES="1")
    assert machine.examine().bad == []


# Resources


def test_shared_memory(contained: Any) -> None:
    contained.space["/dev/shm"] = (64 * 2**20, 64 * 2**20)
    check = contained.examine()["/dev/shm"]
    assert check.status == "problem"
    assert check.fix == ("docker run --shm-size=64g IMAGE",)


def test_disk_and_memory(machine: Any) -> None:
    machine.space["/root"] = (GB // 2, 100 * GB)
    machine.write("/proc/meminfo", "MemAvailable: 1000000 kB\n")
    report = machine.examine()
    assert report["disk"].status == "problem"
    assert "512 MB free in /root" in report["disk"].reason
    assert report["memory"].status == "warning"


def test_limits(machine: Any) -> None:
    machine.write("/proc/self/limits", "Max open files            1024                 4096      files\n")
    check = machine.examine()["limits"]
    assert check.status == "warning"
    assert check.fix == ("ulimit -n 65535",)


def test_what_cannot_be_known(machine: Any) -> None:
    for path in ("/proc/net/tcp", "/proc/meminfo", "/proc/self/limits", "/etc/hccn.conf", "/dev/shm"):
        machine.remove(path)
    report = machine.examine()
    for name in ("ports of HCCL", "memory", "limits", "addresses of the cards", "/dev/shm"):
        assert report[name].status == "unknown"
        assert report[name].reason


# Project


def test_shim(machine: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "text.py").write_text('NOTE = "transfer_to_npu is not used"\n', encoding="utf-8")
    (project / ".venv").mkdir()
    (project / ".venv" / "x.py").write_text("import transfer_to_npu\n", encoding="utf-8")
    assert machine.examine(project)["transfer_to_npu"].status == "ok"
    (project / "train.py").write_text(
        "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n", encoding="utf-8"
    )
    check = machine.examine(project)["transfer_to_npu"]
    assert check.status == "warning"
    assert check.fix == (f"ascend-migrate convert {project} -o OUT",)
    (project / "train.py").write_text("import transfer_to_npu\n", encoding="utf-8")
    check = machine.examine(project)["transfer_to_npu"]
    assert check.status == "problem"
    assert "CANN's old transfer_to_npu" in check.reason


def test_libraries(machine: Any, tmp_path: Path) -> None:
    machine.packages["flash-attn"] = "2.7.0"
    check = machine.examine(tmp_path)["flash-attn"]
    assert check.status == "warning"
    assert check.help
