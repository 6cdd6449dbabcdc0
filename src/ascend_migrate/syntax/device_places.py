"""Names and positions that take, give or test a device: what is known of PyTorch, option parsers and Python."""

from __future__ import annotations

#: Positional arguments of torch callables that take a device (the position, from 0).
DEVICE_POSITIONS: dict[str, tuple[int, ...]] = {
    "torch.device": (0,),
    "torch.Generator": (0,),
    "torch.autocast": (0,),
    "torch.amp.autocast": (0,),
    "torch.amp.autocast_mode.autocast": (0,),
    "torch.amp.GradScaler": (0,),
    "torch.amp.grad_scaler.GradScaler": (0,),
    "torch.amp.is_autocast_available": (0,),
    "torch.is_autocast_enabled": (0,),
    "torch.get_autocast_dtype": (0,),
    "torch.set_autocast_enabled": (0,),
    "torch.set_autocast_dtype": (0,),
    "torch.set_default_device": (0,),
    "torch.get_device_module": (0,),
    "torch.Stream": (0,),
    "torch.Event": (0,),
    "torch.load": (1,),
    "torch.jit.load": (1,),
    "torch.set_default_tensor_type": (0,),
    "torch.random.fork_rng": (3, 4),
    "torch.random.get_rng_state": (0,),
    "torch.nn.Module.to": (1,),
    "torch.Tensor.to": (1,),
    "torch.accelerator.set_device_index": (0,),
    "torch.distributed.init_process_group": (0,),
    "torch.distributed.init_device_mesh": (0,),
    "torch.distributed.device_mesh.init_device_mesh": (0,),
    "torch.distributed.DeviceMesh": (0,),
    "torch.distributed.device_mesh.DeviceMesh": (0,),
    "torch.distributed.tensor.DeviceMesh": (0,),
    "torch.distributed.is_backend_available": (0,),
    "torch.distributed.Backend": (0,),
    "torch.cuda.set_device": (0,),
    "torch.cuda.device": (0,),
    "torch.npu.set_device": (0,),
    "torch.npu.device": (0,),
    "torch.Tensor.cuda": (1,),
}
DEVICE_NAMESPACES = ("torch.cuda.", "torch.npu.", "torch_npu.npu.")

#: Methods of tensors, modules and storages whose first argument may be a device.
DEVICE_METHODS = frozenset({"to", "type", "to_empty", "cuda", "npu"})
#: Methods of strings that give a device again when called on one.
TRANSPARENT_METHODS = frozenset({"lower", "upper", "strip", "format", "casefold", "rstrip", "lstrip"})
#: Methods of strings that test or cut a device string given as receiver.
TESTING_METHODS = frozenset(
    {
        "startswith",
        "endswith",
        "split",
        "replace",
        "find",
        "index",
        "count",
        "removeprefix",
        "partition",
        "rsplit",
    }
)
LOOKUPS = frozenset({"get", "pop", "setdefault", "getenv", "getattr", "setattr", "get_attr"})
OPTION_CALLS = frozenset({"add_argument", "option", "Option", "argument", "Argument", "add_option"})
OPTION_VALUES = frozenset({"default", "choices", "const", "type", "values", "value"})
LOG_CALLS = frozenset({"print", "debug", "info", "warning", "warn", "error", "critical", "exception", "log"})
PROSE_CALLS = LOG_CALLS | {"write"}
PROSE_KEYWORDS = frozenset({"help", "description", "title", "label", "desc", "doc", "msg", "message", "reason"})
DEVICE_KEYS = frozenset(
    {
        "cpu",
        "cuda",
        "mps",
        "xpu",
        "npu",
        "hpu",
        "xla",
        "mlu",
        "musa",
        "meta",
        "rocm",
        "hip",
        "gpu",
        "tpu",
        "auto",
        "default",
    }
)
FOREIGN_ROOTS = frozenset({"jax", "jaxlib", "tensorflow", "tf", "cupy", "numba", "pycuda", "paddle", "mxnet"})
AVAILABILITY = frozenset({"torch.cuda.is_available", "torch.npu.is_available", "torch.cuda.device_count"})

NOT_THE_DEVICE = ("count", "num_", "_num", "_id", "index", "prop", "capab", "memory")
