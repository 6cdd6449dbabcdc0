"""Requirements of all kinds: what is found, at which place, and what is left alone."""

from __future__ import annotations

import pytest


def _found(report) -> list[tuple[str, str, int]]:
    return [(f.code, f.level, f.span.line) for f in report.findings]


def test_a_requirements_file(process_file) -> None:
    text = (
        "# flash-attn is named in a comment\n"
        "--extra-index-url https://download.pytorch.org/whl/cu118\n"
        "numpy>=1.20  # xformers\n"
        "-r other.txt\n"
        "Flash_Attn==2.5.0 ; platform_system == 'Linux'\n"
        "nvidia-cudnn-cu12==8.9 \\\n    --hash=sha256:00\n"
        "git+https://github.com/NVIDIA/apex.git\n"
        "-e git+https://github.com/x/xformers#egg=xformers\n"
        "transformers\n"
    )
    assert _found(process_file("requirements.txt", text)) == [
        ("NPU606", "error", 2),
        ("NPU603", "error", 5),
        ("NPU602", "warning", 6),
        ("NPU603", "error", 8),
        ("NPU603", "error", 9),
    ]


def test_places_are_those_of_the_requirement(process_file) -> None:
    (finding,) = process_file("requirements.txt", "numpy\n  cupy-cuda11x>=10   # fast\n").findings
    assert (finding.span.line, finding.span.column, finding.span.end_column) == (2, 3, 19)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("torch==2.7.1+cu118", ["NPU606"]),
        ("torch @ https://download.pytorch.org/whl/cu118/torch-2.0.0%2Bcu118-cp310-cp310-linux_x86_64.whl", ["NPU606"]),
        ("https://download.pytorch.org/whl/cpu/torch-2.7.1-cp310-cp310-linux_x86_64.whl", []),
        ("--index-url https://download.pytorch.org/whl/cpu", []),
        ("torch", []),
        ("torch>=2.0", []),
        ("torch==2.7.1", []),
        ("torch==1.13.1", ["NPU607"]),
        ("torch~=2.1.0", ["NPU607"]),
        ("accelerate", []),
        ("accelerate>=0.20", []),
        ("accelerate<0.21", ["NPU604"]),
        ("accelerate<=0.21.0", []),
        ("accelerate~=0.20.3", ["NPU604"]),
        ("accelerate~=0.20", []),
        ("accelerate==0.20.*", []),
        ("not a requirement at all !", []),
        ("./local/package", []),
        ("faiss-cpu", []),
        ("onnxruntime-gpu", ["NPU603"]),
    ],
)
def test_one_line(process_file, line: str, found: list[str]) -> None:
    assert [f.code for f in process_file("requirements.txt", line + "\n").findings] == found


def test_once_per_library(process_file) -> None:
    text = "nvidia-cublas-cu12\nnvidia-cudnn-cu12\nnvidia-nccl-cu12\n"
    assert _found(process_file("requirements.txt", text)) == [("NPU602", "warning", 1)]


def test_pyproject(process_file) -> None:
    text = """
[build-system]
requires = ["setuptools", "torch"]

[project]
dependencies = [
    "numpy",
    "xformers>=0.0.20",
]

[project.optional-dependencies]
fast = ["flash-attn"]

[dependency-groups]
dev = ["cupy"]

[[tool.uv.index]]
url = "https://download.pytorch.org/whl/cu121"
"""
    assert _found(process_file("pyproject.toml", text)) == [
        ("NPU603", "error", 8),
        ("NPU603", "info", 12),
        ("NPU602", "info", 15),
        ("NPU606", "error", 18),
    ]


def test_poetry(process_file) -> None:
    text = """
[tool.poetry.dependencies]
python = "^3.10"
torch = "^2.0"
bitsandbytes = { version = "0.41", optional = true }
apex = { git = "https://github.com/NVIDIA/apex" }
"""
    assert _found(process_file("pyproject.toml", text)) == [("NPU604", "info", 5), ("NPU603", "error", 6)]


def test_setup_cfg(process_file) -> None:
    text = """
[options]
install_requires =
    # deepspeed
    deepspeed
    horovod

[options.extras_require]
detection =
    detectron2
"""
    assert _found(process_file("setup.cfg", text)) == [("NPU602", "error", 6), ("NPU605", "info", 10)]


def test_environment(process_file) -> None:
    text = """
name: train
dependencies:
  - python=3.10
  - pytorch::pytorch=1.12.1=py3.10_cuda11.3_cudnn8.3.2_0
  - cudatoolkit=11.3
  - pip
  - pip:
      - --extra-index-url https://download.pytorch.org/whl/cu113
      - deepspeed
      - pynvml
"""
    assert _found(process_file("environment.yml", text)) == [
        ("NPU606", "error", 5),
        ("NPU602", "warning", 6),
        ("NPU603", "error", 11),
    ]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("pyproject.toml", "[project]\nname = \n", 2),
        ("setup.cfg", "[options\nx = 1\n", 1),
        ("environment.yml", "dependencies:\n  - a: [\n", 3),
    ],
)
def test_a_broken_file_is_reported(process_file, path: str, text: str, line: int) -> None:
    report = process_file(path, text)
    assert report.findings == ()
    assert [error.line for error in report.errors] == [line]


@pytest.mark.parametrize("path", ["requirements.txt", "pyproject.toml", "setup.cfg", "environment.yml"])
def test_odd_bytes_and_empty_files(process_file, path: str) -> None:
    assert process_file(path, b"").findings == ()
    process_file(path, b"\xef\xbb\xbf# \xff\xfe\n")


def test_codes_that_are_not_asked_for(process_file) -> None:
    assert process_file("requirements.txt", "flash-attn\n", select=("NPU1",)).findings == ()
