"""Whether this user, in this container, can open what a process on the card needs."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.launch.doctor.facts import DEVICE_FILES, Machine
from ascend_migrate.launch.doctor.model import Check, Group
from ascend_migrate.launch.doctor.system import integers

_ACCESS = Group("Access")

_GROUP = "HwHiAiUser"


def checks(machine: Machine) -> Iterator[Check]:
    """The checks of permissions and of what a container was given."""
    if not machine.has_card:
        return
    yield _permissions(machine)
    if machine.container is not None:
        yield _mounts(machine)


def _permissions(machine: Machine) -> Check:
    system = machine.system
    devices = [f"/dev/davinci{card}" for card in machine.cards]
    devices += [path for path in DEVICE_FILES if system.exists(path)]
    if not devices:
        return _ACCESS.unknown("device files", "there are none to open")
    closed = [path for path in devices if not system.may_open(path)]
    user = system.user()
    if not closed:
        return _ACCESS.ok("device files", f"{user.name} may open all {len(devices)}")
    group = _group_of(machine, closed[0])
    member = "" if group is None else f" (they belong to the group {group})"
    return _ACCESS.problem(
        "device files",
        f"{user.name} may not open {', '.join(closed[:3])}{' ...' if len(closed) > 3 else ''}{member}",
        f"sudo usermod -aG {group or _GROUP} {user.name}",
        help="Then log in again; in a container, run with --group-add or as a user of that group.",
    )


def _group_of(machine: Machine, path: str) -> str | None:
    owner = machine.system.owner(path)
    if owner is None:
        return None
    for line in machine.system.lines("/etc/group"):
        fields = line.split(":")
        if len(fields) >= 3 and integers(fields[2:3]) == [owner[1]]:
            return fields[0] if fields[0] != "root" else None
    return None


def _mounts(machine: Machine) -> Check:
    system = machine.system
    missing = [path for path in DEVICE_FILES if not system.exists(path)]
    options = [f"--device {path}" for path in missing]
    for path in (machine.driver_home, "/usr/local/dcmi"):
        if not system.exists(path):
            missing.append(path)
            options.append(f"-v {path}:{path}:ro")
    if not any(system.exists(f"{folder}/npu-smi") for folder in ("/usr/local/bin", "/usr/local/sbin", "/usr/bin")):
        missing.append("npu-smi")
        options.append("-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro")
    if not missing:
        return _ACCESS.ok("container", f"{machine.container}: device files, driver and npu-smi are there")
    # Without the two last ones only npu-smi does not work.
    serious = any(path not in ("npu-smi", "/usr/local/dcmi") for path in missing)
    return _ACCESS.bad(
        serious,
        "container",
        f"{machine.container}: {', '.join(missing)} not passed in",
        f"docker run {' '.join(options)} IMAGE",
        help="Or use Ascend Docker Runtime, which does all of it: -e ASCEND_VISIBLE_DEVICES=0-7",
    )
