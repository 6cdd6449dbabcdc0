"""``torch_npu.npu_*``: the fused operators that models use most, written in ordinary ones, gradients included.

Signatures are those in the operator lists of the torch_npu package (``csrc/aten/npu_native_functions*.yaml``);
formulas are those in its documentation of each operator. Inner sums are computed in float32. Every other fused
operator is "not simulated".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from torch_npu._simulation.surface import SURFACE, NotSimulatedError

__all__: list[str] = []  # filled by register()

_library: torch.library.Library | None = None
_operators: dict[str, tuple[str, Callable[..., Any]]] = {}

OptionalTensor = Optional[Tensor]
NO_LIMIT = 2147483647


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def remember(function: Callable[..., Any]) -> Callable[..., Any]:
        _operators[schema.partition("(")[0]] = (schema, function)
        return function

    return remember


# ---- normalisation --------------------------------------------------------------------------------------------


def _rms_norm(x: Tensor, scale: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """(normalised x, 1 / root mean square); over as many last dimensions as `scale` has."""
    dims = list(range(-scale.dim(), 0))
    values = x.float()
    rstd = torch.rsqrt(values.pow(2).mean(dims, keepdim=True) + epsilon)
    return (values * rstd * scale.float()).to(x.dtype), rstd


@_operator("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)")
def npu_rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    return _rms_norm(x, gamma, epsilon)


@_operator("npu_gemma_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)")
def npu_gemma_rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    return _rms_norm(x, 1 + gamma.float(), epsilon)


@_operator("npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)")
def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    x = x1 + x2
    y, rstd = _rms_norm(x, gamma, epsilon)
    return y, rstd, x


@_operator(
    "npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05) -> Tensor"
)
def npu_layer_norm_eval(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: OptionalTensor = None,
    bias: OptionalTensor = None,
    eps: float = 1e-5,
) -> Tensor:
    return F.layer_norm(x, list(normalized_shape), weight, bias, eps)


def _layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(y, mean, 1 / standard deviation); the statistics in float32."""
    dims = list(range(-gamma.dim(), 0))
    values = x.float()
    mean = values.mean(dims, keepdim=True)
    rstd = torch.rsqrt(values.var(dims, unbiased=False, keepdim=True) + epsilon)
    return ((values - mean) * rstd * gamma.float() + beta.float()).to(x.dtype), mean, rstd


@_operator(
    "npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05, "
    "bool additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)"
)
def npu_add_layer_norm(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    beta: Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x = x1 + x2
    return (*_layer_norm(x, gamma, beta, epsilon), x)


@_operator(
    "npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) "
    "-> (Tensor, Tensor, Tensor)"
)
def npu_deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = _layer_norm(x * alpha + gx, gamma, beta, epsilon)
    return mean, rstd, y


# ---- activations ----------------------------------------------------------------------------------------------


@_operator("npu_swiglu(Tensor self, int dim=-1) -> Tensor")
def npu_swiglu(x: Tensor, dim: int = -1) -> Tensor:
    left, right = x.float().chunk(2, dim)
    return (F.silu(left) * right).to(x.dtype)


@_operator("npu_geglu(Tensor self, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)")
def npu_geglu(x: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    """(product, activated half)."""
    left, right = x.chunk(2, dim)
    activated, other = (left, right) if activate_left else (right, left)
    gate = F.gelu(activated, approximate="tanh" if approximate == 1 else "none")
    return other * gate, gate


@_operator("npu_gelu(Tensor self, *, str approximate='none') -> Tensor")
def npu_gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@_operator("npu_fast_gelu(Tensor self) -> Tensor")
def npu_fast_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


_operator("fast_gelu(Tensor self) -> Tensor")(npu_fast_gelu)


@_operator("npu_silu(Tensor self) -> Tensor")
def npu_silu(x: Tensor) -> Tensor:
    return F.silu(x)


@_operator("npu_silu_(Tensor(a!) self) -> Tensor(a!)")
def npu_silu_(x: Tensor) -> Tensor:
    return F.silu(x, inplace=True)


@_operator("npu_mish(Tensor self) -> Tensor")
def npu_mish(x: Tensor) -> Tensor:
    return F.mish(x)


@_operator("npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor")
def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    """Where the mask is true, the scaled value is -10000 before the softmax over the last dimension."""
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    return torch.softmax((x.float() * scale).masked_fill(mask.bool(), -10000.0), -1).to(x.dtype)


# ---- rotary embedding -----------------------------------------------------------------------------------------


@_operator("npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half') -> Tensor")
def npu_rotary_mul(x: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half") -> Tensor:
    """``x * cos + rotate(x) * sin``: by halves, or by neighbouring pairs ("interleave")."""
    if rotary_mode == "half":
        first, second = x.chunk(2, -1)
        rotated = torch.cat((-second, first), -1)
    elif rotary_mode == "interleave":
        rotated = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        raise NotSimulatedError(f"torch_npu.npu_rotary_mul with rotary_mode={rotary_mode!r}")
    return x * r1 + rotated * r2


# ---- attention ------------------------------------------------------------------------------------------------


def _hidden(sparse_mode: int, mask: OptionalTensor, rows: int, columns: int, before: int, after: int) -> Any:
    """What attention does not see, as a bool tensor to broadcast over (batch, head, rows, columns), or None.

    Modes 0 and 1 take the caller's own mask. The others know its form (the caller passes a small
    triangular one): 2 causal from the upper left corner, 3 causal from the lower right, 4 a band from there.
    """
    if mask is None:
        if sparse_mode in (0, 1):
            return None
        raise RuntimeError(f"npu_fusion_attention needs an atten_mask with sparse_mode={sparse_mode}")
    if sparse_mode in (0, 1):
        return mask.bool()
    row = torch.arange(rows, device=mask.device)[:, None]
    column = torch.arange(columns, device=mask.device)[None, :]
    if sparse_mode == 2:
        return column > row
    diagonal = row + (columns - rows)
    if sparse_mode == 3:
        return column > diagonal
    if sparse_mode == 4:
        return (column > diagonal + after) | (column < diagonal - before)
    raise NotSimulatedError(f"torch_npu.npu_fusion_attention with sparse_mode={sparse_mode}")


def _attend(
    query: Tensor, key: Tensor, value: Tensor, bias: OptionalTensor, hidden: Any, scale: float, keep: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(output, row maximum, row sum of the softmax); all inputs (batch, head, length, size)."""
    repeat = query.shape[1] // key.shape[1]
    if repeat > 1:
        key, value = key.repeat_interleave(repeat, 1), value.repeat_interleave(repeat, 1)
    scores = query.float() @ key.float().transpose(-1, -2)
    if bias is not None:
        scores = scores + bias.float()
    scores = scores * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    maximum = scores.amax(-1, keepdim=True).detach()
    maximum = maximum.masked_fill(maximum == -math.inf, 0.0)  # a row that sees nothing gives 0
    weights = torch.exp(scores - maximum)
    total = weights.sum(-1, keepdim=True)
    probabilities = weights / total.clamp_min(torch.finfo(torch.float32).tiny)
    if keep < 1:
        probabilities = F.dropout(probabilities, 1 - keep)
    return (probabilities @ value.float()).to(query.dtype), maximum, total


def _to_bnsd(x: Tensor, layout: str, heads: int) -> Tensor:
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "BSH":
        return x.unflatten(2, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return x.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)
    raise ValueError(f"input_layout must be BSH, SBH, BSND, BNSD or TND, not {layout}")


def _from_bnsd(x: Tensor, layout: str) -> Tensor:
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "BSH":
        return x.transpose(1, 2).flatten(2)
    return x.permute(2, 0, 1, 3).flatten(2)


@_operator(
    "npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, "
    "Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., "
    "float keep_prob=1., int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, "
    "int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, "
    'bool gen_mask_parallel=True, bool sync=False, str softmax_layout="") '
    "-> (Tensor, Tensor, Tensor, Tensor, int, int, int)"
)
def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: OptionalTensor = None,
    padding_mask: OptionalTensor = None,
    atten_mask: OptionalTensor = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = NO_LIMIT,
    next_tockens: int = NO_LIMIT,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    """``dropout(softmax(mask(scale * (query key^T + pse)))) value``; true in `atten_mask` means hidden.

    Returns the output, the softmax's row maximum and row sum (8 equal columns, float32), an empty tensor, and
    three numbers that only the backward kernel of a card needs. With layout TND the lengths are cumulative.
    """
    if prefix is not None or padding_mask is not None or softmax_layout:
        raise NotSimulatedError("torch_npu.npu_fusion_attention with prefix, padding_mask or softmax_layout")
    nothing = query.new_empty(0)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = _hidden(sparse_mode, atten_mask, q.shape[2], k.shape[2], pre_tockens, next_tockens)
        return _attend(q, k, v, pse, hidden, scale, keep_prob)

    if input_layout == "TND":
        if actual_seq_qlen is None or actual_seq_kvlen is None:
            raise RuntimeError("npu_fusion_attention needs actual_seq_qlen and actual_seq_kvlen with layout TND")
        if pse is not None or (atten_mask is not None and sparse_mode in (0, 1) and len(actual_seq_qlen) > 1):
            raise NotSimulatedError("torch_npu.npu_fusion_attention, layout TND, with pse or a full mask")
        parts = []
        q_start = kv_start = 0
        for q_end, kv_end in zip(actual_seq_qlen, actual_seq_kvlen):
            q, k, v = query[q_start:q_end], key[kv_start:kv_end], value[kv_start:kv_end]
            sequence = attend(*(x.transpose(0, 1).unsqueeze(0) for x in (q, k, v)))
            parts.append([x.squeeze(0).transpose(0, 1) for x in sequence])
            q_start, kv_start = q_end, kv_end
        output, maximum, total = (torch.cat(column) for column in zip(*parts))
        return output, maximum.expand(-1, -1, 8), total.expand(-1, -1, 8), nothing, 0, 0, 0

    q = _to_bnsd(query, input_layout, head_num)
    # With fewer key heads than query heads the layout gives their number only by the size of one head.
    kv_heads = head_num if input_layout in ("BNSD", "BSND") else key.shape[2] // q.shape[3]
    k, v = _to_bnsd(key, input_layout, kv_heads), _to_bnsd(value, input_layout, kv_heads)
    output, maximum, total = attend(q, k, v)
    columns = (-1, -1, -1, 8)
    return (
        _from_bnsd(output, input_layout),
        maximum.expand(*columns),
        total.expand(*columns),
        nothing,
        0,
        0,
        0,
    )


# ---- shapes, formats, types -----------------------------------------------------------------------------------

_FORMATS = {4: 0, 5: 30}  # NCHW, NCDHW
_ND = 2


@_operator("get_npu_format(Tensor self) -> int")
def get_npu_format(x: Tensor) -> int:
    """The number of the plain format for this many dimensions. There are no private formats here."""
    return _FORMATS.get(x.dim(), _ND)


@_operator("npu_format_cast(Tensor self, int acl_format) -> Tensor")
def npu_format_cast(x: Tensor, acl_format: int) -> Tensor:
    """Values do not depend on the format."""
    return x.view_as(x)


@_operator("npu_format_cast_(Tensor(a!) self, Tensor src) -> Tensor(a!)")
def npu_format_cast_(x: Tensor, src: Tensor) -> Tensor:
    return x.copy_(src)


@_operator("npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor")
def npu_dtype_cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype)


@_operator("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
def npu_linear(x: Tensor, weight: Tensor, bias: OptionalTensor = None) -> Tensor:
    return F.linear(x, weight, bias)


@_operator("npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor")
def npu_transpose(x: Tensor, perm: Sequence[int], require_contiguous: bool = True) -> Tensor:
    return x.permute(list(perm)).contiguous()


@_operator("npu_broadcast(Tensor self, int[] size) -> Tensor")
def npu_broadcast(x: Tensor, size: Sequence[int]) -> Tensor:
    return x.broadcast_to(list(size)).contiguous()


@_operator("npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor")
def npu_confusion_transpose(x: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Tensor:
    """Transpose, then reshape; or the other way round."""
    if transpose_first:
        return x.permute(list(perm)).reshape(list(shape))
    return x.reshape(list(shape)).permute(list(perm)).contiguous()


def register() -> None:
    """Defines ``torch.ops.npu.*``, and offers the same objects to ``torch_npu``."""
    global _library
    _library = torch.library.Library("npu", "DEF")
    for name, (schema, function) in _operators.items():
        if name not in SURFACE.names["torch_npu"]:
            continue
        _library.define(schema)
        _library.impl(name, function, "CompositeImplicitAutograd")
        globals()[name] = getattr(torch.ops.npu, name)
        __all__.append(name)
