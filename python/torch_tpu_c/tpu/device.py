"""Devices of the process."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch

from .. import _core

# Dynamo traces these: they must stay functions of torch.accelerator, not of ctypes.
current_device = torch.accelerator.current_device_index
set_device_index = torch.accelerator.set_device_index


def index_of(device=None) -> int:
    """Device index of None (the current one), an int, a string or a torch.device."""
    if device is None:
        return torch.accelerator.current_device_index()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "tpu":
            raise ValueError(f"Expected a tpu device, but got: {device}")
        return torch.accelerator.current_device_index() if device.index is None else device.index
    return int(device)


def device_count() -> int:
    """Number of devices of this process; 0 if the plugin does not open."""
    return torch._C._accelerator_deviceCount() if hasattr(torch._C, "_accelerator_deviceCount") else _count()


def _count() -> int:
    count = ctypes.c_int()
    status = _core.core().tt_device_count(ctypes.byref(count))
    if status:
        _core.core().tt_status_free(status)
        return 0
    return count.value


def is_available() -> bool:
    """Whether at least one device is there."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether the plugin is open."""
    return bool(_core.core().tt_is_initialized()) and not _is_in_bad_fork()


def init() -> None:
    """Opens the plugin, if it is not open."""
    _lazy_init()


def _is_in_bad_fork() -> bool:
    return bool(_core.shim().tts_forked())


def _lazy_init() -> None:
    if _is_in_bad_fork():
        raise RuntimeError(
            "Cannot re-initialize TPU in forked subprocess. To use TPU with multiprocessing, you must use the "
            "'spawn' start method"
        )
    _core.check(_core.core().tt_initialize())


def select_plugin(path: str | None) -> None:
    """Chooses the PJRT plugin by path or name (``vtpu``, ``libtpu``); only before the first use of a device."""
    _core.check(_core.core().tt_select_plugin(None if path is None else str(path).encode()))


@dataclass(frozen=True)
class PluginChoice:
    """The plugin that is or would be opened and why, and the TPUs on the PCI bus."""

    source: str   # select_plugin, TORCH_TPU_PLUGIN, TORCH_TPU_VIRTUAL, PJRT_NAMES_AND_LIBRARY_PATHS, hardware, embedded
    plugin: str
    reason: str
    problem: str   # why it cannot be opened, as far as that is known without opening it
    generation: str
    chips: int
    visible_chips: int
    devices: int
    nodes: int
    process_count: int
    process_index: int


def plugin_choice() -> PluginChoice:
    """Which plugin is chosen and by which rule; opens none and never raises for a machine that is set up wrongly."""
    raw, lib = _core.Discovery(), _core.core()
    status, problem = lib.tt_discover(ctypes.byref(raw)), ""
    if status:
        problem = lib.tt_status_message(status).decode(errors="replace")
        lib.tt_status_free(status)
    texts = {name: getattr(raw, name).decode(errors="replace") for name in ("source", "plugin", "reason", "generation")}
    numbers = ("chips", "visible_chips", "devices", "nodes", "process_count", "process_index")
    return PluginChoice(**texts, problem=problem, **{name: getattr(raw, name) for name in numbers})


def set_device(device) -> None:
    """Makes a device the current one of this thread. A negative index is ignored."""
    index = index_of(device)
    if index >= 0:
        torch.accelerator.set_device_index(index)


class device:
    """Context manager: the current device of this thread."""

    def __init__(self, device):
        self.idx = index_of(device) if device is not None else -1
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = torch.accelerator.current_device_index()
            if self.prev_idx != self.idx:
                torch.accelerator.set_device_index(self.idx)

    def __exit__(self, *exc):
        if self.prev_idx >= 0 and self.prev_idx != self.idx:
            torch.accelerator.set_device_index(self.prev_idx)
        return False


class device_of(device):
    """Context manager: the device of a tensor; nothing for tensors elsewhere."""

    def __init__(self, tensor):
        super().__init__(tensor.device.index if tensor.device.type == "tpu" else None)


@dataclass(frozen=True)
class TpuDeviceProperties:
    """What is known of a device; -1 and (-1, -1, -1) stand for unknown."""

    name: str
    platform: str
    generation: str
    total_memory: int
    chip_memory: int
    coords: tuple
    core_on_chip: int
    process_index: int
    is_virtual: bool
    plugin: str
    reason: str
    multi_processor_count: int = 1


def get_device_properties(device=None) -> TpuDeviceProperties:
    """Properties of a device; ``total_memory`` is its budget in bytes, ``chip_memory`` the HBM of the real chip."""
    raw = _core.DeviceProperties()
    _core.check(_core.core().tt_device_properties(index_of(device), ctypes.byref(raw)))
    return TpuDeviceProperties(
        name=raw.name.decode(),
        platform=raw.platform.decode(),
        generation=raw.generation.decode(),
        total_memory=raw.total_memory_bytes,
        chip_memory=raw.chip_memory_bytes,
        coords=tuple(raw.coords),
        core_on_chip=raw.core_on_chip,
        process_index=raw.process_index,
        is_virtual=bool(raw.is_virtual),
        plugin=raw.plugin.decode(),
        reason=raw.reason.decode(),
    )


def get_device_name(device=None) -> str:
    """Name of a device, such as ``TPU v6e (virtual, CPU)``."""
    return get_device_properties(device).name


def get_device_capability(device=None) -> dict:
    """Capabilities of a device: ``{"supported_dtypes": {...}}``."""
    return torch.accelerator.get_device_capability(torch.device("tpu", index_of(device)))


def get_local_device_attributes() -> list:
    """One dict a device of this process."""
    found = []
    for index in range(device_count()):
        properties = get_device_properties(index)
        found.append(
            {
                "index": index,
                "name": properties.name,
                "generation": properties.generation,
                "coords": properties.coords,
                "core_on_chip": properties.core_on_chip,
                "process_index": properties.process_index,
            }
        )
    return found


def is_dtype_supported(dtype: torch.dtype, including_emulation: bool = True, device=None) -> bool:
    """Whether the device computes with a dtype, natively or (if asked for) by emulation."""
    number = _dtype_numbers().get(dtype)
    if number is None:
        return False
    support = ctypes.c_int()
    _core.check(_core.core().tt_device_dtype_support(index_of(device), number, ctypes.byref(support)))
    return support.value >= (1 if including_emulation else 2)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """bfloat16 works on every device."""
    return True


def synchronize(device=None) -> None:
    """Waits for all work of a device, or of all devices; raises the first deferred error."""
    _core.check(_core.core().tt_device_synchronize(-1 if device is None else index_of(device)))


def _dtype_numbers() -> dict:
    from ..dtypes import TO_CORE

    return TO_CORE
