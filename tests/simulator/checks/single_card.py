"""Tensors, devices, memory and training on one process with two simulated cards."""

from __future__ import annotations

import copy
import io
import warnings

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

torch.sparse.check_sparse_tensor_invariants.disable()  # said aloud; otherwise torch warns


def raises(kind, pattern, function):
    try:
        function()
    except kind as error:
        assert pattern in str(error), f"{pattern!r} is not in {error!s}"
    else:
        raise AssertionError(f"no {kind.__name__}")


def same(a, b, tolerance=0.0):
    a, b = a.cpu(), b.cpu()
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    assert torch.allclose(a, b, rtol=tolerance, atol=tolerance), (a - b).abs().max()


# ---- devices --------------------------------------------------------------------------------------------------


def check_device_is_there_without_import_of_torch_npu():
    # This file does not import it: torch loads its backends by itself, as on a card.
    assert torch.npu.is_available()
    assert torch.npu.device_count() == 2
    assert torch.device("npu").type == "npu"
    assert torch.npu.get_device_name(1) == "Ascend910B1"
    assert torch.npu.get_device_properties(0).total_memory == 64 << 30


def check_accelerator_interface():
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator().type == "npu"
    assert torch.accelerator.device_count() == 2


def check_current_device():
    assert torch.npu.current_device() == 0
    torch.npu.set_device("npu:1")
    assert torch.ones(1, device="npu").device.index == 1
    torch.npu.set_device(0)
    with torch.npu.device(1):
        assert torch.ones(1, device="npu").device.index == 1
    assert torch.npu.current_device() == 0


def check_wrong_ordinal():
    raises(RuntimeError, "invalid device ordinal npu:9", lambda: torch.ones(1, device="npu:9"))
    raises(RuntimeError, "invalid device ordinal npu:2", lambda: torch.npu.set_device(2))
    raises(RuntimeError, "invalid device ordinal npu:7", lambda: torch.ones(1).npu(7))


def check_mixed_devices():
    x = torch.ones(3, device="npu:0")
    raises(RuntimeError, "npu:0 and cpu", lambda: x + torch.ones(3))
    raises(RuntimeError, "npu:0 and npu:1", lambda: x + torch.ones(3, device="npu:1"))
    raises(RuntimeError, "same device", lambda: nn.Linear(3, 3).npu()(torch.ones(2, 3)))
    raises(RuntimeError, "same device", lambda: nn.Conv1d(1, 1, 1).npu()(torch.ones(1, 1, 3)))
    # A CPU number mixes with everything.
    same(x + torch.tensor(1.0), torch.full((3,), 2.0))


def check_indices_on_the_other_device():
    x = torch.arange(5.0, device="npu")
    same(x[torch.tensor([0, 2])], torch.tensor([0.0, 2.0]))
    raises(RuntimeError, "indices should be either on cpu", lambda: torch.arange(5)[torch.tensor([0]).npu()])


def check_capability_is_none():
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert torch.npu.get_device_capability() is None


def check_no_cuda():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    raises((RuntimeError, AssertionError), "", lambda: torch.ones(1).cuda())
    raises((RuntimeError, AssertionError), "", lambda: torch.ones(1, device="cuda"))


# ---- tensors --------------------------------------------------------------------------------------------------


def check_moving():
    x = torch.randn(3, 4)
    y = x.npu()
    assert y.is_npu and str(y.device) == "npu:0"
    same(y, x)
    same(x.to("npu:1", non_blocking=True).to("npu:0") + y, 2 * x)
    same(y.half().float(), x.half().float())
    assert "npu:0" in repr(y)


def check_factories():
    device = torch.device("npu", 0)
    for factory in (torch.zeros, torch.ones, torch.randn, torch.rand, torch.empty):
        assert factory(2, 3, device=device).device == device
    same(torch.arange(5, device=device), torch.arange(5))
    same(torch.eye(3, device=device), torch.eye(3))
    same(torch.full((2,), 3.0, device=device), torch.full((2,), 3.0))
    same(torch.linspace(0, 1, 5, device=device), torch.linspace(0, 1, 5))
    same(torch.tensor([1, 2], device=device), torch.tensor([1, 2]))
    assert sorted(torch.randperm(5, device=device).tolist()) == [0, 1, 2, 3, 4]
    assert torch.empty(2, 3, 4, 5, device=device).to(memory_format=torch.channels_last).stride() == (60, 1, 15, 3)


def check_views_share_memory():
    def change(x):
        x[1].fill_(2)
        x[:, 2] += 1
        x.t()[0].mul_(5)
        x.view(16)[3:7].zero_()
        x[::2, 1::2].add_(1)
        return x

    x = change(torch.zeros(4, 4, device="npu"))
    same(x, change(torch.zeros(4, 4)))
    assert x.view(16)[3:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x[1:].detach()._base is None and x.t().is_npu


def check_out_arguments_resize():
    out = torch.empty(0, device="npu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.add(torch.ones(3, device="npu"), 1, out=out)
    same(out, torch.full((3,), 2.0))
    out.resize_(10)
    same(out[:3], torch.full((3,), 2.0))


def check_indexing_and_sorting():
    x = torch.randn(5, 5)
    y = x.npu()
    same(y[y > 0], x[x > 0])
    same(y.topk(2).values, x.topk(2).values)
    same(y.sort(1, descending=True).indices, x.sort(1, descending=True).indices)
    same(y.nonzero(), x.nonzero())
    same(y.masked_fill(y > 0, 0), x.masked_fill(x > 0, 0))
    same(torch.where(y > 0, y, -y), x.abs())


def check_complex_and_linear_algebra():
    x = torch.randn(4, 4, dtype=torch.complex64)
    same(torch.fft.fft(x.npu()), torch.fft.fft(x), 1e-6)
    same(torch.view_as_real(x.npu()), torch.view_as_real(x))
    same(x.npu().conj() @ x.npu(), x.conj() @ x, 1e-5)
    a = torch.randn(3, 3) + 3 * torch.eye(3)
    same(torch.linalg.inv(a.npu()), torch.linalg.inv(a), 1e-5)
    same(torch.einsum("ij,jk->ik", a.npu(), a.npu()), a @ a, 1e-5)


def check_numpy_needs_the_cpu():
    raises(TypeError, "npu", lambda: torch.ones(2, device="npu").numpy())


def check_typed_tensors():
    x = torch.npu.FloatTensor([1.0, 2.0])
    assert x.is_npu and isinstance(x, torch.npu.FloatTensor) and not isinstance(x, torch.npu.HalfTensor)
    assert not isinstance(x.cpu(), torch.npu.FloatTensor)
    assert x.type() == "torch.npu.FloatTensor"
    assert x.type("torch.npu.HalfTensor").dtype == torch.float16
    assert torch.npu.LongTensor(2, 3).shape == (2, 3)


def check_deepcopy_and_pickle():
    module = nn.Linear(2, 2).npu()
    clone = copy.deepcopy(module)
    assert isinstance(clone.weight, nn.Parameter) and clone.weight.is_npu
    same(clone.weight, module.weight)
    assert clone.weight.data_ptr() != module.weight.data_ptr()


def check_tied_weights_stay_tied():
    module = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    module[1].weight = module[0].weight
    first = module[0].weight
    module.npu()
    assert module[1].weight is module[0].weight is first and first.is_npu


def check_save_and_load():
    buffer = io.BytesIO()
    torch.save({"a": torch.arange(4.0, device="npu"), "m": nn.Linear(2, 2).npu().state_dict()}, buffer)

    def load(**options):
        buffer.seek(0)
        return torch.load(buffer, **options)

    assert load()["a"].is_npu
    assert load(map_location="cpu")["m"]["weight"].device.type == "cpu"
    assert str(load(map_location="npu:1")["a"].device) == "npu:1"
    assert str(load(map_location={"npu:0": "npu:1"})["a"].device) == "npu:1"
    assert str(load(map_location=torch.device("npu", 1), weights_only=False)["a"].device) == "npu:1"
    assert load(map_location=lambda storage, location: storage)["a"].device.type == "cpu"
    same(load()["a"], torch.arange(4.0))


# ---- random numbers -------------------------------------------------------------------------------------------


def check_generators():
    torch.manual_seed(3)
    first = torch.randn(3, device="npu")
    torch.npu.manual_seed_all(3)
    same(torch.randn(3, device="npu"), first)
    state = torch.npu.get_rng_state()
    second = torch.rand(2, device="npu")
    torch.npu.set_rng_state(state)
    same(torch.rand(2, device="npu"), second)
    states = torch.npu.get_rng_state_all()
    assert len(states) == 2
    generator = torch.Generator(device="npu").manual_seed(1)
    own = torch.randn(3, generator=generator, device="npu")
    same(torch.randn(3, generator=generator.manual_seed(1), device="npu"), own)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(5, device="npu")
    torch.npu.set_rng_state(state)
    same(torch.rand(2, device="npu"), second)


def check_cards_have_their_own_generators():
    torch.npu.manual_seed_all(5)
    torch.rand(7, device="npu:0")
    drawn = torch.rand(2, device="npu:1")
    torch.npu.manual_seed_all(5)
    same(torch.rand(2, device="npu:1"), drawn)


# ---- streams, events, memory ----------------------------------------------------------------------------------


def check_streams_and_events():
    stream = torch.npu.Stream()
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    before = torch.npu.current_stream()
    with torch.npu.stream(stream):
        assert torch.npu.current_stream() == stream
        y = torch.ones(2, device="npu") * 2
        y.record_stream(stream)
    assert torch.npu.current_stream() == before == torch.npu.default_stream()
    end.record()
    end.synchronize()
    assert 0 <= start.elapsed_time(end) < 60_000
    stream.wait_event(end)
    stream.wait_stream(before)
    assert stream.query() and end.query() and stream.record_event().query()
    torch.npu.synchronize()
    stream.synchronize()
    untimed = torch.npu.Event()
    untimed.record()
    raises(RuntimeError, "enable_timing", lambda: untimed.elapsed_time(end))


def check_memory_statistics():
    base = torch.npu.memory_allocated()
    torch.npu.reset_peak_memory_stats()
    x = torch.zeros(1000, device="npu")
    y = x + 1
    assert torch.npu.memory_allocated() - base == 8000
    del x, y
    assert torch.npu.memory_allocated() == base
    assert torch.npu.max_memory_allocated() - base == 8000
    statistics = torch.npu.memory_stats()
    assert statistics["allocated_bytes.all.current"] == base
    assert statistics["allocated_bytes.all.allocated"] - statistics["allocated_bytes.all.freed"] == base
    free, total = torch.npu.mem_get_info()
    assert total == 64 << 30 and free == total - base
    torch.npu.empty_cache()
    assert "allocated_bytes.all.peak" in torch.npu.memory_summary()


def check_out_of_memory():
    raises(torch.OutOfMemoryError, "NPU out of memory", lambda: torch.empty(1 << 40, device="npu"))
    torch.npu.set_per_process_memory_fraction(0.5, 1)
    raises(torch.OutOfMemoryError, "32.00 GiB total", lambda: torch.empty(33 << 30, device="npu:1"))
    torch.npu.set_per_process_memory_fraction(1.0, 1)


def check_pinned_memory():
    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned() and not torch.ones(3).is_pinned()
    same(pinned.npu(non_blocking=True), torch.ones(3))


def check_data_loader_pins():
    data = torch.utils.data.TensorDataset(torch.arange(20.0)[:, None])
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(data, 4, pin_memory=True, num_workers=workers)
        total = 0.0
        for (batch,) in loader:
            assert batch.is_pinned()
            total += batch.npu(non_blocking=True).sum().item()
        assert total == 190


# ---- mixed precision ------------------------------------------------------------------------------------------


def check_autocast():
    layer, x = nn.Linear(4, 4).npu(), torch.randn(2, 4, device="npu")
    with torch.npu.amp.autocast():
        y = layer(x)
        assert y.dtype == torch.float16
        assert torch.softmax(y, -1).dtype == torch.float32
        assert torch.cat([y, x]).dtype == torch.float32
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
        with torch.autocast("npu", enabled=False):
            assert layer(x).dtype == torch.float32
    assert layer(x).dtype == torch.float32


def check_grad_scaler():
    for scaler in (torch.npu.amp.GradScaler(init_scale=8.0), torch.amp.GradScaler("npu", init_scale=8.0)):
        weight = nn.Parameter(torch.ones(2, device="npu"))
        optimizer = torch.optim.SGD([weight], 0.5)
        scaler.scale(weight.sum()).backward()
        same(weight.grad, torch.full((2,), 8.0))
        scaler.step(optimizer)
        scaler.update()
        same(weight.detach(), torch.full((2,), 0.5))
        weight.grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
        same(weight.detach(), torch.full((2,), 0.5))
        assert scaler.get_scale() == 4.0
    fixed = torch.npu.amp.GradScaler(init_scale=8.0, dynamic=False)
    weight = nn.Parameter(torch.ones(2, device="npu"))
    fixed.scale(weight.sum()).backward()
    weight.grad.fill_(float("inf"))
    fixed.step(torch.optim.SGD([weight], 0.5))
    fixed.update()
    assert fixed.get_scale() == 8.0


# ---- layers and training --------------------------------------------------------------------------------------


def train(device, optimizer, steps=6):
    """A small image classifier; the loss of every step."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 10),
    )
    images, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))
    model.to(device)
    images, labels = images.to(device), labels.to(device)
    stepper = optimizer(model.parameters())
    losses = []
    for _ in range(steps):
        stepper.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stepper.step()
        losses.append(loss.item())
    return losses


def check_losses_equal_the_cpu():
    for optimizer in (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, 1e-2),
        lambda p: torch.optim.AdamW(p, 1e-2, foreach=True),
        lambda p: torch.optim.AdamW(p, 1e-2, fused=True),
        lambda p: torch.optim.RMSprop(p, 1e-3),
    ):
        expected, actual = train("cpu", optimizer), train("npu", optimizer)
        assert expected[-1] < expected[0]
        for a, b in zip(actual, expected):
            assert abs(a - b) <= 1e-5 * abs(b), (actual, expected)


def check_transformer_equals_the_cpu():
    def run(device):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        x = torch.randn(2, 5, 16)
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        model.to(device)
        y = model(x.to(device), mask=mask.to(device), is_causal=True)
        y.pow(2).sum().backward()
        return y.detach(), next(model.parameters()).grad

    for a, b in zip(run("npu"), run("cpu")):
        same(a, b, 1e-5)


def check_recurrent_layers_equal_the_cpu():
    for kind in (nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell):

        def run(device, kind=kind):
            torch.manual_seed(0)
            model = kind(4, 8)
            x = torch.randn(3, 2, 4) if kind in (nn.LSTM, nn.GRU) else torch.randn(2, 4)
            model.to(device)
            y = model(x.to(device))
            y = y[0] if isinstance(y, tuple) else y
            y.pow(2).sum().backward()
            return [y.detach(), *(p.grad for p in model.parameters())]

        for a, b in zip(run("npu"), run("cpu")):
            same(a, b, 1e-5)


def check_sparse_gradients():
    for make, optimize in (
        (lambda: nn.EmbeddingBag(10, 4, sparse=True, mode="sum"), lambda p: torch.optim.SGD(p, 0.1)),
        (lambda: nn.EmbeddingBag(10, 4, sparse=True, mode="mean"), lambda p: torch.optim.Adagrad(p, 0.1)),
        (lambda: nn.EmbeddingBag(10, 4, sparse=True), lambda p: torch.optim.SparseAdam(list(p), 0.1)),
    ):

        def run(device, make=make, optimize=optimize):
            torch.manual_seed(0)
            bag = make().to(device)
            optimizer = optimize(bag.parameters())
            words, offsets = torch.tensor([1, 2, 3, 1, 4]), torch.tensor([0, 2])
            for _ in range(3):
                optimizer.zero_grad()
                bag(words.to(device), offsets.to(device)).pow(2).sum().backward()
                optimizer.step()
            assert bag.weight.grad.is_sparse and bag.weight.grad.device.type == device
            return bag.weight.detach(), bag.weight.grad.to_dense()

        for a, b in zip(run("npu"), run("cpu")):
            same(a, b, 1e-6)


def check_sparse_tensors():
    dense = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    sparse = dense.npu().to_sparse()
    assert sparse.is_sparse and sparse.device.type == "npu"
    same(sparse.to_dense(), dense)
    same(torch.sparse.mm(sparse, torch.eye(2).npu()), dense)
    same((sparse + sparse).coalesce().values(), torch.tensor([2.0, 4.0]))
    same(sparse.cpu().npu().to_dense(), dense)
    moved = dense.to_sparse().npu()
    same(moved.coalesce().indices(), torch.tensor([[0, 1], [1, 0]]))


def check_checkpointing_and_autograd():
    from torch.utils.checkpoint import checkpoint

    layer = nn.Linear(4, 4).npu()
    for reentrant in (True, False):
        x = torch.randn(2, 4, device="npu", requires_grad=True)
        checkpoint(layer, x, use_reentrant=reentrant).sum().backward()
        same(x.grad, layer.weight.detach().sum(0).expand(2, 4), 1e-6)
    y = torch.randn(3, device="npu", requires_grad=True)
    (grad,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    grad.sum().backward()
    same(y.grad, 6 * y.detach(), 1e-6)


def check_backward_in_another_thread():
    import threading

    x = torch.randn(3, device="npu", requires_grad=True)
    thread = threading.Thread(target=lambda: (x * 2).sum().backward())
    thread.start()
    thread.join()
    same(x.grad, torch.full((3,), 2.0))


def check_operator_without_cpu_kernel():
    raises(
        NotImplementedError,
        "not simulated",
        lambda: torch.ops.aten._cudnn_rnn_flatten_weight([torch.ones(1, device="npu")], 1, 1, 1, 1, 1, 1, False, False),
    )
