"""The few fixed words of the reports, in both languages."""

from __future__ import annotations

_WORDS: dict[str, tuple[str, str]] = {
    "causes": ("Usual causes", "常见原因"),
    "check": ("Check", "检查"),
    "do": ("Do", "处理"),
    "also called": ("Also called {names}.", "又名 {names}。"),
    "not public": ("What it means exactly is not public.", "确切含义未公开。"),
    "cause": ("Cause", "原因"),
    "other causes": ("Also found, later", "之后还发现"),
    "consequences": ("Consequences: they go away with the cause", "后果：原因解决后会随之消失"),
    "only consequences": (
        "Only consequences were found: the cause is in the log of another rank",
        "只发现了后果：真正的原因在其他 rank 的日志中",
    ),
    "wrappers": ("Says only that something failed", "只说明有错误，没有具体信息"),
    "notes": ("Worth knowing", "值得注意"),
    "first failure": ("Failed first: {who}", "最先失败：{who}"),
    "silent": ("No error in the log of rank {ranks}: look there first.", "rank {ranks} 的日志中没有错误：先查看它。"),
    "nothing": ("No known error in {lines} lines.", "{lines} 行日志中没有发现已知错误。"),
    "rank": ("rank {rank}", "rank {rank}"),
    "ranks": ("ranks {ranks}", "rank {ranks}"),
    "times": ("{count} times", "{count} 次"),
    "at": ("{source}:{line}", "{source}:{line}"),
    "exception": ("The script raised {type}: the traceback is the news.", "脚本抛出 {type}：调用栈就是关键信息。"),
    "exception causes": (
        "A fault of the script or of a library, which need not have to do with the NPU.",
        "脚本或库自身的错误，不一定与 NPU 有关。",
    ),
    "exception check": ("{file}, line {line}, in {function}: {code}", "{file} 第 {line} 行，函数 {function}：{code}"),
    "exception do": (
        "Run that part on the CPU (or with ascend-migrate run --sim) to see whether it fails there too.",
        "在 CPU 上（或用 ascend-migrate run --sim）运行这部分，看是否同样失败。",
    ),
}


def word(key: str, language: str, **values: object) -> str:
    """The words for ``key`` in ``en`` or ``zh``, with values put in."""
    english, chinese = _WORDS[key]
    template = chinese if language == "zh" else english
    return template.format(**values) if values else template
