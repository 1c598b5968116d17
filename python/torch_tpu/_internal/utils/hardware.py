"""Facts about the device."""

import torch
from torch_tpu_c._missing import feature


def device_generation(device=None) -> str:
    """Generation such as ``v6e``."""
    return torch.tpu.get_device_properties(device).generation


def device_name(device=None) -> str:
    return torch.tpu.get_device_name(device)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return feature(f"torch_tpu._internal.utils.hardware.{name}", f"the hardware query {name}")
