"""Brings the simulated NPU up: device, names, operators, backend. In the order that torch needs."""

from __future__ import annotations

import atexit
import sys

import torch

import torch_npu
from torch_npu._simulation import surface

VERSION = f"{surface.VERSION}+sim"


def install() -> None:
    """Registers the device ``npu`` with torch. Called once, when ``torch_npu`` is imported."""
    torch.utils.rename_privateuse1_backend("npu")
    import _simulated_npu as native

    from torch_npu._simulation import (
        accelerated_layers,
        amp,
        cuda_absent,
        devices,
        fused_operators,
        fused_optimizers,
        memory,
        process_group,
        profiling,
        random,
        streams,
        typed_tensors,
        unused,
    )

    accelerated_layers.register()
    fused_operators.register()

    npu = "torch_npu.npu"
    surface.implement([npu, f"{npu}.utils", f"{npu}.npu_config", f"{npu}.backends"], devices)
    surface.implement([npu, f"{npu}.memory"], memory)
    surface.implement([npu, f"{npu}.random"], random)
    surface.implement([npu, f"{npu}.streams", f"{npu}.utils"], streams)
    surface.implement([npu], typed_tensors)
    surface.implement([f"{npu}.amp", f"{npu}.amp.autocast_mode", f"{npu}.amp.grad_scaler"], amp)
    surface.implement([npu, f"{npu}.mstx"], profiling)
    surface.implement(["torch_npu"], fused_operators)
    surface.implement_below("torch_npu.optim", fused_optimizers)
    surface.implement_below("torch_npu.profiler", profiling)
    surface.implement(["torch_npu.distributed", "torch_npu.distributed.distributed_c10d"], process_group)
    surface.install()
    surface.attach(torch_npu)

    module = surface.lookup("torch_npu", "npu")
    torch._register_device_module("npu", module)
    sys.modules["torch.npu"] = module
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    process_group.register()
    cuda_absent.install()
    unused.install()
    # A script may end without destroy_process_group(); hccl.cpp says why gloo's threads must not outlive it.
    atexit.register(native.end_hccl_threads)
