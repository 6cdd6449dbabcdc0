from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_migrate import knowledge
from ascend_migrate.knowledge._versions import version_key

OLDEST, NEWEST = knowledge.versions()[0], knowledge.versions()[-1]


def test_versions_from_2_1_on_oldest_first() -> None:
    versions = knowledge.versions()
    assert list(versions) == sorted(versions, key=version_key)
    assert OLDEST.startswith("2.1.0")
    assert {"2.1.0.post17", "2.7.1", "2.13.0", "2.14.0"} <= set(versions)


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("2.7.1", "2.7.1"),
        ("2.7.1.post3", "2.7.1.post2"),
        ("2.7.1+cpu", "2.7.1"),
        ("2.2.0", "2.1.0.post17"),
        ("1.11.0", OLDEST),
        ("99.0", NEWEST),
    ],
)
def test_nearest_version(asked: str, nearest: str) -> None:
    assert knowledge.nearest_version(asked) == nearest
    assert knowledge.surface(asked) is knowledge.surface(nearest)


@pytest.mark.parametrize("garbage", ["", "newest", "2.x"])
def test_unknown_version(garbage: str) -> None:
    with pytest.raises(knowledge.UnknownVersion, match="is not a torch_npu version"):
        knowledge.nearest_version(garbage)


@pytest.mark.parametrize(
    "name",
    [
        "torch.npu",
        "torch_npu",
        "torch_npu.__version__",
        "torch.npu.Stream",
        "torch.npu.Stream.query",
        "torch.npu.FloatTensor",
        "torch.npu.BFloat16Tensor",
        "torch.npu._lazy_init",
        "torch.npu._is_in_bad_fork",
        "torch.npu.amp.autocast",
        "torch_npu.npu.amp.GradScaler",
        "torch_npu.npu.amp.grad_scaler.GradScaler",
        "torch_npu.distributed.is_hccl_available",
        "torch_npu.profiler.profile",
        "torch_npu.contrib.transfer_to_npu",
        "torch_npu.npu_fusion_attention",
        "torch_npu.npu.mstx.mark",
        "torch_npu.dynamo.torchair.configs.anything.below",
        "torch_npu._C._npu_getDeviceCount",
        "torch.Tensor.npu",
        "torch.Tensor.is_npu",
        "torch.nn.Module.npu",
        "torch.version.cann",
    ],
)
def test_every_version_has(name: str) -> None:
    assert knowledge.versions_with(name) == knowledge.versions()


@pytest.mark.parametrize(
    "name",
    [
        "torch_npu.amp",
        "torch_npu.amp.GradScaler",
        "torch_npu.DataLoader",
        "torch.npu.CUDAGraph",
        "torch.npu.OutOfMemoryError",
        "torch.npu.nvtx",
        "torch.npu.nvtx.range_push",
        "torch.npu.optimize",
        "torch.npu.clip_grad_norm_",
        "torch.npu.mstx.no_such_member",
        "torch.npu.Stream_",
        "torch_npux",
        "torch.Tensor.cuda",
        "torch.nn.Linear",
        "numpy.array",
        "",
    ],
)
def test_no_version_has(name: str) -> None:
    assert knowledge.versions_with(name) == ()


def test_what_came_later() -> None:
    assert not knowledge.surface("2.7.1").has("torch.npu.ExternalStream")
    assert knowledge.surface("2.13.0").has("torch.npu.ExternalStream")
    with_push = knowledge.versions_with("torch.npu.mstx.range_push")
    assert "2.7.1" not in with_push
    assert {"2.7.1.post8", "2.12.0", NEWEST} <= set(with_push)
    assert knowledge.versions_with("torch_npu.int4")[0] == "2.7.1.post4"
    assert knowledge.versions_with("torch.npu.CUDAGraph") == ()


def test_an_attribute_that_cannot_be_imported() -> None:
    surface = knowledge.surface(NEWEST)
    assert surface.has("torch.npu.mstx.range_start")
    assert not surface.can_import("torch_npu.npu.mstx", "range_start")
    assert surface.can_import("torch_npu.npu.mstx", "mstx")
    assert surface.can_import("torch.npu.amp", "GradScaler")
    assert not surface.can_import("torch_npu.npu.amp", "no_such_name")
    assert not surface.can_import("torch_npu.no_such_module", "GradScaler")


def test_modules_and_names() -> None:
    surface = knowledge.surface("2.7.1")
    assert {"torch_npu", "torch_npu.npu", "torch_npu.npu.amp", "torch_npu.npu.utils"} <= surface.modules
    assert surface.is_module("torch.npu.amp")
    assert not surface.is_module("torch.npu.Stream")
    assert surface.names("torch.npu") == surface.names("torch_npu.npu")
    assert surface.names("torch_npu.no_such_module") == frozenset()
    assert surface.exported("torch.npu") < surface.names("torch.npu")
    assert "set_device" in surface.exported("torch.npu")
    assert "os" not in surface.exported("torch.npu")
    assert surface.exported("torch_npu.utils.no_such_module") == frozenset()


def test_operators() -> None:
    surface = knowledge.surface("2.13.0")
    assert "add.Tensor" in surface.operators()
    assert "npu_swiglu" in surface.operators("custom")
    assert surface.has_operator("aten::add.Tensor")
    assert surface.has_operator("add")
    assert surface.has_operator("npu::npu_swiglu")
    assert not surface.has_operator("aten::add.NoSuchOverload")
    assert not surface.has_operator("_cudnn_rnn")
    with pytest.raises(KeyError):
        surface.operators("no such kind")


def test_torch_of() -> None:
    assert knowledge.torch_of("2.7.1.post2") == "2.7.1"
    assert knowledge.torch_of("2.9.1") == "2.9.1"
    assert knowledge.torch_of("2.2.0.post2") == "2.2.0"
    with pytest.raises(knowledge.UnknownVersion):
        knowledge.torch_of("newest")


def test_shipped_data_has_provenance_and_is_small() -> None:
    data = Path(knowledge.__file__).parent / "data"
    document = json.loads((data / "torch_npu.json").read_bytes())
    for row in document["versions"]:
        assert row["wheel"].startswith(f"torch_npu-{row['torch_npu']}-")
        assert re.fullmatch("[0-9a-f]{64}", row["sha256"])
    assert sum(path.stat().st_size for path in data.iterdir()) < 500_000


def test_importing_the_package_loads_nothing() -> None:
    program = (
        "import sys; from ascend_migrate import knowledge; "
        "print(sorted({'yaml', 'json', 'dataclasses', 'difflib'} & set(sys.modules)))"
    )
    command = [sys.executable, "-S", "-c", program]
    source = str(Path(knowledge.__file__).parents[2])
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": source})
    assert result.stdout.strip() == "[]"


def test_unknown_attribute_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        knowledge.no_such_thing  # noqa: B018
    for name in knowledge.__all__:
        assert getattr(knowledge, name) is not None


KNOWN_MISREADINGS = {"DefaultDeviceType", "e", "globals"}
"""In the facts but not there at run time: deleted, unbound, or the target of ``globals()[name] = ...``."""


def test_names_agree_with_the_facts(facts: Path) -> None:
    collected = json.loads((facts / "torch_npu_names.json").read_bytes())
    assert len(collected) >= 11
    for version, modules in collected.items():
        surface = knowledge.surface(version)
        assert surface.version == version
        for module, names in modules.items():
            assert set(names) - KNOWN_MISREADINGS <= surface.names(module), (version, module)


def test_operators_agree_with_the_facts(facts: Path) -> None:
    for version, kinds in json.loads((facts / "torch_npu_ops.json").read_bytes()).items():
        for kind, names in kinds.items():
            assert knowledge.surface(version).operators(kind) == set(names), (version, kind)


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0"])
def test_nothing_of_the_imported_package_is_missing(facts: Path, version: str) -> None:
    live = json.loads((facts / f"torch_npu_live_{version}.json").read_bytes())["modules"]
    surface = knowledge.surface(version)
    expected = {("torch_npu.npu.aclnn", "m"), ("torch_npu", "_pybind11_conduit_v1_")}  # of other objects
    for module, names in live.items():
        if not isinstance(names, list):
            continue  # a module that could not be imported
        if module.endswith("::__all__"):
            assert surface.exported(module[: -len("::__all__")]) == set(names), module
        else:
            missing = {(module, name) for name in names if not surface.has(f"{module}.{name}")}
            assert missing <= expected
