"""Precision of float32 matrix products: how many bfloat16 passes the MXU makes."""

from __future__ import annotations

import enum

from .. import _core


class Precision(enum.Enum):
    """bfloat16 passes of a float32 product on the MXU."""

    DEFAULT = 1
    HIGH = 3
    HIGHEST = 6


class precision:
    """Sets the precision at once; as a context manager it restores the former one.

    On the virtual device float32 products are true float32 until this is used; then they round as the chip would.
    ``precision(None)`` goes back to true float32.
    """

    def __init__(self, value):
        passes = 0 if value is None else (value.value if isinstance(value, Precision) else Precision[str(value).upper()].value)
        core = _core.core()
        self._before = core.tt_setting_get(_core.MATMUL_PASSES)
        _core.check(core.tt_setting_set(_core.MATMUL_PASSES, passes))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _core.check(_core.core().tt_setting_set(_core.MATMUL_PASSES, self._before))
        return False
