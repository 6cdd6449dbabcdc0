"""What several checks need to know of a machine, found out once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from ascend_migrate.knowledge import Soc, UnknownTarget, VersionRow, find_soc, version_table
from ascend_migrate.launch.doctor import npu_smi
from ascend_migrate.launch.doctor.system import System, TorchFiles

HUAWEI = "0x19e5"
PROCESSING_ACCELERATOR = "0x12"

PCI_CHIPS = {
    "0xd100": "Ascend 310",
    "0xd500": "Ascend 310P",
    "0xd801": "Ascend 910",
    "0xd802": "Ascend 910B",
    "0xd803": "Ascend 910_93 (A3)",
}

ASCEND = "/usr/local/Ascend"
DEVICE_FILES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
"""What every process on a card opens, beside /dev/davinciN."""

OPP_FOLDERS = {
    "910a": "ascend910",
    "910b": "ascend910b",
    "910_93": "ascend910_93",
    "310p": "ascend310p",
    "310b": "ascend310b",
    "950": "ascend950",
}
"""The folder of a chip family in the operator package."""


@dataclass(frozen=True)
class Cann:
    """An installed toolkit. Paths are those of the machine."""

    home: str
    version: str | None
    set_env: str | None

    @property
    def opp(self) -> str:
        return f"{self.home}/opp"


@dataclass(frozen=True)
class PciDevice:
    """An Ascend chip on the PCI bus."""

    address: str
    device: str

    @property
    def name(self) -> str:
        return PCI_CHIPS.get(self.device, f"device {self.device}")


class Machine:
    """Facts about a machine; each is found out when it is first asked for."""

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def pci(self) -> tuple[PciDevice, ...]:
        """The Ascend chips on the PCI bus (Huawei makes network and disk controllers too, of other classes)."""
        found = []
        base = "/sys/bus/pci/devices"
        for address in self.system.names(base):
            if (self.system.read(f"{base}/{address}/vendor") or "").strip() != HUAWEI:
                continue
            kind = (self.system.read(f"{base}/{address}/class") or "").strip()
            device = (self.system.read(f"{base}/{address}/device") or "").strip()
            if kind.startswith(PROCESSING_ACCELERATOR) or device in PCI_CHIPS:
                found.append(PciDevice(address, device))
        return tuple(found)

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The numbers of /dev/davinci0, davinci1, ... (davinci_manager is no card)."""
        numbers = (name[len("davinci") :] for name in self.system.names("/dev") if name.startswith("davinci"))
        return tuple(sorted(int(number) for number in numbers if number.isdigit()))

    @cached_property
    def has_card(self) -> bool:
        """Whether anything says that this machine has an Ascend card."""
        return bool(self.cards or self.pci)

    @cached_property
    def smi(self) -> npu_smi.NpuSmi | None:
        """What npu-smi tells; None when it is not there, or does not answer."""
        output = self.system.run("npu-smi", "info")
        folder = "/usr/local/sbin"  # where it lies, and which is not on everybody's PATH
        if output is None and folder not in self.system.variable("PATH").split(":"):
            output = self.system.run(f"{folder}/npu-smi", "info")
        return npu_smi.parse(output.text) if output is not None else None

    @cached_property
    def soc(self) -> Soc | None:
        """The chip family, or None when it is not known."""
        if self.smi is None or not self.smi.chips:
            return None
        name = self.smi.chips[0].name
        if name.lower() == "ascend910" and self.smi.physical_ids:
            name = "910_93"  # how npu-smi shows an A3
        try:
            return find_soc(name)
        except UnknownTarget:
            return None

    @cached_property
    def container(self) -> str | None:
        """What kind of container this is, or None."""
        if self.system.exists("/.dockerenv"):
            return "Docker"
        if self.system.exists("/run/.containerenv"):
            return "Podman"
        if self.system.variable("KUBERNETES_SERVICE_HOST"):
            return "Kubernetes"
        groups = self.system.read("/proc/1/cgroup") or ""
        kind = re.search(r"docker|kubepods|containerd|lxc|isula", groups)
        return kind[0] if kind else None

    @cached_property
    def driver_home(self) -> str:
        """Where the driver is installed."""
        for line in self.system.lines("/etc/ascend_install.info"):
            key, _, value = line.partition("=")
            if key.strip() == "Driver_Install_Path_Param" and value.strip():
                return f"{value.strip().rstrip('/')}/driver"
        return f"{ASCEND}/driver"

    @cached_property
    def driver_version(self) -> str | None:
        return self._version_in(f"{self.driver_home}/version.info")

    @cached_property
    def firmware_version(self) -> str | None:
        return self._version_in(f"{PurePosixPath(self.driver_home).parent}/firmware/version.info")

    @cached_property
    def cann(self) -> Cann | None:
        """The toolkit that is in use: that of the environment, else the first that is found."""
        return next((cann for home in self._cann_homes() if (cann := self._cann_at(home)) is not None), None)

    @cached_property
    def torch(self) -> TorchFiles | None:
        return self.system.torch_files()

    @cached_property
    def torch_npu(self) -> str | None:
        return self.system.package("torch-npu") or self.system.package("torch_npu")

    @cached_property
    def row(self) -> VersionRow | None:
        """The row of the version table for the torch_npu that is installed."""
        wanted = (self.torch_npu or "").split("+")[0]
        return next((row for row in version_table() if row.torch_npu == wanted), None)

    def _cann_homes(self) -> list[str]:
        system = self.system
        homes = [system.variable("ASCEND_HOME_PATH"), system.variable("ASCEND_TOOLKIT_HOME")]
        for line in system.lines("/etc/Ascend/ascend_cann_install.info"):
            if line.startswith("Toolkit_InstallPath="):
                homes.append(f"{line.partition('=')[2].strip().rstrip('/')}/latest")
        user = system.variable("HOME").rstrip("/")
        for base in (ASCEND, f"{user}/Ascend"):
            homes += [f"{base}/ascend-toolkit/latest", f"{base}/cann", f"{base}/latest"]
            names = system.names(base)
            homes += [f"{base}/{name}" for name in reversed(names) if name.startswith("cann-")]
            homes += [f"{base}/ascend-toolkit/{name}" for name in reversed(system.names(f"{base}/ascend-toolkit"))]
        return [home.rstrip("/") for home in homes if home]

    def _cann_at(self, home: str) -> Cann | None:
        system = self.system
        if not any(system.exists(f"{home}/{name}") for name in ("opp", "lib64", "version.cfg", "compiler")):
            return None
        parent = str(PurePosixPath(home).parent)
        scripts = (f"{home}/set_env.sh", f"{parent}/set_env.sh", f"{home}/bin/setenv.bash")
        return Cann(home, self._cann_version(home), next((path for path in scripts if system.exists(path)), None))

    def _cann_version(self, home: str) -> str | None:
        for folder in self.system.names(home):
            if folder.endswith("-linux"):
                for line in self.system.lines(f"{home}/{folder}/ascend_toolkit_install.info"):
                    if line.startswith("version="):
                        return line.partition("=")[2].strip()
        text = self.system.read(f"{home}/version.cfg") or ""
        version = re.search(r"(?:toolkit|runtime)_(?:running|installed)_version=\[[^:\]]*:([^\]]+)\]", text)
        if version is not None:
            return version[1]
        named = re.search(r"(?:ascend-toolkit/|cann-)(\d+\.\d+[^/]*)$", home)
        return named[1] if named else None

    def _version_in(self, path: str) -> str | None:
        version = re.search(r"^[Vv]ersion\s*=\s*(\S+)", self.system.read(path) or "", re.MULTILINE)
        return version[1] if version else None
