"""The C libraries: finding and loading them, and their C API through ctypes (cold paths only)."""

from __future__ import annotations

import ctypes
import os

_here = os.path.dirname(os.path.abspath(__file__))
_NAMES = ("libtorch_tpu_core.so", "libtorch_tpu_shim.so", "libvtpu.so")


def _directories():
    explicit = os.environ.get("TORCH_TPU_LIBRARY_DIR")
    if explicit:
        yield explicit
        return
    yield os.path.join(_here, "lib")
    build = os.path.join(os.path.dirname(os.path.dirname(_here)), "build")
    yield build
    for name in ("release", "dev", "lead"):
        yield os.path.join(build, name)


def directory() -> str | None:
    """The folder that holds all three libraries, or None."""
    for folder in _directories():
        if all(os.path.exists(os.path.join(folder, name)) for name in _NAMES):
            return folder
    return None


def tool_directories() -> list:
    """Where the command-line tools may be: beside the libraries (wheel), or in the build's own folder."""
    return [place for folder in _directories() for place in (folder, os.path.join(folder, "tools"))]


def missing() -> str | None:
    if directory() is not None:
        return None
    return f"{', '.join(_NAMES)} not found in {', '.join(_directories())}"


def path(name: str) -> str:
    folder = directory()
    if folder is None:
        raise RuntimeError(missing())
    return os.path.join(folder, name)


class DeviceProperties(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 64),
        ("platform", ctypes.c_char * 32),
        ("plugin", ctypes.c_char * 256),
        ("reason", ctypes.c_char * 128),
        ("generation", ctypes.c_char * 16),
        ("total_memory_bytes", ctypes.c_int64),
        ("chip_memory_bytes", ctypes.c_int64),
        ("coords", ctypes.c_int64 * 3),
        ("core_on_chip", ctypes.c_int64),
        ("process_index", ctypes.c_int32),
        ("is_virtual", ctypes.c_bool),
    ]


class Discovery(ctypes.Structure):
    _fields_ = [
        ("source", ctypes.c_char * 32),
        ("plugin", ctypes.c_char * 512),
        ("reason", ctypes.c_char * 128),
        ("generation", ctypes.c_char * 16),
        ("chips", ctypes.c_int32),
        ("visible_chips", ctypes.c_int32),
        ("devices", ctypes.c_int32),
        ("nodes", ctypes.c_int32),
        ("process_count", ctypes.c_int32),
        ("process_index", ctypes.c_int32),
    ]


def _counters(*names):
    class Counters(ctypes.Structure):
        _fields_ = [(name, ctypes.c_int64) for name in names]

        def as_dict(self):
            return {name: getattr(self, name) for name in names}

    return Counters


MemoryStats = _counters(
    "allocated_bytes", "peak_allocated_bytes", "reserved_bytes", "peak_reserved_bytes", "limit_bytes", "free_bytes",
    "allocations", "frees", "out_of_memory_errors",
)
CompileStats = _counters("hits", "misses", "plans", "evictions", "entries", "compile_ns", "executions", "plugin_ns",
                         "rounded")
TransferStats = _counters("bytes_to_device", "bytes_to_host", "copies_to_device", "copies_to_host")
AllocationStats = _counters("core_allocations", "core_live_blocks", "plugin_allocations", "plugin_live_blocks")

# tt_setting_t
(MATMUL_PASSES, SAFE_INPLACE, DEBUG, LOCATIONS, THREADS, CACHE_ENTRIES, IR_HANDOVER, FORBID_RECOMPILES, DEFAULT_FLOAT,
 ROUNDING) = range(10)

_libraries: dict = {}


def load() -> None:
    """Loads the shim, and with it the core that it is linked to: one handle for both, so that what Python calls is what
    torch runs, also when the files are replaced while the process lives."""
    if "handle" not in _libraries:
        _libraries["handle"] = ctypes.CDLL(path("libtorch_tpu_shim.so"))._handle


def _open(name: str):
    # Symbols of a handle are looked up in what the library is linked to as well.
    if "handle" in _libraries:
        return ctypes.CDLL(name, handle=_libraries["handle"])
    return ctypes.CDLL(path(name))


def core():
    """libtorch_tpu_core, prototypes set."""
    if "core" in _libraries:
        return _libraries["core"]
    lib = _open("libtorch_tpu_core.so")
    status, text = ctypes.c_void_p, ctypes.c_char_p
    i32, i64, size = ctypes.c_int, ctypes.c_int64, ctypes.c_size_t
    p = ctypes.POINTER
    for name, result, arguments in (
        ("tt_status_code", i32, [status]),
        ("tt_status_message", text, [status]),
        ("tt_status_free", None, [status]),
        ("tt_select_plugin", status, [text]),
        ("tt_discover", status, [p(Discovery)]),
        ("tt_initialize", status, []),
        ("tt_is_initialized", ctypes.c_bool, []),
        ("tt_shutdown", None, []),
        ("tt_device_count", status, [p(i32)]),
        ("tt_device_properties", status, [i32, p(DeviceProperties)]),
        ("tt_device_dtype_support", status, [i32, i32, p(i32)]),
        ("tt_device_synchronize", status, [i32]),
        ("tt_device_memory_stats", status, [i32, p(MemoryStats)]),
        ("tt_device_empty_cache", status, [i32]),
        ("tt_device_reset_peak", status, [i32]),
        ("tt_device_memory_table", status, [i32, i32, p(ctypes.c_void_p)]),
        ("tt_text_free", None, [ctypes.c_void_p]),
        ("tt_setting_set", status, [i32, i64]),
        ("tt_setting_get", i64, [i32]),
        ("tt_compile_stats", None, [p(CompileStats)]),
        ("tt_compile_reasons", status, [i32, p(ctypes.c_void_p)]),
        ("tt_compile_cache_clear", None, []),
        ("tt_transfer_stats", None, [p(TransferStats)]),
        ("tt_allocation_stats", None, [p(AllocationStats)]),
        ("tt_fault_arm_allocation", None, [ctypes.c_uint64]),
        ("tt_fault_arm_plugin_call", None, [ctypes.c_uint64]),
        ("tt_fault_fired", ctypes.c_bool, []),
        ("tt_set_locate", None, [ctypes.c_void_p]),
        ("tt_trace_enable", None, [ctypes.c_bool]),
        ("tt_trace_take", size, [ctypes.c_void_p, size, p(ctypes.c_uint64)]),
        ("tt_aten_count", size, []),
        ("tt_aten_find", size, [text]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    _libraries["core"] = lib
    return lib


def shim():
    """libtorch_tpu_shim's few C functions."""
    if "shim" in _libraries:
        return _libraries["shim"]
    load()
    lib = _open("libtorch_tpu_shim.so")
    for name, result, arguments in (
        ("tts_forked", ctypes.c_int, []),
        ("tts_manual_seed_all", None, [ctypes.c_uint64]),
        ("tts_set_tail_hook", None, [ctypes.c_void_p]),
        ("tts_fallback_thread", ctypes.c_int, [ctypes.c_int]),
        ("tts_fallback_process", None, [ctypes.c_int]),
        ("tts_fallback_allowed", ctypes.c_int, []),
        ("tts_fallback_stats", ctypes.c_char_p, [ctypes.c_int]),
        ("tts_registration_problems", ctypes.c_char_p, []),
        ("tts_registration_count", ctypes.c_size_t, []),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    _libraries["shim"] = lib
    return lib


_OUT_OF_RANGE, _UNIMPLEMENTED, _RESOURCE_EXHAUSTED = 11, 12, 8


def check(status, prefix: str = "") -> None:
    """Raises the exception of a status; frees it."""
    if not status:
        return
    lib = core()
    code = lib.tt_status_code(status)
    message = prefix + lib.tt_status_message(status).decode(errors="replace")
    lib.tt_status_free(status)
    if code == _OUT_OF_RANGE:
        raise IndexError(message)
    if code == _UNIMPLEMENTED:
        raise NotImplementedError(message)
    if code == _RESOURCE_EXHAUSTED:
        import torch

        raise torch.OutOfMemoryError(message)
    raise RuntimeError(message)


def take_text(call) -> str:
    """The text that ``call(pointer)`` hands over."""
    pointer = ctypes.c_void_p()
    check(call(ctypes.byref(pointer)))
    if not pointer.value:
        return ""
    text = ctypes.string_at(pointer.value).decode(errors="replace")
    core().tt_text_free(pointer)
    return text
