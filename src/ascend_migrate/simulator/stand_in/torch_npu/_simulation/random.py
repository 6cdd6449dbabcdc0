"""``torch.npu.random``: one generator for each card."""

from __future__ import annotations

from collections.abc import Iterable

import _simulated_npu as native
import torch

from torch_npu._simulation.devices import Device, device_count, device_index

__all__ = [
    "default_generators",
    "get_default_generator",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def get_default_generator(device: Device = None) -> torch.Generator:
    generator: torch.Generator = native.generator(device_index(device))
    return generator


class _Generators:
    """One for each card, looked up late: the number of cards is settled when one is first used."""

    def __len__(self) -> int:
        return device_count()

    def __getitem__(self, index: int) -> torch.Generator:
        if not 0 <= index < device_count():
            raise IndexError(index)
        return get_default_generator(index)


default_generators = _Generators()


def get_rng_state(device: Device = "npu") -> torch.Tensor:
    return get_default_generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Device = "npu") -> None:
    get_default_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    get_default_generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    for index in range(device_count()):
        get_default_generator(index).manual_seed(int(seed))


def seed() -> None:
    get_default_generator().seed()


def seed_all() -> None:
    manual_seed_all(get_default_generator(0).seed())


def initial_seed() -> int:
    return get_default_generator().initial_seed()
