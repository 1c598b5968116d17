"""torch dtypes and the core's dtype numbers (include/tt/dtypes.def)."""

from __future__ import annotations

import torch

TO_CORE = {
    torch.bool: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.uint8: 6,
    torch.uint16: 7,
    torch.uint32: 8,
    torch.uint64: 9,
    torch.float16: 10,
    torch.float32: 11,
    torch.float64: 12,
    torch.bfloat16: 13,
    torch.complex64: 14,
    torch.complex128: 15,
    torch.float8_e5m2: 16,
    torch.float8_e4m3fn: 17,
    torch.float8_e5m2fnuz: 19,
    torch.float8_e4m3fnuz: 20,
    torch.float8_e8m0fnu: 28,
}
FROM_CORE = {number: dtype for dtype, number in TO_CORE.items()}
S64, F64 = 5, 12
