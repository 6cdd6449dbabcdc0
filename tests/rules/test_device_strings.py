"""Where a string is a device, where it is not, and where that cannot be told."""

from __future__ import annotations

import pytest

YES = [
    # in calls of torch
    "torch.device('cuda')",
    "torch.device('cuda:0')",
    "torch.device('cuda', rank)",
    "torch.Generator('cuda')",
    "torch.autocast('cuda', dtype=torch.float16)",
    "torch.amp.autocast('cuda')",
    "torch.amp.GradScaler('cuda')",
    "torch.load(path, 'cuda:0')",
    "torch.zeros(1, device='cuda')",
    "torch.set_default_device('cuda')",
    "torch.hub.load_state_dict_from_url(url, map_location='cuda')",
    "DataLoader(d, pin_memory=True, pin_memory_device='cuda')",
    "AutoModel.from_pretrained(name, device_map='cuda')",
    "Trainer(accelerator='cuda')",
    "x.to('cuda')",
    "x.to(device='cuda', dtype=d)",
    "x.to('cuda:1', non_blocking=True)",
    "getattr(torch, 'cuda')",
    "hasattr(torch, 'cuda')",
    # comparisons
    "x.device.type == 'cuda'",
    "'cuda' == str(device)",
    "device != 'cuda'",
    "'cuda' in str(device)",
    "'cuda' in device",
    "args.device.startswith('cuda')",
    "device.type in ('cuda', 'cpu')",
    "device_type not in ['cuda']",
    "str(x.device).split(':')[0] == 'cuda'",
    "cfg['device'] == 'cuda'",
    "get_device(x) == 'cuda'",
    "getattr(device, 'type', None) == 'cuda'",
    "FREE = {'cuda': free, 'cpu': None, 'default': None}",
    "def get_device(): ...\nget_device() != 'cuda'",
    "'cuda' in x.type()",
    "torch.device(d).type == 'cuda'",
    # options, parameters, fields, keys
    "parser.add_argument('--device', default='cuda', type=str, help='the card or cpu')",
    "parser.add_argument('-d', '--torch-device', choices=['cpu', 'cuda'])",
    "parser.add_argument('--where', dest='device', default='cuda:0')",
    "click.option('--device', default='cuda')",
    "def f(x, device='cuda'): pass",
    "def f(x, *, device: str = 'cuda'): pass",
    "class C:\n    device: str = 'cuda'",
    "from typing import Literal\nclass C:\n    device: Literal['cpu', 'cuda']",
    "import typing\nDevice = typing.Literal['cpu', 'cuda']",
    "from typing import Literal, Optional\ndef f(device: Optional[Literal['cuda', 'cpu']] = None): pass",
    "class C:\n    device: str = field(default='cuda')",
    "config = {'device': 'cuda', 'lr': 1}",
    "config['device'] = 'cuda'",
    "dict(device='cuda')",
    "load(device_map={'': 'cuda:0', 'head': 'cpu'})",
    "d.get('device', 'cuda')",
    "os.environ.get('DEVICE', 'cuda')",
    "getattr(args, 'device', 'cuda')",
    "args.device or 'cuda'",
    "self.device = 'cuda'",
    "DEVICE = 'cuda' if use_gpu else 'cpu'",
    "w = 'cuda' if torch.cuda.is_available() else 'cpu'",
    "device, lr = 'cuda', 1",
    "for device in ['cpu', 'cuda']: pass",
    "devices = ['cuda:0', 'cuda:1']",
    "devices.append('cuda:0')",
    "@pytest.mark.parametrize('device', ['cpu', 'cuda'])\ndef t(device): pass",
    "def get_device():\n    return 'cuda'",
    "def pick_device(): return 'cuda' if gpu else 'cpu'",
    "set_device(model, 'cuda')",
    # templates
    "torch.device(f'cuda:{rank}')",
    "torch.device('cuda:%d' % rank)",
    "torch.device('cuda:{}'.format(rank))",
    "torch.device('cuda:' + str(rank))",
    "device = f'cuda:{rank}' if rank >= 0 else 'cpu'",
    "x.to(f\"cuda:{a['b']}\")",
    # through variables, parameters and results of the same file
    "where = 'cuda'\nmodel.to(where)",
    "where = 'cuda'\nplace = where\nmodel.to(place)",
    "def f(where):\n    return x.to(where)\nf('cuda')",
    "def f(where='cuda'):\n    return x.to(where)",
    "def f():\n    return 'cuda'\nx.to(f())",
    "class C:\n    def __init__(self, where):\n        self.where = where\n    def g(self):\n"
    "        x.to(self.where)\nC('cuda')",
    "class C:\n    def f(self, where):\n        x.to(where)\n    def g(self):\n        self.f('cuda')",
    "where = args.where\nif where == 'cuda':\n    x.to(where)",
    "def f():\n    w = 'cuda'\n    def g():\n        x.to(w)",
    "global w\nw = 'cuda'\ndef f():\n    x.to(w)",
    # tables by device type
    "table = {'cuda': 1, 'cpu': 2}",
    "table = {'cuda': f, 'x': g}\ntable[device]",
    "class C:\n    def f(self):\n        self.seen = {'cuda': 1, 'cpu': 2}\n        self.seen['cuda'] += 1",
    "for name, n in [('cuda', 1), ('cpu', 2)]:\n    ok = name == x.device.type",
    "w = {'cuda': 'cuda:0', 'cpu': 'cpu'}[device_type]",
]


@pytest.mark.parametrize("code", YES)
def test_a_device_is_rewritten(convert, code: str) -> None:
    source = f"import torch\n{code}\n"
    result = convert(source)
    lines = result.text.replace("import torch_npu  # noqa: F401\n", "")
    expected = source
    for old, new in (("'cuda", "'npu"), ('"cuda', '"npu'), ("torch.cuda.", "torch.npu.")):
        expected = expected.replace(old, new)
    assert lines == expected
    assert "NPU121" not in result.codes


UNDECIDED = [
    "cars = {'cuda': 1970, 'charger': 1966}",
    "cars['cuda']",
    "from typing import Literal\ncar: Literal['cuda', 'charger']",
    "run('cuda')",
    "name = 'cuda'\nprint(name)",
    "mode == 'cuda'",
    "'cuda' in text",
    "path = os.path.join(root, 'cuda')",
    "shutil.which('cuda')",
    "x = 'pre' + 'cuda'",
    "parser.add_argument('--mode', default='cuda')",
    "def f(mode='cuda'):\n    print(mode)",
    "return_value = ['cuda']",
    "subprocess.run(['apt', 'install', 'cuda'])",
]


@pytest.mark.parametrize("code", UNDECIDED)
def test_what_cannot_be_told_is_left_and_reported(convert, code: str) -> None:
    source = f"import torch\n{code}\n"
    result = convert(source)
    assert result.text == source
    assert result.codes == ["NPU121"]
    assert result.findings[0].level == "warning"


SILENT = [
    "print('cuda')",
    "logger.info('cuda')",
    "'cuda'",
    "x = 'cuda toolkit'",
    "x = 'CUDA'",
    "import jax\njax.devices('cuda')",
    "import jax\njax.jit(f, device='cuda')",
    "parser.add_argument('--x', help='cuda')",
    "device = 'cuda ' + name",
    "path = '/usr/local/cuda'",
]


@pytest.mark.parametrize("code", SILENT)
def test_what_is_no_device_is_left_in_peace(convert, code: str) -> None:
    source = f"import torch\n{code}\n"
    result = convert(source)
    assert result.text == source
    assert result.codes == []


AWARE = [
    "if is_npu_available():\n    device = 'npu'\nelif torch.cuda.is_available():\n    device = 'cuda'",
    "if device.type == 'npu':\n    torch.npu.synchronize()\nelse:\n    torch.cuda.synchronize()",
    "def f():\n    if has_npu:\n        return 'npu'\n    if torch.cuda.is_available():\n        return 'cuda'",
    "device = 'npu' if npu else 'cuda'",
    "ok = torch.cuda.is_available() or torch.npu.is_available()",
    "p.add_argument('--device', choices=['cpu', 'cuda', 'npu'])",
    "backends = {'cuda': 'nccl', 'npu': 'hccl'}",
    "device.type in ('cuda', 'npu')",
    "backend = 'hccl' if is_torch_npu_available() else 'nccl'",
    "if not is_npu():\n    x.cuda()",
    "try:\n    import torch_npu\n    device = 'npu'\nexcept ImportError:\n    device = 'cuda'",
    "if torch.cuda.is_available():\n    device = 'cuda'\nelse:\n    device = 'npu'",
]


@pytest.mark.parametrize("code", AWARE)
def test_code_that_knows_the_npu_stays(convert, code: str) -> None:
    source = f"import torch\n{code}\n"
    result = convert(source)
    assert result.text == source
    assert result.codes == []


def test_the_finding_names_both_places(convert) -> None:
    result = convert("where = 'cuda'\n\nx.to(where)\n")
    (finding,) = result.of("NPU120")
    assert finding.span.line == 1
    assert "line 3" in finding.message


def test_parameters_of_other_files_are_known(convert) -> None:
    others = {"lib.py": b"def build(config, device=None):\n    pass\n"}
    assert convert("from lib import build\nbuild(c, 'cuda')\n", others=others).text == (
        "from lib import build\nbuild(c, 'npu')\n"
    )
    result = convert("from lib import build\nbuild('cuda', c)\n", others=others)
    assert result.codes == ["NPU121"]
