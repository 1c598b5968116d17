"""Accuracy of the float functions against extended precision, on dense, random and edge grids, for each ISA."""
import mpmath
import numpy as np
import pytest

from kernels_lib import binary, isas, set_isa, ulps, unary

L = np.longdouble


def edges(dtype):
    info = np.finfo(dtype)
    v = [0.0, info.smallest_subnormal, info.tiny, info.tiny * 0.37, 1e-30, 1e-10, 1e-5, 0.1, 0.25, 0.5, 0.625, 0.63, 0.85, 1.0, 1.5, 2.0,
         np.pi / 4, np.pi / 2, np.pi, 3.0, 4.0, 10.0, 22.0, 28.0, 88.7, 89.5, 100.0, 103.0, 104.5, 709.7, 710.5, 745.2, 1e4,
         1e5, 2.0**23, 2.0**24 + 2, 1e9, 2.0**27, 1e15, 1e22, 1e30, info.max, np.inf, np.nan]
    v = np.array(v, dtype)
    v = np.concatenate([v, np.nextafter(v, dtype(0)), np.nextafter(v, dtype(np.inf))])
    payload = np.array([-1, 1], np.int32 if dtype == np.float32 else np.int64)          # NaNs of any payload
    payload = (payload | np.array(np.nan, dtype).view(payload.dtype)).view(dtype)
    return np.concatenate([v, -v, payload])


def grid(dtype, low, high, n=20011):
    rng = np.random.default_rng(7)
    tiny = np.finfo(dtype).tiny
    parts = [np.linspace(low, high, n), rng.uniform(low, high, n), rng.standard_normal(n) * 2]
    m = min(max(abs(low), abs(high)), 1e300)
    parts.append(np.exp2(rng.uniform(np.log2(tiny) - 10, np.log2(m), n)) * rng.choice([-1, 1], n))
    x = np.concatenate(parts).astype(dtype)
    return np.concatenate([x, edges(dtype)])


def by_mp(f, digits=40):
    def run(x):
        out = np.empty(x.shape, L)
        with mpmath.workdps(digits):
            for i, v in enumerate(x):
                v = float(v)
                try:
                    r = f(mpmath.mpf(v)) if np.isfinite(v) else f(v)
                except (ValueError, ZeroDivisionError, OverflowError):
                    r = mpmath.nan
                r = mpmath.mpf(r) if not isinstance(r, mpmath.mpc) else mpmath.nan
                hi = float(r)
                out[i] = L(hi) + (L(float(r - hi)) if np.isfinite(hi) else 0)
        return out
    return run


def guard(f, inf, neg_inf):
    """mpmath leaves some limits to us."""
    return lambda v: f(v) if not isinstance(v, float) else inf if v > 0 else neg_inf if v < 0 else mpmath.nan


def extended(f):
    def run(x):
        with np.errstate(all="ignore"):
            return f(x.astype(L))
    return run


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


INF = mpmath.inf
# op: (reference, low, high, f32 limit, f64 limit)
UNARY = {
    "stablehlo.exponential": (extended(np.exp), -760, 720, 1.0, 1.0),
    "stablehlo.exponential_minus_one": (extended(np.expm1), -50, 720, 2.0, 2.0),
    "stablehlo.log": (extended(np.log), 0, 1e300, 1.5, 1.0),
    "stablehlo.log_plus_one": (extended(np.log1p), -1, 1e10, 2.0, 2.0),
    "stablehlo.logistic": (extended(logistic), -760, 100, 2.0, 2.5),
    "stablehlo.sine": (extended(np.sin), -1000, 1000, 2.0, 1.0),
    "stablehlo.cosine": (extended(np.cos), -1000, 1000, 2.0, 1.0),
    "stablehlo.tan": (extended(np.tan), -1000, 1000, 1.0, 2.5),
    "stablehlo.tanh": (extended(np.tanh), -30, 30, 2.0, 3.0),
    "stablehlo.sqrt": (extended(np.sqrt), 0, 1e30, 0.501, 0.501),
    "stablehlo.rsqrt": (extended(lambda x: 1 / np.sqrt(x)), 0, 1e30, 1.5, 1.5),
    "stablehlo.cbrt": (extended(np.cbrt), -1e30, 1e30, 1.0, 1.0),
    "chlo.asin": (extended(np.arcsin), -1, 1, 2.5, 2.5),
    "chlo.acos": (extended(np.arccos), -1, 1, 2.5, 2.0),
    "chlo.atan": (extended(np.arctan), -100, 100, 2.0, 2.0),
    "chlo.sinh": (extended(np.sinh), -720, 720, 2.0, 3.0),
    "chlo.cosh": (extended(np.cosh), -720, 720, 2.0, 3.0),
    "chlo.asinh": (extended(np.arcsinh), -1e10, 1e10, 2.5, 3.5),
    "chlo.acosh": (extended(np.arccosh), 1, 1e10, 2.5, 3.5),
    "chlo.atanh": (extended(np.arctanh), -1, 1, 2.5, 3.5),
    "chlo.erf": (by_mp(mpmath.erf), -6, 6, 2.0, 2.0),
    "chlo.erfc": (by_mp(guard(lambda v: mpmath.erfc(v) if abs(v) < 1e6 else 0 if v > 0 else 2, 0, 2)), -6, 28, 3.0, 4.0),
    "chlo.erf_inv": (by_mp(lambda v: mpmath.nan if not abs(v) <= 1 else mpmath.sign(v) * INF if abs(v) == 1 else
                           mpmath.erfinv(v) if abs(v) > 1e-20 else v * mpmath.sqrt(mpmath.pi) / 2), -1, 1, 3.5, 4.0),
    "chlo.lgamma": (by_mp(guard(lambda v: INF if v == 0 else mpmath.loggamma(v), INF, INF)), 0, 1e6, 4.0, 4.0),
    "chlo.bessel_i1e": (by_mp(guard(lambda v: mpmath.besseli(1, v) * mpmath.exp(-abs(v)), 0, 0)), -100, 100, 1.0, 8.0),
}
SLOW = {"chlo.lgamma", "chlo.erf", "chlo.erfc", "chlo.erf_inv", "chlo.bessel_i1e"}


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", UNARY)
def test_unary(op, dtype, isa):
    reference, low, high, limit32, limit64 = UNARY[op]
    limit = limit32 if dtype == np.float32 else limit64
    if isa == "generic":
        limit = max(limit, 4.0 if dtype == np.float64 else 1.0)      # libm's own bounds
    high = min(high, 3e38) if dtype == np.float32 else high
    x = grid(dtype, low, high, 601 if op in SLOW else 20011)
    if op == "chlo.lgamma":
        x = np.concatenate([np.abs(x), 1 + np.geomspace(1e-7, 0.5, 301), 2 - np.geomspace(1e-7, 0.5, 301)]).astype(dtype)
    if op == "chlo.bessel_i1e":
        x = x[~(np.abs(x) > 1e15)]
    set_isa(isa)
    got, want = unary(op, x), reference(x)
    error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= limit, f"{op} {isa}: {error[worst]:.3g} ulp at {x[worst]!r}: {got[worst]!r}, want {want[worst]!r}"
    # zeros keep their signs
    if op not in ("stablehlo.exponential", "stablehlo.cosine", "chlo.cosh", "chlo.acos", "chlo.erfc", "stablehlo.logistic"):
        zero = (got == 0) & (x == 0)
        assert np.array_equal(np.signbit(got[zero]), np.signbit(x[zero])), op


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow(dtype, isa):
    rng = np.random.default_rng(3)
    n = 40000
    x = np.concatenate([rng.uniform(0, 10, n), np.exp2(rng.uniform(-140, 120, n)), 1 + rng.standard_normal(n) * 1e-3,
                        -np.floor(rng.uniform(0, 20, n))])
    y = np.concatenate([rng.uniform(-20, 20, n), rng.uniform(-2, 2, n), rng.uniform(-20000, 20000, n), np.floor(rng.uniform(-9, 9, n))])
    # the whole range of exponents for bases next to 1, where y log2 x is largest against log2 x
    near = rng.uniform(0.5, 2, n).astype(dtype)
    bits = rng.uniform(-1070, 1023, n) if dtype == np.float64 else rng.uniform(-148, 127.9, n)
    x, y = np.concatenate([x, near]), np.concatenate([y, bits / np.log2(np.where(near == 1, 2, near).astype(float))])
    # and those at its end, densely about 1
    near = np.linspace(0.9, 1.1, n).astype(dtype)
    bits = rng.uniform(0.93, 1, n) * (np.finfo(dtype).maxexp - 0.1) * rng.choice([-1, 1], n)
    x, y = np.concatenate([x, near]), np.concatenate([y, bits / np.log2(np.where(near == 1, 2, near).astype(float))])
    special = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e9, -1e9, np.inf, -np.inf, np.nan, 2.0**60, 1e-310, 7.5], dtype)
    sx, sy = np.meshgrid(special, special)
    x = np.concatenate([x.astype(dtype), sx.ravel()])
    y = np.concatenate([y.astype(dtype), sy.ravel()])
    set_isa(isa)
    got = binary("stablehlo.power", x, y)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(L), y.astype(L))
    error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= 1.5, f"{error[worst]} ulp at {x[worst]!r} ** {y[worst]!r}: {got[worst]!r}, want {want[worst]!r}"


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atan2_and_remainder(dtype, isa):
    rng = np.random.default_rng(4)
    n = 40000
    special = np.array([0.0, -0.0, 1, -1, 1e-30, -1e30, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny / 3, 2.5], dtype)
    sx, sy = np.meshgrid(special, special)
    y = np.concatenate([rng.standard_normal(n), np.exp2(rng.uniform(-100, 100, n)), sx.ravel()]).astype(dtype)
    x = np.concatenate([rng.standard_normal(n), np.exp2(rng.uniform(-100, 100, n)), sy.ravel()]).astype(dtype)
    set_isa(isa)
    with np.errstate(all="ignore"):
        want = np.arctan2(y.astype(L), x.astype(L))
        rem = np.fmod(x, y)
    got = binary("stablehlo.atan2", y, x)
    error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= 2.5, f"{error[worst]} ulp at atan2({y[worst]!r}, {x[worst]!r}): {got[worst]!r}, want {want[worst]!r}"
    assert np.array_equal(np.signbit(got[got == 0]), np.signbit(want[got == 0]))
    np.testing.assert_array_equal(binary("stablehlo.remainder", x, y), rem)


def check_absolute(op, reference, x, relative, absolute):
    got = unary(op, x).astype(np.float64)
    want = reference(x).astype(np.float64)
    bad = ~((np.abs(got - want) <= relative * np.abs(want) + absolute) | (got == want) | (np.isnan(got) & np.isnan(want)))
    assert not bad.any(), (op, x[bad][:4], got[bad][:4], want[bad][:4])


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lgamma_of_negatives(dtype, isa):
    """Next to a zero the error is absolute: relative 4 ulp plus 4 ulp of 1 (of f64: f32 goes through it)."""
    x = np.concatenate([np.linspace(-20.4, 0, 1600), -np.exp2(np.linspace(-140, 40, 400)), np.linspace(0.1, 3, 30)]).astype(dtype)
    x = x[x != np.floor(x)]
    set_isa(isa)
    want = by_mp(lambda v: mpmath.log(abs(mpmath.gamma(v))) if v > -1e3 else mpmath.re(mpmath.loggamma(v)))(x).astype(np.float64)
    got = unary("chlo.lgamma", x).astype(np.float64)
    relative = np.finfo(dtype).eps * (2 if dtype == np.float32 else 4)
    assert (np.abs(got - want) <= relative * np.abs(want) + 1e-15).all()
    poles = unary("chlo.lgamma", np.array([0.0, -0.0, -1, -7, -np.inf, np.inf, -np.finfo(dtype).max, np.nan], dtype))
    assert np.isposinf(poles[:-1]).all() and np.isnan(poles[-1])


@pytest.mark.parametrize("isa", isas())
def test_digamma(isa):
    """Next to a zero the error is absolute: relative 4 ulp plus 4 ulp of 1."""
    x = np.concatenate([np.linspace(-20.4, 50, 800), np.exp2(np.linspace(-60, 60, 200)), [1.4616321449683622, 1.4616, 1.0, 2.0, 1e5]])
    x = x[x != np.floor(x)]
    set_isa(isa)
    check_absolute("chlo.digamma", by_mp(mpmath.digamma), x, 2e-15, 2e-15)
    rare = unary("chlo.digamma", np.array([0.0, -0.0, np.inf, -3.0, -np.inf, np.nan]))
    assert rare[:3].tolist() == [-np.inf, np.inf, np.inf] and np.isnan(rare[3:]).all()
    x32 = np.linspace(0.01, 30, 997).astype(np.float32)
    got = unary("chlo.digamma", x32)
    assert ulps(got, by_mp(mpmath.digamma)(x32)).max() <= 1.0


def test_zeta_polygamma():
    rng = np.random.default_rng(9)
    s, q = rng.uniform(1.01, 30, 300), rng.uniform(0.01, 60, 300)
    with mpmath.workdps(60):
        want = np.array([float(mpmath.zeta(mpmath.mpf(a), mpmath.mpf(b))) for a, b in zip(s, q)])
    np.testing.assert_allclose(binary("chlo.zeta", s, q), want, rtol=4e-15)
    n = rng.integers(0, 12, 300).astype(float)
    x = rng.uniform(-6.3, 40, 300)
    with mpmath.workdps(60):
        want = np.array([float(mpmath.polygamma(int(a), mpmath.mpf(b))) for a, b in zip(n, x)])
    np.testing.assert_allclose(binary("chlo.polygamma", n, x), want, rtol=2e-14, atol=1e-15)
    # constant time far below zero
    far = binary("chlo.polygamma", np.array([1.0]), np.array([-1e15 - 0.5]))
    np.testing.assert_allclose(far, [np.pi**2], rtol=1e-12)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_position_does_not_matter(dtype, isa):
    """A lane's result is the same alone, in any vector position and beside any neighbour."""
    set_isa(isa)
    rare = [1e9, 3e20, 0.0, -0.0, np.inf, np.nan, np.finfo(dtype).tiny / 8, 1.0, -3.0]       # behind the branches on any lane
    x = np.concatenate([np.random.default_rng(5).standard_normal(71) * 9, rare]).astype(dtype)
    y = np.random.default_rng(6).uniform(0.1, 3, x.size).astype(dtype)
    for op in UNARY:
        whole = unary(op, x)
        alone = np.concatenate([unary(op, x[i : i + 1]) for i in range(x.size)])
        np.testing.assert_array_equal(whole.view(f"u{x.itemsize}"), alone.view(f"u{x.itemsize}"), op)
    for op in ("stablehlo.power", "stablehlo.atan2", "stablehlo.remainder"):
        for a, b in ((x, y), (np.abs(x), y), (y, x)):
            whole = binary(op, a, b)
            alone = np.concatenate([binary(op, a[i : i + 1], b[i : i + 1]) for i in range(x.size)])
            np.testing.assert_array_equal(whole, alone, op)
