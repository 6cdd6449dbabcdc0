"""HCCL: the network of the cards, TLS, ports; and the environment variables that decide about cards and time-outs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from ascend_migrate.launch.doctor.facts import Machine
from ascend_migrate.launch.doctor.model import Check, Group
from ascend_migrate.launch.doctor.system import System, integers

_HCCL = Group("Collectives")
_SETTINGS = Group("Settings")

HCCL_PORT = 60000
"""The first port of HCCL on the host, unless HCCL_IF_BASE_PORT says another; it takes 16 from there on."""

HCCL_PORTS = 16
MASTER_PORT = 29500
_LISTENING = "0A"


def checks(machine: Machine) -> Iterator[Check]:
    """The checks of collectives and of environment variables."""
    if machine.has_card:
        yield _addresses(machine)
        yield _tls(machine)
    yield _hccl_ports(machine)
    yield _master_port(machine)
    yield from _visible_devices(machine)
    yield from _time_outs(machine)
    yield from _allocator(machine)
    yield from _ray(machine)


def listening_ports(system: System) -> set[int]:
    """The TCP ports on which something listens, from /proc/net."""
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in system.lines(table)[1:]:
            fields = line.split()
            if len(fields) > 3 and fields[3] == _LISTENING:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def _addresses(machine: Machine) -> Check:
    name = "addresses of the cards"
    text = machine.system.read("/etc/hccn.conf")
    if text is None:
        return _HCCL.unknown(
            name,
            "no /etc/hccn.conf, or it may not be read; it matters only for several machines",
            "for i in 0 1 2 3 4 5 6 7; do hccn_tool -i $i -ip -g; done",
        )
    found = dict(re.findall(r"^address_(\d+)\s*=\s*(\S+)", text, re.MULTILINE))
    twice = [address for address, count in Counter(found.values()).items() if count > 1]
    if twice:
        return _HCCL.problem(
            name,
            f"two cards have the address {twice[0]}",
            "sudo hccn_tool -i CARD -ip -s address A.B.C.D netmask 255.255.255.0",
        )
    missing = [card for card in machine.cards if str(card) not in found]
    if missing:
        return _HCCL.warning(
            name,
            f"card {', '.join(map(str, missing))} has none: collectives between machines will not work",
            *(f"sudo hccn_tool -i {card} -ip -s address A.B.C.D netmask 255.255.255.0" for card in missing[:1]),
        )
    return _HCCL.ok(name, f"{len(found)} in /etc/hccn.conf")


def _tls(machine: Machine) -> Check:
    name = "TLS of the cards"
    system = machine.system

    def switch(card: int) -> str | None:
        output = system.run("hccn_tool", "-i", str(card), "-tls", "-g", timeout=3)
        found = re.search(r"tls switch\[(\d)\]", output.text) if output is not None else None
        return found[1] if found else None

    cards = machine.cards[:16]
    if not cards:
        return _HCCL.unknown(name, "there are no cards to ask")
    first = switch(cards[0])
    if first is None:
        return _HCCL.unknown(name, "hccn_tool is not there, or may not be used: it must be the same on all machines")
    with ThreadPoolExecutor(8) as pool:
        switches = {cards[0]: first, **dict(zip(cards[1:], pool.map(switch, cards[1:])))}
    if len(set(switches.values())) > 1:
        shown = ", ".join(f"card {card}: {value}" for card, value in switches.items())
        return _HCCL.problem(
            name,
            f"it differs between the cards ({shown}): links between them fail with EI0006",
            *(f"sudo hccn_tool -i {card} -tls -s enable 0" for card, value in switches.items() if value != "0"),
        )
    state = "on" if first == "1" else "off"
    return _HCCL.ok(name, f"{state} for all; it must be {state} on the other machines too")


def _hccl_ports(machine: Machine) -> Check:
    name = "ports of HCCL"
    system = machine.system
    base = integers([system.variable("HCCL_IF_BASE_PORT")]) or [HCCL_PORT]
    first, last = base[0], base[0] + HCCL_PORTS - 1
    if system.read("/proc/net/tcp") is None:
        return _HCCL.unknown(name, "/proc/net/tcp cannot be read")
    taken = sorted(port for port in listening_ports(system) if first <= port <= last)
    if taken:
        return _HCCL.problem(
            name,
            f"port {', '.join(map(str, taken))} is taken: HCCL fails with EI0019 or EJ0003",
            f"ss -ltnp | grep {taken[0]}",
            "export HCCL_IF_BASE_PORT=61000",
            help="Another job or what is left of one may have it. Give all ranks of a job the same base port.",
        )
    ephemeral = integers((system.read("/proc/sys/net/ipv4/ip_local_port_range") or "").split())
    reserved = system.read("/proc/sys/net/ipv4/ip_local_reserved_ports") or ""
    given_out = len(ephemeral) == 2 and ephemeral[0] <= last and first <= ephemeral[1]
    if machine.has_card and given_out and not _covers(reserved, first, last):
        return _HCCL.warning(
            name,
            f"{first}-{last} are free now, but the system gives them to outgoing connections too",
            f"sudo sysctl -w net.ipv4.ip_local_reserved_ports={first}-{last}",
        )
    return _HCCL.ok(name, f"{first}-{last} are free")


def _covers(reserved: str, first: int, last: int) -> bool:
    for span in reserved.strip().split(","):
        low, _, high = span.partition("-")
        if low.isdigit() and int(low) <= first and last <= int(high or low):
            return True
    return False


def _master_port(machine: Machine) -> Check:
    name = "port of the launcher"
    system = machine.system
    asked = integers([system.variable("MASTER_PORT")])
    port = asked[0] if asked else MASTER_PORT
    if system.read("/proc/net/tcp") is None:
        return _HCCL.unknown(name, "/proc/net/tcp cannot be read")
    if port in listening_ports(system):
        return _HCCL.bad(
            bool(asked),
            name,
            f"{port}{' (MASTER_PORT)' if asked else ', the default of torchrun,'} is taken: Address already in use",
            f"ss -ltnp | grep {port}",
            f"export MASTER_PORT={port + 11}",
            help="torchrun --standalone and ascend-migrate run choose a free one.",
        )
    return _HCCL.ok(name, f"{port} is free")


def _visible_devices(machine: Machine) -> Iterator[Check]:
    system = machine.system
    name = "ASCEND_RT_VISIBLE_DEVICES"
    value = system.environment.get(name)
    cuda = system.environment.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        if cuda and machine.has_card:
            yield _SETTINGS.warning(
                name,
                f"CUDA_VISIBLE_DEVICES={cuda} does not choose NPUs: all cards are visible",
                f"export ASCEND_RT_VISIBLE_DEVICES={cuda}",
            )
        return
    ids = value.split(",")
    count = len(machine.cards)
    if not value.strip():
        yield _SETTINGS.problem(name, "it is set and empty: the process sees no card", f"unset {name}")
        return
    valid: list[int] = []
    wrong = ""
    for part in ids:
        if not part.isdigit():
            wrong = f"{part!r} is no number" + (" (no blanks are allowed)" if part.strip().isdigit() else "")
        elif valid and int(part) <= valid[-1]:
            wrong = f"{part} does not ascend"
        elif count and int(part) >= count:
            wrong = f"there is no card {part} (ids count from 0 to {count - 1} within what this process could see)"
        if wrong:
            break
        valid.append(int(part))
    if wrong:
        good = ",".join(
            map(str, sorted({int(p) for p in ids if p.strip().isdigit() and (not count or int(p) < count)}))
        )
        yield _SETTINGS.problem(
            name,
            f"{value}: {wrong}; the runtime drops it and all after it without a word, so {len(valid)} cards are left",
            f"export {name}={good}",
            help="Then torch.npu.device_count() must be the number of ids: 107001 follows where it is not.",
        )
        return
    yield _SETTINGS.ok(name, f"{value}: in the process they are npu:0 to npu:{len(valid) - 1}")


def _time_outs(machine: Machine) -> Iterator[Check]:
    for name, default in (("HCCL_EXEC_TIMEOUT", 1800), ("HCCL_CONNECT_TIMEOUT", 120)):
        value = machine.system.environment.get(name)
        if value is None:
            continue
        if not value.isdigit():
            yield _SETTINGS.problem(name, f"{value!r} is no number of seconds: EI0001 follows", f"unset {name}")
        elif int(value) == 0 and name == "HCCL_EXEC_TIMEOUT":
            yield _SETTINGS.warning(
                name, "0 does not mean without limit in every version of CANN", f"export {name}=7200"
            )
        elif int(value) < default:
            yield _SETTINGS.warning(name, f"{value} s is less than the default, {default} s", f"unset {name}")
        else:
            yield _SETTINGS.ok(name, f"{value} s; it must be the same on all ranks")


def _allocator(machine: Machine) -> Iterator[Check]:
    value = machine.system.variable("PYTORCH_NPU_ALLOC_CONF")
    if "expandable_segments:true" in value.lower().replace(" ", "") and "max_split_size_mb" in value:
        yield _SETTINGS.problem(
            "PYTORCH_NPU_ALLOC_CONF",
            "expandable_segments and max_split_size_mb exclude each other",
            "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
        )
    if machine.system.variable("ASCEND_LAUNCH_BLOCKING") == "1":
        yield _SETTINGS.warning(
            "ASCEND_LAUNCH_BLOCKING", "1: for debugging, it makes training slow", "unset ASCEND_LAUNCH_BLOCKING"
        )


def _ray(machine: Machine) -> Iterator[Check]:
    """Ray sets the visible devices of its workers itself, to nothing for those that asked for no NPU."""
    name = "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES"
    system = machine.system
    if not machine.has_card or system.package("ray") is None or system.variable(name):
        return
    yield _SETTINGS.warning(
        "ray",
        "Ray rewrites ASCEND_RT_VISIBLE_DEVICES: a worker that asked for no NPU sees none (is_available() is False)",
        f"export {name}=1",
        help='Before ray start; or ask for the cards: @ray.remote(resources={"NPU": 1}).',
    )
