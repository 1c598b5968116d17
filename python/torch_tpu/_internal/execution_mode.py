"""Eager modes under the official package's names."""

import torch_tpu  # noqa: F401
from torch_tpu_c.tpu.mode import EagerMode, _current
from torch_tpu_c.tpu.mode import eager_mode as set_eager_mode
from torch_tpu_c.tpu.stats import cpu_fallback_mode

__all__ = ["EagerMode", "set_eager_mode", "eager_mode", "cpu_fallback_mode"]


def __getattr__(name):
    if name == "eager_mode":
        return _current()
    raise AttributeError(name)
