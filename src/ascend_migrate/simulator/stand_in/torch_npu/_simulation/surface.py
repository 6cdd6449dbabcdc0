"""Which names ``torch_npu`` and its modules show: exactly those of the version it stands for.

The modules of torch_npu do not exist as files here. They are made on import from the list of names in
``torch_npu_surface.json`` (written by ascend-migrate beside the build) and from what the simulation implements:

* a name that this version lacks raises AttributeError, as on a card;
* a name that it has and the simulation implements is that object;
* a name that it has and the simulation does not implement is a `NotSimulated`: it exists (``hasattr`` is true,
  it can be imported), and using it raises `NotSimulatedError`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import sys
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path


class NotSimulatedError(NotImplementedError):
    """The code is right for an NPU, but the simulated NPU cannot run it."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(
            f"not simulated: {name}. torch_npu {VERSION} has it, the simulated NPU does not"
            + (f" ({why})" if why else "")
        )


class NotSimulated:
    """Stands for an object of torch_npu. It can be passed around; any use of it raises NotSimulatedError."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __repr__(self) -> str:
        return f"<not simulated: {self.__name__}>"

    def __call__(self, *args: object, **kwargs: object) -> typing.NoReturn:
        raise NotSimulatedError(self.__name__)

    def __getattr__(self, name: str) -> typing.Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise NotSimulatedError(f"{self.__name__}.{name}")

    def __mro_entries__(self, bases: tuple[object, ...]) -> typing.NoReturn:
        raise NotSimulatedError(self.__name__)

    def __enter__(self) -> typing.NoReturn:
        raise NotSimulatedError(self.__name__)

    def __exit__(self, *details: object) -> None:
        """Never reached: entering raises."""

    def __instancecheck__(self, instance: object) -> bool:
        return False  # nothing can be an instance of a class that cannot be called

    def __subclasscheck__(self, subclass: type) -> bool:
        return False


class _Surface:
    """The contents of torch_npu_surface.json."""

    def __init__(self) -> None:
        for folder in sys.path:
            path = Path(folder) / "torch_npu_surface.json"
            if path.is_file():
                break
        else:
            raise ImportError("the simulated torch_npu runs under `ascend-migrate run --sim` only")
        document = json.loads(path.read_text(encoding="utf-8"))
        self.version: str = document["version"]
        self.names = {module: frozenset(names) for module, names in document["names"].items()}
        self.exported: dict[str, list[str]] = document["exported"]

    def is_module(self, name: str) -> bool:
        return name in self.names


SURFACE = _Surface()
VERSION = SURFACE.version

_STANDARD_LIBRARY = getattr(sys, "stdlib_module_names", sys.builtin_module_names)  # Python 3.10+

_implemented: dict[str, dict[str, object]] = {}
"""module of torch_npu -> name -> object"""

_REFUSED = {
    "torch_npu.contrib.transfer_to_npu": "it rewrites torch.cuda at run time, which would hide what a "
    "conversion left behind",
}
"""Modules whose import has an effect that is not simulated."""


def implement(modules: Iterable[str], source: types.ModuleType) -> None:
    """Offers the ``__all__`` of `source` in these modules, as far as this version has the names there."""
    for module in modules:
        known = SURFACE.names.get(module, frozenset())
        table = _implemented.setdefault(module, {})
        table.update((name, getattr(source, name)) for name in source.__all__ if name in known)


def implement_below(package: str, source: types.ModuleType) -> None:
    """Offers the ``__all__`` of `source` in a package and all its modules."""
    implement([name for name in SURFACE.names if name == package or name.startswith(f"{package}.")], source)


def canonical(name: str) -> str:
    """``torch.npu.amp`` is ``torch_npu.npu.amp``."""
    return "torch_npu.npu" + name[len("torch.npu") :] if name.split(".")[:2] == ["torch", "npu"] else name


def lookup(module: str, name: str) -> object:
    """What ``module.name`` is. Raises AttributeError for a name that this version lacks."""
    if name not in SURFACE.names[module]:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    implemented = _implemented.get(module, {})
    if name in implemented:
        return implemented[name]
    dotted = f"{module}.{name}"
    if SURFACE.is_module(dotted):
        return importlib.import_module(dotted)
    # torch_npu's modules show what they import: torch.npu.os, torch_npu.npu.memory.Optional.
    if name in _STANDARD_LIBRARY or name in ("torch", "torch_npu", "numpy"):
        return importlib.import_module(name)
    if hasattr(typing, name):
        return getattr(typing, name)
    return NotSimulated(dotted)


def attach(module: types.ModuleType) -> None:
    """Gives a module object the names of this version, looked up when they are first asked for."""
    name = canonical(module.__name__)

    def __getattr__(attribute: str) -> object:  # noqa: N807
        value = lookup(name, attribute)
        setattr(module, attribute, value)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted(SURFACE.names[name] | {key for key in vars(module) if key.startswith("__")})

    module.__getattr__ = __getattr__  # type: ignore[method-assign]
    module.__dir__ = __dir__  # type: ignore[method-assign]
    if SURFACE.exported.get(name):
        module.__all__ = SURFACE.exported[name]  # type: ignore[attr-defined]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of torch_npu, and their second copies under torch.npu, as the real package allows."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.split(".")[0] not in ("torch", "torch_npu") or not SURFACE.is_module(canonical(fullname)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        name = canonical(spec.name)
        if name in _REFUSED:
            raise NotSimulatedError(name, _REFUSED[name])
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        attach(module)


def install() -> None:
    """Makes the modules importable."""
    sys.meta_path.append(_Finder())
