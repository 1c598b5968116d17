"""Streams and events: torch.Stream and torch.Event with the device filled in."""

from __future__ import annotations

import torch

from .device import index_of

_PRIVATE_USE_1 = 20   # DeviceType::PrivateUse1


class _Face(type):
    """torch's C functions take exactly torch.Stream and torch.Event: ours are constructors of those."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls._torch) and instance.device.type == "tpu"

    def __subclasscheck__(cls, other):
        return cls in other.__mro__ or issubclass(other, cls._torch)


class Stream(metaclass=_Face):
    """A queue of work on one device. ``priority`` below 0 is high."""

    _torch = torch.Stream

    def __new__(cls, device=None, priority=0, **kwargs):
        if "stream_id" in kwargs:
            return torch.Stream(**kwargs)
        return torch.Stream(device=torch.device("tpu", index_of(device)), priority=priority)


class Event(metaclass=_Face):
    """A point in a stream; times with ``enable_timing=True``."""

    _torch = torch.Event

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, device=None):
        if interprocess:
            raise NotImplementedError("torch.tpu.Event(interprocess=True): interprocess events are not implemented yet")
        return torch.Event(
            device=torch.device("tpu", index_of(device)), enable_timing=enable_timing, blocking=blocking
        )


def current_stream(device=None) -> torch.Stream:
    """The stream that this thread's work on a device goes to."""
    return torch.accelerator.current_stream(index_of(device))


def default_stream(device=None) -> torch.Stream:
    """Stream 0 of a device."""
    return torch.Stream(stream_id=0, device_index=index_of(device), device_type=_PRIVATE_USE_1)


def set_stream(stream) -> None:
    """Makes a stream the current one of this thread; its device too."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: work of this thread goes to a stream; None does nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is None:
            return None
        self.device = torch.accelerator.current_device_index()
        self.before = torch.accelerator.current_stream(self.stream.device.index)
        torch.accelerator.set_stream(self.stream)
        return self.stream

    def __exit__(self, *exc):
        if self.stream is not None:
            torch.accelerator.set_stream(self.before)
            torch.accelerator.set_device_index(self.device)
        return False


def stream(stream) -> StreamContext:
    """``with torch.tpu.stream(s):``"""
    return StreamContext(stream)
