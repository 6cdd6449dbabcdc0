"""Everything the doctor asks of the machine goes through :class:`System`, so that a test can be another machine.

Nothing here writes, needs root, or imports a package of the environment that is looked at.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

_METADATA = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-py[\d.]+(?:-[^-]+)?)?\.(?:dist|egg)-info")

_VERSION_TEXT = re.compile(r"^(__version__|cuda|hip)\b[^=\n]*= *(?:'([^']*)'|\"([^\"]*)\"|(None))", re.MULTILINE)


@dataclass(frozen=True)
class Output:
    """What a command printed (both streams), and its exit code."""

    code: int
    text: str


@dataclass(frozen=True)
class User:
    """Who runs the doctor, with the numbers of all groups."""

    name: str
    uid: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Interpreter:
    """A Python and where it finds packages."""

    executable: str
    version: tuple[int, int, int]
    paths: tuple[str, ...]
    machine: str = "x86_64"


@dataclass(frozen=True)
class TorchFiles:
    """What ``torch/version.py`` says, read as text. ``cuda`` is None for a build without CUDA."""

    version: str
    cuda: str | None
    hip: str | None


@dataclass
class System:
    """This machine. Paths are absolute, as the machine's programs see them; ``root`` is put before them."""

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    python: Interpreter = field(default_factory=lambda: this_interpreter())

    def path(self, path: str) -> Path:
        """Where a path of the machine lies."""
        return self.root / path.lstrip("/")

    def exists(self, path: str) -> bool:
        return os.path.lexists(self.path(path))

    def read(self, path: str) -> str | None:
        """The text of a file, or None when it is not there or may not be read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; none when it is not there or may not be read."""
        try:
            return sorted(entry.name for entry in self.path(path).iterdir())
        except OSError:
            return []

    def may_open(self, path: str) -> bool:
        """Whether this user may read and write a file."""
        return os.access(self.path(path), os.R_OK | os.W_OK)

    def owner(self, path: str) -> tuple[int, int] | None:
        """Numbers of the user and group that own a file."""
        try:
            status = self.path(path).stat()
        except OSError:
            return None
        return status.st_uid, status.st_gid

    def free_bytes(self, path: str) -> tuple[int, int] | None:
        """Free and all bytes of the file system that holds a path."""
        try:
            usage = shutil.disk_usage(self.path(path))
        except OSError:
            return None
        return usage.free, usage.total

    def user(self) -> User:
        import getpass

        try:
            name = getpass.getuser()
        except (OSError, KeyError):  # a container may have no name for the number
            name = str(os.getuid())
        return User(name, os.getuid(), tuple(os.getgroups()))

    def run(self, *command: str, timeout: float = 10) -> Output | None:
        """Runs a command that only tells something. None when there is no such program, or it does not answer."""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
                env=dict(self.environment),
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return Output(done.returncode, done.stdout.decode("utf-8", "replace"))

    def package(self, name: str) -> str | None:
        """The version of an installed distribution."""
        return self._distributions.get(_normal(name))

    @cached_property
    def _distributions(self) -> Mapping[str, str]:
        """Version by name, from the names of the metadata folders: what ``importlib.metadata`` reads, without
        opening hundreds of files. What comes first on the path counts."""
        found: dict[str, str] = {}
        for folder in self.python.paths:
            try:
                names = os.listdir(folder)  # noqa: PTH208 (a list of Path takes ten times as long)
            except OSError:
                continue
            for name in names:
                match = _METADATA.fullmatch(name)
                if match is not None:
                    found.setdefault(_normal(match["name"]), match["version"])
        return found

    def torch_files(self) -> TorchFiles | None:
        """What torch says of itself, without importing it."""
        for folder in self.python.paths:
            try:
                text = (Path(folder) / "torch" / "version.py").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            values = {name: single or double or None for name, single, double, _ in _VERSION_TEXT.findall(text)}
            return TorchFiles(values.get("__version__") or "", values.get("cuda"), values.get("hip"))
        return None

    def lines(self, path: str) -> list[str]:
        """The lines of a file; none when it cannot be read."""
        return (self.read(path) or "").splitlines()

    def variable(self, name: str) -> str:
        """An environment variable, or nothing."""
        return self.environment.get(name, "")


def this_interpreter() -> Interpreter:
    """The Python that runs the doctor."""
    return Interpreter(sys.executable, sys.version_info[:3], tuple(path for path in sys.path if path), _machine())


def interpreter_at(executable: str) -> Interpreter | None:
    """Asks another Python about itself; None when it cannot be run."""
    question = "import json, platform, sys; print(json.dumps([sys.version_info[:3], sys.path, platform.machine()]))"
    try:
        # Without the caller's PYTHONPATH of an editable checkout the answer would differ from the script's own.
        answer = subprocess.run(
            [executable, "-c", question], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10, check=True
        )
        version, paths, machine = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(executable, tuple(version), tuple(path for path in paths if path), machine)


def environment_python(environment: Mapping[str, str], prefix: str = sys.prefix) -> str | None:
    """The Python of the active virtual or conda environment, where that is not the one the doctor runs in (it may
    be installed on its own, by pipx or uv)."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = environment.get(name)
        if active and os.path.realpath(active) != os.path.realpath(prefix):
            python = PurePosixPath(active) / "bin" / "python"
            if os.access(python, os.X_OK):
                return str(python)
        if active:
            return None
    return None


def _normal(name: str) -> str:
    """As PEP 503 compares names of distributions."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _machine() -> str:
    return os.uname().machine


def integers(texts: Sequence[str]) -> list[int]:
    """The numbers among texts."""
    return [int(text) for text in texts if text.isdigit()]
