"""Random number state: Philox, laid out as PyTorch's CUDA generator (8-byte seed, 8-byte offset)."""

from __future__ import annotations

import torch

from .. import _core
from .device import device_count, index_of


class _Generators:
    """The default generator of each device."""

    def __len__(self):
        return device_count()

    def __getitem__(self, index):
        count = device_count()
        if index < 0:
            index += count
        if not 0 <= index < count:
            raise IndexError(f"tpu:{index}: this process has {count} devices")
        return torch.ops.tpu_c.default_generator(index)

    def __iter__(self):
        return (self[index] for index in range(len(self)))


default_generators = _Generators()


def _get_generator(device) -> torch.Generator:
    """Default generator of a device: what torch's recomputation in compiled graphs asks for."""
    return default_generators[index_of(device)]


def get_rng_state(device="tpu") -> torch.Tensor:
    """State of a device's default generator, a ByteTensor on the CPU."""
    return default_generators[index_of(device)].get_state()


def get_rng_state_all() -> list:
    return [generator.get_state() for generator in default_generators]


def set_rng_state(new_state: torch.Tensor, device="tpu") -> None:
    default_generators[index_of(device)].set_state(new_state.cpu())


def set_rng_state_all(new_states) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's default generator."""
    default_generators[torch.accelerator.current_device_index()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the default generators of all devices; opens no plugin."""
    _core.shim().tts_manual_seed_all(int(seed) & 0xFFFFFFFFFFFFFFFF)


def seed() -> int:
    """Seeds the current device's default generator from the system; the seed is returned."""
    return default_generators[torch.accelerator.current_device_index()].seed()


def seed_all() -> int:
    number = 0
    for index, generator in enumerate(default_generators):
        if index == 0:
            number = generator.seed()
        else:
            generator.manual_seed(number)
    return number


def initial_seed() -> int:
    """Seed of the current device's default generator."""
    return default_generators[torch.accelerator.current_device_index()].initial_seed()
