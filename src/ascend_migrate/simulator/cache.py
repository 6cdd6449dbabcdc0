"""The builds of the simulated NPU in the user's cache: made once, by one process, and never half."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ascend_migrate.simulator import compiler
from ascend_migrate.simulator.errors import SimulatorError
from ascend_migrate.simulator.torch_installation import TorchInstallation, require_torch

STAND_IN = Path(__file__).parent / "stand_in"
"""Holds the package ``torch_npu`` that a simulated run imports."""


@dataclass(frozen=True)
class SimulatedNpu:
    """A simulated NPU that is ready to run: what it stands for, and the folders a child imports it from."""

    torch: str
    torch_npu: str
    import_path: tuple[Path, ...]


def cache_folder() -> Path:
    """Where builds are kept: ``$ASCEND_MIGRATE_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get("ASCEND_MIGRATE_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().resolve() / "simulated-npu"
    import platformdirs

    return Path(platformdirs.user_cache_dir("ascend-migrate", appauthor=False)) / "simulated-npu"


def prepare(say: Callable[[str], None]) -> SimulatedNpu:
    """Makes the simulated NPU ready for the installed torch, building it when that was not done before.

    `say` gets the few lines a user should see while waiting. Raises SimulatorError.
    """
    from ascend_migrate import knowledge

    torch = require_torch()
    version = knowledge.nearest_version(torch.version.split("+")[0])
    library = _ensure_library(torch, say)
    site = _ensure_site(version)
    return SimulatedNpu(torch.version, version, (STAND_IN, site, library))


def _ensure_library(torch: TorchInstallation, say: Callable[[str], None]) -> Path:
    """The folder of the compiled library."""
    python_abi = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag or "python"
    digest = hashlib.sha256(f"{torch.root} {compiler.FLAGS} {compiler.UNITS}".encode())
    for source in sorted(compiler.SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    folder = cache_folder() / f"torch-{torch.version}-{python_abi}-{digest.hexdigest()[:12]}"

    def make(temporary: Path) -> None:
        toolchain = compiler.find_toolchain(torch)
        say(f"building the simulated NPU for torch {torch.version}, once, about 40 s ...")
        library = compiler.compile_library(torch, toolchain, temporary)
        for file in temporary.iterdir():
            if file != library:
                file.unlink()

    return _ensure(folder, make, say)


def _ensure_site(version: str) -> Path:
    """The folder with the names of this torch_npu, and the metadata by which torch and others find it."""
    from ascend_migrate import knowledge

    surface = knowledge.surface(version)
    modules = sorted(surface.modules)
    document = {
        "version": version,
        "names": {module: sorted(surface.names(module)) for module in modules},
        "exported": {module: sorted(surface.exported(module)) for module in modules},
    }
    names = json.dumps(document, indent=0)
    folder = cache_folder() / f"torch_npu-{version}-{hashlib.sha256(names.encode()).hexdigest()[:12]}"

    def make(temporary: Path) -> None:
        (temporary / "torch_npu_surface.json").write_text(names, encoding="utf-8")
        metadata = temporary / f"torch_npu-{version}+sim.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: torch_npu\nVersion: {version}+sim\n"
            "Summary: A simulated NPU on the CPU, by ascend-migrate\n",
            encoding="utf-8",
        )
        # From 2.5 on torch loads torch_npu by itself through this, on a real card as well.
        (metadata / "entry_points.txt").write_text(
            "[torch.backends]\ntorch_npu = torch_npu:_autoload\n", encoding="utf-8"
        )

    return _ensure(folder, make, say=None)


def _ensure(folder: Path, make: Callable[[Path], None], say: Callable[[str], None] | None) -> Path:
    """Has `make` fill a temporary folder and renames it, unless `folder` exists. One process at a time."""
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f"{folder.name}.lock", say):
            if folder.is_dir():
                return folder
            # Whoever left these was killed: we hold the lock.
            for left_over in folder.parent.glob(f"{folder.name}.tmp-*"):
                shutil.rmtree(left_over, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=f"{folder.name}.tmp-", dir=folder.parent))
            try:
                make(temporary)
                temporary.chmod(0o755)
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise SimulatorError(
            f"cannot write the cache of the simulated NPU: {error}. "
            "Set ASCEND_MIGRATE_CACHE_DIR to a folder that can be written"
        ) from error
    return folder


@contextlib.contextmanager
def _lock(path: Path, say: Callable[[str], None] | None) -> Iterator[None]:
    """An exclusive lock between processes. The kernel lets go of it when its holder dies."""
    try:
        import fcntl
    except ImportError as error:
        raise SimulatorError("the simulated NPU does not run on Windows; use WSL") from error

    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if say is not None:
                say("another process is building the simulated NPU; waiting for it ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
