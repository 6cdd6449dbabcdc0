from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ascend_migrate.report import render
from ascend_migrate.report.result import ProjectResult

CHROMIUM = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


class Collector(HTMLParser):
    """Tags with their attributes, and tags that are left open."""

    VOID = frozenset({"meta", "input", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Collector:
    collector = Collector()
    collector.feed(page)
    collector.close()
    assert collector.open == []
    return collector


def test_one_file_that_loads_nothing(real_result: ProjectResult) -> None:
    page = render(real_result, "html")
    tags = parsed(page).tags
    assert not [tag for tag, attributes in tags if tag in ("link", "img", "iframe", "object") or "src" in attributes]
    assert not [a for tag, a in tags if tag == "a" and not (a["href"] or "").startswith("#")]
    assert "url(" not in page and "@import" not in page
    policy = next(a["content"] for tag, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def test_findings_with_their_source(real_result: ProjectResult) -> None:
    page = render(real_result, "html")
    assert page.count("<article") == len(real_result.findings) > 3
    assert "'</script><b>'" not in page and "&lt;/script&gt;&lt;b&gt;" in page, "the source is quoted"
    assert "print(&#x27;模型&#x27;, <mark>torch.cuda.is_available</mark>())" in page, "gbk is read as Python reads it"
    assert "+ x = torch.ones(2).npu()" in page


def test_sources_that_are_gone_have_no_excerpt(result: ProjectResult) -> None:
    page = render(result, "html")
    parsed(page)
    assert page.count("<article") == 4
    assert "<mark>" not in page
    assert "repo/d.py</span>" not in page and "invalid syntax" in page


def test_in_chinese(real_result: ProjectResult) -> None:
    page = render(replace(real_result, language="zh"), "html")
    parsed(page)
    assert '<html lang="zh-CN">' in page
    assert f"就绪度 {real_result.readiness.percent} %：共 {real_result.readiness.sites} 处" in page
    assert "阻碍首次运行的问题" in page and "Readiness" not in page


def test_nothing_found(result: ProjectResult) -> None:
    page = render(replace(result, findings=(), errors=()), "html")
    parsed(page)
    assert "100 %" in page and "<article" not in page and 'id="blocking"' not in page


STEPS = """
const codes = () => [...document.querySelectorAll("article:not([hidden])")].map((a) => a.dataset.code);
const change = (where, what) => {
  const element = document.querySelector(where);
  const before = [element.value, element.checked];
  what(element);
  element.dispatchEvent(new Event("input"));
  const found = codes();
  [element.value, element.checked] = before;
  element.dispatchEvent(new Event("input"));
  return found;
};
const links = [...document.querySelectorAll("a[href]")];
const seen = {
  start: codes(),
  count: document.querySelector("#shown").textContent,
  words: change("#search", (e) => { e.value = "NVTX train"; }),
  nothing: change("#search", (e) => { e.value = "no such words"; }),
  code: change("#code", (e) => { e.value = "NPU101"; }),
  need: change("#need", (e) => { e.value = "work"; }),
  level: change("input[value=error]", (e) => { e.checked = false; }),
  end: codes(),
  files: [...document.querySelectorAll(".file > summary code")].map((e) => e.textContent.split("/").pop()),
  links: links.length,
  dangling: links.filter((a) => !document.querySelector(a.getAttribute("href"))).length,
  loaded: performance.getEntriesByType("resource").map((entry) => entry.name),
};
document.querySelector("#theme").click();
seen.theme = document.documentElement.dataset.theme;
document.title = JSON.stringify(seen);
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_in_a_browser(real_result: ProjectResult, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        render(real_result, "html").replace("</body>", f"<script>{STEPS}</script></body>"), encoding="utf-8"
    )
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    document = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    title = re.search("<title>(.*?)</title>", document)
    assert title is not None
    seen = json.loads(unescape(title.group(1)))
    codes = [finding.code for finding in real_result.findings]
    assert seen == {
        "start": codes,
        "count": f"{len(codes)} / {len(codes)}",
        "words": ["NPU102"],
        "nothing": [],
        "code": ["NPU101"],
        "need": ["NPU102"],
        "level": [finding.code for finding in real_result.findings if finding.level != "error"],
        "end": codes,
        "files": ["模型.py", "train.py"],
        "links": 1,
        "dangling": 0,
        "loaded": [],
        "theme": "dark",
    }
