"""Automatic mixed precision: what torch.amp asks the device for, and the scaler under its device name."""

from __future__ import annotations

import torch


def get_amp_supported_dtype() -> list:
    """dtypes of ``torch.amp.autocast("tpu")``; bfloat16 is the default."""
    return [torch.bfloat16, torch.float16]


class GradScaler(torch.amp.GradScaler):
    """``torch.amp.GradScaler("tpu")``."""

    def __init__(self, *args, **kwargs):
        super().__init__("tpu", *args, **kwargs)


class autocast(torch.amp.autocast):
    """``torch.amp.autocast("tpu")``."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=None):
        super().__init__("tpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
