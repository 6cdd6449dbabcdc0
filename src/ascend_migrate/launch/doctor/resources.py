"""Memory, disk, shared memory and limits of this process."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_migrate.launch.doctor.facts import Machine
from ascend_migrate.launch.doctor.model import Check, Group

_RESOURCES = Group("Resources")

_GB = 2**30
_MB = 2**20

LOW_MEMORY = 8 * _GB
LOW_DISK = 10 * _GB
NO_DISK = _GB
LOW_SHARED_MEMORY = 2 * _GB
DOCKER_SHARED_MEMORY = 64 * _MB
"""What Docker gives where nothing is said: DataLoader workers end with a bus error."""

LIMITS = (
    ("Max open files", "nofile", 4096, "ulimit -n 65535"),
    ("Max processes", "nproc", 4096, "ulimit -u 65535"),
    ("Max locked memory", "memlock", _MB, "ulimit -l unlimited"),
)
"""Line of /proc/self/limits, name of the limit, the least that is not reported, how to raise it."""


def checks(machine: Machine) -> Iterator[Check]:
    """The checks of memory, disks and limits."""
    yield _memory(machine)
    yield _shared_memory(machine)
    yield _disk(machine)
    yield _limits(machine)


def _memory(machine: Machine) -> Check:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", machine.system.read("/proc/meminfo") or "", re.MULTILINE)
    if found is None:
        return _RESOURCES.unknown("memory", "/proc/meminfo cannot be read")
    free = int(found[1]) * 1024
    if free < LOW_MEMORY:
        return _RESOURCES.warning(
            "memory", f"only {_size(free)} free on the host", "free -g; ps aux --sort -rss | head"
        )
    return _RESOURCES.ok("memory", f"{_size(free)} free on the host")


def _shared_memory(machine: Machine) -> Check:
    space = machine.system.free_bytes("/dev/shm") if machine.system.exists("/dev/shm") else None
    if space is None:
        return _RESOURCES.unknown("/dev/shm", "there is none")
    free, total = space
    if total <= DOCKER_SHARED_MEMORY or free < LOW_SHARED_MEMORY:
        fix = "docker run --shm-size=64g IMAGE" if machine.container else "sudo mount -o remount,size=64G /dev/shm"
        return _RESOURCES.bad(
            total <= DOCKER_SHARED_MEMORY,
            "/dev/shm",
            f"{_size(free)} of {_size(total)} free: DataLoader workers end with a bus error when it is full",
            fix,
        )
    return _RESOURCES.ok("/dev/shm", f"{_size(free)} of {_size(total)} free")


def _disk(machine: Machine) -> Check:
    home = machine.system.variable("HOME") or "/"
    places = {place: space for place in (home, "/tmp") if (space := machine.system.free_bytes(place)) is not None}
    if not places:
        return _RESOURCES.unknown("disk", "the free space cannot be asked for")
    for place, (free, _) in places.items():
        if free < LOW_DISK:
            return _RESOURCES.bad(
                free < NO_DISK,
                "disk",
                f"only {_size(free)} free in {place}: logs (~/ascend/log) and compiled kernels need some",
                "du -sh ~/ascend/log ~/atc_data 2>/dev/null",
                help="Old logs in ~/ascend/log can be removed; ASCEND_PROCESS_LOG_PATH puts them elsewhere.",
            )
    return _RESOURCES.ok("disk", ", ".join(f"{_size(free)} free in {place}" for place, (free, _) in places.items()))


def _limits(machine: Machine) -> Check:
    text = machine.system.read("/proc/self/limits")
    if text is None:
        return _RESOURCES.unknown("limits", "/proc/self/limits cannot be read")
    low, fixes, good = [], [], []
    for title, name, least, fix in LIMITS:
        found = re.search(rf"^{title}\s+(\S+)", text, re.MULTILINE)
        if found is None:
            continue
        if found[1].isdigit() and int(found[1]) < least:
            low.append(f"{name} is {found[1]}")
            fixes.append(fix)
        else:
            good.append(f"{name} {found[1]}")
    if low:
        docker = " Or docker run --ulimit nofile=65535:65535 --ulimit memlock=-1:-1." if machine.container else ""
        return _RESOURCES.warning(
            "limits",
            f"{', '.join(low)}: many workers and ranks need more",
            *fixes,
            help=f"For good, in /etc/security/limits.conf.{docker}",
        )
    return _RESOURCES.ok("limits", ", ".join(good))


def _size(number: int) -> str:
    if number >= _GB:
        return f"{number / _GB:.0f} GB"
    return f"{number / _MB:.0f} MB"
