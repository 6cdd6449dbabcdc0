"""``torch_npu.optim``: the fused optimizers. They compute what torch's own do, so here they are torch's own."""

from __future__ import annotations

from typing import Any

import torch

__all__ = [
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamW",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedSGD",
]


class NpuFusedOptimizerBase(torch.optim.Optimizer):
    """What the fused optimizers have beyond torch's."""

    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """Clips the gradients of all parameters together; returns their norm before."""
        parameters = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        return super().step(closure)


class NpuFusedAdam(NpuFusedOptimizerBase, torch.optim.Adam):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        torch.optim.Adam.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedAdamW(NpuFusedOptimizerBase, torch.optim.AdamW):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        torch.optim.AdamW.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedSGD(NpuFusedOptimizerBase, torch.optim.SGD):
    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        torch.optim.SGD.__init__(self, params, lr, momentum, dampening, weight_decay, nesterov)


class NpuFusedRMSprop(NpuFusedOptimizerBase, torch.optim.RMSprop):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        torch.optim.RMSprop.__init__(self, params, lr, alpha, eps, weight_decay, momentum, centered)


class NpuFusedAdadelta(NpuFusedOptimizerBase, torch.optim.Adadelta):
    def __init__(
        self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0
    ) -> None:
        torch.optim.Adadelta.__init__(self, params, lr, rho, eps, weight_decay)
