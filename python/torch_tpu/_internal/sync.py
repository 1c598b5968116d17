"""Waiting for tensors."""

import torch
from torch_tpu_c._missing import feature


def synchronize(tensors=None, wait: bool = True) -> None:
    """Waits for all work of all devices (for the devices of ``tensors`` if given); nothing to start if not ``wait``."""
    if not wait:
        return
    if tensors is None:
        torch.tpu.synchronize()
        return
    if isinstance(tensors, torch.Tensor):
        tensors = [tensors]
    for index in sorted({t.device.index for t in tensors if t.device.type == "tpu"}):
        torch.tpu.synchronize(index)


def is_materialized(tensor: torch.Tensor) -> bool:
    """Strict and debug eager launch every op at once: always True."""
    return True


computation_mlir = feature("torch_tpu._internal.sync.computation_mlir", "showing a tensor's pending computation")
dump_computation_mlir = feature("torch_tpu._internal.sync.dump_computation_mlir", "showing a tensor's pending computation")
