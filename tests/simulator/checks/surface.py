"""The names of torch_npu: those of the version, no more; and what happens when an unsimulated one is used."""

from __future__ import annotations

import importlib.metadata
import sys

import torch
import torch_npu
import torch_npu.npu as tc
from torch_npu.npu.amp import GradScaler, autocast

from ascend_migrate import knowledge

VERSION = knowledge.nearest_version(torch.__version__.split("+")[0])


def raises(kind, pattern, function):
    try:
        function()
    except kind as error:
        assert pattern in str(error), f"{pattern!r} is not in {error!s}"
    else:
        raise AssertionError(f"no {kind.__name__}")


def check_versions():
    assert torch_npu.__version__ == f"{VERSION}+sim"
    assert importlib.metadata.version("torch-npu") == f"{VERSION}+sim"


def check_one_module():
    assert torch.npu is torch_npu.npu is tc is sys.modules["torch.npu"]
    assert torch.npu.amp.autocast is autocast and torch.npu.amp.GradScaler is GradScaler
    from torch.npu.amp import autocast as second_copy

    # As on a card this imports the package a second time, under another name.
    assert second_copy is not None
    assert sys.modules["torch.npu.amp"] is not sys.modules["torch_npu.npu.amp"]


def check_exactly_the_names_of_the_version():
    surface = knowledge.surface(VERSION)
    for module in ("torch_npu", "torch_npu.npu", "torch_npu.npu.amp", "torch_npu.distributed", "torch_npu.profiler"):
        module_object = importlib.import_module(module)
        names = {name for name in dir(module_object) if not name.startswith("_")}
        assert names == {name for name in surface.names(module) if not name.startswith("_")}, module
        missing = [name for name in surface.names(module) if not hasattr(module_object, name)]
        assert not missing, (module, missing)


def check_names_of_other_versions_do_not_exist():
    surface = knowledge.surface(VERSION)
    foreign = set()
    for version in knowledge.versions():
        foreign |= knowledge.surface(version).names("torch_npu.npu")
    foreign -= surface.names("torch_npu.npu")
    for name in [*foreign, "CUDAGraph", "nvtx", "OutOfMemoryError", "clip_grad_norm_", "optimize"]:
        raises(AttributeError, f"has no attribute '{name}'", lambda name=name: getattr(torch.npu, name))
    raises(AttributeError, "has no attribute 'DataLoader'", lambda: torch_npu.DataLoader)
    raises(ModuleNotFoundError, "torch_npu.amp", lambda: importlib.import_module("torch_npu.amp"))


def check_not_simulated():
    assert hasattr(torch.npu, "set_dump") and callable(torch.npu.set_dump)
    raises(NotImplementedError, "not simulated: torch_npu.npu.set_dump", lambda: torch.npu.set_dump("x"))
    raises(NotImplementedError, "not simulated: torch_npu.npu_ffn", lambda: torch_npu.npu_ffn(1))
    raises(NotImplementedError, "not simulated: torch_npu.npu.NPUGraph", lambda: torch.npu.NPUGraph())

    def subclass():
        class Sub(torch_npu.contrib.Mish):
            pass

    raises(NotImplementedError, "not simulated: torch_npu.contrib.Mish", subclass)
    from torch_npu.contrib.module import DropoutWithByteMask

    assert not isinstance(torch.nn.Dropout(), DropoutWithByteMask)


def check_transfer_to_npu_is_refused():
    def use():
        from torch_npu.contrib import transfer_to_npu  # noqa: F401

    raises(NotImplementedError, "not simulated: torch_npu.contrib.transfer_to_npu", use)


def check_star_import():
    names = {}
    exec("from torch_npu.npu.amp import *", names)
    assert names["autocast"] is autocast and "grad_scaler" not in names


def check_additions_to_torch():
    x = torch.ones(2)
    assert not x.is_npu and x.npu().is_npu
    assert torch.nn.Linear(1, 1).npu().weight.is_npu
    assert torch_npu.distributed.is_hccl_available() and torch.distributed.is_hccl_available()
