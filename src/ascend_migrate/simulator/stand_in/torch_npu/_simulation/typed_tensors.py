"""``torch.npu.FloatTensor`` and the other tensor types: constructors, types for ``Tensor.type`` and isinstance."""

from __future__ import annotations

from typing import Any

import torch


class TensorType(type):
    """Calling one of its classes makes a tensor on the current card; npu tensors of its dtype are instances."""

    dtype: torch.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Takes what ``torch.FloatTensor`` takes: sizes, a sequence, an array or a tensor."""
        return torch.empty(0, dtype=cls.dtype, device="npu").new(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.device.type == "npu" and instance.dtype == cls.dtype


def _tensor_type(name: str, dtype: torch.dtype) -> TensorType:
    # Tensor.type(cls) asks the class for its name and must get the whole dotted one.
    return TensorType(f"torch.npu.{name}", (), {"__module__": "torch.npu", "dtype": dtype})


BFloat16Tensor = _tensor_type("BFloat16Tensor", torch.bfloat16)
BoolTensor = _tensor_type("BoolTensor", torch.bool)
ByteTensor = _tensor_type("ByteTensor", torch.uint8)
CharTensor = _tensor_type("CharTensor", torch.int8)
DoubleTensor = _tensor_type("DoubleTensor", torch.float64)
FloatTensor = _tensor_type("FloatTensor", torch.float32)
HalfTensor = _tensor_type("HalfTensor", torch.float16)
IntTensor = _tensor_type("IntTensor", torch.int32)
LongTensor = _tensor_type("LongTensor", torch.int64)
ShortTensor = _tensor_type("ShortTensor", torch.int16)

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]
