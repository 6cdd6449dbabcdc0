"""Operators that accelerators have and PyTorch's CPU backend lacks: synchronised batch norm, fused RNN cells.

They are written in ordinary operators from the formulas in the documentation of the layers they serve
(``torch.nn.SyncBatchNorm``, ``LSTMCell``, ``GRUCell``). Statistics are computed in float32.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

OptionalTensor = Optional[Tensor]

_library: torch.library.Library | None = None


def _all_but_channel(x: Tensor) -> list[int]:
    return [dim for dim in range(x.dim()) if dim != 1]


def _per_channel(values: Tensor, x: Tensor) -> Tensor:
    """Shape (C,) to (1, C, 1, ...), to broadcast over `x`."""
    return values.view([1, -1] + [1] * (x.dim() - 2))


# ---- synchronised batch norm ----------------------------------------------------------------------------------


def batch_norm_stats(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1 / standard deviation of each channel."""
    values = x.float()
    dims = _all_but_channel(x)
    return values.mean(dims), torch.rsqrt(values.var(dims, unbiased=False) + eps)


def batch_norm_gather_stats_with_counts(
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: OptionalTensor,
    running_var: OptionalTensor,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Joins the statistics of all ranks (one row each) and moves the running ones."""
    weights = counts.to(mean.dtype).view(-1, 1)
    total = weights.sum()
    joint_mean = (mean * weights).sum(0) / total
    variances = 1 / invstd**2 - eps
    joint_var = (variances * weights + weights * (mean - joint_mean) ** 2).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * joint_mean.to(running_mean.dtype))
    if running_var is not None:
        unbiased = joint_var * total / (total - 1)
        running_var.mul_(1 - momentum).add_(momentum * unbiased.to(running_var.dtype))
    return joint_mean, torch.rsqrt(joint_var + eps)


def batch_norm_elemt(
    x: Tensor, weight: OptionalTensor, bias: OptionalTensor, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """The normalised input, scaled and shifted."""
    y = (x.float() - _per_channel(mean, x)) * _per_channel(invstd, x)
    if weight is not None:
        y = y * _per_channel(weight.float(), x)
    if bias is not None:
        y = y + _per_channel(bias.float(), x)
    return y.to(x.dtype)


def batch_norm_backward_reduce(
    grad_out: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: OptionalTensor,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums over this rank that the gradients need: sum(dy), sum(dy * (x - mean)), dweight, dbias."""
    grad = grad_out.float()
    dims = _all_but_channel(x)
    sum_dy = grad.sum(dims)
    sum_dy_xmu = (grad * (x.float() - _per_channel(mean, x))).sum(dims)
    dtype = x.dtype if weight is None else weight.dtype
    return sum_dy, sum_dy_xmu, (sum_dy_xmu * invstd).to(dtype), sum_dy.to(dtype)


def batch_norm_backward_elemt(
    grad_out: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: OptionalTensor,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """The gradient of the input, from the sums over all ranks."""
    total = count.sum().to(torch.float32)
    mean_dy = _per_channel(sum_dy / total, x)
    projection = _per_channel(sum_dy_xmu / total * invstd**2, x)
    scale = invstd if weight is None else invstd * weight.float()
    centred = x.float() - _per_channel(mean, x)
    return ((grad_out.float() - mean_dy - centred * projection) * _per_channel(scale, x)).to(x.dtype)


# ---- fused RNN cells ------------------------------------------------------------------------------------------


def fused_lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: OptionalTensor = None,
    hidden_bias: OptionalTensor = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(new hidden state, new cell state, workspace for the backward pass)."""
    gates = input_gates + hidden_gates
    if input_bias is not None and hidden_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, c, o = gates.chunk(4, 1)
    i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
    cy = f * cx + i * c
    return o * cy.tanh(), cy, torch.cat([i, f, c, o], 1)


def fused_lstm_cell_backward(
    grad_hy: OptionalTensor,
    grad_cy: OptionalTensor,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, OptionalTensor]:
    """(gradient of the gates, of the cell state, of the bias)."""
    i, f, c, o = workspace.chunk(4, 1)
    tanh_cy = cy.tanh()
    if grad_hy is None:
        grad_hy = torch.zeros_like(cy)
    grad_cell = grad_hy * o * (1 - tanh_cy * tanh_cy)
    if grad_cy is not None:
        grad_cell = grad_cell + grad_cy
    grad_gates = torch.cat(
        [
            grad_cell * c * i * (1 - i),
            grad_cell * cx * f * (1 - f),
            grad_cell * i * (1 - c * c),
            grad_hy * tanh_cy * o * (1 - o),
        ],
        1,
    )
    return grad_gates, grad_cell * f, grad_gates.sum(0) if has_bias else None


def fused_gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: OptionalTensor = None,
    hidden_bias: OptionalTensor = None,
) -> tuple[Tensor, Tensor]:
    """(new hidden state, workspace for the backward pass)."""
    if input_bias is not None and hidden_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    input_r, input_z, input_n = input_gates.chunk(3, 1)
    hidden_r, hidden_z, hidden_n = hidden_gates.chunk(3, 1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hidden_n], 1)


def fused_gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, OptionalTensor, OptionalTensor]:
    """(gradient of the input gates, the hidden gates, the hidden state, the two biases)."""
    r, z, n, hx, hidden_n = workspace.chunk(5, 1)
    grad_n = grad_hy * (1 - z) * (1 - n * n)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_r = grad_n * hidden_n * r * (1 - r)
    grad_input = torch.cat([grad_r, grad_z, grad_n], 1)
    grad_hidden = torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (grad_input.sum(0), grad_hidden.sum(0)) if has_bias else (None, None)
    return (grad_input, grad_hidden, grad_hy * z, *biases)


def register() -> None:
    """Makes these the kernels of the device ``npu``."""
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for name, kernel in {
        "batch_norm_stats": batch_norm_stats,
        "batch_norm_gather_stats_with_counts": batch_norm_gather_stats_with_counts,
        "batch_norm_elemt": batch_norm_elemt,
        "batch_norm_backward_reduce": batch_norm_backward_reduce,
        "batch_norm_backward_elemt": batch_norm_backward_elemt,
        "_thnn_fused_lstm_cell": fused_lstm_cell,
        "_thnn_fused_lstm_cell_backward_impl": fused_lstm_cell_backward,
        "_thnn_fused_gru_cell": fused_gru_cell,
        "_thnn_fused_gru_cell_backward": fused_gru_cell_backward,
    }.items():
        _library.impl(name, kernel, "PrivateUse1")
