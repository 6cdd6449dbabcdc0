"""Cases of the smaller rules beyond their examples."""

from __future__ import annotations

import pytest

NOQA = "import torch_npu  # noqa: F401\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "torch.load(p, map_location={'cuda:0': 'cpu'})",
            "torch.load(p, map_location={'cuda:0': 'cpu', 'npu:0': 'cpu'})",
        ),
        (
            "torch.load(p, {'cuda:0': 'cuda:%d' % rank, 'cuda:1': f'cuda:{rank}'})",
            "torch.load(p, {'cuda:0': 'npu:%d' % rank, 'npu:0': 'npu:%d' % rank, "
            "'cuda:1': f'npu:{rank}', 'npu:1': f'npu:{rank}'})",
        ),
        (
            "where = {'cuda:0': 'cuda:1'}\ntorch.load(p, map_location=where)",
            "where = {'cuda:0': 'npu:1', 'npu:0': 'npu:1'}\ntorch.load(p, map_location=where)",
        ),
        (
            "torch.load(p, map_location={\n    'cuda:0': 'cuda:1',\n})",
            "torch.load(p, map_location={\n    'cuda:0': 'npu:1', 'npu:0': 'npu:1',\n})",
        ),
        (
            "torch.load(p, map_location=lambda storage, loc: storage.cuda(0))",
            "torch.load(p, map_location=lambda storage, loc: storage.npu(0))",
        ),
        ("torch.load(p, map_location={'npu:0': 'npu:1', 'cuda:0': 'npu:1'})", None),
        ("torch.load(p, map_location={'cpu': 'cuda:0'})", "torch.load(p, map_location={'cpu': 'npu:0'})"),
    ],
)
def test_map_location(convert, before: str, after: str | None) -> None:
    result = convert(f"import torch\n{before}\n")
    expected = f"import torch\n{before}\n" if after is None else f"import torch\n{NOQA}{after}\n"
    assert result.text == expected
    assert "NPU121" not in result.codes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "class A:\n    def cuda(self):\n        return self.to('cuda')\n    def cpu(self): ...\n",
            "class A:\n    def cuda(self):\n        return self.to('npu')\n\n    npu = cuda\n    def cpu(self): ...\n",
        ),
        (
            "from torch import nn\nclass A(nn.Module):\n\tdef cuda(self, d=None):\n\t\tsuper().cuda(d)\n"
            "\t\treturn self\n",
            f"from torch import nn\n{NOQA}class A(nn.Module):\n\tdef cuda(self, d=None):\n\t\tsuper().npu(d)\n"
            "\t\treturn self\n\n\tnpu = cuda\n",
        ),
        (
            "class A:\r\n    def cuda(self): self.x = self.x.cuda(); return self\r\n",
            "class A:\r\n    def cuda(self): self.x = self.x.npu(); return self\r\n\r\n    npu = cuda\r\n",
        ),
        (
            "class A:\n    def cuda(self):\n        self.x = self.x.cuda()  # here",
            "class A:\n    def cuda(self):\n        self.x = self.x.npu()  # here\n\n    npu = cuda",
        ),
        ("class A:\n    @property\n    def cuda(self):\n        return self.x.is_gpu\n", None),
        ("class A:\n    def cuda(self):\n        return self.models['cuda_1970']\n", None),
        (
            "class A:\n    def cuda(self):\n        return self.x.to(d)\n"
            "    def npu(self):\n        return self.x.to('npu')\n",
            None,
        ),
    ],
)
def test_def_cuda(convert, before: str, after: str | None) -> None:
    assert convert(before).text == (before if after is None else after)


def test_an_unrelated_cuda_of_the_project_makes_the_call_a_question(convert) -> None:
    others = {"cars.py": b"class Garage:\n    def cuda(self):\n        return 1970\n"}
    source = "from cars import Garage\n\ng = Garage()\ng.cuda()\nx.cuda()\n"
    result = convert(source, others=others)
    assert result.text == source
    assert result.codes == ["NPU110"]
    assert result.findings[0].span.line == 5
    assert result.findings[0].fix is None
    assert convert("x.cuda()\n", others=others).text == "x.npu()\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'"),
        ("os.environ.get('CUDA_VISIBLE_DEVICES', '')", "os.environ.get('ASCEND_RT_VISIBLE_DEVICES', '')"),
        ("os.environ.setdefault('CUDA_LAUNCH_BLOCKING', '1')", "os.environ.setdefault('ASCEND_LAUNCH_BLOCKING', '1')"),
        ("os.putenv('CUDA_VISIBLE_DEVICES', '1')", "os.putenv('ASCEND_RT_VISIBLE_DEVICES', '1')"),
        ("'CUDA_VISIBLE_DEVICES' in os.environ", "'ASCEND_RT_VISIBLE_DEVICES' in os.environ"),
        ("env = {'CUDA_VISIBLE_DEVICES': '1', **os.environ}", "env = {'ASCEND_RT_VISIBLE_DEVICES': '1', **os.environ}"),
        ("del os.environ['CUDA_VISIBLE_DEVICES']", "del os.environ['ASCEND_RT_VISIBLE_DEVICES']"),
        ("os.environ.update(CUDA_VISIBLE_DEVICES='1')", "os.environ.update(ASCEND_RT_VISIBLE_DEVICES='1')"),
        ("run('CUDA_VISIBLE_DEVICES=1 python x.py')", "run('ASCEND_RT_VISIBLE_DEVICES=1 python x.py')"),
        ("log.info('CUDA_VISIBLE_DEVICES')", None),
        ("'''CUDA_VISIBLE_DEVICES'''", None),
    ],
)
def test_environment(convert, before: str, after: str | None) -> None:
    assert convert(f"import os\n{before}\n").text == f"import os\n{before if after is None else after}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("init_process_group('nccl')", None),
        (
            "dist.init_process_group('nccl', init_method='env://')",
            "dist.init_process_group('hccl', init_method='env://')",
        ),
        ("dist.init_process_group(backend='NCCL')", "dist.init_process_group(backend='HCCL')"),
        ("backend = 'nccl' if cuda else 'gloo'", "backend = 'hccl' if cuda else 'gloo'"),
        ("dist_backend = args.b or 'nccl'", "dist_backend = args.b or 'hccl'"),
        (
            "p.add_argument('--dist-backend', default='nccl', choices=['nccl', 'gloo'])",
            "p.add_argument('--dist-backend', default='hccl', choices=['hccl', 'gloo'])",
        ),
        ("dist.get_backend() == 'nccl'", "dist.get_backend() == 'hccl'"),
        ("dist.new_group(backend='nccl')", "dist.new_group(backend='hccl')"),
        ("x = 'cpu:gloo,cuda:nccl'", "x = 'cpu:gloo,npu:hccl'"),
        ("x = dict(cuda='nccl', cpu='gloo')", None),
        ("b = 'nccl'\ndist.init_process_group(b)", "b = 'hccl'\ndist.init_process_group(b)"),
        ("print('nccl')", None),
    ],
)
def test_nccl(convert, before: str, after: str | None) -> None:
    source = f"import torch.distributed as dist\n{before}\n"
    text = convert(source).text.replace(NOQA, "")
    assert text == (source if after is None else f"import torch.distributed as dist\n{after}\n")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import torch_npu\ntorch_npu.npu.synchronize()\n", []),
        ("import torch\ntorch.npu.set_device(0)\n", []),
        ("import torch_npu\nx = torch_npu.npu_rms_norm(a, b)\n", []),
        ("import torch_npu\ntorch_npu.DataLoader(d)\n", ["NPU501"]),
        ("import torch\nimport torch_npu\ntorch.npu.optimize(m)\n", ["NPU501"]),
        ("from torch_npu.amp import autocast\n", ["NPU501"]),
        ("from torch_npu.npu.amp import autocast\n", []),
        ("import torch_npu.nothing\n", ["NPU501"]),
        ("class torch_npu:\n    x = 1\ntorch_npu.anything\n", []),
    ],
)
def test_names_of_torch_npu_that_do_not_exist(convert, code: str, found: list[str]) -> None:
    assert convert(code).codes == found
