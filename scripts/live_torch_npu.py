"""Import a torch_npu wheel on a machine without CANN, to see which names it really has.

CANN's libraries are replaced by stubs in which every function returns 0. That is enough to import the package,
not to compute with it. Needs Linux on x86-64, gcc, binutils, and a PyTorch of the release that the wheel requires,
for the Python that the wheel is made for. Used by ``update_knowledge.py --live``.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

SYSTEM_LIBRARIES = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp)|ld-linux[\w-]*)\.so(\.\d+)*")

REPORT_PROGRAM = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
import torch, torch_npu
names = {}
for module in json.load(sys.stdin):
    try:
        found = importlib.import_module(module)
    except BaseException as error:
        print(f"{module}: {type(error).__name__}: {error}", file=sys.stderr)
        continue
    names[module] = {"names": dir(found), "all": list(getattr(found, "__all__", []))}
json.dump(names, open(sys.argv[1], "w"))
"""


class LiveError(Exception):
    """The package cannot be imported here."""


def live_names(wheel: Path, modules: list[str], scratch: Path) -> dict[str, dict[str, list[str]]]:
    """``dir()`` and ``__all__`` of those ``modules`` that can be imported, as the running package has them.

    Raises :class:`LiveError` with the reason when the package itself cannot be imported.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise LiveError("stub libraries can be made on Linux on x86-64 only")
    package, stubs, report = scratch / "package", scratch / "stubs", scratch / "names.json"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    stubs.mkdir()
    _make_stubs(package, _torch_libraries(), stubs)
    result = subprocess.run(
        [sys.executable, "-c", REPORT_PROGRAM, str(report)],
        input=json.dumps(modules),
        capture_output=True,
        text=True,
        check=False,
        cwd=scratch,
        env={
            **os.environ,
            "PYTHONPATH": str(package),
            "LD_LIBRARY_PATH": f"{stubs}:{package / 'torch_npu' / 'lib'}",
            "ASCEND_OPP_PATH": str(stubs),
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        },
    )
    if not report.exists():
        raise LiveError(f"importing {wheel.name} failed:\n{result.stderr[-3000:]}")
    print(result.stderr, end="", file=sys.stderr)
    found: dict[str, dict[str, list[str]]] = json.loads(report.read_text(encoding="utf-8"))
    return found


def _torch_libraries() -> Path:
    program = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent / 'lib')"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if result.returncode:
        raise LiveError("PyTorch is not installed for this Python")
    return Path(result.stdout.strip())


def _make_stubs(package: Path, torch_libraries: Path, stubs: Path) -> None:
    """One stub library per missing one; the first defines everything that nothing else defines."""
    ours = sorted({*package.rglob("torch_npu/lib/*.so*"), *package.glob("torch_npu/_C*.so")})
    others = [*package.rglob("torch_npu.libs/*"), *torch_libraries.glob("*.so*")]
    present = {path.name for path in [*ours, *others]}
    missing = sorted(
        name
        for name in {name for library in ours for name in _needed(library)}
        if name not in present and not SYSTEM_LIBRARIES.fullmatch(name)
    )
    if not missing:
        raise LiveError("the wheel needs no library that is not here: nothing to stub")
    undefined = {symbol for library in ours for symbol in _symbols(library, "--undefined-only")}
    undefined -= {symbol for library in [*ours, *others] for symbol in _symbols(library, "--defined-only")}
    source = stubs / "stubs.s"
    source.write_text(_assembly(sorted(undefined)), encoding="ascii")
    for index, name in enumerate(missing):
        code = [str(source)] if index == 0 else ["-x", "c", os.devnull]
        command = ["gcc", "-shared", "-o", str(stubs / name), *code, f"-Wl,-soname,{name}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise LiveError(f"gcc cannot make the stub {name}:\n{result.stderr}")


def _needed(library: Path) -> list[str]:
    result = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.+?)\]", result.stdout)


def _symbols(library: Path, which: str) -> set[str]:
    """Dynamic symbols without a version of the system's libraries, weak undefined ones left out."""
    result = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True, check=False)
    found = set()
    for line in result.stdout.splitlines():
        *_, kind, symbol = line.split()
        if kind not in "wv" and not re.search(r"@.*(GLIBC|CXXABI|GCC|GOMP|OMP)", symbol):
            found.add(symbol.split("@")[0])
    return found


def _assembly(symbols: list[str]) -> str:
    functions = [name for name in symbols if not name.startswith(("_ZTV", "_ZTI", "_ZTS", "Py", "_Py"))]
    tables = [name for name in symbols if name.startswith(("_ZTV", "_ZTI", "_ZTS"))]
    lines = [".text"]
    for name in functions:
        lines.append(f".globl {name}\n.type {name},@function\n{name}:\n xorl %eax,%eax\n ret\n.size {name},.-{name}")
    lines.append(".data")
    for name in tables:
        lines.append(f".globl {name}\n.type {name},@object\n.balign 16\n{name}:\n .zero 1024\n.size {name},1024")
    lines.append('.section .note.GNU-stack,"",@progbits\n')
    return "\n".join(lines)
