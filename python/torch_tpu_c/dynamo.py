"""Dynamo's view of the device."""

from __future__ import annotations

from collections import namedtuple

import torch


def register(module) -> None:
    """Registers our interface in ``torch._dynamo.device_interface``."""
    from . import _core

    Properties = namedtuple("TPUProperties", ["name", "total_memory", "multi_processor_count"])

    class TpuInterface(module.DeviceInterface):
        device = torch.tpu.device
        Event = torch.tpu.Event
        Stream = torch.tpu.Stream

        class Worker:
            @staticmethod
            def set_device(device: int) -> None:
                torch.accelerator.set_device_index(device)

            @staticmethod
            def current_device() -> int:
                return torch.accelerator.current_device_index()

            @staticmethod
            def get_device_properties(device=None):
                found = torch.tpu.get_device_properties(device)
                return Properties(found.name, found.total_memory, 1)

        @staticmethod
        def current_device() -> int:
            return torch.accelerator.current_device_index()

        @staticmethod
        def set_device(device) -> None:
            torch.accelerator.set_device_index(device)

        @staticmethod
        def device_count() -> int:
            return torch.accelerator.device_count()

        @staticmethod
        def is_available() -> bool:
            return torch.tpu.is_available()

        @staticmethod
        def current_stream():
            return torch.accelerator.current_stream()

        @staticmethod
        def set_stream(stream) -> None:
            torch.accelerator.set_stream(stream)

        @staticmethod
        def get_raw_stream(device_index: int) -> int:
            return torch.accelerator.current_stream(device_index).stream_id

        @staticmethod
        def synchronize(device=None) -> None:
            torch.accelerator.synchronize(device)

        @staticmethod
        def get_device_properties(device=None):
            return TpuInterface.Worker.get_device_properties(device)

        @staticmethod
        def get_compute_capability(device=None) -> str:
            return torch.tpu.get_device_properties(device).generation

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return True

        @classmethod
        def is_dtype_supported(cls, dtype: torch.dtype, including_emulation: bool = False) -> bool:
            return torch.tpu.is_dtype_supported(dtype, including_emulation=True)

        @staticmethod
        def exchange_device(device: int) -> int:
            before = torch.accelerator.current_device_index()
            if device >= 0:
                torch.accelerator.set_device_index(device)
            return before

        maybe_exchange_device = exchange_device

    module.register_interface_for_device("tpu", TpuInterface)
    if _core.core().tt_is_initialized():
        for index in range(torch.accelerator.device_count()):
            module.register_interface_for_device(f"tpu:{index}", TpuInterface)
