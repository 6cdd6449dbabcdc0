"""A string that names the CUDA device.

``"cuda"``, ``"cuda:0"``, and templates such as ``f"cuda:{rank}"``, ``"cuda:%d" % rank`` or ``"cuda:" + str(i)``
are rewritten where they are a device: in ``torch.device``, ``.to``, ``map_location=`` and the like, in
comparisons with a device, as the default of an option or parameter that is named as a device, and when they
reach such a place through a variable, a parameter or a return value of the same file. Everything else that is
spelled ``cuda`` (a key, a file name, a text) is none of this rule's business.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.language import say
from ascend_migrate.model import Finding
from ascend_migrate.rules.base import Context, Example, Rule
from ascend_migrate.rules.map_location import is_checkpoint_tag
from ascend_migrate.syntax.devices import DeviceLiteral, literal_edit

_IMPORT = "import torch\nimport torch_npu  # noqa: F401\n"


class DeviceString(Rule):
    code = "NPU120"
    name = "device-string"
    level = "error"
    examples = (
        Example(
            "import torch\n\ndevice = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\n",
            _IMPORT + "\ndevice = torch.device('npu:0' if torch.npu.is_available() else 'cpu')\n",
        ),
        Example(
            "import torch\n\nx = torch.zeros(3, device=f'cuda:{rank}')\ny = x.to('cuda:%d' % rank)\n",
            _IMPORT + "\nx = torch.zeros(3, device=f'npu:{rank}')\ny = x.to('npu:%d' % rank)\n",
        ),
        Example(
            "import torch\n\nwhere = 'cuda'\nif where == 'cuda':\n    x = torch.ones(2).to(where)\n",
            _IMPORT + "\nwhere = 'npu'\nif where == 'npu':\n    x = torch.ones(2).to(where)\n",
        ),
        Example(
            "import argparse\n\np = argparse.ArgumentParser()\n"
            "p.add_argument('--device', default='cuda', choices=['cpu', 'cuda'], help='cpu or cuda')\n",
            "import argparse\n\np = argparse.ArgumentParser()\n"
            "p.add_argument('--device', default='npu', choices=['cpu', 'npu'], help='cpu or cuda')\n",
        ),
        Example("cars = {'cuda': 1970, 'charger': 1966}\nprint('cuda')\nurl = 'https://example.com/cuda'\n"),
        Example("device = 'npu' if has_npu() else 'cuda'\nchoices = ['cpu', 'cuda', 'npu']\n"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for literal in context.device_literals:
            if literal.kind != "device" or literal.verdict.answer != "yes" or context.knows_npu(literal.node):
                continue
            if is_checkpoint_tag(context, literal.node):
                continue
            yield context.finding(
                self,
                literal.node,
                _message(context, literal),
                edits=[literal_edit(context.tree, literal)],
            )


def _message(context: Context, literal: DeviceLiteral) -> str:
    """Names the other place, too, for a literal that becomes a device in another line."""
    verdict = literal.verdict
    line = getattr(verdict.place, "lineno", literal.node.lineno)
    if line == literal.node.lineno:
        return say("{value!r} names the CUDA device", value=literal.value)
    return say(
        "{value!r} names the CUDA device ({reason} in line {line})",
        value=literal.value,
        reason=verdict.reason,
        line=line,
    )
