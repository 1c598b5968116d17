"""Prints the polynomial coefficients of vtpu/kernels/math_coefficients.h (near-minimax fits by mpmath); of the names given alone."""
import re
import struct
import sys

import mpmath as mp

mp.mp.dps = 50


def rounded(value, double):
    fmt = "d" if double else "f"
    return mp.mpf(struct.unpack(fmt, struct.pack(fmt, float(value)))[0])


def fit(name, f, low, high, terms, double=True, scale=None):
    """Polynomial of `terms` coefficients, lowest first; error relative to scale(u) * poly + ... as printed."""
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    coefficients = mp.chebyfit(f, [low, high], terms)[::-1]
    used = [rounded(c, double) for c in coefficients]
    worst = mp.mpf(0)
    for i in range(401):
        u = low + (high - low) * mp.mpf(i) / 400
        got = sum(c * u**k for k, c in enumerate(used))
        weight = scale(u) if scale else 1
        worst = max(worst, abs((got - f(u)) * weight))
    print(f"// {name}: error {mp.nstr(worst, 3)} = 2^{mp.nstr(mp.log(worst, 2), 4)}")
    kind = "k" if double else "kF"
    body = [float(c).hex() if double else re.sub("0+p", "p", float(c).hex()) + "f" for c in used]
    print(f"static const {'double' if double else 'float'} {kind}{name}[] = {{")
    for i in range(0, len(body), 4):
        print("  " + ", ".join(body[i : i + 4]) + ",")
    print("};")


def fit_table(name, f, step, terms, entries=16):
    """f about each multiple of `step`, entries in rows: f there, then the coefficients of its distance. Row 1 of the
    first entry is less 1: the distance itself stands in for f there, which keeps the relative error of a small result."""
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    rows, worst = [[] for _ in range(terms + 1)], mp.mpf(0)
    for i in range(entries):
        centre = i * step
        slope = lambda d: (f(centre + d) - f(centre)) / d if abs(d) > mp.mpf("1e-12") else mp.diff(f, centre)
        half = step / 2 * mp.mpf("1.001")
        fitted = mp.chebyfit(slope, [-half, half], terms)[::-1]
        if i == 0:
            fitted = [(c - (k == 0)) * (k % 2 == 0) for k, c in enumerate(fitted)]   # f is odd
        used = [rounded(c, False) for c in [f(centre), *fitted]]
        for row, c in zip(rows, used):
            row.append(c)
        for k in range(-20, 21):
            d = half * k / 20
            got = sum(c * d**j for j, c in enumerate(used[1:])) * d + (d if i == 0 else f(centre))
            worst = max(worst, abs(got - f(centre + d)) / (abs(d) or 1 if i == 0 else f(centre - half)))
    print(f"// {name}: error {mp.nstr(worst, 3)} = 2^{mp.nstr(mp.log(worst, 2), 4)}, next to that of row 0")
    print_table(name, rows)


def print_table(name, rows, double=False):
    print(f"static const {'double k' if double else 'float kF'}{name}[{len(rows)}][{len(rows[0])}] = {{")
    for row in rows:
        body = [re.sub("0+p", "p", float(c).hex()) + ("" if double else "f") if c else "0" for c in row]
        print("  {" + ",\n   ".join(", ".join(body[k : k + 4]) for k in range(0, len(row), 4)) + "},")
    print("};")


def log2_table(double=False):
    """Rows: 1/c, -log2(1/c) to 15 (f64: 40) binary places, the rest of it; c in the middle of each sixteenth (of the
    floats) of [0.698, 1.396). The sixteenth about 1 has c = 1, so that log2 of what is close to 1 is the polynomial alone."""
    if len(sys.argv) > 1 and "Log2" not in sys.argv[1:]:
        return
    rows, reach, places = [[], [], []], 0, 40 if double else 15
    start, bits, fmt = (0x3FE6555555555555, 48, "dQ") if double else (0x3F32AAAB, 19, "fI")
    for i in range(16):
        low, high = (mp.mpf(struct.unpack(fmt[0], struct.pack(fmt[1], start + (i + k) * 2**bits))[0]) for k in (0, 1))
        inverse = mp.mpf(1) if low <= 1 < high else rounded(2 / (low + high), False)
        log = -mp.log(inverse, 2)
        top = mp.nint(log * 2**places) / 2**places
        rows[0].append(inverse), rows[1].append(top), rows[2].append(rounded(log - top, double))
        reach = max(reach, abs(low * inverse - 1), abs(high * inverse - 1))
    print(f"// Log2: |m / c - 1| < {mp.nstr(reach, 4)}; rows: 1 / c, log2 c to {places} binary places, its rest")
    print_table("Log2", rows, double)


def series(f, eps=mp.mpf("1e-25")):
    """A function of u that is removable-singular at 0, evaluated with care there."""
    return lambda u: f(mp.mpf(u) if abs(u) > eps else eps)


def inverse_erf_ratio(w):
    """erf_inv(x) / x of w = -log(1 - x^2); next to x = 1 by Newton's steps on erfc."""
    w = max(mp.mpf(w), mp.mpf("1e-30"))
    x = mp.sqrt(-mp.expm1(-w))
    q = mp.exp(-w) / (1 + x)
    if q > mp.mpf("1e-3"):
        return mp.erfinv(x) / x
    y = mp.sqrt(-mp.log(q * mp.sqrt(mp.pi) * mp.sqrt(-mp.log(q))))
    for _ in range(9):
        y += (mp.erfc(y) - q) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y / x


def main():
    mp.mp.dps = 150
    sq = mp.sqrt
    q = (sq(2) - 1) ** 2
    fit("Atan", series(lambda u: (mp.atan(sq(u)) / sq(u) - 1) / u), mp.mpf(0), q * mp.mpf("1.001"), 11, scale=lambda u: u)
    fit("Asin", series(lambda u: (mp.asin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("0.2505"), 13, scale=lambda u: u)
    z = ((sq(2) - 1) / (sq(2) + 1)) ** 2 * mp.mpf("1.002")
    fit("Log", series(lambda u: 2 * (mp.atanh(sq(u)) / sq(u) - 1) / u), mp.mpf(0), z, 8, scale=lambda u: u / 2)
    h = mp.log(2) / 2 * mp.mpf("1.001")
    fit("Exp", series(lambda r: (mp.exp(r) - 1 - r) / r**2), -h, h, 11, scale=lambda r: r * r)
    fit("Sin", series(lambda u: (mp.sin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 7, scale=lambda u: u)
    fit("Cos", series(lambda u: (mp.cos(sq(u)) - 1 + u / 2) / u**2), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 7, scale=lambda u: u * u)
    fit("Erf", series(lambda u: mp.erf(sq(u)) / sq(u)), mp.mpf(0), mp.mpf("0.75"), 12, scale=lambda u: mp.mpf("0.9"))
    # exp(a^2) erfc(a) (a + c), t = (a - c) / (a + c); of erf the error is absolute
    for name, c, low, high, terms, absolute in (("ErfFar", 3, "0.8", 6, 14, True), ("Erfc", 4, "0.8", 28, 22, False)):
        of = lambda t: c * (1 + t) / (1 - t)
        scaled = lambda t: mp.exp(of(t) ** 2) * mp.erfc(of(t)) * (of(t) + c)
        low, high = mp.mpf(low), mp.mpf(high)
        weight = lambda t: mp.exp(-of(t) ** 2) / (of(t) + c) if absolute else 1 / scaled(t)
        fit(name, scaled, (low - c) / (low + c), (high - c) / (high + c), terms, scale=weight)
    fit("Sinh", series(lambda u: (mp.sinh(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("1.0001"), 7, scale=lambda u: u)
    fit("Asinh", series(lambda u: (mp.asinh(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("0.2502"), 11, scale=lambda u: u)
    lgamma = series(lambda d: mp.loggamma(2 + d) / d)
    fit("Lgamma", lgamma, mp.mpf("-0.5001"), mp.mpf("0.5001"), 18, scale=lambda d: 4)
    # x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2), u = 1 / x^2
    stirling = lambda x: x * (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)
    stirling_of = lambda u: stirling(1 / sq(u)) if u > 1e-10 else mp.mpf(1) / 12 - u / 360 + u * u / 1260
    fit("Stirling", stirling_of, mp.mpf(0), 1 / mp.mpf("3.499") ** 2, 10, scale=sq)
    log2_table(True)
    log2_tail = series(lambda r: (mp.log(1 + r) - r + r * r / 2) / r**3 / mp.log(2))
    fit("Log2Tail", log2_tail, mp.mpf("-0.0302"), mp.mpf("0.0302"), 10, scale=lambda r: r**3)
    # f32
    fit("Exp", series(lambda r: (mp.exp(r) - 1 - r) / r**2), -h, h, 6, False, scale=lambda r: r * r)
    # exp(r + shift) - 1 beside 2^(j / 16) exp(-shift): of 2^22 shifts, that with the best roundings of the 16 powers
    shift = mp.mpf(-331558) / 2**29
    fit("ExpNear", lambda r: mp.exp(r + shift) - 1, -h / 16, h / 16, 4, False)
    if len(sys.argv) == 1 or "ExpPowers" in sys.argv[1:]:
        print("// ExpPowers: error 0.194 ulp of 1")
        print_table("ExpPowers", [[rounded(mp.power(2, mp.mpf(j) / 16) * mp.exp(-shift), False) for j in range(16)]])
    fit("Log", series(lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3), sq(2) / 2 - 1, sq(2) - 1, 8, False, scale=lambda f: f * f)
    fit("Sin", series(lambda u: (mp.sin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 3, False, scale=lambda u: u)
    fit("Cos", series(lambda u: (mp.cos(sq(u)) - 1 + u / 2) / u**2), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 3, False, scale=lambda u: u * u)
    fit("Exp2", series(lambda r: (mp.power(2, r) - 1) / r), mp.mpf("-0.501"), mp.mpf("0.501"), 6, False, scale=lambda r: r)
    log2_table()
    fit("Log2Tail", log2_tail, mp.mpf("-0.0302"), mp.mpf("0.0302"), 4, False, scale=lambda r: r**3)
    fit("Atan", series(lambda u: (mp.atan(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("1.0001"), 9, False, scale=lambda u: u)
    fit("Asin", series(lambda u: (mp.asin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("0.2502"), 5, False, scale=lambda u: u)
    fit("Sinh", series(lambda u: (mp.sinh(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("1.0001"), 4, False, scale=lambda u: u)
    # exp(a^2) erfc(a) (a + 2), t = (a - 2) / (a + 2)
    erfc_scaled = lambda a: mp.exp(a * a) * mp.erfc(a) * (a + 2)
    last = mp.mpf("10.2")
    fit("Erfc", lambda t: erfc_scaled(2 * (1 + t) / (1 - t)), mp.mpf(-1), (last - 2) / (last + 2), 11, False,
        scale=lambda t: 1 / erfc_scaled(2 * (1 + t) / (1 - t)))
    fit("Lgamma", lgamma, mp.mpf("-0.5001"), mp.mpf("0.5001"), 10, False, scale=lambda d: 4)
    fit("Stirling", stirling_of, mp.mpf(0), 1 / mp.mpf("3.499") ** 2, 3, False, scale=sq)
    # erf_inv(x) / x: of w - 5/2 for w = -log(1 - x^2) < 5, of sqrt(w) - 3 beyond; f64 as the start of Halley's step
    for double, terms, end in ((True, (9, 9), "6.01"), (False, (10, 10), "4.08")):
        with mp.workdps(50):
            near, far = (lambda u: inverse_erf_ratio(u + mp.mpf("2.5"))), (lambda u: inverse_erf_ratio((u + 3) ** 2))
            fit("ErfInv", near, mp.mpf("-2.5"), mp.mpf("2.501"), terms[0], double, scale=lambda u: 1 / near(u))
            fit("ErfInvFar", far, mp.mpf("-0.765"), mp.mpf(end) - 3, terms[1], double, scale=lambda u: 1 / far(u))
    # (log x - 1 / (2 x) - digamma(x)) x^2, u = 1 / x^2
    digamma = lambda x: (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x
    fit("Digamma", lambda u: digamma(1 / sq(u)) if u > 1e-10 else mp.mpf(1) / 12 - u / 120, mp.mpf(0), 1 / mp.mpf("5.999") ** 2, 8,
        scale=lambda u: u)
    # Of the steps for which 16 entries reach 3.922, from where erf rounds to 1, that with the best roundings in row 0.
    fit_table("Erf", mp.erf, mp.mpf(16595) / 65536, 5)


if __name__ == "__main__":
    main()
