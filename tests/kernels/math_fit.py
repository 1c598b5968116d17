"""Prints the polynomial coefficients of vtpu/kernels/math_coefficients.h (near-minimax fits by mpmath)."""
import re
import struct

import mpmath as mp

mp.mp.dps = 50


def rounded(value, double):
    fmt = "d" if double else "f"
    return mp.mpf(struct.unpack(fmt, struct.pack(fmt, float(value)))[0])


def fit(name, f, low, high, terms, double=True, scale=None):
    """Polynomial of `terms` coefficients, lowest first; error relative to scale(u) * poly + ... as printed."""
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
    print(f"static const float kF{name}[{terms + 1}][{entries}] = {{")
    for row in rows:
        body = [re.sub("0+p", "p", float(c).hex()) + "f" if c else "0" for c in row]
        print("  {" + ",\n   ".join(", ".join(body[k : k + 4]) for k in range(0, entries, 4)) + "},")
    print("};")


def series(f, eps=mp.mpf("1e-25")):
    """A function of u that is removable-singular at 0, evaluated with care there."""
    return lambda u: f(mp.mpf(u) if abs(u) > eps else eps)


def main():
    mp.mp.dps = 150
    sq = mp.sqrt
    q = (sq(2) - 1) ** 2
    fit("Atan", series(lambda u: (mp.atan(sq(u)) / sq(u) - 1) / u), mp.mpf(0), q * mp.mpf("1.001"), 11, scale=lambda u: u)
    fit("Asin", series(lambda u: (mp.asin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("0.2505"), 13, scale=lambda u: u)
    z = ((sq(2) - 1) / (sq(2) + 1)) ** 2 * mp.mpf("1.002")
    fit("Log", series(lambda u: 2 * (mp.atanh(sq(u)) / sq(u) - 1) / u), mp.mpf(0), z, 8, scale=lambda u: u / 2)
    fit("LogTail", series(lambda u: 2 * (mp.atanh(sq(u)) / sq(u) - 1 - u / 3) / u**2), mp.mpf(0), z, 8, scale=lambda u: u * u / 2)
    h = mp.log(2) / 2 * mp.mpf("1.001")
    fit("Exp", series(lambda r: (mp.exp(r) - 1 - r) / r**2), -h, h, 11, scale=lambda r: r * r)
    fit("Sin", series(lambda u: (mp.sin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 7, scale=lambda u: u)
    fit("Cos", series(lambda u: (mp.cos(sq(u)) - 1 + u / 2) / u**2), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 7, scale=lambda u: u * u)
    fit("Erf", series(lambda u: mp.erf(sq(u)) / sq(u)), mp.mpf(0), mp.mpf("0.75"), 12, scale=lambda u: mp.mpf("0.9"))
    for a, terms in ((mp.mpf(4), 22),):
        lo, hi = (mp.mpf("0.8") - a) / (mp.mpf("0.8") + a), (28 - a) / (28 + a)
        fit("Erfc", lambda t: mp.exp((a * (1 + t) / (1 - t)) ** 2) * mp.erfc(a * (1 + t) / (1 - t)) * (1 + 2 * (a * (1 + t) / (1 - t))), lo, hi, terms)
    # f32
    fit("Exp", series(lambda r: (mp.exp(r) - 1 - r) / r**2), -h, h, 6, False, scale=lambda r: r * r)
    fit("Log", series(lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3), sq(2) / 2 - 1, sq(2) - 1, 8, False, scale=lambda f: f * f)
    fit("Sin", series(lambda u: (mp.sin(sq(u)) / sq(u) - 1) / u), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 3, False, scale=lambda u: u)
    fit("Cos", series(lambda u: (mp.cos(sq(u)) - 1 + u / 2) / u**2), mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.002"), 3, False, scale=lambda u: u * u)
    fit("Tanh", series(lambda u: (mp.tanh(sq(u)) / sq(u) - 1) / u), mp.mpf(0), mp.mpf("0.4"), 6, False, scale=lambda u: u)
    # Of the steps for which 16 entries reach 3.922, from where erf rounds to 1, that with the best roundings in row 0.
    fit_table("Erf", mp.erf, mp.mpf(16595) / 65536, 5)
    fit("LogTail", series(lambda u: (mp.atanh(sq(u)) / sq(u) - 1 - u / 3) / u**2), mp.mpf(0), z, 4, False, scale=lambda u: u * u)


if __name__ == "__main__":
    main()
