"""Public reports of what goes wrong on the NPU, rebuilt in a few lines, and what the analysis says of each.

The numbers are those of a collection of reports from issue trackers (repository and issue beside each). Reports that
are about the environment, launchers or performance are not here; of those that are about source code every one is
either found, or a reason says why source code cannot show it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ascend_migrate import knowledge
from ascend_migrate.engine import dispatch, index
from ascend_migrate.engine.pipeline import EngineOptions


@dataclass(frozen=True)
class Report:
    """A report, rebuilt: the code, the finding that it must give, and where the code is converted, what becomes of
    it."""

    citation: str
    source: str
    code: str
    soc: str | None = None
    path: str = "train.py"
    converted: str | None = None


REPORTS = {
    1: Report("verl-project/verl#2920", "import torch\n\ntorch.cuda.empty_cache()\n", "NPU101", converted="torch.npu."),
    3: Report(
        "Comfy-Org/ComfyUI#6483",
        "import torch\n\n\ndef total(device):\n    if device.type == 'mps':\n        return 0\n    else:\n"
        "        return torch.cuda.get_device_properties(device).total_memory\n",
        "NPU101",
        converted="torch.npu.get_device_properties",
    ),
    4: Report(
        "modelscope/ms-swift#3594",
        "import torch\n\n\ndef restore(index):\n    torch.cuda.set_device(index)\n",
        "NPU101",
        converted="torch.npu.set_device",
    ),
    8: Report(
        "modelscope/ms-swift#1165",
        "parser.add_argument('--ddp_backend', default=None, choices=['nccl', 'gloo', 'mpi', 'ccl'])\n",
        "NPU130",
        converted="'hccl'",
    ),
    9: Report(
        "ray-project/ray#49024",
        "import torch.distributed as dist\n\ndist.init_process_group(backend='nccl')\n",
        "NPU130",
        converted="backend='hccl'",
    ),
    10: Report(
        "opendatalab/MinerU#2665",
        "import torch\n\nx = torch.zeros(1, device='cuda')\n",
        "NPU160",
        converted="import torch_npu",
    ),
    11: Report(
        "Comfy-Org/ComfyUI#11906",
        "def check(device):\n    if device.type not in {'cuda', 'cpu', 'meta', 'xpu', 'mps'}:\n"
        "        raise ValueError(device)\n",
        "NPU120",
        converted="'npu'",
    ),
    12: Report(
        "Comfy-Org/ComfyUI#7785",
        "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = str(args.cuda_device)\n",
        "NPU140",
        converted="ASCEND_RT_VISIBLE_DEVICES",
    ),
    13: Report(
        "deepspeedai/DeepSpeed#5369",
        "import os\n\nenv = os.environ.copy()\nenv['CUDA_VISIBLE_DEVICES'] = ','.join(slots)\n",
        "NPU140",
        converted="ASCEND_RT_VISIBLE_DEVICES",
    ),
    15: Report("huggingface/accelerate#2191", "accelerate==0.20.3\n", "NPU604", path="requirements.txt"),
    17: Report(
        "open-compass/opencompass#1618",
        "import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
        "NPU120",
        converted="'npu' if torch.npu.is_available()",
    ),
    19: Report(
        "PT_LMTMOG_0016 of Ascend's documentation",
        "import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n\nf = torch.jit.script(f)\n",
        "NPU502",
    ),
    20: Report(
        "PT_LMTMOG_0016 of Ascend's documentation",
        "import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n\n"
        "x = x.to(memory_format=torch.channels_last)\n",
        "NPU502",
    ),
    24: Report(
        "flagos-ai/FlagGems#3267", "import torch\n\nx = torch.empty(4, dtype=torch.complex32).cuda()\n", "NPU303"
    ),
    25: Report(
        "wenet-e2e/wenet@dec409bf",
        "import torchaudio.compliance.kaldi as kaldi\n\nfeature = kaldi.fbank(waveform, num_mel_bins=80)\n",
        "NPU604",
    ),
    27: Report(
        "hiyouga/LlamaFactory#4165",
        "import torch\n\nmodel = model.to('cuda', dtype=torch.bfloat16)\n",
        "NPU301",
        soc="910a",
    ),
    28: Report(
        "hiyouga/LlamaFactory#7522",
        "import torch\n\nmodel = AutoModel.from_pretrained(name, torch_dtype=torch.bfloat16).cuda()\n",
        "NPU301",
        soc="310p",
    ),
    32: Report("Dao-AILab/flash-attention#1781", "from flash_attn import flash_attn_func\n", "NPU603"),
    34: Report("vllm-project/vllm-ascend#6555", "from flash_attn.ops.triton.rotary import apply_rotary\n", "NPU603"),
    36: Report("hiyouga/LlamaFactory#6452", "import bitsandbytes as bnb\n", "NPU604"),
    37: Report("PKU-YuanGroup/Open-Sora-Plan#192", "from decord import VideoReader, cpu\n", "NPU604"),
    38: Report(
        "RapidAI/RapidOCR#428",
        "import onnxruntime\n\ns = onnxruntime.InferenceSession(p, providers=['CUDAExecutionProvider'])\n",
        "NPU603",
    ),
    40: Report("open-mmlab/mmcv#3216", "from mmcv.ops import batched_nms\n", "NPU604"),
    43: Report("open-mmlab/mmcv#2262", "import torch\n\nmodel = torch.nn.DataParallel(model)\n", "NPU102"),
    44: Report(
        "opendatalab/MinerU#1695", "from torchvision.ops import nms\n\nkeep = nms(boxes, scores, 0.5)\n", "NPU604"
    ),
    45: Report(
        "unsupported_op_called of torch_npu's documentation",
        "import torch\n\nx = torch.linalg.lstsq(a.cuda(), b.cuda())\n",
        "NPU2",
    ),
    49: Report(
        "Ascend/pytorch#20",
        "import torch\n\nmodel = net.cuda()\ntorch.cuda.set_device(local_rank)\n",
        "NPU803",
    ),
    50: Report(
        "vllm-project/vllm-ascend#4502",
        "import multiprocessing\n\nimport torch\n\n\ndef serve(rank):\n    torch.cuda.set_device(rank)\n\n\n"
        "def start():\n    name = torch.cuda.get_device_name()\n"
        "    multiprocessing.Process(target=serve, args=(0,)).start()\n",
        "NPU801",
    ),
}

NOT_IN_SOURCE = {
    29: "vllm-project/vllm-ascend#12907: the type of a quantized model's scale comes from the checkpoint and from the "
    "option --dtype on the command line of vLLM.",
    53: "failed_verify_op_parameters of torch_npu's documentation: on which devices the tensors of a call lie is known "
    "when the program runs; in source only a literal device shows, and that is converted.",
}
"""Reports that no analysis of source code can show, with the reason."""


def _codes(report: Report, torch_npu: str = "2.7.1") -> tuple[list[str], str]:
    data = report.source.encode()
    options = EngineOptions(knowledge.resolve_target(report.soc, torch_npu, None))
    facts = dispatch.gather(report.path, data)
    result = dispatch.process(report.path, data, options, index.build(() if facts is None else (facts,)))
    assert result.errors == ()
    return [finding.code for finding in result.findings], (result.new_bytes or data).decode()


@pytest.mark.parametrize("number", REPORTS, ids=lambda number: f"report {number}")
def test_the_report_is_found(number: int) -> None:
    report = REPORTS[number]
    codes, text = _codes(report)
    assert any(code.startswith(report.code) for code in codes), codes
    if report.converted is not None:
        assert report.converted in text
        assert report.converted not in report.source


def test_nothing_is_both() -> None:
    assert not REPORTS.keys() & NOT_IN_SOURCE.keys()
    assert all(len(reason) > 40 for reason in NOT_IN_SOURCE.values())
