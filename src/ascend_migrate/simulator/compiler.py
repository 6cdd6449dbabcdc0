"""Compiles the C++ part of the simulated NPU against an installed torch. Needs a C++ compiler, nothing else."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ascend_migrate.simulator.errors import SimulatorError
from ascend_migrate.simulator.torch_installation import TorchInstallation

SOURCES = Path(__file__).parent / "csrc"

UNITS = {
    "core": ("memory.cpp", "device.cpp", "aliases.cpp", "operators.cpp", "shallow_copy.cpp"),
    "autocast": ("autocast.cpp",),
    "bindings": ("hccl.cpp", "module.cpp"),
}
"""Sources that are compiled together. PyTorch's headers take most of the time, so fewer units build faster."""

LIBRARY = "_simulated_npu" + (sysconfig.get_config_var("EXT_SUFFIX") or ".so")

FLAGS = ("-std=c++20", "-fPIC", "-O1", "-g0", "-w", "-fvisibility=hidden")


@dataclass(frozen=True)
class Toolchain:
    """A compiler command (with its own options, as in ``CXX="ccache g++"``) and the flags torch asks for."""

    command: tuple[str, ...]
    defines: tuple[str, ...]
    includes: tuple[Path, ...]


def find_compiler() -> tuple[str, ...]:
    """The C++ compiler: ``$CXX``, else c++, g++ or clang++ on the PATH. Raises SimulatorError."""
    chosen = os.environ.get("CXX")
    if chosen:
        command = tuple(shlex.split(chosen))
        if command and shutil.which(command[0]):
            return command
        raise SimulatorError(f"the C++ compiler in the environment variable CXX does not exist: {chosen}")
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return (name,)
    raise SimulatorError(
        "no C++ compiler found, and the simulated NPU is compiled once for your torch. Install one "
        "(Debian, Ubuntu: apt install g++; Fedora, openEuler: dnf install gcc-c++; macOS: "
        "xcode-select --install), or name it in the environment variable CXX"
    )


def find_toolchain(torch: TorchInstallation) -> Toolchain:
    """Everything a compilation needs, checked. Raises SimulatorError that names what is missing."""
    if sys.platform == "win32":
        raise SimulatorError("the simulated NPU does not build on Windows; use WSL")
    command = find_compiler()
    python_headers = Path(sysconfig.get_path("include"))
    if not (python_headers / "Python.h").is_file():
        raise SimulatorError(
            f"Python's C headers are missing ({python_headers / 'Python.h'}). Install them "
            "(Debian, Ubuntu: apt install python3-dev; Fedora, openEuler: dnf install python3-devel)"
        )
    torch_headers = torch.root / "include"
    if not (torch_headers / "ATen" / "ATen.h").is_file():
        raise SimulatorError(f"this torch has no C++ headers ({torch_headers}). Install one from PyPI")
    includes = (torch_headers, torch_headers / "torch" / "csrc" / "api" / "include", python_headers)
    return Toolchain(command, _defines_of_torch(), includes)


def _defines_of_torch() -> tuple[str, ...]:
    """The ABI that torch was compiled with. Asks a child process: torch is not imported in this one."""
    program = (
        "import json, torch; C = torch._C; "
        "names = ('COMPILER_TYPE', 'STDLIB', 'BUILD_ABI'); "
        "print(json.dumps({'abi': int(C._GLIBCXX_USE_CXX11_ABI), "
        "'pybind': {n: getattr(C, '_PYBIND11_' + n, None) for n in names}}))"
    )
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    if answer.returncode != 0:
        raise SimulatorError(f"this torch cannot be imported:\n{answer.stderr.strip()}")
    facts = json.loads(answer.stdout)
    defines = [f"-D_GLIBCXX_USE_CXX11_ABI={facts['abi']}"]
    for name, value in facts["pybind"].items():
        if value is not None:
            defines.append(f'-DPYBIND11_{name}="{value}"')
    return tuple(defines)


def compile_library(torch: TorchInstallation, toolchain: Toolchain, folder: Path) -> Path:
    """Compiles and links the library in `folder` and returns its path.

    Raises SimulatorError with the compiler's own words. The folder may then hold half-made files.
    """
    common = [*toolchain.command, *FLAGS, *toolchain.defines, f"-I{SOURCES}"]
    for include in toolchain.includes:
        common += ["-isystem", str(include)]

    def compile_unit(unit: str) -> Path:
        source = folder / f"unit_{unit}.cpp"
        source.write_text("".join(f'#include "{name}"\n' for name in UNITS[unit]), encoding="utf-8")
        _run([*common, "-c", str(source), "-o", str(source.with_suffix(".o"))])
        return source.with_suffix(".o")

    with ThreadPoolExecutor(max_workers=max(1, min(len(UNITS), os.cpu_count() or 1))) as pool:
        objects = list(pool.map(compile_unit, UNITS))
    libraries = torch.root / "lib"
    link = [*toolchain.command, "-shared", *map(str, objects), "-o", str(folder / LIBRARY)]
    link += [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    if sys.platform == "darwin":
        link += ["-undefined", "dynamic_lookup"]
    _run(link)
    return folder / LIBRARY


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    lines = (done.stderr or done.stdout).strip().splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    raise SimulatorError(
        "the simulated NPU did not compile:\n  "
        + "\n  ".join(errors[:12])
        + f"\nThe command was: {shlex.join(command)}"
    )
