"""Memory figures: those of torch.accelerator, plus tables of what is alive."""

from __future__ import annotations

import ctypes

import torch

from .. import _core
from .device import device_count, index_of


def memory_stats(device=None) -> dict:
    """Counters by name, such as ``allocated_bytes.all.current``."""
    return torch.accelerator.memory_stats(index_of(device))


def memory_allocated(device=None) -> int:
    """Bytes of live storages."""
    return torch.accelerator.memory_allocated(index_of(device))


def max_memory_allocated(device=None) -> int:
    return torch.accelerator.max_memory_allocated(index_of(device))


def memory_reserved(device=None) -> int:
    """Bytes held by the plugin's allocator."""
    return torch.accelerator.memory_reserved(index_of(device))


def max_memory_reserved(device=None) -> int:
    return torch.accelerator.max_memory_reserved(index_of(device))


def reset_peak_memory_stats(device=None) -> None:
    torch.accelerator.reset_peak_memory_stats(index_of(device))


def reset_accumulated_memory_stats(device=None) -> None:
    torch.accelerator.reset_accumulated_memory_stats(index_of(device))


reset_max_memory_allocated = reset_peak_memory_stats


def empty_cache() -> None:
    """Gives cached blocks back to the system; opens no plugin."""
    core = _core.core()
    if not core.tt_is_initialized():
        return
    for device in range(device_count()):
        _core.check(core.tt_device_empty_cache(device))


def mem_get_info(device=None) -> tuple:
    """(free, total) bytes of a device's budget."""
    return torch.accelerator.get_memory_info(index_of(device))


def _figures(device) -> _core.MemoryStats:
    stats = _core.MemoryStats()
    _core.check(_core.core().tt_device_memory_stats(index_of(device), ctypes.byref(stats)))
    return stats


def _table(device, rows: int) -> str:
    core = _core.core()
    return _core.take_text(lambda out: core.tt_device_memory_table(index_of(device), rows, out))


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """Figures and the largest live tensors, as text."""
    stats = _figures(device)
    lines = [f"tpu:{index_of(device)} memory"]
    for label, value in (
        ("allocated", stats.allocated_bytes),
        ("peak allocated", stats.peak_allocated_bytes),
        ("reserved", stats.reserved_bytes),
        ("peak reserved", stats.peak_reserved_bytes),
        ("free", stats.free_bytes),
        ("budget", stats.limit_bytes),
    ):
        lines.append(f"  {label:<15} {'unknown' if value < 0 else f'{value / 2**20:,.1f} MiB'}")
    lines.append(f"  allocations     {stats.allocations:,}, freed {stats.frees:,}, refused {stats.out_of_memory_errors:,}")
    if not abbreviated:
        lines.append(_table(device, 20).rstrip())
    return "\n".join(lines)


def memory_snapshot(device=None) -> list:
    """One dict a device: its figures and a table of live storages."""
    indices = range(device_count()) if device is None else [index_of(device)]
    return [{"device": index, **_figures(index).as_dict(), "table": _table(index, 1000)} for index in indices]
