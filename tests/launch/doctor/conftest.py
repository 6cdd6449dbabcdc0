"""A machine to examine: a tree of files, an environment, and what its commands print."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ascend_migrate.launch.doctor import Check, Interpreter, System, examine
from ascend_migrate.launch.doctor.system import Output, TorchFiles, User

OUTPUTS = Path(__file__).parent / "outputs"

GB = 2**30

HOME = "/usr/local/Ascend/ascend-toolkit/latest"
DRIVER = "/usr/local/Ascend/driver"

SOURCED = {
    "HOME": "/root",
    "ASCEND_HOME_PATH": HOME,
    "ASCEND_TOOLKIT_HOME": HOME,
    "ASCEND_OPP_PATH": f"{HOME}/opp",
    "LD_LIBRARY_PATH": f"{HOME}/lib64:{DRIVER}/lib64/common:{DRIVER}/lib64/driver",
    "PYTHONPATH": f"{HOME}/python/site-packages:{HOME}/opp/built-in/op_impl/ai_core/tbe",
}
"""What CANN's set_env.sh leaves."""

PACKAGES = {
    "torch-npu": "2.7.1.post2",
    "numpy": "1.26.4",
    **dict.fromkeys(("attrs", "cffi", "decorator", "psutil", "pyyaml", "scipy", "sympy"), "1.0"),
}


@dataclass
class FakeSystem(System):
    """A machine in a folder. What a folder cannot say is said by the fields."""

    packages: dict[str, str] = field(default_factory=lambda: dict(PACKAGES))
    torch: TorchFiles | None = field(default_factory=lambda: TorchFiles("2.7.1+cpu", None, None))
    outputs: dict[str, Output] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    owners: dict[str, tuple[int, int]] = field(default_factory=dict)
    space: dict[str, tuple[int, int]] = field(default_factory=dict)

    def run(self, *command: str, timeout: float = 10) -> Output | None:
        return self.outputs.get(" ".join(command))

    def package(self, name: str) -> str | None:
        return self.packages.get(name)

    def torch_files(self) -> TorchFiles | None:
        return self.torch

    def may_open(self, path: str) -> bool:
        return path not in self.closed

    def owner(self, path: str) -> tuple[int, int] | None:
        return self.owners.get(path, (1000, 1000))

    def free_bytes(self, path: str) -> tuple[int, int] | None:
        return self.space.get(path, (200 * GB, 400 * GB))

    def user(self) -> User:
        return User("trainer", 1001, (1001, 1000))

    # What the tests change a machine with.

    def write(self, path: str, text: str = "") -> None:
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        target = self.path(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()

    def npu_smi(self, sample: str) -> None:
        code = 255 if sample.startswith("dcmi") else 0
        self.outputs["npu-smi info"] = Output(code, (OUTPUTS / f"{sample}.txt").read_text(encoding="utf-8"))

    def set(self, **variables: str | None) -> None:
        merged = {**self.environment, **variables}
        self.environment = {name: value for name, value in merged.items() if value is not None}

    def install_cann(self, version: str, folder: str = "ascend910b") -> None:
        base = "/usr/local/Ascend/ascend-toolkit"
        shutil.rmtree(self.path(base), ignore_errors=True)
        home = f"{base}/{version}"
        self.write(f"{base}/set_env.sh", f"export ASCEND_TOOLKIT_HOME={base}/latest\n")
        self.write(
            f"{home}/aarch64-linux/ascend_toolkit_install.info",
            f"package_name=Ascend-cann-toolkit\nversion={version}\ninnerversion=V100R001C23SPC001B235\n"
            f"arch=aarch64\nos=linux\npath={home}/aarch64-linux\n",
        )
        self.write(f"{home}/version.cfg", f"# version: 1.0\ntoolkit_running_version=[7.6.0.1.220:{version}]\n")
        self.write(f"{home}/lib64/libhccl.so")
        self.write(f"{home}/opp/built-in/op_impl/ai_core/tbe/kernel/config/{folder}/add.json")
        self.path(f"{base}/latest").symlink_to(version)

    def examine(self, folder: Path | None = None) -> Report:
        return Report(examine(self, folder))


class Report:
    """The checks of a machine, by name."""

    def __init__(self, checks: list[Check]) -> None:
        self.checks = checks
        for check in self.bad:
            assert check.fix or check.help, f"no way out of: {check}"
        assert all(check.reason for check in checks)

    def __getitem__(self, name: str) -> Check:
        found = [check for check in self.checks if check.name == name]
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    @property
    def bad(self) -> list[Check]:
        return [check for check in self.checks if check.status in ("problem", "warning")]


def _healthy(root: Path) -> FakeSystem:
    python = Interpreter("/usr/bin/python3.10", (3, 10, 12), ("/usr/lib/python3.10/site-packages",), "aarch64")
    machine = FakeSystem(root=root, environment=dict(SOURCED), python=python)
    for number in range(8):
        pci = f"/sys/bus/pci/devices/0000:c{number}:00.0"
        machine.write(f"{pci}/vendor", "0x19e5\n")
        machine.write(f"{pci}/device", "0xd802\n")
        machine.write(f"{pci}/class", "0x120000\n")
        machine.write(f"/dev/davinci{number}")
    machine.write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x19e5\n")  # a network controller of Huawei
    machine.write("/sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n")
    machine.write("/sys/bus/pci/devices/0000:01:00.0/device", "0x0222\n")
    for name in ("davinci_manager", "devmm_svm", "hisi_hdc", "shm/x"):
        machine.write(f"/dev/{name}")
    machine.write("/etc/ascend_install.info", "UserName=HwHiAiUser\nDriver_Install_Path_Param=/usr/local/Ascend\n")
    machine.write(f"{DRIVER}/version.info", "Version=24.1.rc3\nascendhal_version=7.35.23\n")
    machine.write(f"{DRIVER}/lib64/driver/libascend_hal.so")
    machine.write("/usr/local/Ascend/firmware/version.info", "Version=7.5.0.3.220\n")
    machine.write("/usr/local/dcmi/libdcmi.so")
    machine.write("/usr/local/bin/npu-smi")
    machine.write("/etc/group", "root:x:0:\nHwHiAiUser:x:1000:\n")
    machine.write("/etc/hccn.conf", "".join(f"address_{n}=29.1.112.{n}\nnetmask_{n}=255.255.0.0\n" for n in range(8)))
    machine.write("/proc/net/tcp", "  sl  local_address rem_address   st\n")
    machine.write("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")
    machine.write("/proc/sys/net/ipv4/ip_local_reserved_ports", "60000-60015\n")
    machine.write("/proc/meminfo", "MemTotal: 1056000000 kB\nMemAvailable:   956000000 kB\n")
    machine.write(
        "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max processes             unlimited            unlimited            processes\n"
        "Max open files            1048576              1048576              files\n"
        "Max locked memory         unlimited            unlimited            bytes\n",
    )
    machine.write("/proc/1/cgroup", "0::/init.scope\n")
    machine.install_cann("8.5.0")
    machine.npu_smi("910b")
    for number in range(8):
        machine.outputs[f"hccn_tool -i {number} -tls -g"] = Output(
            0, f"dev_id:{number}, tls switch[0](0:disable, 1:enable), tls alarm time threshold[60]days\n"
        )
    return machine


@pytest.fixture
def machine(tmp_path: Path) -> FakeSystem:
    """Eight 910B3 with all that belongs to them, and a project that is trained on them."""
    return _healthy(tmp_path / "root")


@pytest.fixture
def contained(machine: FakeSystem) -> FakeSystem:
    """The same in a Docker container."""
    machine.write("/.dockerenv")
    machine.remove("/usr/local/Ascend/firmware")
    return machine


@pytest.fixture
def empty(tmp_path: Path) -> FakeSystem:
    """A laptop without a card and without CANN."""
    machine = FakeSystem(root=tmp_path / "laptop", environment={"HOME": "/root"})
    machine.write("/proc/net/tcp", "  sl  local_address rem_address   st\n")
    return machine


Change = Callable[[FakeSystem], None]
