"""The long tail of eager ops: an op without an entry but with a PyTorch decomposition.

The shim asks at the first call of an op that has no kernel; a kernel that runs the decomposition is registered then.
Each run is counted in ``torch.tpu.trace_stats()``.
"""

from __future__ import annotations

import ctypes
import threading

counts: dict = {}

_lock = threading.Lock()
_known: dict = {}
_library = None
_callback = None


def install() -> None:
    from . import _core

    global _callback
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
    _callback = prototype(_offer)
    _core.shim().tts_set_tail_hook(ctypes.cast(_callback, ctypes.c_void_p))


def _offer(name: bytes, overload: bytes) -> int:
    try:
        key = (name.decode(), overload.decode())
        with _lock:
            if key not in _known:
                _known[key] = False   # also while registering: no endless loop
                _known[key] = _register(*key)
                return int(_known[key])
        return 0   # a kernel is there: this is its own failure
    except Exception:
        return 0


def _find(name: str, overload: str):
    import torch

    namespace, base = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base)
    return getattr(packet, overload or "default")


def _register(name: str, overload: str) -> bool:
    import torch
    from torch._decomp import decomposition_table

    op = _find(name, overload)
    function = decomposition_table.get(op)
    if function is None or op.namespace != "aten":
        return False
    label = f"{name}.{overload}" if overload else name

    def kernel(*args, **kwargs):
        counts[label] = counts.get(label, 0) + 1
        return function(*args, **kwargs)

    global _library
    if _library is None:
        _library = torch.library.Library("aten", "IMPL")
    _library.impl(op, kernel, "PrivateUse1")
    return True
