"""Operators without a kernel: which calls count, and that every API of the data can be found."""

from __future__ import annotations

import pytest

from ascend_migrate import knowledge
from ascend_migrate.engine.scout import Scout
from ascend_migrate.rules.operators import ApiNotConfirmed, GradientOnCpu, OperatorOnCpu

FAMILY = ("NPU2",)


def codes(convert, source: str, **given) -> list[str]:
    return convert(source, select=FAMILY, **given).codes


@pytest.mark.parametrize(
    "harmless",
    [
        "w = torch.nn.Parameter(torch.zeros(3))",
        "y = torch.nn.functional.softmax(x, -1) @ torch.linalg.norm(x)",
        "y = torch.inverse(x) + torch.std(x) + x.clamp_(0).acosh()",
        "y = torch.nn.LSTM(3, 4)(x)[0].transpose(0, 1).flatten()",
        "y = torch.nn.functional.mse_loss(x, x) + torch.nn.MSELoss()(x, x)",
        "y = torch.rms_norm(x, (3,))",
    ],
)
def test_common_apis_are_not_reported(convert, harmless: str) -> None:
    assert codes(convert, f"import torch\n\n\ndef f(x):\n    {harmless}\n    y.backward()\n") == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        "np.linalg.det(x)",
        "scipy.special.digamma(x)",
        "math.lgamma(3.0)",
        "shape.det()",
        "torch.linalg.det(x.cpu())",
        "torch.linalg.det(torch.zeros(3, 3))",
        "torch.linalg.det(x.to('cpu'))",
        "torch.zeros(3).lgamma()",
        "(torch.arange(3) + 1).lgamma()",
        "torch.distributions.Beta(0.4, 0.4).sample()",
    ],
)
def test_what_is_not_a_tensor_of_the_device(convert, elsewhere: str) -> None:
    source = "import math\nimport numpy as np\nimport scipy\nimport torch\n\n\ndef f(x, shape):\n    return "
    assert codes(convert, source + elsewhere + "\n") == []


@pytest.mark.parametrize(
    "written",
    [
        "import torch\n\n\ndef f(x):\n    return torch.linalg.det(x)\n",
        "import torch as t\n\n\ndef f(x):\n    return t.det(x)\n",
        "from torch import linalg\n\n\ndef f(x):\n    return linalg.det(x)\n",
        "from torch.linalg import det\n\n\ndef f(x):\n    return det(x)\n",
        "import torch\n\n\ndef f(x):\n    return torch.relu(x).det()\n",
        "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.det()\n",
        "import torch\n\n\ndef f(d):\n    return torch.det(torch.zeros(3, 3, device=d))\n",
    ],
)
def test_spellings(convert, written: str) -> None:
    (finding,) = convert(written, select=FAMILY).findings
    assert finding.code == "NPU201"
    assert finding.level == "warning"
    assert "aten::_linalg_det" in finding.message


def test_tensor_born_on_another_default_device(convert) -> None:
    source = "import torch\n\ntorch.set_default_device(d)\ny = torch.linalg.det(torch.zeros(3, 3))\n"
    assert codes(convert, source) == ["NPU201"]


def test_help_names_what_has_a_kernel(convert) -> None:
    (finding,) = convert("import torch\n\n\ndef f(x):\n    return torch.linalg.inv(x)\n", select=FAMILY).findings
    assert finding.help.startswith("torch.inverse is the same")


def test_versions_differ(convert) -> None:
    source = "import torch\n\n\ndef f(x):\n    return torch.linalg.cholesky(x)\n"
    assert codes(convert, source, torch_npu="2.1.0.post17") == ["NPU201"]
    assert codes(convert, source, torch_npu="2.14.0") == []


def test_gradient_only_where_something_trains(convert) -> None:
    module = "import torch\n\nloss = torch.nn.MultiLabelMarginLoss()\n"
    assert codes(convert, module) == []
    assert codes(convert, module, others={"train.py": b"loss.backward()\n"}) == ["NPU202"]


def test_one_fallback_is_known_to_fail(convert) -> None:
    (finding,) = convert(
        "import torch\n\n\ndef f(a, b):\n    return torch.linalg.lstsq(a, b)\n", select=FAMILY
    ).findings
    assert (finding.code, finding.level) == ("NPU203", "error")


def test_code_that_knows_the_npu_is_left_alone(convert) -> None:
    source = (
        "import torch\n\n\ndef f(x):\n    if x.device.type == 'npu':\n        return torch.linalg.det(x.cpu()).npu()\n"
        "    else:\n        return torch.linalg.det(x)\n"
    )
    assert codes(convert, source) == []


def test_every_api_is_found_by_a_marker() -> None:
    scouts = {rule: Scout(rule().all_markers) for rule in (OperatorOnCpu, GradientOnCpu, ApiNotConfirmed)}
    for version in knowledge.versions():
        for api in knowledge.fallback_apis(version):
            name = api.rpartition(".")[2]
            call = f"import torch\ny = x.{name}()\n" if api.startswith("torch.Tensor.") else f"import torch\n{api}(x)\n"
            assert scouts[OperatorOnCpu].held(call.encode()), api
    for api in knowledge.unconfirmed_apis("910b", "2.7.1"):
        name = api.rpartition(".")[2]
        call = f"x.{name}(y)\n" if api.startswith("torch.Tensor.") else f"{api}(x)\n"
        assert scouts[ApiNotConfirmed].held(call.encode()), api
