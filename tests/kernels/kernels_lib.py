"""The kernels' test shim through ctypes, and what the kernel tests share."""
import ctypes
import functools
import os

import numpy as np
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ISAS = ["generic", "avx2", "avx512", "avx512bf16", "amx"]


@functools.lru_cache(None)
def lib():
    """TT_KERNELS_SHIM, else that of build/release or TT_BUILD."""
    path = os.environ.get("TT_KERNELS_SHIM")
    if not path:
        path = os.path.join(os.environ.get("TT_BUILD", os.path.join(ROOT, "build", "release")), "tests", "kernels", "libkernels_shim.so")
        if not os.path.exists(path):
            pytest.skip(f"{path} is not built (ninja kernels_shim)", allow_module_level=True)
    handle = ctypes.CDLL(path)
    handle.ks_isa_name.restype = ctypes.c_char_p
    handle.ks_arg.restype = ctypes.c_int64
    return handle


def isas():
    """Lane kernels differ on these three; a variant that the machine lacks is skipped by name."""
    best = lib().ks_isa_supported()
    return [
        pytest.param(name, marks=() if i <= best else pytest.mark.skip(reason=f"this CPU has no {name}"))
        for i, name in enumerate(ISAS[:3])
    ]


def set_isa(name):
    lib().ks_isa_set(ISAS.index(name))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


NAMES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
    "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "complex64": "complex<f32>", "complex128": "complex<f64>", "float8_e5m2": "f8E5M2", "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e4m3": "f8E4M3", "float8_e3m4": "f8E3M4", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
    "int4": "i4", "uint4": "ui4", "int2": "i2", "uint2": "ui2",
}


def name_of(dtype):
    return NAMES[np.dtype(dtype).name].encode()


def size(n):
    return ctypes.c_size_t(n)


def unary(op, x, out_dtype=None):
    x = np.ascontiguousarray(x)
    out = np.empty(x.shape, out_dtype or x.dtype)
    assert lib().ks_unary(op.encode(), name_of(x.dtype), pointer(out), pointer(x), size(x.size)) == 0, (op, x.dtype)
    return out


def binary(op, x, y, out_dtype=None):
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    out = np.empty(x.shape, out_dtype or x.dtype)
    assert lib().ks_binary(op.encode(), name_of(x.dtype), pointer(out), pointer(x), pointer(y), size(x.size)) == 0, (op, x.dtype)
    return out


def ulps(got, reference):
    """Error in units of the last place of `got`'s dtype; reference in longdouble. Equal infinities and NaNs: 0."""
    info = np.finfo(got.dtype)
    reference = np.asarray(reference, np.longdouble)
    exact = got.astype(np.longdouble)
    same = (np.isnan(exact) & np.isnan(reference)) | (exact == reference)
    # a reference beyond the largest value rounds to infinity
    same |= np.isinf(exact) & (np.sign(exact) == np.sign(reference)) & (np.abs(reference) >= np.longdouble(info.max))
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(reference), np.longdouble(info.tiny))))
        unit = np.exp2(exponent - np.longdouble(info.nmant))
        error = np.abs(exact - reference) / unit
    error[same] = 0
    error[np.isnan(error)] = np.inf
    return error
