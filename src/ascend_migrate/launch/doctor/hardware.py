"""Cards: on the bus, as device files, and what npu-smi tells of them. Driver and firmware."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_migrate.launch.doctor.facts import Machine
from ascend_migrate.launch.doctor.model import Check, Group

_HARDWARE = Group("Hardware")
_DRIVER = Group("Driver")

_FULL = 0.9
"""A card of which so much memory is in use is reported."""

_IDLE_MB = 4096
"""The driver itself takes about 3.4 GB of an idle 910B; what is below this is not counted as use."""


def checks(machine: Machine) -> Iterator[Check]:
    """The checks of hardware and driver."""
    yield _cards(machine)
    if not machine.has_card:
        return
    yield _npu_smi(machine)
    yield from _health(machine)
    yield from _memory(machine)
    yield _processes(machine)
    yield _driver(machine)
    yield _firmware(machine)


def _cards(machine: Machine) -> Check:
    name = "cards"
    if machine.cards:
        shown = _count(len(machine.cards), "device file") + f" (/dev/davinci{machine.cards[0]} ...)"
        if machine.smi is not None and machine.smi.chips:
            chips = [chip.name for chip in machine.smi.chips]
            family = f", {machine.soc.title}" if machine.soc is not None else ""
            if machine.soc is None:
                return _HARDWARE.problem(
                    name,
                    f"{len(chips)} x {chips[0]}: torch_npu does not support this chip",
                    help="Look for the chip in the release notes of torch_npu.",
                )
            if machine.soc.code == "310b":
                return _HARDWARE.warning(
                    name,
                    f"{len(chips)} x {chips[0]}{family}: most releases of torch_npu do not support this chip "
                    '("Unsupported SOC version")',
                    help="Look for the chip in the release notes of torch_npu before you go on.",
                )
            return _HARDWARE.ok(name, f"{len(chips)} x {chips[0]}{family}; {shown}")
        return _HARDWARE.ok(name, shown)
    if machine.pci:
        what = f"{len(machine.pci)} x {machine.pci[0].name} on the PCI bus, but no /dev/davinci*"
        if machine.container is not None:
            return _HARDWARE.problem(
                name,
                f"{what}: the cards were not passed into this container",
                "docker run --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
                "--device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver IMAGE",
            )
        return _HARDWARE.problem(
            name,
            f"{what}: the driver is not installed or not loaded",
            "lsmod | grep drv_",
            help="Install the driver (Ascend-hdk-*-npu-driver) for this card, then reboot.",
        )
    if machine.container is not None:
        return _HARDWARE.problem(
            name,
            "no Ascend card in this container",
            "docker run --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
            "--device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver IMAGE",
        )
    return _HARDWARE.problem(
        name,
        "no Ascend card on this machine (nothing on the PCI bus, no /dev/davinci*)",
        help="To try a script without a card: ascend-migrate run --sim SCRIPT",
    )


def _npu_smi(machine: Machine) -> Check:
    name = "npu-smi"
    smi = machine.smi
    if smi is None:
        if machine.container is not None:
            return _HARDWARE.warning(
                name,
                "npu-smi is not in this container, or does not answer",
                "docker run -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi -v /usr/local/dcmi:/usr/local/dcmi IMAGE",
            )
        return _HARDWARE.problem(
            name,
            "npu-smi is not on PATH, or does not answer",
            "export PATH=/usr/local/sbin:/usr/local/bin:$PATH",
            help="It comes with the driver.",
        )
    if smi.failure in ("-8005", "-8020"):
        # Reported for cards that another container holds, and for containers that lack the driver's pieces.
        used = "the card is in use" if smi.failure == "-8020" else "another container uses the same card, or pieces"
        rest = "" if smi.failure == "-8020" else " of the driver are not mounted here"
        return _HARDWARE.problem(
            name,
            f"npu-smi cannot reach the driver (ret is {smi.failure}): {used}{rest}",
            "docker ps  # on the host: which container has this card?",
            "docker run --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
            "--device /dev/hisi_hdc -v /usr/local/dcmi:/usr/local/dcmi "
            "-v /usr/local/Ascend/driver:/usr/local/Ascend/driver IMAGE",
            help="Stop the other container, or give this one another card.",
        )
    if smi.failure is not None or not smi.chips:
        code = f" (ret is {smi.failure})" if smi.failure is not None else ""
        return _HARDWARE.problem(
            name, f"npu-smi shows no card{code}", "npu-smi info", help="Is the driver loaded, and the user allowed?"
        )
    version = f"version {smi.version}, " if smi.version else ""
    seen = _count(len(smi.chips), "chip")
    if machine.cards and len(machine.cards) != len(smi.chips):
        return _HARDWARE.warning(
            name,
            f"{version}{seen}, but {_count(len(machine.cards), 'device file')}",
            "ls -l /dev/davinci*",
            help="Only those with a device file can be used here; docker run --device /dev/davinciN passes one in.",
        )
    return _HARDWARE.ok(name, f"{version}{seen}")


def _health(machine: Machine) -> Iterator[Check]:
    chips = machine.smi.chips if machine.smi is not None else ()
    if not chips:
        yield _HARDWARE.unknown("health", "npu-smi tells nothing of the cards")
        return
    bad = [chip for chip in chips if chip.health.upper() not in ("OK", "NA", "UNKNOWN", "")]
    unknown = [chip for chip in chips if chip.health.upper() in ("NA", "UNKNOWN", "")]
    for chip in bad:
        yield _HARDWARE.bad(
            chip.health.lower() not in ("warning",),
            "health",
            f"card {chip.card} chip {chip.chip} ({chip.name}): health is {chip.health}",
            f"npu-smi info -t health -i {chip.card} -c {chip.chip}",
            help="The fault codes that it prints stand in the driver's list of black-box codes. Leave the card out "
            "with ASCEND_RT_VISIBLE_DEVICES until it is repaired.",
        )
    if not bad and unknown:
        yield _HARDWARE.unknown("health", f"npu-smi does not tell the health of {_count(len(unknown), 'chip')}")
    elif not bad:
        yield _HARDWARE.ok("health", f"{_count(len(chips), 'chip')} OK")


def _memory(machine: Machine) -> Iterator[Check]:
    chips = machine.smi.chips if machine.smi is not None else ()
    known = [(chip, chip.used, chip.total) for chip in chips if chip.used is not None and chip.total]
    full = [(chip, used, total) for chip, used, total in known if used / total >= _FULL]
    for chip, used, total in full:
        yield _HARDWARE.warning(
            "card memory",
            f"card {chip.card} chip {chip.chip}: {used} of {total} MB are in use",
            f"npu-smi info -t proc-mem -i {chip.card} -c {chip.chip}",
            help="End what uses it, or leave the card out with ASCEND_RT_VISIBLE_DEVICES.",
        )
    if known and not full:
        free = min(total - used for _, used, total in known)
        yield _HARDWARE.ok("card memory", f"at least {free} MB free on each chip")
    elif not known and chips:
        yield _HARDWARE.unknown("card memory", "npu-smi does not show it")


def _processes(machine: Machine) -> Check:
    smi = machine.smi
    if smi is None or not smi.chips:
        return _HARDWARE.unknown("processes", "npu-smi tells nothing of the cards")
    if smi.processes:
        shown = ", ".join(f"{process.pid} ({process.name}) on card {process.card}" for process in smi.processes[:8])
        more = f" and {len(smi.processes) - 8} more" if len(smi.processes) > 8 else ""
        return _HARDWARE.warning(
            "processes",
            f"the cards are used already: {shown}{more}",
            *dict.fromkeys(f"kill {process.pid}" for process in smi.processes[:8]),
            help="Only end what is yours, and what an earlier run left.",
        )
    busy = [chip for chip in smi.chips if chip.used is not None and chip.used > _IDLE_MB]
    if busy:
        cards = ", ".join(str(chip.card) for chip in busy)
        # npu-smi in a container does not see the processes of others.
        return _HARDWARE.warning(
            "processes",
            f"no process is shown, but memory of card {cards} is in use: perhaps by another container",
            "npu-smi info  # on the host, which sees all processes",
        )
    return _HARDWARE.ok("processes", "none on the cards")


def _driver(machine: Machine) -> Check:
    name = "driver"
    home, version = machine.driver_home, machine.driver_version
    if version is None:
        where = " (mount /usr/local/Ascend/driver into the container)" if machine.container is not None else ""
        fix = (
            ("docker run -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro IMAGE",)
            if machine.container is not None
            else ()
        )
        return _DRIVER.problem(
            name,
            f"no {home}/version.info: the driver is not here{where}",
            *fix,
            help="" if fix else "Install the driver (Ascend-hdk-*-npu-driver) for this card, then reboot.",
        )
    smi = machine.smi
    if smi is not None and smi.version is not None and smi.version.lower() != version.lower():
        return _DRIVER.warning(
            name,
            f"driver {version}, but npu-smi is of {smi.version}: files of two versions are mixed",
            help="Mount npu-smi, /usr/local/dcmi and /usr/local/Ascend/driver of the same host."
            if machine.container is not None
            else "Install driver and firmware again, then reboot.",
        )
    return _DRIVER.ok(name, f"{version} (which CANN it is for, only CANN's release notes say)")


def _firmware(machine: Machine) -> Check:
    version = machine.firmware_version
    if version is None:
        why = "not visible in a container" if machine.container is not None else "no version.info of it"
        return _DRIVER.unknown("firmware", why)
    return _DRIVER.ok("firmware", version)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
