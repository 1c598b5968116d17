"""The long tail of eager ops: an op without an entry but with a PyTorch decomposition.

The shim asks at the first call of an op that has no kernel; a kernel that runs the decomposition is registered then.
Each run is counted in ``torch.tpu.trace_stats()``.
"""

from __future__ import annotations

import ctypes
import functools
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
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


@functools.cache
def _table() -> dict:
    from torch._decomp import core_aten_decompositions, decomposition_table

    # torch's curated set, and of the rest those written in plain ATen (references may come back to the op itself).
    table = {
        op: function
        for op, function in decomposition_table.items()
        if getattr(function, "__module__", "") == "torch._decomp.decompositions"
    }
    table.update(core_aten_decompositions().items())
    return table


def _functional(op):
    """The functional overload of an out= or in-place one, and how the results go into its targets; or None."""
    import torch

    schema = op._schema
    base = schema.name.split("::")[1]
    outs = [argument.name for argument in schema.arguments if argument.is_out]
    wanted = [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]
    packet = getattr(torch.ops.aten, base if outs else base.rstrip("_"), None)
    if packet is None or (not outs and not base.endswith("_")):
        return None
    for name in packet.overloads():
        other = getattr(packet, name)._schema
        if other.is_mutable or [(a.name, str(a.type)) for a in other.arguments] != wanted:
            continue
        return getattr(packet, name), outs
    return None


def has_decomposition(op) -> bool:
    """Whether an op without a kernel would run through a decomposition."""
    if op._schema.is_mutable:
        found = _functional(op)
        return found is not None and found[0] in _table()
    return op in _table()


def _register(name: str, overload: str) -> bool:
    import torch

    op = _find(name, overload)
    if op.namespace != "aten":
        return False
    outs: list = []
    function = None
    if not op._schema.is_mutable:
        function = _table().get(op)
    else:
        found = _functional(op)
        if found is not None:
            function, outs = _table().get(found[0]), found[1]
    if function is None:
        return False
    label = f"{name}.{overload}" if overload else name
    active = threading.local()

    def kernel(*args, **kwargs):
        if getattr(active, "on", False):
            raise NotImplementedError(f"tpu: {label} has no kernel, and its decomposition needs itself")
        counts[label] = counts.get(label, 0) + 1
        active.on = True
        try:
            targets = [kwargs.pop(out) for out in outs] if outs else []
            result = function(*args, **kwargs)
        finally:
            active.on = False
        if not op._schema.is_mutable:
            return result
        if not outs:
            return args[0].copy_(result)
        results = result if isinstance(result, (tuple, list)) else (result,)
        for target, value in zip(targets, results):
            if target.shape != value.shape:
                target.resize_(value.shape)
            target.copy_(value)
        return targets[0] if len(targets) == 1 else tuple(targets)

    global _library
    if _library is None:
        _library = torch.library.Library("aten", "IMPL")
    _library.impl(op, kernel, "PrivateUse1")
    return True
