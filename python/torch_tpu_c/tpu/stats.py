"""Counters: compiles, fallbacks, traced ops, transfers; and switches that belong to them."""

from __future__ import annotations

import ctypes

from .. import _core
from .._missing import feature


def _read(structure, name) -> dict:
    values = structure()
    getattr(_core.core(), name)(ctypes.byref(values))
    return values.as_dict()


def compile_stats() -> dict:
    """Executable cache: hits, misses, plans, evictions, entries, executions, compile_ns (plugin_ns of it in
    the plugin's compiler)."""
    return _read(_core.CompileStats, "tt_compile_stats")


def compile_reasons(rows: int = 20) -> list:
    """Why the last programs were compiled, newest first, one line each."""
    core = _core.core()
    return _core.take_text(lambda out: core.tt_compile_reasons(rows, out)).splitlines()


def transfer_stats() -> dict:
    """Bytes and copies between host and devices, since the start."""
    return _read(_core.TransferStats, "tt_transfer_stats")


def allocation_stats() -> dict:
    """Host allocations of the core and of the plugin: all so far, and live blocks (plugin: 0 where it does not say)."""
    return _read(_core.AllocationStats, "tt_allocation_stats")


class forbid_recompiles:
    """Context manager: a compile raises RuntimeError with its reason."""

    def __enter__(self):
        core = _core.core()
        self._before = core.tt_setting_get(_core.FORBID_RECOMPILES)
        _core.check(core.tt_setting_set(_core.FORBID_RECOMPILES, 1))
        return self

    def __exit__(self, *exc):
        _core.check(_core.core().tt_setting_set(_core.FORBID_RECOMPILES, self._before))
        return False


def fallback_stats(reset: bool = False) -> dict:
    """Ops that ran on the CPU: name to count."""
    found = {}
    for line in _core.shim().tts_fallback_stats(int(reset)).decode().splitlines():
        name, count = line.rsplit(" ", 1)
        found[name] = int(count)
    return found


def trace_stats(reset: bool = False) -> dict:
    """Ops that ran through a Python decomposition: name to count."""
    from .. import tail

    found = dict(tail.counts)
    if reset:
        tail.counts.clear()
    return found


class cpu_fallback_mode:
    """Whether ops without a kernel run on the CPU in this thread; also a context manager.

    Off by default: such an op raises NotImplementedError. ``TORCH_TPU_FALLBACK=1`` turns it on for the process.
    """

    def __init__(self, enabled: bool = True):
        self._before = _core.shim().tts_fallback_thread(1 if enabled else 0)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _core.shim().tts_fallback_thread(self._before)
        return False


def _get_cache_stats() -> dict:
    stats = compile_stats()
    return {
        "requests": stats["hits"] + stats["misses"],
        "hits": stats["hits"],
        "misses": stats["misses"],
        "entries": stats["entries"],
    }


def _clear_cache() -> None:
    _core.core().tt_compile_cache_clear()


def _set_cache_only(enabled: bool) -> None:
    _core.check(_core.core().tt_setting_set(_core.FORBID_RECOMPILES, int(bool(enabled))))


_set_dump_on_cache_miss = feature("torch.tpu._set_dump_on_cache_miss", "dumping programs at cache misses")
