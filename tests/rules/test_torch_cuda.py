"""References to torch.cuda in every form of import, alias and scope."""

from __future__ import annotations

import pytest

NOQA = "import torch_npu  # noqa: F401\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\ntorch.cuda.init()\n", f"import torch\n{NOQA}torch.npu.init()\n"),
        ("import torch as T\nT.cuda.init()\n", f"import torch as T\n{NOQA}T.npu.init()\n"),
        ("import torch.cuda\ntorch.cuda.init()\n", f"import torch\n{NOQA}torch.npu.init()\n"),
        ("import torch.cuda as c\nc.init()\n", "import torch_npu.npu as c\nc.init()\n"),
        ("from torch import cuda\ncuda.init()\n", "from torch_npu import npu as cuda\ncuda.init()\n"),
        ("from torch import cuda as c\nc.init()\n", "from torch_npu import npu as c\nc.init()\n"),
        ("from torch.cuda import init\ninit()\n", "from torch_npu.npu import init\ninit()\n"),
        ("from torch.cuda import init as i\ni()\n", "from torch_npu.npu import init as i\ni()\n"),
        ("import torch.cuda.amp as amp\namp.autocast()\n", "import torch_npu.npu.amp as amp\namp.autocast()\n"),
        ("from torch.cuda import amp\namp.GradScaler()\n", "from torch_npu.npu import amp\namp.GradScaler()\n"),
        (
            "from torch.cuda.amp import autocast as ac\nwith ac(): pass\n",
            "from torch_npu.npu.amp import autocast as ac\nwith ac(): pass\n",
        ),
        (
            "from torch.cuda.amp import (\n    GradScaler,  # scales\n    autocast,\n)\n",
            "from torch_npu.npu.amp import (\n    GradScaler,  # scales\n    autocast,\n)\n",
        ),
        ("from torch . cuda \\\n  import init\n", "from torch_npu.npu \\\n  import init\n"),
        ("import os, torch.cuda, sys\ntorch.cuda.init()\n", f"import os, torch, sys\n{NOQA}torch.npu.init()\n"),
        (
            "import torch\ncuda = torch.cuda\nStream = cuda.Stream\ns = Stream()\n",
            f"import torch\n{NOQA}cuda = torch.npu\nStream = cuda.Stream\ns = Stream()\n",
        ),
        (
            "import torch\nf = torch.cuda.is_available\nm = getattr(torch.cuda, 'amp')\n",
            f"import torch\n{NOQA}f = torch.npu.is_available\nm = getattr(torch.npu, 'amp')\n",
        ),
        (
            "import torch\nxs = list(map(torch.Tensor.cuda, xs))\n",
            f"import torch\n{NOQA}xs = list(map(torch.Tensor.npu, xs))\n",
        ),
        (
            "import torch\nTensor = torch.cuda.FloatTensor if c else torch.FloatTensor\n",
            f"import torch\n{NOQA}Tensor = torch.npu.FloatTensor if c else torch.FloatTensor\n",
        ),
        (
            "import torch\ndef f(x: torch.cuda.Stream, y=torch.cuda.device_count()) -> torch.cuda.Event: ...\n",
            f"import torch\n{NOQA}def f(x: torch.npu.Stream, y=torch.npu.device_count()) -> torch.npu.Event: ...\n",
        ),
        (
            "import torch\n@torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)\ndef f(ctx): ...\n",
            f"import torch\n{NOQA}@torch.npu.amp.custom_fwd(cast_inputs=torch.float32)\ndef f(ctx): ...\n",
        ),
        (
            "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    autocast = None\nautocast()\n",
            "try:\n    from torch_npu.npu.amp import autocast\nexcept ImportError:\n    autocast = None\nautocast()\n",
        ),
        (
            "from utils import *\nprint(torch.cuda.device_count())\n",
            "from utils import *\nprint(torch.npu.device_count())\n",
        ),
        (
            "import torch\nprint(f'{torch.cuda.memory_allocated() / 1e9:.2f} GB of cuda')\n",
            f"import torch\n{NOQA}print(f'{{torch.npu.memory_allocated() / 1e9:.2f}} GB of cuda')\n",
        ),
        (
            "import torch\nclass A:\n    torch = 1\n    def f(self):\n        return torch.cuda.init()\n",
            f"import torch\n{NOQA}class A:\n    torch = 1\n    def f(self):\n        return torch.npu.init()\n",
        ),
        (
            "import torch\nx = [torch.cuda.device(i) for i in range(torch.cuda.device_count())]\n",
            f"import torch\n{NOQA}x = [torch.npu.device(i) for i in range(torch.npu.device_count())]\n",
        ),
        (
            "import torch.distributed as dist\nif dist.is_nccl_available():\n    pass\n",
            f"import torch.distributed as dist\n{NOQA}if torch_npu.distributed.is_hccl_available():\n    pass\n",
        ),
        (
            "from torch.distributed import get_rank, is_nccl_available\nis_nccl_available()\n",
            "from torch_npu.distributed import is_hccl_available as is_nccl_available\n"
            "from torch.distributed import get_rank\nis_nccl_available()\n",
        ),
        (
            "import torch\ntry:\n    f()\nexcept (ValueError, torch.cuda.OutOfMemoryError):\n    pass\n",
            f"import torch\n{NOQA}try:\n    f()\nexcept (ValueError, torch.OutOfMemoryError):\n    pass\n",
        ),
        (
            "from torch.cuda import OutOfMemoryError\n",
            "from torch import OutOfMemoryError\n",
        ),
        (
            "import torch\ng = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(g): pass\n",
            f"import torch\n{NOQA}g = torch.npu.NPUGraph()\nwith torch.npu.graph(g): pass\n",
        ),
        ("from torch.cuda import CUDAGraph\n", "from torch_npu.npu import NPUGraph as CUDAGraph\n"),
    ],
)
def test_rewritten(convert, before: str, after: str) -> None:
    result = convert(before)
    assert result.text == after
    assert result.errors == ()


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("torch.cuda.nvtx.range_push('x')", "NPU102"),
        ("with torch.cuda.nvtx.range('x'): pass", "NPU102"),
        ("torch.cuda.cudart()", "NPU102"),
        ("torch.cuda.get_arch_list()", "NPU103"),
        ("from torch.cuda import nvtx", "NPU102"),
        ("import torch.cuda.nvtx as nvtx", "NPU102"),
        ("torch.cuda.nccl.version()", "NPU102"),
        ("torch.backends.cudnn.benchmark = True", "NPU103"),
    ],
)
def test_without_counterpart_it_is_left_and_reported(convert, code: str, finding: str) -> None:
    source = f"import torch\n{code}\n"
    result = convert(source)
    assert finding in result.codes
    assert "nvtx" not in result.text or "npu" not in result.text
    assert all(f.help for f in result.of(finding)), "says what to do"


def test_what_differs_is_rewritten_for_review(convert) -> None:
    result = convert("import torch\nok = torch.cuda.get_device_capability() >= (8, 0)\n")
    (finding,) = result.of("NPU101")
    assert finding.fix is not None
    assert finding.fix.safety == "review"
    assert "None" in finding.message


@pytest.mark.parametrize(
    ("code", "codes"),
    [
        ("isinstance(m, nn.DataParallel)", []),
        ("isinstance(m, (nn.DataParallel, nn.parallel.DistributedDataParallel))", []),
        ("type(m) in (nn.DataParallel, nn.Linear)", []),
        ("type(m) == nn.DataParallel", []),
        ("def f(m: nn.DataParallel | None) -> list[nn.DataParallel]: ...", []),
        ("m: nn.DataParallel = g()", []),
        ("m = nn.DataParallel(m)", ["NPU102"]),
        ("class D(nn.DataParallel): ...", ["NPU102"]),
        ("wrap = nn.DataParallel", ["NPU102"]),
        ("from torch.nn import DataParallel", []),
        ("from torch.nn import DataParallel\nisinstance(m, DataParallel)", []),
        ("from torch.nn import DataParallel as DP\nm = DP(m)", ["NPU102"]),
    ],
)
def test_naming_a_class_without_counterpart_is_harmless(convert, code: str, codes: list[str]) -> None:
    assert convert(f"from torch import nn\n{code}\n").codes == codes


def test_what_cannot_be_imported_is_reported(convert) -> None:
    source = "from torch.cuda.nvtx import mark\nmark('x')\n"
    result = convert(source, torch_npu="2.14.0")
    assert result.text == source
    assert result.codes == ["NPU102"]
    assert "torch.npu.mstx.mark" in result.findings[0].help


def test_old_targets_keep_names_they_lack(convert) -> None:
    source = "import torch\ntry:\n    f()\nexcept torch.cuda.OutOfMemoryError:\n    pass\n"
    assert "torch.OutOfMemoryError" not in convert(source, torch_npu="2.1.0.post17").text


def test_star_import_is_reported(convert) -> None:
    source = "from torch.cuda import *\n"
    result = convert(source)
    assert result.text == source
    assert result.codes == ["NPU104"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n\nx.cuda()\n", f"import torch\n{NOQA}\nx.npu()\n"),
        ("from torch import nn\nx.cuda()\n", f"from torch import nn\n{NOQA}x.npu()\n"),
        (
            "import os\nimport torch\nimport torch.nn as nn\nx.cuda()\n",
            f"import os\nimport torch\n{NOQA}import torch.nn as nn\nx.npu()\n",
        ),
        ("import torch  # the framework\nx.cuda()\n", f"import torch  # the framework\n{NOQA}x.npu()\n"),
        ("import torch_npu\nimport torch\nx.cuda()\n", "import torch_npu\nimport torch\nx.npu()\n"),
        (
            "import torch\nfrom torch_npu.contrib import transfer_to_npu\nx.cuda()\n",
            "import torch\nfrom torch_npu.contrib import transfer_to_npu\nx.npu()\n",
        ),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n\ndef f(x):\n    return x.cuda()\n",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n\ndef f(x):\n    return x.npu()\n",
        ),
        (
            "def f(x):\n    import torch\n    return x.cuda()\ndef g(x):\n    import torch\n    return 1\n",
            f"def f(x):\n    import torch\n    {NOQA}    return x.npu()\ndef g(x):\n    import torch\n    return 1\n",
        ),
        ('parser.add_argument("--device", default="cuda")\n', 'parser.add_argument("--device", default="npu")\n'),
        ("import torch\nprint(torch.ones(1))\n", "import torch\nprint(torch.ones(1))\n"),
        ("import torchvision\nx.cuda()\n", "import torchvision\nx.npu()\n"),
    ],
)
def test_import_torch_npu(convert, before: str, after: str) -> None:
    assert convert(before).text == after


def test_entry_scripts_of_a_project_that_uses_cuda(convert) -> None:
    script = "import torch\nfrom lib import go\n\nif __name__ == '__main__':\n    go(torch.ones(1))\n"
    others = {"lib.py": b"def go(x):\n    x.cuda()\n"}
    assert convert(script, others=others).text == script.replace("import torch\n", f"import torch\n{NOQA}", 1)
    assert convert(script).text == script
    assert convert(script.replace("__main__", "main"), others=others).text == script.replace("__main__", "main")
