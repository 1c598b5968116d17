"""Eager modes: strict (each op runs as it is called), debug (blocking, with checks and locations)."""

from __future__ import annotations

import enum
import os

from .. import _core


class EagerMode(enum.Enum):
    DEFER_NEVER = "strict"
    DEFER_NEVER_AND_LAUNCH_BLOCKING = "debug"
    DEFER_AND_FUSE = "defer_and_fuse"


def _current() -> EagerMode:
    debug = _core.core().tt_setting_get(_core.DEBUG)
    return EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING if debug else EagerMode.DEFER_NEVER


class eager_mode:
    """Sets the eager mode at once; as a context manager it restores the former one.

    With no argument it only holds the current mode, in ``.mode``.
    """

    def __init__(self, mode=None):
        self._before = _current()
        if mode is None:
            self.mode = self._before
            return
        self.mode = mode if isinstance(mode, EagerMode) else EagerMode(str(mode))
        _set(self.mode)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _set(self._before)
        return False


def _set(mode: EagerMode) -> None:
    if mode is EagerMode.DEFER_AND_FUSE:
        raise NotImplementedError('torch.tpu.eager_mode("defer_and_fuse"): deferred eager execution is not implemented yet')
    _core.check(_core.core().tt_setting_set(_core.DEBUG, int(mode is EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)))


class rounding:
    """Whether growing dimensions are rounded up to powers of two; as a context manager it restores what was before.

    On by default where a program costs a compile worth avoiding, on every plugin but vtpu: a sequence that grows token by
    token then compiles once for each power of two. Sizes, strides, bytes and results stay what they are; only the device's
    buffers are larger. ``TORCH_TPU_ROUNDING=0`` turns it off for the process.
    """

    def __init__(self, enabled: bool = True):
        self._before = _core.core().tt_setting_get(_core.ROUNDING)
        _core.check(_core.core().tt_setting_set(_core.ROUNDING, int(bool(enabled))))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _core.check(_core.core().tt_setting_set(_core.ROUNDING, self._before))
        return False


def from_environment() -> None:
    """Applies TPU_LAUNCH_BLOCKING at registration."""
    if os.environ.get("TPU_LAUNCH_BLOCKING", "0") not in ("", "0"):
        _set(EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)
