"""``torch.tpu.explain``: what a call does on the device, as a dict and as a table."""

from __future__ import annotations

import ctypes
import time

import torch

from .. import _core
from . import stats
from .device import synchronize


class _Event(ctypes.Structure):
    """tt_trace_event_t"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("begin_ns", ctypes.c_int64),
        ("end_ns", ctypes.c_int64),
        ("device", ctypes.c_int32),
        ("thread", ctypes.c_int32),
        ("correlation", ctypes.c_uint64),
    ]


def _take_events():
    """What the trace ring holds: (name, device, ns) of each run; and how many were overwritten."""
    block, lost, found = (_Event * 4096)(), 0, []
    dropped = ctypes.c_uint64()
    while True:
        count = _core.core().tt_trace_take(block, len(block), ctypes.byref(dropped))
        lost += dropped.value
        found += [(e.name.decode(), e.device, e.end_ns - e.begin_ns) for e in block[:count]]
        if count < len(block):
            return found, lost


class Explanation:
    """What a call did. ``as_dict()`` gives plain data, ``print()`` a table; ``result`` is what the call returned.

    Times are nanoseconds: ``build_ns`` writes programs, ``compile_ns`` is the plugin's compiler, ``execute_ns`` the runs.
    A program's ``hits`` are runs that found it ready; each of its ``reasons`` says why one had to be made.
    """

    def __init__(self, data: dict, result):
        self._data, self.result = data, result

    def as_dict(self) -> dict:
        return self._data

    def __getitem__(self, name):
        return self._data[name]

    def __str__(self) -> str:
        data = self._data
        rows = [("program", "device", "runs", "hits", "misses", "time")]
        for program in data["programs"]:
            rows.append((
                program["name"], f"tpu:{program['device']}", str(program["runs"]), str(program["hits"]),
                str(program["misses"]), _time(program["time_ns"]),
            ))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths)))
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        reasons = [f"  {program['name']}: {text}" for program in data["programs"] for text in program["reasons"]]
        if reasons:
            lines += ["", "made because of"] + reasons
        lines += [
            "",
            f"{data['hits']} hits, {data['misses']} misses, {data['plans']} plans",
            f"to the device {data['bytes_to_device']:,} bytes in {data['copies_to_device']}, "
            f"to the host {data['bytes_to_host']:,} bytes in {data['copies_to_host']}",
            f"build {_time(data['build_ns'])}, compile {_time(data['compile_ns'])}, "
            f"execute {_time(data['execute_ns'])}, all {_time(data['wall_ns'])}",
        ]
        for label, key in (("on the CPU", "fallbacks"), ("through a Python decomposition", "traced")):
            if data[key]:
                lines.append(f"{label}: " + ", ".join(f"{name} x {count}" for name, count in data[key].items()))
        if data["lost_runs"]:
            lines.append(f"{data['lost_runs']} runs are not in the table: the ring was full")
        if data["unsupported"]:
            lines.append("not supported: " + ", ".join(data["unsupported"]))
        if data["error"]:
            lines.append(f"it raised {data['error']}")
        return "\n".join(lines)

    def print(self) -> None:
        print(self)


def _time(ns: int) -> str:
    return f"{ns / 1e3:,.1f} us" if ns < 1e6 else f"{ns / 1e6:,.2f} ms"


def _difference(before: dict, after: dict) -> dict:
    return {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}


def explain(fn, *args, **kwargs) -> Explanation:
    """Runs ``fn(*args, **kwargs)`` and says what the device did for it.

    Counters are those of the process: other threads that use the device meanwhile are counted too. If an op is missing
    the call ends there, and ``unsupported`` lists every op of the program that is, found without compiling.
    Errors other than a missing op are raised as ever.
    """
    if torch._C._autograd._profiler_enabled():
        raise RuntimeError("torch.tpu.explain and torch.profiler read the same trace: use one at a time")
    core = _core.core()
    synchronize()
    before = stats.compile_stats(), stats.transfer_stats(), stats.fallback_stats(), stats.trace_stats()
    debug = core.tt_setting_get(_core.DEBUG)
    result = error = None
    _take_events()
    core.tt_trace_enable(True)
    try:
        # Blocking, so that the runs' times are those of the device, whichever plugin it is.
        _core.check(core.tt_setting_set(_core.DEBUG, 1))
        begin = time.perf_counter_ns()
        try:
            result = fn(*args, **kwargs)
        except NotImplementedError as caught:
            error = caught
        synchronize()
        wall_ns = time.perf_counter_ns() - begin
    finally:
        core.tt_trace_enable(False)
        _core.check(core.tt_setting_set(_core.DEBUG, debug))
    events, lost = _take_events()
    compiles = _difference(before[0], stats.compile_stats())
    transfers = _difference(before[1], stats.transfer_stats())
    misses = compiles.get("misses", 0)
    data = {
        "programs": _programs(events, list(reversed(stats.compile_reasons(misses))) if misses else []),
        "hits": compiles.get("hits", 0),
        "misses": misses,
        "plans": compiles.get("plans", 0),
        "build_ns": compiles.get("compile_ns", 0) - compiles.get("plugin_ns", 0),
        "compile_ns": compiles.get("plugin_ns", 0),
        "execute_ns": sum(ns for _, _, ns in events),
        "wall_ns": wall_ns,
        "lost_runs": lost,
        "fallbacks": _difference(before[2], stats.fallback_stats()),
        "traced": _difference(before[3], stats.trace_stats()),
        "unsupported": unsupported(fn, *args, **kwargs) if error is not None else [],
        "error": f"{type(error).__name__}: {error}" if error is not None else None,
    }
    for name in ("bytes_to_device", "bytes_to_host", "copies_to_device", "copies_to_host"):
        data[name] = transfers.get(name, 0)
    return Explanation(data, result)


def _programs(events: list, reasons: list) -> list:
    """One row a program name and device, in order of the first run."""
    table: dict = {}
    for name, device, ns in events:
        row = table.setdefault(
            (name, device),
            {"name": name, "device": device, "runs": 0, "hits": 0, "misses": 0, "time_ns": 0, "reasons": []},
        )
        row["runs"] += 1
        row["time_ns"] += ns
    for line in reasons:
        name, _, text = line.partition(": ")
        rows = [row for row in table.values() if row["name"] == name]
        # The reason names no device: the first row of the name that has runs to spare.
        row = next((row for row in rows if row["misses"] < row["runs"]), rows[0] if rows else None)
        if row is None:   # made, but its run failed
            row = table.setdefault(
                (name, -1), {"name": name, "device": -1, "runs": 0, "hits": 0, "misses": 0, "time_ns": 0, "reasons": []}
            )
        row["misses"] += 1
        row["reasons"].append(text)
    for row in table.values():
        row["hits"] = max(row["runs"] - row["misses"], 0)
    return list(table.values())


def unsupported(fn, *args, **kwargs) -> list:
    """Names of the ops in ``fn(*args, **kwargs)`` that the device has no kernel for; nothing runs or compiles.

    The function runs on fake tensors and ends at its first error there, such as a look at values.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    found: dict = {}

    class Collect(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, arguments=(), options=None):
            if isinstance(func, torch._ops.OpOverload) and not _is_supported(func):
                found[str(func)] = True
            return func(*arguments, **(options or {}))

    fake = FakeTensorMode(allow_non_fake_inputs=True)

    def convert(value):
        return fake.from_tensor(value) if isinstance(value, torch.Tensor) else value

    arguments, options = torch.utils._pytree.tree_map(convert, (args, kwargs))
    try:
        with fake, Collect():
            fn(*arguments, **options)
    except Exception:   # of the fake run alone: what came before it is listed
        pass
    return list(found)


def _is_supported(func) -> bool:
    from .. import tail

    kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    name = func._schema.name
    for key in ("PrivateUse1", "CompositeImplicitAutograd", "CompositeExplicitAutograd"):
        if kernel(func.name(), key):
            return True
    # torch's structured kernels reach the out= form of the same arguments.
    inputs = [argument.name for argument in func._schema.arguments if not argument.is_out]
    packet = getattr(torch.ops.aten, name.removeprefix("aten::").rstrip("_"), None) if func.namespace == "aten" else None
    for overload in packet.overloads() if packet is not None else ():
        other = getattr(packet, overload)
        if [argument.name for argument in other._schema.arguments if not argument.is_out] != inputs:
            continue
        if kernel(other.name(), "PrivateUse1"):
            return True
    return func.namespace == "aten" and tail.has_decomposition(func)
