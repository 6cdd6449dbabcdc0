"""The script that regenerates the names and operators, on a package made up here and on a real one."""

from __future__ import annotations

import importlib.util
import json
import sys
import textwrap
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "update_knowledge.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("update_knowledge", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["update_knowledge"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


FILES = {
    "torch_npu/__init__.py": """
        import os, torch.distributed as dist
        import torch_npu.npu
        from torch_npu.utils import *
        from torch_npu.npu import Stream as NPUStream
        from .contrib.star import *
        __all__ = ["erase_stream"]
        __all__ += torch_npu.utils.__all__
        for name in dir(torch.ops.npu):
            globals()[name] = getattr(torch.ops.npu, name)
        def temporary(): pass
        del temporary
        try:
            from missing import thing
        except ImportError as error:
            thing = None
        torch.version.cann = "8"
    """,
    "torch_npu/npu/__init__.py": """
        from typing import List
        from .mstx import mstx
        from .config import *
        from elsewhere import *
        __all__ = ["set_device"]
        __all__.append("Stream")
        __all__.extend(["FloatTensor", "empty_cache"])
        class Stream: pass
        def set_device(): pass
        def _lazy_init():
            local = 1
        with open("x") as handle:
            a, (b, *c) = 1, (2, 3)
        def __getattr__(name):
            if name == "lazy_member":
                return 1
            raise AttributeError(name)
    """,
    "torch_npu/npu/config.py": """
        __all__ = ["option", "_shown"]
        option: int = 1
        _shown = 2
        hidden = 3
    """,
    "torch_npu/npu/mstx.py": """
        __all__ = ["mstx", "annotate"]
        class mstx:
            level = 1
            @staticmethod
            def mark(message): pass
        class annotate: pass
    """,
    "torch_npu/utils/__init__.py": """
        __all__ = ["helper"]
        def helper(): pass
        def patch():
            torch_npu.npu.patched = 1
            torch.npu.patched_too = 1
            setattr(torch.distributed, "is_hccl_available", helper)
            torch.Tensor._private = 1
            torch_npu.npu.Stream.member_of_a_class = 1
    """,
    "torch_npu/utils/exposed_api.py": 'public_npu_functions = ["npu_swiglu", "npu_gone"]\n',
    "torch_npu/contrib/star.py": """
        from ..npu.config import option
        public, _private = 1, 2
    """,
    "torch_npu/contrib/transfer_to_npu.py": """
        torch.Tensor.cuda = torch.Tensor.npu
    """,
    "torch_npu/onnx/__init__.py": "exporter = 1\n",
    "torch_npu/onnx/deep/below.py": "not read ((\n",
    "torch_npu/graph_ops.py": """
        from torch.library import Library
        lib = Library("npu", "FRAGMENT")
        other = Library("aten", "IMPL")
        lib.define("print_tensor.overload(Tensor x) -> ()")
        other.define("not_ours(Tensor x) -> ()")
    """,
    "torch_npu/csrc/aten/npu_native_functions.yaml": """
        backend: NPU
        supported:
          - add.Tensor
          - func: mul.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
        custom:
          - func: npu_swiglu(Tensor x) -> Tensor
          - func: npu_swiglu.out(Tensor x) -> Tensor
    """,
    "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml": """
        supported:
          - relu
        autograd:
          - func: prelu(Tensor x) -> Tensor
    """,
    "torch_npu/include/torch_npu/csrc/custom_dtype/Init.h": """
        enum class DType {
          TORCH_NPU_ENUM_OFFSET(BF16, ACL_BF16) TORCH_NPU_ENUM_OFFSET(INT4, ACL_INT4)
        };
    """,
    "torch_npu-2.7.1.dist-info/METADATA": "Name: torch_npu\nVersion: 2.7.1\nRequires-Dist: torch==2.7.1.*\n",
}


def write_wheel(folder: Path, changes: dict[str, str] | None = None, version: str = "2.7.1") -> Path:
    path = folder / f"torch_npu-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**FILES, **(changes or {})}.items():
            text = textwrap.dedent(text).replace("Version: 2.7.1", f"Version: {version}")
            archive.writestr(name, text.replace("==2.7.1", f"=={version.split('.post')[0]}"))
    return path


def test_names_are_those_of_the_running_package(script: ModuleType, tmp_path: Path) -> None:
    modules = script.read_wheel(write_wheel(tmp_path)).modules
    assert modules["torch_npu"].names == {
        *("os", "dist", "torch_npu", "helper", "NPUStream", "option", "public", "name", "thing", "erase_stream"),
        *("npu", "utils", "contrib", "onnx", "graph_ops", "_C", "npu_swiglu", "print_tensor"),
    }
    assert modules["torch_npu"].exported == ["erase_stream", "helper", "npu_swiglu"]
    npu = modules["torch_npu.npu"]
    assert npu.names == {
        *("List", "mstx", "option", "_shown", "set_device", "Stream", "FloatTensor", "empty_cache", "config"),
        *("_lazy_init", "handle", "a", "b", "c", "lazy_member", "patched", "patched_too"),
    }
    assert npu.open  # it stars a package that cannot be read
    assert not modules["torch_npu.npu.config"].open
    assert modules["torch_npu.npu.mstx"].names == {"mstx", "annotate"}
    assert modules["torch_npu.npu.mstx"].members == {"mark", "level"}
    assert modules["torch_npu.onnx"].names == {"exporter", "deep"}
    assert "torch_npu.onnx.deep" not in modules  # not looked into: what is below is unknown


def test_dtypes_only_where_the_package_copies_them(script: ModuleType, tmp_path: Path) -> None:
    copying = textwrap.dedent(FILES["torch_npu/__init__.py"]) + "names = dir(torch_npu._C._cd.DType)\n"
    names = script.read_wheel(write_wheel(tmp_path, {"torch_npu/__init__.py": copying})).modules["torch_npu"].names
    assert {"bfloat16", "int4"} <= names


def test_what_importing_it_adds_to_torch(script: ModuleType, tmp_path: Path) -> None:
    additions = {owner: found.names for owner, found in script.read_wheel(write_wheel(tmp_path)).additions.items()}
    assert additions["torch"] == {"npu"}
    assert additions["torch.version"] == {"cann"}
    assert additions["torch.distributed"] == {"is_hccl_available"}
    assert additions["torch.Tensor"] == {"npu", "is_npu"}  # not cuda: that is transfer_to_npu's


def test_operators_and_metadata(script: ModuleType, tmp_path: Path) -> None:
    wheel = script.read_wheel(write_wheel(tmp_path, version="2.9.0.post2"))
    assert (wheel.version, wheel.torch) == ("2.9.0.post2", "2.9.0")
    assert wheel.operators == {
        "supported": {"add.Tensor", "mul.out", "relu"},
        "custom": {"npu_swiglu", "npu_swiglu.out"},
        "quant": set(),
        "autograd": {"prelu"},
    }


def test_several_versions_in_one_document(script: ModuleType, tmp_path: Path) -> None:
    newer = {"torch_npu/npu/config.py": "__all__ = ['option', 'added']\noption = added = 1\n"}
    wheels = [
        script.read_wheel(write_wheel(tmp_path, newer, version="2.10.0")),
        script.read_wheel(write_wheel(tmp_path, version="2.9.0")),
    ]
    document = json.loads(script.dump(script.encode(wheels)))
    assert [row["torch_npu"] for row in document["versions"]] == ["2.9.0", "2.10.0"]
    assert script.dump(script.encode(wheels[::-1])) == script.dump(document)  # reproducible
    for wheel in wheels:
        decoded = script.select(document, wheel.version)
        assert decoded["version"]["sha256"] == wheel.sha256
        assert decoded["operators"]["supported"] == ["add.Tensor", "mul.out", "relu"]
        for module, found in wheel.modules.items():
            assert decoded["modules"][module] == {
                "names": sorted(found.names),
                "all": sorted(found.exported or ()),
                "members": sorted(found.members),
                "open": found.open,
            }
        assert script.compare(document, script.encode([wheel]), wheel.version) == []
    changed = script.encode([script.read_wheel(write_wheel(tmp_path, newer, version="2.9.0"))])
    differences = script.compare(document, changed, "2.9.0")
    assert any("sha256" in line for line in differences)
    assert any("modules torch_npu.npu.config: names added ['added'], removed" in line for line in differences)
    assert script.compare(document, changed, "2.8.0") == ["2.8.0: not in the shipped data"]


def test_something_else_is_refused(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "other.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(script.WheelError, match=r"other\.whl is not a torch_npu wheel"):
        script.read_wheel(path)


def test_a_wheel_at_hand_is_not_downloaded(script: ModuleType, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    assert script.obtain_wheel("2.7.1", tmp_path) == wheel


def test_versions_are_written_all_at_once(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script.main(["2.13.0"])
    assert "name versions with --check or --live only" in capsys.readouterr().err


@pytest.mark.network
def test_a_version_from_pypi_gives_what_is_shipped(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--check", "--wheels", str(tmp_path), "2.7.1"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.network
def test_a_version_that_does_not_exist(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--check", "--wheels", str(tmp_path), "0.0.1"]) == 2
    assert "pip cannot download torch-npu 0.0.1" in capsys.readouterr().err
