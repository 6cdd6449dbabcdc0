"""The backend hccl and what is built on it, on two ranks."""

from __future__ import annotations

import os
import tempfile
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("npu", RANK)
torch.npu.set_device(DEVICE)
dist.init_process_group("hccl")


def finish():
    dist.destroy_process_group()


def full(value, size=2):
    return torch.full((size,), float(value), device=DEVICE)


def check_backend():
    assert dist.get_backend() == "hccl"
    assert (dist.get_rank(), dist.get_world_size()) == (RANK, SIZE)


def check_reductions():
    for operation, expected in (
        (dist.ReduceOp.SUM, 3.0),
        (dist.ReduceOp.AVG, 1.5),
        (dist.ReduceOp.MAX, 2.0),
        (dist.ReduceOp.MIN, 1.0),
        (dist.ReduceOp.PRODUCT, 2.0),
    ):
        x = full(RANK + 1)
        dist.all_reduce(x, op=operation)
        assert x.tolist() == [expected] * 2, (operation, x)
    y = full(RANK + 1)
    dist.reduce(y, 1, op=dist.ReduceOp.AVG)
    assert RANK == 0 or y.tolist() == [1.5, 1.5]


def check_views_are_reduced_in_place():
    x = torch.zeros(4, 4, device=DEVICE)
    row = x[1]
    row.fill_(RANK + 1)
    dist.all_reduce(row)
    assert x.cpu().sum().item() == 12 and row.tolist() == [3.0] * 4


def check_work_objects():
    x = full(1)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    assert work.is_completed() and work.is_success() and x.tolist() == [2.0, 2.0]
    seen = []
    future = dist.all_reduce(full(1), async_op=True).get_future()
    future.then(lambda done: seen.append(done.value()[0].tolist())).wait()
    assert seen == [[2.0, 2.0]]


def check_gathers():
    parts = [torch.empty(2, device=DEVICE) for _ in range(SIZE)]
    dist.all_gather(parts, full(RANK))
    assert [part.tolist() for part in parts] == [[0.0, 0.0], [1.0, 1.0]] and parts[0].is_npu
    flat = torch.empty(4, device=DEVICE)
    dist.all_gather_into_tensor(flat, full(RANK))
    assert flat.tolist() == [0, 0, 1, 1]
    collected = [torch.empty(2, device=DEVICE) for _ in range(SIZE)] if RANK == 0 else None
    dist.gather(full(RANK), collected)
    assert RANK == 1 or collected[1].tolist() == [1, 1]


def check_scatters():
    x = full(9)
    dist.broadcast(x.fill_(RANK), 1)
    assert x.tolist() == [1, 1]
    dist.scatter(x, [full(5), full(6)] if RANK == 0 else None)
    assert x.tolist() == [5 + RANK] * 2
    dist.reduce_scatter_tensor(x, torch.arange(4.0, device=DEVICE))
    assert x.tolist() == [4 * RANK, 4 * RANK + 2]
    dist.reduce_scatter(x, [full(1), full(2)], op=dist.ReduceOp.AVG)
    assert x.tolist() == [RANK + 1] * 2


def check_all_to_all():
    received = torch.empty(2, device=DEVICE)
    dist.all_to_all_single(received, torch.arange(2.0, device=DEVICE) + 10 * RANK)
    assert received.tolist() == [RANK, 10 + RANK]
    outputs = [torch.empty(1, device=DEVICE), torch.empty(2, device=DEVICE)]
    inputs = [torch.full((RANK + 1,), float(RANK), device=DEVICE) for _ in range(SIZE)]
    dist.all_to_all(outputs, inputs)
    assert outputs[0].tolist() == [0] and outputs[1].tolist() == [1, 1]


def check_point_to_point():
    x = full(RANK)
    if RANK == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)
        assert x.tolist() == [0, 0]
    y = torch.empty(2, device=DEVICE)
    other = 1 - RANK
    operations = [dist.P2POp(dist.isend, full(RANK), other), dist.P2POp(dist.irecv, y, other)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert y.tolist() == [other, other]


def check_objects_and_groups():
    everything = [None] * SIZE
    dist.all_gather_object(everything, {"rank": RANK})
    assert everything == [{"rank": 0}, {"rank": 1}]
    shared = [{"a": 1} if RANK == 0 else None]
    dist.broadcast_object_list(shared, 0)
    assert shared == [{"a": 1}]
    group = dist.new_group([0, 1])
    x = full(1)
    dist.all_reduce(x, group=group)
    assert x.tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dist.barrier()
    dist.destroy_process_group(group)


def data_and_model(make_model):
    torch.manual_seed(0)
    model = make_model()
    return model, torch.randn(8, 3, 4, 4), torch.randn(8, 2)


def convolutional():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))


def training_losses(model, x, y, steps=5):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def check_ddp_with_sync_batch_norm_equals_one_process():
    reference, x, y = data_and_model(convolutional)
    expected = training_losses(reference, x, y)
    model, _, _ = data_and_model(convolutional)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model).to(DEVICE)
    model = DistributedDataParallel(model, device_ids=[RANK], output_device=RANK)
    half = slice(RANK * 4, RANK * 4 + 4)
    actual = training_losses(model, x[half].to(DEVICE), y[half].to(DEVICE))
    for mine, whole in zip(actual, expected):
        dist.all_reduce(mine, op=dist.ReduceOp.AVG)
        assert abs(mine.item() - whole.item()) <= 1e-5 * whole.item(), (mine, whole)
    norm, plain = model.module[1], reference[1]
    assert torch.allclose(norm.running_var.cpu(), plain.running_var, rtol=1e-5)


def check_ddp_options():
    for options in ({"gradient_as_bucket_view": True}, {"static_graph": True}, {"broadcast_buffers": False}):
        model, x, y = data_and_model(convolutional)
        model = DistributedDataParallel(model.to(DEVICE), device_ids=[RANK], **options)
        if "static_graph" not in options:
            with model.no_sync():
                model(x.to(DEVICE)).sum().backward()
        training_losses(model, x.to(DEVICE) + RANK, y.to(DEVICE))
        weights = [torch.empty(2, 16, device=DEVICE) for _ in range(SIZE)]
        dist.all_gather(weights, model.module[4].weight.detach())
        assert torch.equal(weights[0], weights[1]), options


def check_ddp_mixed_precision_and_checkpoint():
    model, x, y = data_and_model(convolutional)
    model = DistributedDataParallel(model.to(DEVICE), device_ids=[RANK])
    optimizer, scaler = torch.optim.AdamW(model.parameters(), 1e-2), torch.npu.amp.GradScaler()
    for _ in range(3):
        optimizer.zero_grad()
        with torch.npu.amp.autocast():
            loss = (model(x.to(DEVICE)).float() - y.to(DEVICE)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    folder = [tempfile.mkdtemp() if RANK == 0 else None]
    dist.broadcast_object_list(folder, 0)
    if RANK == 0:
        torch.save(model.state_dict(), f"{folder[0]}/model.pt")
    dist.all_reduce(full(1))
    state = torch.load(f"{folder[0]}/model.pt", map_location={"npu:0": f"npu:{RANK}"})
    assert all(value.device == DEVICE for value in state.values())
    model.load_state_dict(state)


def check_fsdp2():
    from torch.distributed.fsdp import fully_shard

    def run(shard):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        x, y = torch.randn(4, 4), torch.randn(4, 2)
        if shard:
            model.to(DEVICE)
            fully_shard(model)
            x, y = x.to(DEVICE), y.to(DEVICE)
        return [loss.item() for loss in training_losses(model, x, y)]

    for actual, expected in zip(run(True), run(False)):
        assert abs(actual - expected) <= 1e-5 * expected


def check_fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.manual_seed(0)
    model = FullyShardedDataParallel(nn.Linear(4, 2).to(DEVICE), device_id=DEVICE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = training_losses(model, torch.ones(2, 4, device=DEVICE), torch.ones(2, 2, device=DEVICE))
    assert losses[-1].item() < losses[0].item()
