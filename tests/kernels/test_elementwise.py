"""Meaning of every lane kernel and dtype against NumPy, ml_dtypes and exact integers, for each ISA."""
import ctypes
import fractions
import math

import ml_dtypes
import numpy as np
import pytest

from kernels_lib import NAMES, binary, isas, lib, name_of, pointer, set_isa, size, unary

bf16 = ml_dtypes.bfloat16
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64, np.float16, bf16]
SMALL = [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e5m2fnuz,
         ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e4m3, ml_dtypes.float8_e3m4, ml_dtypes.float8_e8m0fnu,
         ml_dtypes.float4_e2m1fn]
SUB = [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(params=isas())
def isa(request):
    set_isa(request.param)
    yield request.param
    set_isa("amx")


def integers(dtype, n=311, seed=0):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x[:: 3] = (x[:: 3].astype(np.int64) % 9).astype(dtype)
    edge = np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], dtype)
    a, b = np.meshgrid(edge, np.concatenate([edge, np.array([-1]).astype(dtype), np.array([info.bits, info.bits - 1, 2], dtype)]))
    return x, a.ravel(), b.ravel()


def pairs(dtype):
    x, a, b = integers(dtype)
    y = integers(dtype, seed=1)[0]
    return np.concatenate([x, a]), np.concatenate([y, b])


def wrap(value, dtype):
    bits = np.iinfo(dtype).bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.iinfo(dtype).min < 0 and value >> (bits - 1) else value


def int_model(op, x, y, dtype):
    """One lane in exact integers."""
    info = np.iinfo(dtype)
    bits, signed = info.bits, info.min < 0
    ux, uy = x & ((1 << bits) - 1), y & ((1 << bits) - 1)
    sx = ux - (1 << bits) if ux >> (bits - 1) else ux
    if op == "add": return x + y
    if op == "subtract": return x - y
    if op == "multiply": return x * y
    if op == "maximum": return max(x, y)
    if op == "minimum": return min(x, y)
    if op == "and": return x & y
    if op == "or": return x | y
    if op == "xor": return x ^ y
    if op == "shift_left": return ux << uy if uy < bits else 0
    if op == "shift_right_logical": return ux >> uy if uy < bits else 0
    if op == "shift_right_arithmetic": return sx >> min(uy, bits - 1)
    if op == "divide":
        if y == 0: return -1
        q = abs(x) // abs(y)
        return q if (x < 0) == (y < 0) else -q
    if op == "remainder":
        if y == 0: return x
        r = abs(x) % abs(y)
        return -r if x < 0 else r
    if op == "power":
        if y >= 0: return pow(ux, y, 1 << 64)
        return 1 if x == 1 else (1 if y % 2 == 0 else -1) if x == -1 else 0
    raise AssertionError(op)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", "add subtract multiply maximum minimum and or xor shift_left shift_right_logical "
                         "shift_right_arithmetic divide remainder power".split())
def test_integer_binary(op, dtype, isa):
    x, y = pairs(dtype)
    want = np.array([wrap(int_model(op, int(a), int(b), dtype), dtype) for a, b in zip(x, y)], dtype)
    got = binary(f"stablehlo.{op}", x, y)
    np.testing.assert_array_equal(got, want, f"{op} {x[got != want][:3]} {y[got != want][:3]}")
    inplace = x.copy()      # out may be an input
    assert lib().ks_binary(f"stablehlo.{op}".encode(), name_of(dtype), pointer(inplace), pointer(inplace), pointer(y), size(x.size)) == 0
    np.testing.assert_array_equal(inplace, want)


@pytest.mark.parametrize("dtype", INTS)
def test_integer_unary(dtype, isa):
    x = pairs(dtype)[0]
    bits = np.iinfo(dtype).bits
    mask = (1 << bits) - 1
    model = {
        "stablehlo.not": lambda v: ~v, "stablehlo.negate": lambda v: -v, "stablehlo.abs": abs, "chlo.square": lambda v: v * v,
        "stablehlo.sign": lambda v: (v > 0) - (v < 0), "stablehlo.popcnt": lambda v: bin(v & mask).count("1"),
        "stablehlo.count_leading_zeros": lambda v: bits - (v & mask).bit_length(),
    }
    for op, f in model.items():
        np.testing.assert_array_equal(unary(op, x), np.array([wrap(f(int(v)), dtype) for v in x], dtype), op)


@pytest.mark.parametrize("dtype", SUB)
def test_sub_byte(dtype):
    info = ml_dtypes.iinfo(dtype)
    values = np.arange(info.min, info.max + 1)
    x, y = (v.ravel().astype(np.int8) for v in np.meshgrid(values, values))
    bits, signed = info.bits, info.min < 0
    def fold(v):
        v &= (1 << bits) - 1
        return v - (1 << bits) if signed and v >> (bits - 1) else v
    def model(op, a, b):
        ua, ub = a & ((1 << bits) - 1), b & ((1 << bits) - 1)
        sa = ua - (1 << bits) if ua >> (bits - 1) else ua
        if op == "shift_left": return ua << ub if ub < bits else 0
        if op == "shift_right_logical": return ua >> ub if ub < bits else 0
        if op == "shift_right_arithmetic": return sa >> min(ub, bits - 1)
        return int_model(op, a, b, np.int8 if signed else np.uint8)
    name = name_of(dtype)
    for op in "add subtract multiply maximum minimum and or xor shift_left shift_right_logical shift_right_arithmetic divide remainder power".split():
        out = np.empty_like(x)
        assert lib().ks_binary(f"stablehlo.{op}".encode(), name, pointer(out), pointer(x), pointer(y), size(x.size)) == 0, op
        want = np.array([fold(model(op, int(a), int(b))) for a, b in zip(x, y)], np.int8)
        np.testing.assert_array_equal(out, want, op)


def float_values(dtype, n=401):
    rng = np.random.default_rng(2)
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.49, 1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.49999997, 8388609.0,
               4503599627370497.5, 65504, 1e-7, 1e-45]
    a, b = np.meshgrid(np.array(special), np.array(special))
    x = np.concatenate([rng.standard_normal(n) * 4, a.ravel()]).astype(dtype)
    y = np.concatenate([rng.standard_normal(n) * 4, b.ravel()]).astype(dtype)
    return x, y


def same(got, want, what=""):
    """Equal bits but for the payload of NaNs."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, what
    nan = np.isnan(want.astype(np.float64))
    assert np.array_equal(np.isnan(got.astype(np.float64)), nan), what
    bits = f"u{got.dtype.itemsize}"
    bad = (got.view(bits) != want.view(bits)) & ~nan
    assert not bad.any(), (what, got[bad][:5], want[bad][:5], np.nonzero(bad)[0][:5])


def fmax(x, y):
    r = np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, r)


def fmin(x, y):
    r = np.where(x == y, np.where(np.signbit(x), x, y), np.minimum(x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, r)


def away(x):
    t = np.trunc(x)
    return np.copysign(np.where(np.abs(x - t) >= 0.5, np.abs(t) + 1, np.abs(t)), x)


BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": fmax, "minimum": fmin,
          "remainder": np.fmod}
UNARY = {"stablehlo.abs": np.abs, "stablehlo.negate": np.negative, "stablehlo.sign": lambda x: np.where(x == 0, x, np.sign(x)),
         "stablehlo.floor": np.floor, "stablehlo.ceil": np.ceil, "stablehlo.round_nearest_even": np.rint,
         "stablehlo.round_nearest_afz": away, "stablehlo.sqrt": np.sqrt, "chlo.square": np.square, "stablehlo.real": np.positive}


def wide(x):
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(dtype, isa):
    x, y = float_values(dtype)
    for op, f in BINARY.items():
        same(binary(f"stablehlo.{op}", x, y), f(wide(x), wide(y)).astype(dtype), op)
    for op, f in UNARY.items():
        same(unary(op, x), f(wide(x)).astype(dtype), op)
    xf = x.astype(np.float64)
    for op, f in {"stablehlo.is_finite": np.isfinite, "chlo.is_inf": np.isinf, "chlo.is_pos_inf": np.isposinf, "chlo.is_neg_inf": np.isneginf}.items():
        np.testing.assert_array_equal(unary(op, x, np.bool_), f(xf), op)
    if dtype in (np.float32, np.float64):
        same(binary("chlo.next_after", x, y), np.nextafter(x, y), "next_after")
    else:
        steps = binary("chlo.next_after", x, y)
        finite = np.isfinite(xf) & np.isfinite(y.astype(np.float64))
        up = steps.astype(np.float64)
        assert np.all((np.sign(up - xf) == np.sign(y.astype(np.float64) - xf))[finite])


@pytest.mark.parametrize("dtype", FLOATS)
def test_compare_clamp_select(dtype, isa):
    x, y = float_values(dtype)
    xf, yf = x.astype(np.float64), y.astype(np.float64)
    bits = np.dtype(dtype).itemsize * 8
    def order(v):
        i = v.view(f"i{bits // 8}").astype(np.int64)
        return np.where(i < 0, i ^ ((1 << (bits - 1)) - 1), i)
    for direction, f in enumerate([np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]):
        out = np.empty(x.shape, np.bool_)
        assert lib().ks_compare(direction, name_of(dtype), 0, pointer(out), pointer(x), pointer(y), size(x.size)) == 0
        np.testing.assert_array_equal(out, f(xf, yf))
        assert lib().ks_compare(direction, name_of(dtype), 1, pointer(out), pointer(x), pointer(y), size(x.size)) == 0
        np.testing.assert_array_equal(out, f(order(x), order(y)))
    low, high = np.full_like(x, -1), np.full_like(x, 2)
    out = np.empty_like(x)
    assert lib().ks_clamp(name_of(dtype), pointer(out), pointer(low), pointer(x), pointer(high), size(x.size)) == 0
    same(out, np.clip(wide(x), -1, 2).astype(dtype))


def test_select(isa):
    rng = np.random.default_rng(0)
    for bytes_ in (1, 2, 4, 8, 16):
        x, y = (rng.integers(0, 256, 333 * bytes_).astype(np.uint8) for _ in range(2))
        p = rng.integers(0, 2, 333).astype(np.uint8)
        out = np.empty_like(x)
        assert lib().ks_select(size(bytes_), pointer(out), pointer(p), pointer(x), pointer(y), size(333)) == 0
        np.testing.assert_array_equal(out.reshape(333, bytes_), np.where(p[:, None] != 0, x.reshape(333, bytes_), y.reshape(333, bytes_)))


def test_fma(isa):
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x, y = (rng.standard_normal(77).astype(dtype) for _ in range(2))
        z = (-x * y).astype(dtype)
        want = np.array([float(fractions.Fraction(float(a)) * fractions.Fraction(float(b)) + fractions.Fraction(float(c))) for a, b, c in zip(x, y, z)], dtype)
        out = np.empty_like(x)
        assert lib().ks_fma(name_of(dtype), pointer(out), pointer(x), pointer(y), pointer(z), size(77)) == 0
        np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("dtype", SMALL)
def test_small_floats(dtype):
    n = 16 if dtype == ml_dtypes.float4_e2m1fn else 256
    a, b = np.meshgrid(np.arange(n, dtype=np.uint8), np.arange(n, dtype=np.uint8))
    x, y = a.ravel().view(dtype), b.ravel().view(dtype)
    xf, yf = x.astype(np.float32), y.astype(np.float32)
    # e8m0 and f4 cannot hold every result (signs, zero, NaN): there ml_dtypes and XLA differ among themselves
    full = dtype not in (ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn)
    for op, f in {"add": np.add, "multiply": np.multiply, "divide": np.divide}.items():
        got, want = binary(f"stablehlo.{op}", x, y), f(xf, yf).astype(dtype)
        keep = np.isfinite(xf) & np.isfinite(yf) & (full | (np.isfinite(f(xf, yf)) & (f(xf, yf) > 1e-37)))
        same(got[keep], want[keep], op)
    for direction, f in enumerate([np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]):
        out = np.empty(x.shape, np.bool_)
        assert lib().ks_compare(direction, name_of(dtype), 0, pointer(out), pointer(x), pointer(y), size(x.size)) == 0
        np.testing.assert_array_equal(out, f(xf, yf))


def convert(x, to):
    out = np.empty(x.shape, to)
    assert lib().ks_convert(name_of(x.dtype), name_of(to), pointer(out), pointer(x), size(x.size)) == 0
    return out


def exact_ints(values, to):
    return np.array(values, np.int64).astype(to) if to in SUB else np.array(values, dtype=to)


def saturate(x, to):
    """Truncation, saturation, NaN to 0, in exact arithmetic."""
    info = ml_dtypes.iinfo(to) if to in SUB else np.iinfo(to)
    out = []
    for v in x.astype(np.float64):
        out.append(0 if np.isnan(v) else int(info.max) if v >= int(info.max) else int(info.min) if v <= int(info.min) else int(v))
    return exact_ints(out, to)


@pytest.mark.parametrize("to", [np.bool_, *INTS, *FLOATS, *SMALL, *SUB, np.complex64, np.complex128])
@pytest.mark.parametrize("dtype", [np.bool_, *INTS, *FLOATS, *SMALL, *SUB, np.complex64, np.complex128])
def test_convert(dtype, to, isa):
    rng = np.random.default_rng(1)
    if dtype == np.bool_:
        x = rng.integers(0, 2, 301).astype(np.bool_)
    elif dtype in INTS:
        x = pairs(dtype)[0]
    elif dtype in SUB:
        info = ml_dtypes.iinfo(dtype)
        x = rng.integers(int(info.min), int(info.max) + 1, 301).astype(np.int8).astype(dtype)
    elif dtype in SMALL:
        x = np.arange(16 if dtype == ml_dtypes.float4_e2m1fn else 256, dtype=np.uint8).view(dtype)
    elif dtype in FLOATS:
        x = np.concatenate([float_values(np.float64)[0], np.exp2(rng.uniform(-40, 40, 500)) * rng.choice([-1, 1], 500),
                            rng.uniform(-300, 300, 500)]).astype(dtype)
    else:
        x = (rng.standard_normal(301) * 50 + 1j * rng.standard_normal(301)).astype(dtype)
    got = convert(x, to)
    if to in SUB and dtype != to:      # held sign-extended in a byte
        got = got.view(np.uint8 if to in (ml_dtypes.uint4, ml_dtypes.uint2) else np.int8)
    if dtype == to:
        np.testing.assert_array_equal(got.view(np.uint8), x.view(np.uint8))
        return
    is_complex = np.dtype(dtype).kind == "c"
    real = x.real if is_complex else x
    integral = dtype == np.bool_ or dtype in INTS or dtype in SUB
    if to == np.bool_:
        np.testing.assert_array_equal(got, x.astype(np.complex128) != 0 if is_complex else x.astype(np.float64) != 0)
    elif to in INTS or to in SUB:
        if integral:
            bits = np.iinfo(to).bits if to in INTS else ml_dtypes.iinfo(to).bits
            signed = (np.iinfo(to) if to in INTS else ml_dtypes.iinfo(to)).min < 0
            folded = []
            for v in real:
                v = int(v) & ((1 << bits) - 1)
                folded.append(v - (1 << bits) if signed and v >> (bits - 1) else v)
            want = exact_ints(folded, to)
        else:
            want = saturate(real, to)
        np.testing.assert_array_equal(got.astype(np.int64), want.astype(np.int64))
    else:
        target = {np.complex64: np.float32, np.complex128: np.float64}.get(to, to)
        if np.dtype(to).kind == "c":
            if is_complex: same(np.ascontiguousarray(got.imag), x.imag.astype(target))
            else: assert not got.imag.any()
            got = np.ascontiguousarray(got.real)
        real = np.ascontiguousarray(real)
        if target == np.float16:       # NumPy rounds f64 and integers to f16 once; integers go through f32 here as in PyTorch
            want = (real.astype(np.float32) if integral else real).astype(target)
        elif target == bf16:           # ml_dtypes rounds f64 twice: round to odd f32 first
            want = odd(real).astype(bf16) if real.dtype == np.float64 else real.astype(np.float32).astype(bf16)
        elif target in SMALL:          # as above; e8m0 below its least value and f4's NaN are ours to define
            want = (odd(real) if real.dtype == np.float64 else real.astype(np.float32)).astype(target)
            v = real.astype(np.float64)
            keep = ~np.isnan(v) & ((v > 1e-37) if target == ml_dtypes.float8_e8m0fnu else np.isfinite(v))
            got, want = got[keep], want[keep]
        else:
            want = real.astype(target)
        same(got, want)


def odd(x):
    """f64 -> f32 rounded to odd, so that a second rounding rounds the f64 once."""
    f = x.astype(np.float32)
    b = f.view(np.uint32).copy()
    inexact = (f.astype(np.float64) != x) & ~np.isnan(x)
    b[inexact] = (b[inexact] - (np.abs(f.astype(np.float64)) > np.abs(x))[inexact].astype(np.uint32)) | 1
    return b.view(np.float32)


def test_pred():
    x, y = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    for op, f in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "add": np.logical_or, "multiply": np.logical_and,
                  "maximum": np.logical_or, "minimum": np.logical_and}.items():
        np.testing.assert_array_equal(binary(f"stablehlo.{op}", x, y), f(x, y), op)
    np.testing.assert_array_equal(unary("stablehlo.not", x), ~x)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex(dtype):
    rng = np.random.default_rng(3)
    x, y = ((rng.standard_normal(400) + 1j * rng.standard_normal(400)).astype(dtype) for _ in range(2))
    wx, wy = x.astype(np.clongdouble), y.astype(np.clongdouble)
    tolerance = 3e-7 if dtype == np.complex64 else 2e-15
    def close(got, want, what, t=tolerance):
        error = np.abs(got - want) / np.maximum(np.abs(want), 1e-300)
        assert error.max() <= t, (what, error.max(), x[error.argmax()])
    for op, f in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}.items():
        close(binary(f"stablehlo.{op}", x, y), f(wx, wy), op)
    close(binary("stablehlo.power", x, y), np.exp(wy * np.log(wx)), "power", tolerance * 6)
    one = np.clongdouble(1)
    functions = {"exponential": np.exp, "log": np.log, "sine": np.sin, "cosine": np.cos, "tan": np.tan, "tanh": np.tanh, "sqrt": np.sqrt,
                 "rsqrt": lambda z: one / np.sqrt(z), "logistic": lambda z: one / (one + np.exp(-z)), "negate": np.negative,
                 "exponential_minus_one": lambda z: np.exp(z) - one, "log_plus_one": lambda z: np.log(one + z), "sign": lambda z: z / np.abs(z)}
    for op, f in functions.items():
        loose = 8 if op in ("exponential_minus_one", "log_plus_one", "log") else 3
        close(unary(f"stablehlo.{op}", x), f(wx), op, tolerance * loose)
    for op, f in {"acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
                  "cosh": np.cosh, "sinh": np.sinh, "square": np.square, "conj": np.conj}.items():
        close(unary(f"chlo.{op}", x), f(wx), op, tolerance * 4)
    real = np.float32 if dtype == np.complex64 else np.float64
    close(unary("stablehlo.abs", x, real), np.abs(wx), "abs")
    np.testing.assert_array_equal(unary("stablehlo.real", x, real), x.real)
    np.testing.assert_array_equal(unary("stablehlo.imag", x, real), x.imag)
    np.testing.assert_array_equal(binary("stablehlo.complex", np.ascontiguousarray(x.real), np.ascontiguousarray(x.imag), dtype), x)
    big = np.array([3e38 + 3e38j if dtype == np.complex64 else 1e308 + 1e308j], dtype)
    assert np.isfinite(unary("stablehlo.abs", big / 2, real)).all()
    tiny = np.array([1e-20 + 1e-20j], dtype)
    close(unary("stablehlo.exponential_minus_one", tiny), tiny, "expm1 small")
    close(unary("stablehlo.log_plus_one", tiny), tiny, "log1p small")


def test_reduce_precision():
    x, _ = float_values(np.float32)
    def run(e, m):
        out = np.empty_like(x)
        lib().ks_reduce_precision(b"f32", e, m, pointer(out), pointer(x), size(x.size))
        return out
    same(run(8, 7), x.astype(bf16).astype(np.float32))
    same(run(8, 23), x)
    half = x.astype(np.float16).astype(np.float32)
    flushed = np.where(np.abs(half) < 2.0**-14, np.copysign(np.float32(0), x), half)   # no denormals in the reduced format
    same(run(5, 10), flushed)


def test_iota_and_transpose():
    for dtype in [*INTS, *FLOATS, np.complex64]:
        out = np.empty(300, dtype)
        lib().ks_iota(name_of(dtype), pointer(out), ctypes.c_int64(-5), ctypes.c_int64(3), size(300))
        want = np.arange(300, dtype=np.int64) * 3 - 5
        np.testing.assert_array_equal(out, want.astype(np.float32).astype(dtype) if dtype in (np.float16, bf16) else want.astype(dtype))
    for dtype in (np.uint8, np.int16, np.float32, np.float64, np.complex128):
        for rows, cols in ((1, 1), (7, 5), (16, 16), (33, 70), (64, 8)):
            x = np.arange(rows * cols).reshape(cols, rows).astype(dtype)
            out = np.full((rows, cols + 3), 99, dtype)
            lib().ks_transpose(pointer(out), ctypes.c_int64(cols + 3), pointer(x), ctypes.c_int64(1), ctypes.c_int64(rows), size(rows), size(cols),
                               size(x.itemsize))
            np.testing.assert_array_equal(out[:, :cols], x.T)
            assert (out[:, cols:] == 99).all()


# ---- folds ---------------------------------------------------------------------------------------
def fold(op, x, start):
    acc = np.array([start], x.dtype)
    assert lib().ks_fold(f"stablehlo.{op}".encode(), name_of(x.dtype), pointer(acc), pointer(x), size(x.size)) == 0, (op, x.dtype)
    return acc[0]


@pytest.mark.parametrize("n", [0, 1, 7, 64, 65, 1023, 1024, 1025, 5000, 100003])
def test_fold_floats(n, isa):
    rng = np.random.default_rng(n)
    for dtype in FLOATS:
        x = rng.standard_normal(n).astype(dtype)
        exact = x.astype(np.float64)
        unit = {np.float32: 2.0**-24, np.float64: 2.0**-53, np.float16: 2.0**-24, bf16: 2.0**-24}[dtype]
        got = float(fold("add", x, 0.5))
        want = 0.5 + float(np.sum(exact.astype(np.longdouble)))
        bound = (30 * unit + (0 if dtype in (np.float32, np.float64) else float(ml_dtypes.finfo(dtype).eps))) * (np.abs(exact).sum() ** 0.5 * 3 + abs(want) + 1)
        assert abs(got - want) <= bound, (dtype, got, want)
        if n:
            assert fold("maximum", x, -np.inf) == x.max() and fold("minimum", x, np.inf) == x.min()
            y = x.copy()
            y[n // 2] = np.nan
            assert np.isnan(float(fold("maximum", y, 0))) and np.isnan(float(fold("minimum", y, 0)))
            for maximum, f in ((1, np.argmax), (0, np.argmin)):
                assert lib().ks_arg(maximum, name_of(dtype), pointer(x), size(n)) == f(exact)
                assert lib().ks_arg(maximum, name_of(dtype), pointer(y), size(n)) == n // 2
    one = np.array([-0.0, 0.0, -0.0], np.float32)
    assert not np.signbit(fold("maximum", one, -np.inf)) and np.signbit(fold("minimum", one, np.inf))
    assert np.signbit(fold("add", one[:1], np.float32(-0.0)))


def test_fold_is_the_same_everywhere():
    """The tree depends on the length alone: every ISA gives the same bits."""
    x = np.random.default_rng(0).standard_normal(70001).astype(np.float32)
    results = set()
    for i in range(min(lib().ks_isa_supported(), 2) + 1):
        lib().ks_isa_set(i)
        results.add(fold("add", x, 0).tobytes() + fold("multiply", x[:60], 1).tobytes())
    set_isa("amx")
    assert len(results) == 1
    assert abs(float(np.frombuffer(results.pop()[:4], np.float32)[0]) - x.astype(np.float64).sum()) < 2e-4


@pytest.mark.parametrize("dtype", INTS)
def test_fold_integers(dtype, isa):
    x = integers(dtype, 1000)[0]
    odd_ones = x | dtype(1)
    assert fold("add", x, 3) == wrap(3 + sum(int(v) for v in x), dtype)
    assert fold("multiply", odd_ones, 3) == wrap(3 * math.prod(int(v) for v in odd_ones), dtype)
    assert fold("maximum", x, x[0]) == x.max() and fold("minimum", x, x[0]) == x.min()
    assert fold("and", x, -1 if np.iinfo(dtype).min < 0 else np.iinfo(dtype).max) == np.bitwise_and.reduce(x)
    assert fold("or", x, 0) == np.bitwise_or.reduce(x)
    for maximum, f in ((1, np.argmax), (0, np.argmin)):
        assert lib().ks_arg(maximum, name_of(dtype), pointer(x), size(x.size)) == f(x)


def test_every_pair_has_a_kernel():
    """A hole in a table shows here, not in a model."""
    x = np.zeros(16 * 4, np.uint8)
    out = np.zeros(16 * 4, np.uint8)
    types = [n.encode() for n in NAMES.values()]
    for a in types:
        for b in types:
            assert lib().ks_convert(a, b, pointer(out), pointer(x), size(4)) == 0, (a, b)
    floats = [n for n in types if n.startswith((b"f", b"bf"))]
    for op in "exponential log sine cosine tan tanh rsqrt sqrt cbrt logistic log_plus_one exponential_minus_one abs negate sign floor ceil".split():
        for d in floats:
            assert lib().ks_unary(f"stablehlo.{op}".encode(), d, pointer(out), pointer(x), size(4)) == 0, (op, d)
    for op in "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc lgamma sinh square tan is_inf".split():
        for d in floats:
            assert lib().ks_unary(f"chlo.{op}".encode(), d, pointer(out), pointer(x), size(4)) == 0, (op, d)
