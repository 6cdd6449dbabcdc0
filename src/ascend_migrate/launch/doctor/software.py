"""CANN and its environment; Python, torch, torch_npu, numpy."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.knowledge import VersionRow, version_table
from ascend_migrate.knowledge._versions import version_key
from ascend_migrate.launch.doctor.facts import ASCEND, OPP_FOLDERS, Machine
from ascend_migrate.launch.doctor.model import Check, Group

_CANN = Group("CANN")
_PYTHON = Group("Python")

COMPILER_PACKAGES = ("attrs", "cffi", "decorator", "numpy", "psutil", "pyyaml", "scipy", "sympy")
"""What CANN's operator compiler imports; its installation guide asks for these (and some for tools beside it)."""

_DEFAULT_SET_ENV = f"{ASCEND}/ascend-toolkit/set_env.sh"


def checks(machine: Machine) -> Iterator[Check]:
    """The checks of CANN and of the Python packages."""
    yield _toolkit(machine)
    if machine.cann is not None:
        yield _sourced(machine)
        yield _kernels(machine)
        yield _atb(machine)
    yield from _driver_library(machine)
    yield _python(machine)
    yield _torch(machine)
    yield _torch_npu(machine)
    if machine.torch_npu is not None:
        yield _pair_with_cann(machine)
    yield _numpy(machine)
    yield _compiler_packages(machine)


def _toolkit(machine: Machine) -> Check:
    cann = machine.cann
    if cann is None:
        return _CANN.bad(
            machine.has_card,
            "toolkit",
            f"CANN is not installed (not under {ASCEND}, ~/Ascend, nor ASCEND_HOME_PATH)",
            "./Ascend-cann-toolkit_VERSION_linux-ARCH.run --install",
            help=_wanted_cann(machine),
        )
    if cann.version is None:
        return _CANN.unknown("toolkit", f"at {cann.home}; its version is in none of the files that are known")
    return _CANN.ok("toolkit", f"{cann.version} at {cann.home}")


def _wanted_cann(machine: Machine) -> str:
    row = machine.row
    if row is not None and row.cann is not None:
        return f"torch_npu {row.torch_npu} belongs to CANN {row.cann}."
    return "From https://www.hiascend.com/software/cann; the version must go with torch_npu."


def _sourced(machine: Machine) -> Check:
    name = "environment"
    cann, system = machine.cann, machine.system
    assert cann is not None
    fix = f"source {cann.set_env or _DEFAULT_SET_ENV}"
    help = "In every shell, job script and container entry point, on every node."
    home = system.variable("ASCEND_HOME_PATH") or system.variable("ASCEND_TOOLKIT_HOME")
    opp = system.variable("ASCEND_OPP_PATH")
    if not home and not opp:
        return _CANN.bad(
            machine.has_card, name, "set_env.sh was not sourced: ASCEND_OPP_PATH is not set", fix, help=help
        )
    for variable, value in (("ASCEND_HOME_PATH", home), ("ASCEND_OPP_PATH", opp)):
        if not value:
            return _CANN.problem(name, f"{variable} is not set: CANN's environment is incomplete", fix, help=help)
        if not system.exists(value):
            return _CANN.problem(
                name,
                f"{variable} is {value}, which does not exist: CANN was moved or removed",
                fix,
                help="In a new shell, so that nothing of the old one is left.",
            )
    if not opp.startswith(home.rstrip("/") + "/") and _real(machine, opp) != _real(machine, f"{home}/opp"):
        return _CANN.problem(
            name,
            f"ASCEND_OPP_PATH ({opp}) is of another CANN than ASCEND_HOME_PATH ({home})",
            fix,
            help="In a new shell: set_env.sh of two versions were sourced one after the other.",
        )
    libraries = system.variable("LD_LIBRARY_PATH").split(":")
    if not any(path.startswith(home.rstrip("/") + "/") for path in libraries):
        return _CANN.problem(
            name,
            f"LD_LIBRARY_PATH holds nothing of {home}: libhccl.so and others will not be found",
            fix,
            help="Append to LD_LIBRARY_PATH instead of replacing it.",
        )
    if not any(path.startswith(home.rstrip("/") + "/") for path in system.variable("PYTHONPATH").split(":")):
        return _CANN.warning(
            name,
            "PYTHONPATH holds nothing of CANN: its operator compiler (tbe) will not be found",
            fix,
            help="Append to PYTHONPATH instead of replacing it.",
        )
    return _CANN.ok(name, f"sourced from {home}")


def _real(machine: Machine, path: str) -> str:
    return str(machine.system.path(path).resolve())


def _kernels(machine: Machine) -> Check:
    name = "kernels"
    cann, system, soc = machine.cann, machine.system, machine.soc
    assert cann is not None
    opp = machine.system.variable("ASCEND_OPP_PATH") or cann.opp
    base = f"{opp}/built-in/op_impl/ai_core/tbe/kernel"
    present = [folder for folder in system.names(f"{base}/config") or system.names(base) if folder != "config"]
    version = cann.version or "VERSION"
    if soc is None:
        if present:
            return _CANN.ok(name, f"for {', '.join(present)} (which chip this is, is not known)")
        return _CANN.bad(
            machine.has_card,
            name,
            f"no compiled kernels under {base}",
            f"./Ascend-cann-kernels-CHIP_{version}_linux-{system.python.machine}.run --install",
            help="CHIP is 910b, 310p ...; from CANN 8.5 on the package is Ascend-cann-CHIP-ops.",
        )
    wanted = OPP_FOLDERS.get(soc.code)
    if wanted is None:
        return _CANN.unknown(name, f"for {', '.join(present) or 'no chip'}; the folder of {soc.title} is not known")
    package = wanted.replace("ascend", "")
    if wanted not in present:
        there = f"only for {', '.join(present)}" if present else "none at all"
        return _CANN.problem(
            name,
            f"no compiled kernels for this chip ({wanted}), {there}: operators fail with EZ1001, 561103 or 500002",
            f"./Ascend-cann-kernels-{package}_{version}_linux-{system.python.machine}.run --install",
            help=f"From CANN 8.5 on the package is Ascend-cann-{package}-ops. Its version must be the toolkit's.",
        )
    for folder in (folder for folder in system.names(cann.home) if folder.endswith("-linux")):
        for file in system.names(f"{cann.home}/{folder}"):
            if not file.endswith("_install.info") or file == "ascend_toolkit_install.info":
                continue
            values = dict(line.split("=", 1) for line in system.lines(f"{cann.home}/{folder}/{file}") if "=" in line)
            kind = values.get("package_name", file)
            if ("kernels" in kind or "ops" in kind) and values.get("version", version) != version:
                return _CANN.problem(
                    name,
                    f"{kind} is {values['version']}, the toolkit {version}: they must be the same",
                    f"./Ascend-cann-kernels-{package}_{version}_linux-{system.python.machine}.run --install",
                )
    return _CANN.ok(name, f"for {wanted}")


def _atb(machine: Machine) -> Check:
    name = "NNAL (ATB)"
    cann, system = machine.cann, machine.system
    assert cann is not None
    home = system.variable("ATB_HOME_PATH")
    base = f"{ASCEND}/nnal/atb"
    installed = system.exists(base)
    if not home and not installed:
        return _CANN.ok(name, "not installed; only needed by vLLM Ascend and some fused operators")
    text = ""
    for place in (f"{base}/latest/version.info", f"{home}/../../version.info", f"{home}/version.info"):
        text = text or system.read(place) or ""
    version = next(
        (line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("Ascend-cann-atb")), ""
    )
    if version and cann.version and version.split()[0] != cann.version:
        return _CANN.problem(
            name,
            f"NNAL is {version}, the toolkit {cann.version}: undefined symbols of atb or Mki follow",
            f"./Ascend-cann-nnal_{cann.version}_linux-{system.python.machine}.run --install",
        )
    if not home:
        return _CANN.warning(name, f"{version or 'installed'}, but not sourced", f"source {base}/set_env.sh")
    return _CANN.ok(name, version or f"at {home}")


def _driver_library(machine: Machine) -> Iterator[Check]:
    """libascend_hal.so, which everything of CANN loads."""
    if not machine.has_card or machine.driver_version is None:
        return
    system = machine.system
    folders = [f"{machine.driver_home}/lib64/{name}".rstrip("/") for name in ("driver", "common", "")]
    found = [folder for folder in folders if system.exists(f"{folder}/libascend_hal.so")]
    name = "driver library"
    if not found:
        yield _CANN.problem(
            name,
            f"libascend_hal.so is not under {machine.driver_home}/lib64",
            "docker run -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro IMAGE",
            help="Mount the driver as a whole, or install it again.",
        )
        return
    configured = "".join(
        system.read(f"/etc/ld.so.conf.d/{file}") or "" for file in system.names("/etc/ld.so.conf.d")
    ) + (system.read("/etc/ld.so.conf") or "")
    paths = [path.rstrip("/") for path in system.variable("LD_LIBRARY_PATH").split(":")]
    if any(folder in paths or folder in configured for folder in found):
        yield _CANN.ok(name, f"{found[0]}/libascend_hal.so")
        return
    yield _CANN.problem(
        name,
        f"{found[0]} is not on LD_LIBRARY_PATH: libascend_hal.so will not be found",
        f"export LD_LIBRARY_PATH={':'.join(folders)}:$LD_LIBRARY_PATH",
    )


def _python(machine: Machine) -> Check:
    version = machine.system.python.version
    shown = ".".join(map(str, version[:2]))
    where = f"{'.'.join(map(str, version))} at {machine.system.python.executable}"
    row = machine.row
    if row is None or not row.pythons:
        return _PYTHON.ok("Python", where)
    if shown not in row.pythons:
        return _PYTHON.problem(
            "Python",
            f"{shown}: torch_npu {row.torch_npu} is made for {', '.join(row.pythons)}",
            f"conda create -n npu python={row.pythons[-1]}",
        )
    return _PYTHON.ok("Python", where)


def _torch(machine: Machine) -> Check:
    torch = machine.torch
    if torch is None:
        return _PYTHON.problem(
            "torch", "PyTorch is not installed in this environment", *_install_both(machine), help="See torch_npu."
        )
    other = "CUDA " + torch.cuda if torch.cuda else "ROCm " + torch.hip if torch.hip else ""
    if other and machine.torch_npu is not None:
        release = torch.version.split("+")[0]
        return _PYTHON.problem(
            "torch",
            f"{torch.version} is a build for {other}: beside torch_npu there must be no other accelerator "
            '("Two accelerators cannot be used at the same time")',
            f"pip install torch=={release}+cpu --index-url https://download.pytorch.org/whl/cpu",
        )
    if other:
        return _PYTHON.warning(
            "torch",
            f"{torch.version} is a build for {other}; torch_npu needs the one for the CPU",
            f"pip install torch=={torch.version.split('+')[0]}+cpu --index-url https://download.pytorch.org/whl/cpu",
        )
    return _PYTHON.ok("torch", torch.version)


def _torch_npu(machine: Machine) -> Check:
    version = machine.torch_npu
    if version is None:
        return _PYTHON.problem("torch_npu", "torch_npu is not installed in this environment", *_install_both(machine))
    if machine.torch is None:
        return _PYTHON.unknown("torch_npu", f"{version}; whether it fits cannot be said without torch")
    row = machine.row
    needed = row.torch if row is not None else version.split(".post")[0].split(".dev")[0].split("rc")[0].rstrip(".")
    if machine.torch.version.split("+")[0] != needed:
        fitting = _best(torch=machine.torch.version.split("+")[0], cann=machine.cann.version if machine.cann else None)
        fixes = [f"pip install torch=={needed}"]
        if fitting is not None:
            fixes.insert(0, f"pip install torch-npu=={fitting.torch_npu}")
        return _PYTHON.problem(
            "torch_npu",
            f"torch_npu {version} belongs to torch {needed}, but torch is {machine.torch.version}: "
            "undefined symbols in libtorch_npu.so follow",
            fixes[0],
            help="" if len(fixes) == 1 else f"Or: {fixes[1]}",
        )
    if version_key(needed) < version_key("2.5.1"):
        return _PYTHON.warning(
            "torch_npu",
            f'{version}: before 2.5.1 the number 0 as a device means CUDA, so device_map="auto" of transformers fails',
            help='Use "npu:0", or torch and torch_npu from 2.5.1 on. `import torch_npu` must be written in the script.',
        )
    return _PYTHON.ok("torch_npu", version)


def _pair_with_cann(machine: Machine) -> Check:
    name = "torch_npu and CANN"
    row, cann = machine.row, machine.cann
    version = machine.torch_npu
    if cann is None or cann.version is None:
        return _PYTHON.unknown(name, _wanted_cann(machine) if row and row.cann else "CANN's version is not known")
    if row is None or row.cann is None:
        return _PYTHON.unknown(name, f"torch_npu {version} is not in the version table of its documentation")
    if _same(row.cann, cann.version):
        return _PYTHON.ok(name, f"torch_npu {version} belongs to CANN {row.cann}")
    fitting = _best(torch=row.torch, cann=cann.version)
    fix = (f"pip install torch-npu=={fitting.torch_npu}",) if fitting is not None else ()
    other = f"install CANN {row.cann}" if fix else f"Install CANN {row.cann}."
    near = _minor(row.cann) == _minor(cann.version)
    return _PYTHON.bad(
        not near,
        name,
        f"torch_npu {version} belongs to CANN {row.cann}, but CANN is {cann.version}",
        *fix,
        help=f"Or {other}." if fix else other,
    )


def _numpy(machine: Machine) -> Check:
    version = machine.system.package("numpy")
    if version is None:
        return _PYTHON.warning("numpy", "not installed; torch works without, most projects do not", "pip install numpy")
    torch = machine.torch
    if torch is not None and version.startswith("2."):
        release = torch.version.split("+")[0]
        try:
            old = version_key(release) < version_key("2.3")
        except ValueError:
            old = False
        if old:
            return _PYTHON.problem(
                "numpy", f"numpy {version} does not go with torch {release}, which knows only numpy 1",
                "pip install 'numpy<2'",
            )  # fmt: skip
    return _PYTHON.ok("numpy", version)


def _compiler_packages(machine: Machine) -> Check:
    missing = [name for name in COMPILER_PACKAGES if machine.system.package(name) is None]
    if not missing:
        return _PYTHON.ok("packages of the operator compiler", "all there")
    return _PYTHON.bad(
        machine.cann is not None and machine.has_card,
        "packages of the operator compiler",
        f"CANN's operator compiler needs {', '.join(missing)}: without, 500001 or EH9999 at the start",
        f"pip install {' '.join(missing)}",
    )


def _install_both(machine: Machine) -> tuple[str, ...]:
    """The pair for what is there: CANN, torch, this Python."""
    torch = machine.torch.version.split("+")[0] if machine.torch is not None else None
    fitting = _best(torch=torch, cann=machine.cann.version if machine.cann else None, machine=machine)
    if fitting is None:
        return ("pip install torch-npu",) if torch is None else (f"pip install torch-npu=={torch}",)
    packages = [f"torch-npu=={fitting.torch_npu}"]
    if torch is None:
        packages.insert(0, f"torch=={fitting.torch}")
    return (f"pip install {' '.join(packages)}",)


def _best(torch: str | None, cann: str | None, machine: Machine | None = None) -> VersionRow | None:
    """The newest torch_npu on PyPI for this torch, CANN and Python, as far as they are given."""
    for row in version_table():
        if torch is not None and row.torch != torch:
            continue
        if cann is not None and (row.cann is None or not _same(row.cann, cann)):
            continue
        if cann is None and row.cann is None:
            continue
        python = ".".join(map(str, machine.system.python.version[:2])) if machine is not None else ""
        if python and row.pythons and python not in row.pythons:
            continue
        return row
    return None


def _same(one: str, other: str) -> bool:
    return one.upper() == other.upper()


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
