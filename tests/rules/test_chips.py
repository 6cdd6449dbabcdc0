"""What is said only for some chips."""

from __future__ import annotations

import pytest

from ascend_migrate import knowledge

FAMILY = ("NPU4",)

TRAINING = """import torch

embedding = torch.nn.Embedding(10, 4)
optimizer = torch.optim.SGD(embedding.parameters(), lr=0.1)
for x in batches:
    embedding(x).sum().backward()
    optimizer.step()
    embedding(x).mean().backward()
"""
SCRIPT = "import torch\n\n\ndef main():\n    torch.zeros(3).cuda()\n\n\nif __name__ == '__main__':\n    main()\n"


def codes(convert, source: str, soc: str, **given) -> list[str]:
    return convert(source, select=FAMILY, soc=soc, **given).codes


def test_training_is_a_matter_of_the_chip(convert) -> None:
    assert codes(convert, TRAINING, "310p") == ["NPU402", "NPU401"]
    assert codes(convert, TRAINING, "310b") == ["NPU401"]
    for soc in ("910a", "910b", "910_93", "950"):
        assert codes(convert, TRAINING, soc) == []


def test_a_model_that_another_file_trains(convert) -> None:
    model = "from torch import nn\n\nembedding = nn.Embedding(10, 4)\n"
    assert codes(convert, model, "310p") == []
    assert codes(convert, model, "310p", others={"train.py": b"loss.backward()\n"}) == ["NPU402"]
    pretrained = "from torch import nn\n\nembedding = nn.Embedding.from_pretrained(w)\n"
    assert codes(convert, pretrained, "310p", others={"train.py": b"loss.backward()\n"}) == []


@pytest.mark.parametrize(
    ("soc", "expected"),
    [
        ("910a", ["NPU403", "NPU404", "NPU405"]),
        ("310p", ["NPU403", "NPU404"]),
        ("910b", []),
        ("910_93", []),
        ("950", []),
    ],
)
def test_defaults_are_told_once_a_script(convert, soc: str, expected: list[str]) -> None:
    assert codes(convert, SCRIPT, soc) == expected


def test_scripts_that_are_settled_or_use_no_device(convert) -> None:
    settled = SCRIPT.replace("def main():", "def main():\n    torch.npu.set_compile_mode(jit_compile=False)")
    assert codes(convert, settled, "310p") == ["NPU404"]
    assert codes(convert, SCRIPT.replace(".cuda()", ""), "310p") == []
    assert codes(convert, SCRIPT.replace("if __name__ == '__main__':\n    main()\n", ""), "310p") == []


def test_only_what_is_known_of_a_chip_is_said() -> None:
    matmul = {soc.code: soc.float16_matmul for soc in knowledge.socs()}
    assert matmul == {"910a": True, "910b": False, "910_93": False, "950": None, "310p": None, "310b": None}
