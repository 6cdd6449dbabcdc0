"""One file through the engine: what must survive, whatever the bytes look like."""

from __future__ import annotations

import sys

import pytest

from ascend_migrate import knowledge
from ascend_migrate.engine.index import ProjectIndex
from ascend_migrate.engine.pipeline import EngineOptions, process

OPTIONS = EngineOptions(knowledge.resolve_target("910b", "2.7.1", None))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            b"# -*- coding: gbk -*-\nimport torch\n# \xc4\xe3\xba\xc3\nx = '\xc4\xe3', t.cuda()\n",
            b"# -*- coding: gbk -*-\nimport torch\nimport torch_npu  # noqa: F401\n"
            b"# \xc4\xe3\xba\xc3\nx = '\xc4\xe3', t.npu()\n",
            id="gbk with cookie",
        ),
        pytest.param(
            b"#!/usr/bin/env python\n# vim: set fileencoding=latin-1 :\nx = '\xe9\xe8', t.cuda()\n",
            b"#!/usr/bin/env python\n# vim: set fileencoding=latin-1 :\nx = '\xe9\xe8', t.npu()\n",
            id="latin-1 with cookie in the second line",
        ),
        pytest.param(
            b"\xef\xbb\xbfimport torch\ntorch.cuda.init()\n",
            b"\xef\xbb\xbfimport torch\nimport torch_npu  # noqa: F401\ntorch.npu.init()\n",
            id="BOM",
        ),
        pytest.param(
            b"import torch\r\nif torch.cuda.is_available():\r\n\tx.cuda()\r\n",
            b"import torch\r\nimport torch_npu  # noqa: F401\r\nif torch.npu.is_available():\r\n\tx.npu()\r\n",
            id="CRLF and tabs",
        ),
        pytest.param(
            b"import torch\r\nx.cuda()\ny.cuda()\r\nz = 1\rw.cuda()\n",
            b"import torch\r\nimport torch_npu  # noqa: F401\r\nx.npu()\ny.npu()\r\nz = 1\rw.npu()\n",
            id="mixed line ends",
        ),
        pytest.param(
            b"import os\n\x0c\nx.cuda()\n\x0cy.cuda()   \n   \n\t\n",
            b"import os\n\x0c\nx.npu()\n\x0cy.npu()   \n   \n\t\n",
            id="form feeds and white space at the end",
        ),
        pytest.param(b"x.cuda()", b"x.npu()", id="no newline at the end"),
        pytest.param(b"import torch", b"import torch", id="nothing to do, no newline"),
        pytest.param(
            b"if a and \\\n   x.cuda() \\\n   .is_cuda:\n    pass\n",
            b"if a and \\\n   x.npu() \\\n   .is_npu:\n    pass\n",
            id="backslashes",
        ),
        pytest.param(
            b"@wrap(device='cuda')\n@other\nclass A(Base, device='cuda'):\n    pass\n",
            b"@wrap(device='npu')\n@other\nclass A(Base, device='npu'):\n    pass\n",
            id="decorators and class headers",
        ),
        pytest.param(
            b"for x in y.cuda():\n  pass\nelse:\n  x.cuda()\nwhile x.is_cuda: x = x.cpu()\n"
            b"with a.cuda() as b, c.cuda(): pass\ntry: x.cuda()\nfinally: y.cuda()\n",
            b"for x in y.npu():\n  pass\nelse:\n  x.npu()\nwhile x.is_npu: x = x.cpu()\n"
            b"with a.npu() as b, c.npu(): pass\ntry: x.npu()\nfinally: y.npu()\n",
            id="compound headers and one-line bodies",
        ),
        pytest.param(
            b"import torch\nif a: pass\nelif torch.cuda.is_available(): x.cuda(); y.cuda()\nelse: z.cuda()\n",
            b"import torch\nimport torch_npu  # noqa: F401\n"
            b"if a: pass\nelif torch.npu.is_available(): x.npu(); y.npu()\nelse: z.npu()\n",
            id="elif, one line, semicolons",
        ),
        pytest.param(
            b"import torch; import os; x.cuda()\n",
            b"import torch; import os; x.npu()\nimport torch_npu  # noqa: F401\n",
            id="semicolon after import torch",
        ),
        pytest.param(
            b"if x: import torch; torch.cuda.init()\n",
            b"if x: import torch; import torch_npu; torch.npu.init()\n",
            id="import in a one-line if",
        ),
        pytest.param(
            "x = f\"{a.cuda():>{w}} {b!r} é {c.cuda()}\" f'{d.cuda()=}'\n".encode(),
            "x = f\"{a.npu():>{w}} {b!r} é {c.npu()}\" f'{d.npu()=}'\n".encode(),
            id="f-strings with format specs, conversion and =",
        ),
        pytest.param(
            'y = f"""\n é {f\'{a.cuda()}\'}\n  {b["k"].cuda()} {{cuda}}\n"""\n'.encode(),
            'y = f"""\n é {f\'{a.npu()}\'}\n  {b["k"].npu()} {{cuda}}\n"""\n'.encode(),
            id="nested and multi-line f-strings",
        ),
        pytest.param(
            "é = 'ü'; x.to('cuda'); y = 'ö', z.cuda()\n".encode(),
            "é = 'ü'; x.to('npu'); y = 'ö', z.npu()\n".encode(),
            id="non-ASCII before the edit in the line",
        ),
        pytest.param(
            b"t = '''cuda\ncuda:0\n'''; x.cuda(\n  # cuda\n  'cuda'\n)\n",
            b"t = '''cuda\ncuda:0\n'''; x.npu(\n  # cuda\n  'npu'\n)\n",
            id="multi-line strings and comments",
        ),
        pytest.param(b"if (d := 'cuda') and x: y = x.to(d)\n", b"if (d := 'npu') and x: y = x.to(d)\n", id="walrus"),
        pytest.param(
            b"x = y.cuda()  # type: torch.cuda.FloatTensor\n",
            b"x = y.npu()  # type: torch.cuda.FloatTensor\n",
            id="type comment",
        ),
        pytest.param(b"x . cuda ( )\n", b"x . npu ( )\n", id="blanks around the dot"),
        pytest.param(b"x.to(u'cuda', r'cuda')\n", b"x.to(u'npu', r'cuda')\n", id="string prefixes"),
        pytest.param(b"", b"", id="empty file"),
        pytest.param(b"\n\n", b"\n\n", id="only newlines"),
    ],
)
def test_bytes_outside_the_edits_stay(convert, before: bytes, after: bytes) -> None:
    result = convert(before)
    assert result.errors == ()
    assert result.data == after


@pytest.mark.skipif(sys.version_info < (3, 12), reason="such f-strings need Python 3.12")
def test_nested_quotes_in_fstrings(convert) -> None:
    assert convert('x = f"{y.to("cuda")}"\n').text == 'x = f"{y.to("npu")}"\n'


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"print 'cuda'\n", 1, "not valid Python"),
        (b"x = 1\n\nx.cuda(async=True)\n", 3, "not valid Python"),
        (b"x.cuda(\n", 1, "not valid Python"),
        (b"# coding: utf-8\nx = '\xff', y.cuda()\n", 1, "utf-8"),
        (b"# coding: nonsense\ny.cuda()\n", 1, "nonsense"),
        (b"y.cuda()\x00\n", 1, "null"),
        (b"y.cuda()" + b"(" * 5000 + b"\n", 1, ""),
    ],
    ids=["Python 2", "async keyword", "unclosed", "bad bytes", "unknown encoding", "null byte", "too deep"],
)
def test_what_cannot_be_read_is_reported_and_left(convert, data: bytes, line: int, words: str) -> None:
    result = convert(data)
    assert result.data == data
    assert [error.line for error in result.errors] == [line]
    assert words in result.errors[0].message
    assert result.findings == ()


def test_a_large_file_is_converted(convert) -> None:
    block = b"def f(x):\n    return x.cuda() if x.is_cuda else x.to('cuda:0')\n"
    data = block * 4000
    result = convert(data)
    assert (
        result.data
        == block.replace(b".cuda()", b".npu()").replace(b"is_cuda", b"is_npu").replace(b"'cuda:0'", b"'npu:0'") * 4000
    )
    assert len(result.findings) == 3 * 4000


def test_prose_stays(convert) -> None:
    source = (
        '"""Trains on cuda, see torch.cuda.is_available()."""\n'
        "# x.cuda() moves to the card; nccl\n"
        "import logging\n\n\n"
        "def f(x):\n"
        '    """Moves x to cuda:0 with .cuda()."""\n'
        "    logging.info('cuda')\n"
        "    print('using cuda', 'cuda:0')\n"
        "    raise ValueError('no cuda device, no nccl')\n\n\n"
        "URL = 'https://example.com/cuda/nccl'\n"
        "class cuda: pass\n"
        "class Cfg: CUDA = True\n"
        "Cfg.CUDA and cuda()\n"
    )
    result = convert(source)
    assert result.text == source
    assert result.codes == []


def test_a_local_torch_is_not_torch(convert) -> None:
    for source in (
        "def f(torch):\n    return torch.cuda.is_available()\n",
        "class torch:\n    pass\ntorch.cuda.x\n",
        "from mine import torch\ntorch.cuda.is_available()\n",
        "import torch\ndef f():\n    torch = g()\n    return torch.cuda.foo\n",
    ):
        assert convert(source).text == source


def test_select_and_ignore() -> None:
    data = b"import torch\ntorch.cuda.init()\nx.cuda()\n"

    def codes(select: tuple[str, ...], ignore: tuple[str, ...]) -> list[str]:
        options = EngineOptions(OPTIONS.target, select, ignore)
        return sorted({f.code for f in process("x.py", data, options, ProjectIndex()).findings})

    assert codes((), ()) == ["NPU101", "NPU110", "NPU160"]
    assert codes(("NPU11",), ()) == ["NPU110"]
    assert codes((), ("NPU10",)) == ["NPU110", "NPU160"]
    assert codes(("NPU1",), ("NPU16",)) == ["NPU101", "NPU110"]
    assert codes(("NPU160", "NPU110"), ("NPU16",)) == ["NPU110", "NPU160"]


def test_places_are_in_characters_from_one() -> None:
    data = "é = 1; x.cuda()\n".encode()
    (finding,) = process("x.py", data, OPTIONS, ProjectIndex()).findings
    assert (finding.span.line, finding.span.column) == (1, 8)
    assert (finding.span.end_line, finding.span.end_column) == (1, 14)
    assert finding.fix is not None
    assert (finding.fix.before, finding.fix.after) == ("é = 1; x.cuda()", "é = 1; x.npu()")
