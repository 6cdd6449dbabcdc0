"""What asks for a dtype: names, strings and options, in Python and in configuration files alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ascend_migrate.syntax.literals import words

if TYPE_CHECKING:
    from ascend_migrate.rules.base import Context


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_BFLOAT16 = re.compile(r"(?:torch\.)?(?:bfloat16|bf16)(?:-mixed|-true)?", re.IGNORECASE)
_DTYPE_WORDS = frozenset({"dtype", "precision", "dtypes"})
_FLAG = re.compile(r"(?:use_|enable_)?(?:bf16|bfloat16)(?:_full_eval|_enabled)?")

DTYPE_ALIASES = {
    "double": "float64",
    "half": "float16",
    "float": "float32",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}
_DTYPES = word_set(
    "float16 bfloat16 float32 float64 complex32 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "bool"
)
_TYPED = {"DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16", "FloatTensor": "float32"}


def is_bfloat16(value: object) -> bool:
    """Whether the value of a dtype option is bfloat16: ``"bfloat16"``, ``"bf16"``, ``"bf16-mixed"``."""
    return isinstance(value, str) and _BFLOAT16.fullmatch(value) is not None


def names_dtype(name: str) -> bool:
    """Whether a name (parameter, key, option) says that its value is a dtype or a precision."""
    return not _DTYPE_WORDS.isdisjoint(words(name))


def asks_for_bfloat16(key: str, value: object) -> bool:
    """Whether the entry ``key: value`` of a configuration, or an argument ``key=value``, turns bfloat16 on.

    ``torch_dtype: bfloat16``, ``mixed_precision: bf16``, ``bf16: true`` of trainers, ``bf16: {enabled: true}`` of
    DeepSpeed (``"auto"`` leaves the choice to the trainer and does not count).
    """
    key = key.lstrip("-").replace("-", "_")
    if _FLAG.fullmatch(key):
        if isinstance(value, Mapping):
            value = value.get("enabled")
        return value is True or (isinstance(value, str) and value.lower() == "true")
    return names_dtype(key) and is_bfloat16(value)


def dtype_of(context: Context, node: ast.AST | None) -> str | None:
    """The dtype that an expression names: ``torch.float64``, ``torch.double``, ``torch.DoubleTensor``."""
    qualname = context.qualname(node)
    if qualname is None or not qualname.startswith("torch."):
        return None
    name = qualname.rpartition(".")[2]
    if qualname.count(".") > 1:
        return _TYPED.get(name) if qualname.startswith("torch.cuda.") else None
    name = DTYPE_ALIASES.get(name, name)
    return name if name in _DTYPES else _TYPED.get(name)
