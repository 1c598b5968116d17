"""The official package's small public interface."""

import torch


def tpu_device(index: int | None = None) -> torch.device:
    """The tpu device, of an index or of the current one."""
    return torch.device("tpu") if index is None else torch.device("tpu", index)
