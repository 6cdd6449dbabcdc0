"""Fused operators, optimizers and the profiler, each against a reference written out in full."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
import torch_npu
from torch import nn
from torch_npu import optim, profiler


def same(a, b, tolerance=2e-6):
    assert torch.allclose(a.cpu(), b.cpu(), rtol=tolerance, atol=tolerance), (a.cpu() - b.cpu()).abs().max()


def compare(fused, reference, *inputs):
    """Values and gradients of both, for npu and cpu copies of the inputs."""
    npu = [x.npu().requires_grad_(x.is_floating_point()) for x in inputs]
    cpu = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    a, b = fused(*npu), reference(*cpu)
    assert a.is_npu
    same(a, b)
    weights = torch.randn_like(b)
    (a * weights.npu()).sum().backward()
    (b * weights).sum().backward()
    for x, y in zip(npu, cpu):
        if x.requires_grad:
            same(x.grad, y.grad, 1e-5)


def check_rms_norm():
    def reference(x, gamma):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * gamma

    x, gamma = torch.randn(2, 3, 8), torch.randn(8)
    compare(lambda x, g: torch_npu.npu_rms_norm(x, g, epsilon=1e-6)[0], reference, x, gamma)
    rstd = torch_npu.npu_rms_norm(x.npu(), gamma.npu())[1]
    assert rstd.shape == (2, 3, 1) and rstd.dtype == torch.float32
    compare(lambda x, g: torch_npu.npu_gemma_rms_norm(x, g)[0], lambda x, g: reference(x, 1 + g), x, gamma)
    y, _, added = torch_npu.npu_add_rms_norm(x.npu(), x.npu(), gamma.npu())
    same(added, 2 * x)
    same(y, reference(2 * x, gamma))
    assert torch_npu.npu_rms_norm(x.npu().half(), gamma.npu().half())[0].dtype == torch.float16


def check_layer_norms():
    x, gx, gamma, beta = torch.randn(2, 3, 8), torch.randn(2, 3, 8), torch.randn(8), torch.randn(8)
    compare(
        lambda *a: torch_npu.npu_add_layer_norm(*a)[0],
        lambda x, gx, g, b: F.layer_norm(x + gx, (8,), g, b),
        *(x, gx, gamma, beta),
    )
    compare(
        lambda *a: torch_npu.npu_deep_norm(*a, alpha=0.3, epsilon=1e-6)[2],
        lambda x, gx, b, g: F.layer_norm(0.3 * x + gx, (8,), g, b, 1e-6),
        *(x, gx, beta, gamma),
    )
    same(torch_npu.npu_layer_norm_eval(x.npu(), (8,)), F.layer_norm(x, (8,)))


def check_activations():
    x = torch.randn(4, 6)
    compare(torch_npu.npu_swiglu, lambda x: x[:, :3] * torch.sigmoid(x[:, :3]) * x[:, 3:], x)
    compare(lambda x: torch_npu.npu_swiglu(x, dim=0), lambda x: F.silu(x[:2]) * x[2:], x)
    compare(lambda x: torch_npu.npu_geglu(x)[0], lambda x: x[:, :3] * F.gelu(x[:, 3:], approximate="tanh"), x)
    compare(lambda x: torch_npu.npu_geglu(x, -1, 0, True)[0], lambda x: x[:, 3:] * F.gelu(x[:, :3]), x)
    compare(torch_npu.npu_fast_gelu, lambda x: x / (1 + torch.exp(-1.702 * x)), x)
    compare(lambda x: torch_npu.npu_gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh"), x)
    compare(torch_npu.npu_silu, lambda x: x * torch.sigmoid(x), x)
    compare(torch_npu.npu_mish, lambda x: x * torch.tanh(F.softplus(x)), x)


def check_scaled_masked_softmax():
    x, mask = torch.randn(2, 2, 4, 4), torch.rand(2, 1, 4, 4) > 0.7
    compare(
        lambda x, m: torch_npu.npu_scaled_masked_softmax(x, m, 0.5, False),
        lambda x, m: torch.softmax((0.5 * x).masked_fill(m, -10000), -1),
        *(x, mask),
    )


def check_rotary():
    x, cos, sin = torch.randn(2, 3, 2, 8), torch.randn(1, 3, 1, 8), torch.randn(1, 3, 1, 8)

    def by_halves(x, cos, sin):
        return x * cos + torch.cat((-x[..., 4:], x[..., :4]), -1) * sin

    def by_pairs(x, cos, sin):
        turned = torch.empty_like(x)
        turned[..., ::2], turned[..., 1::2] = -x[..., 1::2].detach(), x[..., ::2].detach()
        return x * cos + turned * sin

    compare(torch_npu.npu_rotary_mul, by_halves, x, cos, sin)
    same(torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), rotary_mode="interleave"), by_pairs(x, cos, sin))


def attention(q, k, v, hidden=None, bias=0.0):
    """The definition, for (batch, head, length, size)."""
    scores = (q @ k.transpose(-1, -2) + bias) * 0.3
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, -1) @ v


def check_attention_layouts():
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 8)
    for layout, to, back in (
        ("BNSD", lambda x: x, lambda x: x),
        ("BSND", lambda x: x.transpose(1, 2), lambda x: x.transpose(1, 2)),
        ("BSH", lambda x: x.transpose(1, 2).flatten(2), lambda x: x.unflatten(2, (4, 8)).transpose(1, 2)),
        ("SBH", lambda x: x.permute(2, 0, 1, 3).flatten(2), lambda x: x.unflatten(2, (4, 8)).permute(1, 2, 0, 3)),
    ):

        def fused(q, k, v, layout=layout, to=to, back=back):
            return back(torch_npu.npu_fusion_attention(to(q), to(k), to(v), 4, layout, scale=0.3)[0])

        compare(fused, attention, q, k, v)
    maximum, total = torch_npu.npu_fusion_attention(q.npu(), k.npu(), v.npu(), 4, "BNSD", scale=0.3)[1:3]
    scores = q @ k.transpose(-1, -2) * 0.3
    assert maximum.shape == (2, 4, 5, 8)
    same(torch.log(total[..., 0]) + maximum[..., 0], torch.logsumexp(scores, -1))


def check_attention_masks():
    q, k, v = torch.randn(1, 2, 4, 8), torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8)
    row, column = torch.arange(4)[:, None], torch.arange(6)[None, :]
    triangle = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    own, bias = torch.rand(4, 6) > 0.7, torch.randn(1, 2, 4, 6)
    own[:, 0] = False
    for mode, mask, hidden, options in (
        (0, own, own, {}),
        (1, own, own, {}),
        (2, triangle, column > row, {}),
        (3, triangle, column > row + 2, {}),
        (4, triangle, (column > row + 2 + 1) | (column < row + 2 - 2), {"pre_tockens": 2, "next_tockens": 1}),
    ):

        def fused(q, k, v, mode=mode, mask=mask, options=options):
            return torch_npu.npu_fusion_attention(
                q, k, v, 2, "BNSD", atten_mask=mask.npu(), scale=0.3, sparse_mode=mode, **options
            )[0]

        compare(fused, lambda q, k, v, hidden=hidden: attention(q, k, v, hidden), q, k, v)
    compare(
        lambda q, k, v, b: torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", pse=b, scale=0.3)[0],
        lambda q, k, v, b: attention(q, k, v, None, b),
        *(q, k, v, bias),
    )


def check_attention_grouped_heads_and_packed_sequences():
    q, k, v = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8)
    compare(
        lambda q, k, v: torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.3)[0],
        lambda q, k, v: attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)),
        *(q, k, v),
    )
    flat = lambda x: x.transpose(1, 2).flatten(2)  # noqa: E731
    same(
        torch_npu.npu_fusion_attention(flat(q).npu(), flat(k).npu(), flat(v).npu(), 4, "BSH", scale=0.3)[0],
        flat(attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))),
    )
    packed = torch.randn(5, 2, 8)  # two sequences, of 2 and 3

    def reference(x):
        first, second = (part.transpose(0, 1)[None] for part in (x[:2], x[2:]))
        return torch.cat([attention(part, part, part)[0].transpose(0, 1) for part in (first, second)])

    compare(
        lambda x: torch_npu.npu_fusion_attention(
            x, x, x, 2, "TND", scale=0.3, actual_seq_qlen=[2, 5], actual_seq_kvlen=[2, 5]
        )[0],
        reference,
        packed,
    )


def check_attention_dropout_keeps_the_mean():
    torch.manual_seed(0)
    v = torch.ones(1, 1, 64, 64, device="npu")
    output = torch_npu.npu_fusion_attention(v, v, v, 1, "BNSD", scale=0.1, keep_prob=0.5)[0]
    assert 0.9 < output.mean().item() < 1.1 and output.std().item() > 0.01


def check_formats_and_shapes():
    x = torch.randn(2, 3, 4)
    same(torch_npu.npu_format_cast(x.npu(), 29), x)
    assert torch_npu.get_npu_format(x.npu()) == 2
    assert torch_npu.npu_dtype_cast(x.npu(), torch.bfloat16).dtype == torch.bfloat16
    same(torch_npu.npu_transpose(x.npu(), (2, 0, 1)), x.permute(2, 0, 1))
    same(torch_npu.npu_confusion_transpose(x.npu(), (0, 2, 1), (2, 12), True), x.permute(0, 2, 1).reshape(2, 12))
    same(torch_npu.npu_confusion_transpose(x.npu(), (1, 0), (6, 4), False), x.reshape(6, 4).t())
    weight, bias = torch.randn(5, 4), torch.randn(5)
    same(torch_npu.npu_linear(x.npu(), weight.npu(), bias.npu()), F.linear(x, weight, bias))
    assert torch.ops.npu.npu_swiglu is torch_npu.npu_swiglu


def check_fused_optimizers():
    pairs = [
        (optim.NpuFusedAdam, torch.optim.Adam, {"lr": 1e-2, "weight_decay": 0.1}),
        (optim.NpuFusedAdamW, torch.optim.AdamW, {"lr": 1e-2, "weight_decay": 0.1, "amsgrad": True}),
        (optim.NpuFusedSGD, torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9, "nesterov": True}),
        (optim.NpuFusedRMSprop, torch.optim.RMSprop, {"lr": 1e-2, "centered": True}),
        (optim.NpuFusedAdadelta, torch.optim.Adadelta, {"lr": 0.5}),
    ]
    for fused, plain, options in pairs:

        def run(device, optimizer, options=options):
            torch.manual_seed(0)
            model = nn.Linear(4, 4)
            x = torch.randn(8, 4)
            model.to(device)
            stepper = optimizer(model.parameters(), **options)
            for _ in range(5):
                stepper.zero_grad()
                model(x.to(device)).pow(2).mean().backward()
                stepper.step()
            return model.weight.detach()

        same(run("npu", fused), run("cpu", plain))
    parameter = nn.Parameter(torch.ones(4, device="npu"))
    stepper = optim.NpuFusedAdamW([parameter])
    assert isinstance(stepper, optim.NpuFusedOptimizerBase)
    parameter.sum().backward()
    same(stepper.clip_grad_norm_fused_(1.0), torch.tensor(2.0))
    same(parameter.grad, torch.full((4,), 0.5), 1e-5)


def check_profiler():
    with tempfile.TemporaryDirectory() as folder:
        handler = profiler.tensorboard_trace_handler(folder)
        activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU]
        schedule = profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
        config = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with profiler.profile(
                activities=activities, schedule=schedule, on_trace_ready=handler, experimental_config=config
            ) as prof:
                for _ in range(3):
                    torch.ones(4, device="npu").mul_(2)
                    prof.step()
        (trace,) = Path(folder).glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
        names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
        assert "aten::mul_" in names
    try:
        profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    except TypeError as error:
        assert "torch_npu.profiler.ProfilerActivity" in str(error)
    else:
        raise AssertionError("torch's activities were taken")
    with torch.npu.mstx.annotate("part") if hasattr(torch.npu.mstx, "annotate") else torch.no_grad():
        torch.npu.mstx.range_end(torch.npu.mstx.range_start("a"))
        torch.npu.mstx.mark("b")
