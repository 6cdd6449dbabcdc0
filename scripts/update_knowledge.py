#!/usr/bin/env python3
"""Regenerate the names and operators of every torch_npu version from the packages on PyPI.

    python scripts/update_knowledge.py                  write all versions that PyPI offers
    python scripts/update_knowledge.py --check          compare them with what is shipped, write nothing
    python scripts/update_knowledge.py --check 2.13.0   one version only
    python scripts/update_knowledge.py --live 2.13.0    compare what is shipped with the imported package
    python scripts/update_knowledge.py --apis TABLE.csv write what becomes of PyTorch's own APIs

A package is downloaded with ``pip download --no-deps`` and read as an archive: its Python files with
``ast``, its two operator lists with a YAML parser. Nothing of it is imported (except by ``--live``, in a
process of its own). Wheels are kept in ``--wheels DIR`` so that a second run downloads nothing.

``--apis`` needs the newest PyTorch that is supported, and ``expecttest``: it runs PyTorch's functions to see which
operators they come down to, and compares them with the operators that are shipped; TABLE.csv holds the tables of
native APIs of torch_npu's documentation, see ``native_apis.py``. ``--trace FILE`` takes a trace made before.

What the reading cannot see: names that only C++ adds. They are few and are derived from what causes them:
the custom operators of the YAML lists, which torch_npu copies into its own namespace, and its extra dtypes.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

import native_apis  # noqa: E402
from live_torch_npu import LiveError, live_names  # noqa: E402

from ascend_migrate import knowledge  # noqa: E402
from ascend_migrate.knowledge._versions import version_key  # noqa: E402

SHIPPED = ROOT / "src" / "ascend_migrate" / "knowledge" / "data" / "torch_npu.json"
SHIPPED_APIS = SHIPPED.with_name("native_api.json")
PACKAGE = "torch-npu"
WHEEL_PYTHON = "3.11"
"""One Python for which every version has a wheel; the Python files are the same in all of them."""
WHEEL_PLATFORMS = tuple(
    f"{name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
)

SHALLOW_TREES = (
    "torch_npu._inductor",
    "torch_npu.csrc",
    "torch_npu.dynamo.npugraph_ex",
    "torch_npu.dynamo.torchair",
    "torch_npu.onnx",
    "torch_npu.testing",
)
"""Internals of compilers and exporters: the root is read, what is below is left out (the members of a
submodule that was left out are "unknown", never "missing")."""

OPTIONAL_PATCHES = ("torch_npu.contrib.transfer_to_npu",)
"""Modules that change torch when a project imports them, not when it imports torch_npu."""

PRIVATEUSE1_ADDITIONS = {
    "torch.Tensor": ("npu", "is_npu"),
    "torch.TypedStorage": ("npu", "is_npu"),
    "torch.UntypedStorage": ("npu", "is_npu"),
    "torch.nn.Module": ("npu",),
    "torch.nn.utils.rnn.PackedSequence": ("npu", "is_npu"),
}
"""What ``torch.utils.generate_methods_for_privateuse1_backend`` adds once the backend is called npu."""

C_DTYPE_NAMES = {
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "BF16": "bfloat16",
    "FLOAT8_E8M0": "float8_e8m0fnu",
    "FLOAT4_E2M1": "float4_e2m1fn_x2",
    "FLOAT4_E1M2": "float4_e1m2fn_x2",
}
"""Members of the C++ enumeration ``c10_npu::DType`` whose Python name is not the same in lower case."""

OPERATOR_FILES = ("npu_native_functions.yaml", "npu_native_functions_by_codegen.yaml")
OPERATOR_KINDS = ("supported", "custom", "quant", "autograd")


class WheelError(Exception):
    """A package that cannot be had or does not look like torch_npu."""


# --------------------------------------------------------------------------------------------------------
# Reading one package


@dataclass
class ModuleNames:
    """What one module binds. ``open``: it may have more than could be read (``from elsewhere import *``)."""

    names: set[str] = field(default_factory=set)
    exported: list[str] | None = None
    """``__all__``, in order, or None."""
    open: bool = False
    members: set[str] = field(default_factory=set)
    """Members of the class of the same name that hides the module (``torch_npu.npu.mstx``)."""

    @property
    def star(self) -> set[str]:
        """What ``from module import *`` brings."""
        if self.exported is not None:
            return set(self.exported)
        return {name for name in self.names if not name.startswith("_")}


class PackageReader:
    """The names that ``torch_npu`` binds, module by module, from the text of its files."""

    def __init__(self, sources: dict[str, str]) -> None:
        """``sources``: path inside the archive (``torch_npu/npu/utils.py``) -> text of a Python file."""
        self.files: dict[str, tuple[str, bool]] = {}
        for path, text in sources.items():
            parts = path[: -len(".py")].split("/")
            is_package = parts[-1] == "__init__"
            self.files[".".join(parts[:-1] if is_package else parts)] = (text, is_package)
        for module in list(self.files):  # packages without an __init__.py
            package = module.rpartition(".")[0]
            while package and package not in self.files:
                self.files[package] = ("", True)
                package = package.rpartition(".")[0]
        self._trees: dict[str, ast.Module] = {}
        self._read: dict[str, ModuleNames] = {}
        self._active: list[str] = []
        self.patches: dict[str, set[str]] = {}
        """Names that some function of the package sets on a module or class by its dotted name."""

    def modules(self) -> list[str]:
        return sorted(self.files)

    def submodules(self, package: str) -> set[str]:
        prefix = package + "."
        return {
            name[len(prefix) :] for name in self.files if name.startswith(prefix) and "." not in name[len(prefix) :]
        }

    def tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an invalid escape in their docstrings is not our news
                self._trees[module] = ast.parse(self.files[module][0])
        return self._trees[module]

    def read(self, module: str) -> ModuleNames:
        if module in self._read:
            return self._read[module]
        if module in self._active:  # a cycle of star imports: what is bound so far is unknown
            return ModuleNames()
        self._active.append(module)
        found = ModuleNames()
        self._statements(module, self.tree(module).body, found)
        found.names |= set(found.exported or ())
        if self.files[module][1]:
            found.names |= self.submodules(module)
        found.open |= self._binds_computed_names(module)
        self._active.pop()
        self._read[module] = found
        return found

    def _binds_computed_names(self, module: str) -> bool:
        """Whether code of the module binds names in it that are not written down there."""
        text = self.files[module][0]
        if module == "torch_npu" or not any(word in text for word in ("globals()", "__name__", "install_config")):
            return False  # what torch_npu itself binds so are its operators and dtypes, which are added
        # A module's __getattr__ stores what it was asked for: those names are compared with constants there.
        body = [node for node in self.tree(module).body if getattr(node, "name", "") != "__getattr__"]
        for node in (node for statement in body for node in ast.walk(statement)):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                key, owner = node.slice, ast.unparse(node.value)
                if owner == "globals()" and not isinstance(key, ast.Constant):
                    return True
                if owner == "sys.modules" and ast.unparse(key) == "__name__":
                    return True
            elif isinstance(node, ast.Call) and node.args and ast.unparse(node.args[0]) == "sys.modules[__name__]":
                is_named = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
                if not is_named:
                    return True
        return False

    def _statements(self, module: str, body: Iterable[ast.stmt], found: ModuleNames) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.names.add(statement.name)
                if statement.name == "__getattr__" and isinstance(statement, ast.FunctionDef):
                    found.names |= set(_compared_strings(statement))
            elif isinstance(statement, ast.Import):
                found.names |= {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
            elif isinstance(statement, ast.ImportFrom):
                self._import_from(module, statement, found)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                self._assignment(module, statement, found)
            elif isinstance(statement, ast.Delete):
                found.names -= {target.id for target in statement.targets if isinstance(target, ast.Name)}
            elif isinstance(statement, ast.Expr):
                self._extend_all(module, statement.value, found)
            elif isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                if isinstance(statement, ast.For):
                    found.names |= _stored_names(statement.target)
                elif isinstance(statement, ast.With):
                    found.names |= {n for i in statement.items for n in _stored_names(i.optional_vars)}
                self._statements(module, statement.body, found)
                for block in ("orelse", "finalbody"):
                    self._statements(module, getattr(statement, block, []), found)
                for handler in getattr(statement, "handlers", []):
                    self._statements(module, handler.body, found)

    def _import_from(self, module: str, statement: ast.ImportFrom, found: ModuleNames) -> None:
        base = self.absolute(module, statement)
        for alias in statement.names:
            if alias.name != "*":
                found.names.add(alias.asname or alias.name)
            elif base in self.files:
                source = self.read(base)
                found.names |= source.star
                found.open |= source.open
            else:
                found.open = True

    def absolute(self, module: str, statement: ast.ImportFrom) -> str:
        """The module that a ``from ... import`` statement of ``module`` names."""
        if not statement.level:
            return statement.module or ""
        package = module.split(".") if self.files[module][1] else module.split(".")[:-1]
        package = package[: len(package) - statement.level + 1]
        return ".".join([*package, statement.module] if statement.module else package)

    def _assignment(self, module: str, statement: ast.stmt, found: ModuleNames) -> None:
        assert isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            found.names |= _stored_names(target)
            if isinstance(target, ast.Name) and target.id == "__all__" and statement.value is not None:
                names = self._string_list(module, statement.value)
                if isinstance(statement, ast.AugAssign):
                    found.exported = [*(found.exported or []), *names]
                else:
                    found.exported = names

    def _extend_all(self, module: str, call: ast.expr, found: ModuleNames) -> None:
        """``__all__.extend(...)`` and ``__all__.append(...)``."""
        if not (isinstance(call, ast.Call) and _dotted(call.func) in {"__all__.extend", "__all__.append"}):
            return
        added = [name for argument in call.args for name in self._string_list(module, argument)]
        found.exported = [*(found.exported or []), *added]

    def _string_list(self, module: str, value: ast.expr) -> list[str]:
        if isinstance(value, ast.Constant):
            return [value.value] if isinstance(value.value, str) else []
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            return [name for element in value.elts for name in self._string_list(module, element)]
        if isinstance(value, ast.BinOp):
            return self._string_list(module, value.left) + self._string_list(module, value.right)
        if isinstance(value, ast.Attribute) and value.attr == "__all__":
            package = module if self.files[module][1] else module.rpartition(".")[0]
            for candidate in (f"{package}.{_dotted(value.value)}", _dotted(value.value)):
                if candidate in self.files:
                    return list(self.read(candidate).exported or ())
        return []

    # What functions set elsewhere, wherever they stand in the package

    def collect_patches(self) -> None:
        """Fill :attr:`patches` from ``torch_npu.X = ...``, ``setattr(torch_npu.npu, "X", ...)`` and such."""
        for module, (text, _) in self.files.items():
            if _in_shallow_tree(module) or module in OPTIONAL_PATCHES:
                continue
            if not any(word in text for word in ("torch", "globals")):
                continue
            for node in ast.walk(self.tree(module)):
                for owner, name in _set_names(node, module):
                    if owner == "torch.npu" or owner.startswith("torch.npu."):
                        owner = "torch_npu" + owner[len("torch") :]
                    self.patches.setdefault(owner, set()).add(name)

    def string_list(self, module: str, variable: str) -> list[str]:
        """The strings of ``variable = ["...", ...]`` at the top of a module; empty if there is none."""
        if module not in self.files:
            return []
        for statement in self.tree(module).body:
            if isinstance(statement, ast.Assign) and variable in _stored_names(statement.targets[0]):
                return self._string_list(module, statement.value)
        return []

    def library_operators(self, namespace: str) -> set[str]:
        """Operators defined in Python: ``lib = Library("npu", ...); lib.define("name(...) -> ...")``."""
        found: set[str] = set()
        for module, (text, _) in self.files.items():
            if "Library(" not in text or _in_shallow_tree(module):
                continue
            nodes = list(ast.walk(self.tree(module)))
            libraries = {
                target.id
                for node in nodes
                if isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and _dotted(node.value.func).rpartition(".")[2] == "Library"
                and node.value.args
                and isinstance(node.value.args[0], ast.Constant)
                and node.value.args[0].value == namespace
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in nodes:
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr == "define"
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id in libraries
                    and node.args
                    and isinstance(node.args[0], ast.Constant)
                ):
                    found.add(re.split(r"[.(]", str(node.args[0].value))[0].strip())
        return found

    def shadowed_class_members(self, module: str) -> set[str]:
        """Members of the class that hides a submodule of its name (``torch_npu.npu.mstx``), or nothing."""
        package, _, name = module.rpartition(".")
        if package not in self.files:
            return set()
        for statement in self.tree(package).body:
            if isinstance(statement, ast.ImportFrom) and self.absolute(package, statement) == module:
                for alias in statement.names:
                    if (alias.asname or alias.name) == name:
                        return self._class_members(module, alias.name)
        return set()

    def _class_members(self, module: str, name: str) -> set[str]:
        for statement in self.tree(module).body:
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                members = ModuleNames()
                self._statements(module, statement.body, members)
                return members.names
        return set()


def _in_shallow_tree(module: str) -> bool:
    return module.startswith(tuple(root + "." for root in SHALLOW_TREES))


def _stored_names(target: ast.AST | None) -> set[str]:
    if target is None:
        return set()
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _dotted(node: ast.AST) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _compared_strings(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a module's ``__getattr__`` compares its argument with."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                    yield part.value


def _set_names(node: ast.AST, module: str) -> Iterator[tuple[str, str]]:
    """(owner, name) for each attribute of torch or torch_npu that this node sets."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                owner = _dotted(target.value)
                if owner.split(".")[0] in {"torch", "torch_npu"}:
                    yield owner, target.attr
            elif isinstance(target, ast.Subscript):
                key = target.slice
                if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                    continue
                if isinstance(target.value, ast.Call) and _dotted(target.value.func) == "globals":
                    yield module, key.value
                elif _dotted(target.value) == "globals_dict" and module == "torch_npu._init.core._exports":
                    yield "torch_npu", key.value
    elif isinstance(node, ast.Call) and _dotted(node.func) == "setattr" and len(node.args) == 3:
        owner, name = _dotted(node.args[0]), node.args[1]
        if owner.split(".")[0] in {"torch", "torch_npu"} and isinstance(name, ast.Constant):
            yield owner, str(name.value)


# --------------------------------------------------------------------------------------------------------
# One wheel


@dataclass
class Wheel:
    """Everything that is shipped about one version."""

    version: str
    filename: str
    sha256: str
    torch: str
    modules: dict[str, ModuleNames]
    additions: dict[str, ModuleNames]
    operators: dict[str, set[str]]


def read_wheel(path: Path) -> Wheel:
    """Read a torch_npu wheel. Raises :class:`WheelError` if it is something else."""
    with zipfile.ZipFile(path) as archive:
        listed = archive.namelist()
        sources = {
            name: archive.read(name).decode("utf-8-sig") if _is_wanted(name) else ""
            for name in listed
            if name.startswith("torch_npu/") and name.endswith(".py")
        }
        metadata_files = [name for name in listed if re.fullmatch(r"torch_npu-[^/]+\.dist-info/METADATA", name)]
        if "torch_npu/npu/__init__.py" not in sources or len(metadata_files) != 1:
            raise WheelError(f"{path.name} is not a torch_npu wheel")
        metadata = archive.read(metadata_files[0]).decode("utf-8")
        operators = _read_operators(archive)
        dtypes = _read_custom_dtypes(archive, listed)
    match = re.search(r"^Version: (\S+)$", metadata, re.MULTILINE)
    if match is None:
        raise WheelError(f"{path.name}: no version in its METADATA")
    version = match[1].split("+")[0]
    required = re.search(r"^Requires-Dist: torch *\(?== *(\d+(?:\.\d+)*)", metadata, re.MULTILINE)
    modules, additions = _surface(PackageReader(sources), operators, dtypes)
    return Wheel(
        version=version,
        filename=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        torch=required[1] if required else version.split(".post")[0],
        modules=modules,
        additions=additions,
        operators=operators,
    )


def _is_wanted(path: str) -> bool:
    """Whether the text of a file matters: of shallow trees only the root and its direct members."""
    module = path[: -len(".py")].replace("/", ".")
    for root in SHALLOW_TREES:
        if module.startswith(root + "."):
            return "." not in module[len(root) + 1 :].replace(".__init__", "")
    return True


def _read_operators(archive: zipfile.ZipFile) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {kind: set() for kind in OPERATOR_KINDS}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for filename in OPERATOR_FILES:
        data = yaml.load(archive.read(f"torch_npu/csrc/aten/{filename}"), Loader=loader)
        for kind in OPERATOR_KINDS:
            for entry in data.get(kind) or ():
                text = entry if isinstance(entry, str) else entry["func"]
                found[kind].add(text.split("(")[0].strip())
    return found


def _read_custom_dtypes(archive: zipfile.ZipFile, listed: Iterable[str]) -> set[str]:
    """``torch_npu.int4`` and others, which the package copies from a C++ enumeration where it has one."""
    header = "torch_npu/include/torch_npu/csrc/custom_dtype/Init.h"
    if header not in listed:
        return set()
    enumeration = re.search(r"enum class DType \{(.*?)\};", archive.read(header).decode("utf-8"), re.DOTALL)
    if enumeration is None:
        return set()
    members = re.findall(r"ENUM_OFFSET\(\s*(\w+)", enumeration[1])
    return {C_DTYPE_NAMES.get(member, member.lower()) for member in members}


def _surface(
    reader: PackageReader, operators: dict[str, set[str]], dtypes: set[str]
) -> tuple[dict[str, ModuleNames], dict[str, ModuleNames]]:
    """What torch_npu has, by module, and what importing it sets in torch, by public module or class."""
    reader.collect_patches()
    modules: dict[str, ModuleNames] = {}
    for module in reader.modules():
        if not _in_shallow_tree(module):
            found = reader.read(module)
            names = found.names | reader.patches.get(module, set())
            members = reader.shadowed_class_members(module)
            modules[module] = ModuleNames(names, found.exported, found.open, members)
    _add_operators(reader, modules, operators)
    if any("_C._cd.DType" in reader.files.get(m, ("",))[0] for m in ("torch_npu", "torch_npu._init.core._exports")):
        modules["torch_npu"].names |= dtypes
    modules["torch_npu"].names.add("_C")
    for found in modules.values():
        found.names = {name for name in found.names if not re.fullmatch(r"__\w+__", name)}
        found.members = {name for name in found.members if not re.fullmatch(r"__\w+__", name)}

    added = {owner: ModuleNames(set(names)) for owner, names in PRIVATEUSE1_ADDITIONS.items()}
    added["torch"] = ModuleNames({"npu"})
    for owner, names in reader.patches.items():
        if re.fullmatch(r"torch(\.[A-Za-z]\w*)*", owner) and "_inductor" not in owner and "_dynamo" not in owner:
            public = {name for name in names if not name.startswith("_")}
            added.setdefault(owner, ModuleNames()).names |= public
    return modules, {owner: found for owner, found in added.items() if found.names}


def _add_operators(reader: PackageReader, modules: dict[str, ModuleNames], operators: dict[str, set[str]]) -> None:
    """Operators that the package copies into its own namespace when it is imported."""
    bases = {name.split(".")[0] for name in operators["custom"]} | reader.library_operators("npu")
    public = set(reader.string_list("torch_npu.utils.exposed_api", "public_npu_functions"))
    top = modules["torch_npu"]
    top.names |= bases
    top.exported = [*(top.exported or ()), *sorted(bases & public)]
    atb = "torch_npu.op_plugin.atb._atb_ops"
    if reader.string_list(atb, "ATB_API_LIST"):
        top.names |= {"atb", *reader.string_list(atb, "API_LIST")}
        modules["torch_npu.atb"] = ModuleNames(set(reader.string_list(atb, "ATB_API_LIST")))
    elif reader.string_list(atb, "API_LIST"):
        top.names |= set(reader.string_list(atb, "API_LIST"))
    if "torch_npu._afd" in modules:
        modules["torch_npu._afd"].names |= set(reader.string_list("torch_npu.utils._afd_ops", "_OP_NAMES"))


# --------------------------------------------------------------------------------------------------------
# Packages on PyPI


def available_versions() -> list[str]:
    """The versions that PyPI offers, oldest first. Raises :class:`WheelError` when it cannot be asked."""
    result = _pip("index", "versions", PACKAGE)
    match = re.search(r"^Available versions: (.+)$", result.stdout, re.MULTILINE)
    if result.returncode or match is None:
        raise WheelError(f"pip cannot list the versions of {PACKAGE}:\n{result.stderr}")
    return sorted(match[1].split(", "), key=version_key)


def obtain_wheel(version: str, directory: Path) -> Path:
    """The wheel of a version in ``directory``, downloaded unless it is there."""
    wheels = sorted(directory.glob(f"torch_npu-{version}-cp{WHEEL_PYTHON.replace('.', '')}-*.whl"))
    if not wheels:
        platforms = [option for name in WHEEL_PLATFORMS for option in ("--platform", name)]
        options = [
            "--no-deps",
            "--only-binary=:all:",
            "--implementation",
            "cp",
            "--python-version",
            WHEEL_PYTHON,
        ]
        result = _pip("download", "--quiet", *options, *platforms, "--dest", str(directory), f"{PACKAGE}=={version}")
        wheels = sorted(directory.glob(f"torch_npu-{version}-*.whl"))
        if result.returncode or not wheels:
            raise WheelError(f"pip cannot download {PACKAGE} {version}:\n{result.stderr}")
    return wheels[0]


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)


# --------------------------------------------------------------------------------------------------------
# The shipped form


def encode(wheels: Iterable[Wheel]) -> dict[str, Any]:
    """All versions in one document. Bit i of a mask stands for the i-th version (oldest first).

    ``modules``: module -> {"in": mask of versions that have it, "open": mask of versions in which it may have
    more than was read (left out when 0), "names": [[mask, "name name ..."], ...], "all": the same for
    ``__all__``, "members": the same for the class that hides the module (both left out when there are none)};
    ``additions``: the same for what importing torch_npu sets
    in torch; ``operators``: kind -> [[mask, "name ..."], ...].
    """
    ordered = sorted(wheels, key=lambda wheel: version_key(wheel.version))
    return {
        "format": 1,
        "source": "torch-npu wheels from PyPI, read by scripts/update_knowledge.py",
        "versions": [
            {
                "torch_npu": wheel.version,
                "torch": wheel.torch,
                "wheel": wheel.filename,
                "sha256": wheel.sha256,
            }
            for wheel in ordered
        ],
        "modules": _encode_modules([wheel.modules for wheel in ordered]),
        "additions": _encode_modules([wheel.additions for wheel in ordered]),
        "operators": {kind: _encode_names([wheel.operators[kind] for wheel in ordered]) for kind in OPERATOR_KINDS},
    }


def _encode_modules(per_version: list[dict[str, ModuleNames]]) -> dict[str, dict[str, Any]]:
    encoded: dict[str, dict[str, Any]] = {}
    for module in sorted({module for modules in per_version for module in modules}):
        column = [modules.get(module) for modules in per_version]
        entry: dict[str, Any] = {"in": _mask(found is not None for found in column)}
        if open_mask := _mask(found is not None and found.open for found in column):
            entry["open"] = open_mask
        entry["names"] = _encode_names([found.names if found else () for found in column])
        if exported := _encode_names([(found.exported or ()) if found else () for found in column]):
            entry["all"] = exported
        if members := _encode_names([found.members if found else () for found in column]):
            entry["members"] = members
        encoded[module] = entry
    return encoded


def _mask(present: Iterable[bool]) -> int:
    return sum(1 << index for index, is_there in enumerate(present) if is_there)


def _encode_names(per_version: list[Iterable[str]]) -> list[list[Any]]:
    masks: dict[str, int] = {}
    for index, names in enumerate(per_version):
        for name in names:
            masks[name] = masks.get(name, 0) | 1 << index
    groups: dict[int, list[str]] = {}
    for name in sorted(masks):
        groups.setdefault(masks[name], []).append(name)
    return [[mask, " ".join(names)] for mask, names in sorted(groups.items(), key=lambda item: item[1])]


def dump(document: dict[str, Any]) -> str:
    """The text of a document: one line a module, so that a change is readable in a diff."""
    lines = ["{"]
    for key in ("format", "source"):
        lines.append(f"{json.dumps(key)}: {json.dumps(document[key])},")
    lines.append('"versions": [')
    lines.append(",\n".join(json.dumps(row) for row in document["versions"]))
    lines.append("],")
    sections = ("modules", "additions", "operators")
    for section in sections:
        lines.append(f'"{section}": {{')
        lines.append(",\n".join(f"{json.dumps(k)}: {_compact(v)}" for k, v in document[section].items()))
        lines.append("}" if section == sections[-1] else "},")
    lines.append("}\n")
    return "\n".join(lines)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def select(document: dict[str, Any], version: str) -> dict[str, Any]:
    """One version of a document, decoded, as :func:`compare` wants it. Raises ValueError if there is none."""
    index = [row["torch_npu"] for row in document["versions"]].index(version)

    def names(groups: list[list[Any]]) -> list[str]:
        return sorted(name for mask, text in groups if mask >> index & 1 for name in text.split())

    def modules(section: str) -> dict[str, Any]:
        return {
            module: {
                "names": names(entry["names"]),
                "all": names(entry.get("all", [])),
                "members": names(entry.get("members", [])),
                "open": bool(entry.get("open", 0) >> index & 1),
            }
            for module, entry in document[section].items()
            if entry["in"] >> index & 1
        }

    return {
        "version": document["versions"][index],
        "modules": modules("modules"),
        "additions": modules("additions"),
        "operators": {kind: names(groups) for kind, groups in document["operators"].items()},
    }


def compare(shipped: dict[str, Any], fresh: dict[str, Any], version: str) -> list[str]:
    """What differs in one version, one line each; empty when nothing does."""
    if version not in [row["torch_npu"] for row in shipped["versions"]]:
        return [f"{version}: not in the shipped data"]
    old, new = select(shipped, version), select(fresh, version)
    differences = []
    for key, value in new["version"].items():
        if old["version"].get(key) != value:
            differences.append(f"{version}: {key} is {value!r}, shipped {old['version'].get(key)!r}")
    for part in ("modules", "additions", "operators"):
        for name in sorted({*old[part], *new[part]}):
            if old[part].get(name) != new[part].get(name):
                differences.append(f"{version}: {part} {name}: {_difference(old[part].get(name), new[part].get(name))}")
    return differences


def _difference(old: Any, new: Any) -> str:
    if old is None or new is None:
        return "new" if old is None else "gone"
    if isinstance(old, dict):
        return "; ".join(f"{key} {_difference(old[key], new[key])}" for key in old if old[key] != new[key])
    if isinstance(old, list):
        return f"added {sorted(set(new) - set(old))}, removed {sorted(set(old) - set(new))}"
    return f"was {old}, is {new}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("versions", nargs="*", help="only these (with --check or --live)")
    parser.add_argument("--check", action="store_true", help="compare with the shipped data, write nothing")
    parser.add_argument("--live", action="store_true", help="compare the shipped data with the imported package")
    parser.add_argument("--wheels", type=Path, help="keep the downloaded wheels in this directory")
    parser.add_argument("--apis", type=Path, metavar="TABLE", help="write native_api.json, with this documentation")
    parser.add_argument("--trace", type=Path, help="what scripts/trace_operators.py wrote (with --apis)")
    options = parser.parse_args(arguments)
    if options.versions and not (options.check or options.live):
        parser.error("the data is written for all versions at once; name versions with --check or --live only")
    if options.live and len(options.versions) != 1:
        parser.error("--live wants one version, the one whose torch is installed")
    with tempfile.TemporaryDirectory(prefix="torch-npu-wheels-") as scratch:
        if options.apis:
            return _apis(options.apis, options.trace, Path(scratch))
        directory = options.wheels or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        try:
            if options.live:
                return _live(options.versions[0], directory, Path(scratch))
            return _run(options.versions or available_versions(), directory, check=options.check)
        except (WheelError, LiveError) as error:
            print(error, file=sys.stderr)
            return 2


def _run(versions: list[str], directory: Path, *, check: bool) -> int:
    wheels = []
    for version in versions:
        print(f"reading {PACKAGE} {version}", file=sys.stderr)
        wheels.append(read_wheel(obtain_wheel(version, directory)))
    document = encode(wheels)
    if not check:
        SHIPPED.write_text(dump(document), encoding="utf-8")
        print(f"wrote {SHIPPED} ({SHIPPED.stat().st_size} bytes, {len(wheels)} versions)", file=sys.stderr)
        return 0
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    differences = [line for wheel in wheels for line in compare(shipped, document, wheel.version)]
    for line in differences:
        print(line)
    return 1 if differences else 0


def _apis(table: Path, trace: Path | None, scratch: Path) -> int:
    traced = json.loads(trace.read_text(encoding="utf-8")) if trace else native_apis.trace(scratch)
    content = native_apis.document(traced, native_apis.read_documentation(table))
    SHIPPED_APIS.write_text(native_apis.dump(content), encoding="utf-8")
    print(f"wrote {SHIPPED_APIS} ({SHIPPED_APIS.stat().st_size} bytes)", file=sys.stderr)
    return 0


def _live(version: str, directory: Path, scratch: Path) -> int:
    """Names of the running package that the shipped data lacks; exit code 1 if there are any."""
    surface = knowledge.surface(version)
    if surface.version != version:
        raise WheelError(f"{version} is not in the shipped data")
    # A module that patches torch, or that needs what is not here, would spoil or stop the others.
    modules = sorted(surface.modules - {*OPTIONAL_PATCHES, *SHALLOW_TREES})
    found = live_names(obtain_wheel(version, directory), modules, scratch)
    missing, additional = [], []
    for module, live in found.items():
        names = set(live["names"]) - {"_pybind11_conduit_v1_"}  # pybind11 adds it to whatever it touches
        missing += [f"{module}.{name}" for name in sorted(names) if not surface.has(f"{module}.{name}")]
        if set(live["all"]) != surface.exported(module):
            missing.append(f"{module}.__all__: {sorted(set(live['all']) ^ surface.exported(module))}")
        extra = surface.names(module) - names
        additional += [f"{module}.{name}" for name in sorted(extra) if not surface.is_module(f"{module}.{name}")]
    for line in missing:
        print("not in the shipped data:", line)
    for line in additional:
        print("only in the shipped data:", line)
    print(f"{len(found)} of {len(modules)} modules imported, {len(missing)} names missing", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
