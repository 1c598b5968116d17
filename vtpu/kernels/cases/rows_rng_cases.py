"""Writes rows.txt and rng.txt for cases_test.c: composites with NumPy results, rng_bit_generator with jax's."""
import math

import numpy as np
import jax
from jax import lax
import ml_dtypes

import generate as g

bf16 = ml_dtypes.bfloat16


def composite(name, target, attributes, args, results, **kw):
    types = [g.mlir_type(a) for a in args]
    outs = ", ".join(g.mlir_type(r) for r in results)
    ins = ", ".join(f"%arg{i}" for i in range(len(args)))
    left = "%0" if len(results) == 1 else f"%0:{len(results)}"
    returned = "%0" if len(results) == 1 else ", ".join(f"%0#{i}" for i in range(len(results)))
    returns = outs if len(results) == 1 else f"({outs})"
    body = (f'  {left} = stablehlo.composite "{target}" {ins} {{composite_attributes = {{{attributes}}}, '
            f'decomposition = @{target.replace(".", "_")}}} : ({", ".join(types)}) -> {returns}\n'
            f"  return {returned} : {outs}")
    body_params = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(types))
    text = (f"module {{\nfunc.func public @main({body_params}) -> ({outs}) {{\n{body}\n}}\n}}")
    g.emit(name, text, args, results, **kw)


def softmax(x, axis, log):
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        s = x - x.max(axis, keepdims=True)
        e = np.exp(s)
        t = e.sum(axis, keepdims=True)
        return s - np.log(t) if log else e / t


def rows():
    for dt, tol in ((np.float32, 2e-6), (np.float64, 1e-14), (bf16, 5e-3), (np.float16, 6e-4)):
        n = np.dtype(dt).name
        for shape, axis in (((3, 7), 1), ((2, 5, 3), 1), ((19, 2), 0), ((4, 1), 1), ((2, 33), -1), ((5, 40), 0), ((2, 70, 33), 1)):
            x = (g.data(shape, np.float64) * 3).astype(dt)
            for log in (False, True):
                label = f"{n}_{'x'.join(map(str, shape))}_{axis}{'_log' if log else ''}"
                attributes = f"axis = {axis} : i64, log = {str(log).lower()}"
                y = softmax(x, axis, log)
                composite(f"softmax_{label}", "tt.softmax", attributes, [x], [y.astype(dt)], rtol=tol, atol=tol)
                grad, out = g.data(shape, np.float64).astype(dt), y.astype(dt)
                gd, od = grad.astype(np.float64), out.astype(np.float64)
                want = gd - np.exp(od) * gd.sum(axis, keepdims=True) if log else od * (gd - (gd * od).sum(axis, keepdims=True))
                composite(f"softmax_backward_{label}", "tt.softmax_backward", attributes, [grad, out], [want.astype(dt)], rtol=tol * 4, atol=tol * 4)
        acc = np.float64 if dt == np.float64 else np.float32
        for shape, axis in (((3, 37), 1), ((2, 3, 4, 5), 2), ((6, 1), 1)):
            for rms in (False, True):
                for weighted, biased in ((0, 0), (1, 1), (1, 0), (0, 1)):
                    x = (g.data(shape, np.float64) + 0.3).astype(dt)
                    w, b = g.data(shape[axis:], np.float64).astype(dt), g.data(shape[axis:], np.float64).astype(dt)
                    xd = x.astype(np.float64)
                    axes = tuple(range(axis, len(shape)))
                    mean = xd.mean(axes, keepdims=True)
                    centred = xd if rms else xd - mean
                    rstd = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-3)
                    y = centred * rstd
                    if weighted: y = y * w.astype(np.float64)
                    if biased: y = y + b.astype(np.float64)
                    args = [x] + [w] * weighted + [b] * biased
                    attributes = (f"axis = {axis} : i64, eps = 1.000000e-03 : f64, has_bias = {str(bool(biased)).lower()}, "
                                  f"has_weight = {str(bool(weighted)).lower()}, rms = {str(rms).lower()}")
                    composite(f"norm_{n}_{'x'.join(map(str, shape))}_{'rms' if rms else 'layer'}_{weighted}{biased}", "tt.layer_norm",
                              attributes, args, [y.astype(dt), mean.astype(acc), rstd.astype(acc)], rtol=tol * 4, atol=tol * 4)
    scans = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "logsumexp": np.logaddexp}
    for dt, tol in ((np.float32, 1e-6), (np.float64, 1e-14), (bf16, 4e-3), (np.float16, 5e-4), (np.int32, 0), (np.int64, 0),
                    (np.uint8, 0), (np.complex64, 1e-6), (np.complex128, 1e-14)):
        d = np.dtype(dt)
        for op, f in scans.items():
            if d.kind in "iu" and op == "logsumexp" or d.kind == "c" and op not in ("sum", "prod"): continue
            for shape, axis in (((2, 9), 1), ((7, 3), 0), ((2, 5, 70), 1)):
                for reverse in (False, True):
                    x = g.data(shape, d)
                    wide = x.astype(np.complex128 if d.kind == "c" else d if d.kind in "iu" else np.float64)
                    w = np.flip(wide, axis) if reverse else wide
                    r = f.accumulate(w, axis, dtype=w.dtype)
                    r = np.flip(r, axis) if reverse else r
                    composite(f"cumulative_{op}_{d.name}_{'x'.join(map(str, shape))}{'_reverse' if reverse else ''}", "tt.cumulative",
                              f'axis = {axis} : i64, op = "{op}", reverse = {str(reverse).lower()}', [x], [r.astype(dt)], rtol=tol, atol=tol)
    x = np.array([[1, np.nan, 3], [np.inf, 2, -np.inf], [-np.inf, -np.inf, 0]], np.float32)
    composite("softmax_special", "tt.softmax", "axis = 1 : i64, log = false", [x], [softmax(x, 1, False).astype(np.float32)], rtol=1e-6, atol=1e-6)
    composite("cumulative_max_nan", "tt.cumulative", 'axis = 1 : i64, op = "max", reverse = false', [x], [np.maximum.accumulate(x, 1)])


def philox(key, counter, blocks):
    """Philox4x32-10 in Python integers, from the paper's definition."""
    out = []
    for i in range(blocks):
        c = (counter + i) % 2**128
        c = [(c >> 32 * k) & 0xFFFFFFFF for k in range(4)]
        k0, k1 = key & 0xFFFFFFFF, key >> 32
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
            k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
        out += c
    return out


def known_answers():
    """The vectors that the paper's library publishes."""
    assert philox(0, 0, 1) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 2**128 - 1
    assert philox(2**64 - 1, ones, 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    counter = 0x243F6A88 | 0x85A308D3 << 32 | 0x13198A2E << 64 | 0x03707344 << 96
    assert philox(0xA4093822 | 0x299F31D0 << 32, counter, 1) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    return counter


def rng():
    counter = known_answers()
    for seed, offset in ((0, 0), (1234, 8), (2**64 - 3, 4 * (2**32 - 2)), (0x299F31D0A4093822, 2**64 - 8)):
        for shape in ((1,), (5,), (3, 7), (4, 40)):
            n = math.prod(shape)
            words = np.array(philox(seed, offset >> 2, n + 4), np.uint32)
            args = [np.uint64(seed), np.uint64(offset)]
            label = f"{seed:x}_{offset:x}_{'x'.join(map(str, shape))}"
            pairs = words[: 2 * n].view(np.uint64)
            quads = words[: 4 * n].view(np.uint64).reshape(n, 2)
            def draw(kind, name, values, rtol=0.0):
                composite(f"rng_{kind}_{name}_{label}", "tt.rng", f'distribution = "{kind}"', args, [values.reshape(shape)], rtol=rtol, atol=rtol)
            draw("bits", "u32", words[:n])
            draw("bits", "u64", pairs)
            u = (words[:n] >> 8).astype(np.float32) * np.float32(2**-24)
            draw("uniform", "f32", u)
            draw("uniform", "f64", (pairs >> 11).astype(np.float64) * 2**-53)
            draw("uniform", "bf16", u.astype(bf16))
            draw("uniform", "f16", u.astype(np.float16))
            a = ((words[: 2 * n : 2] >> 8).astype(np.float64) + 1) * 2**-24
            b = ((words[1 : 2 * n : 2] >> 8)).astype(np.float64) * 2**-24
            draw("normal", "f32", (np.sqrt(-2 * np.log(a)) * np.cos(2 * np.pi * b)).astype(np.float32), 2e-6)
            a = ((quads[:, 0] >> 11).astype(np.float64) + 1) * 2**-53
            b = (quads[:, 1] >> 11).astype(np.float64) * 2**-53
            draw("normal", "f64", np.sqrt(-2 * np.log(a)) * np.cos(2 * np.pi * b), 1e-14)
    # the counter's upper half through rng_bit_generator's three-word state, with the published vector
    state = np.array([0x299F31D0A4093822, counter % 2**64, counter >> 64], np.uint64)
    bits = np.array(philox(int(state[0]), counter, 9)[:35], np.uint32)
    after = counter + 9
    text = ('  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX : ({0}) -> ({r0}, {r1})\n  return %0, %1 : {r0}, {r1}')
    g.hand("rng_bits_philox_known_answer", text, [state], [np.array([state[0], after % 2**64, after >> 64], np.uint64), bits])
    for algorithm in (lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_DEFAULT):
        for dtype in (np.uint32, np.uint64, np.uint16, np.uint8):
            for shape in ((1,), (7,), (4, 3), (3, 4), (5, 7), (2, 3, 4), (3, 5, 9), (40, 5), ()):
                key = np.array([0x0123456789ABCDEF, 2**32 - 5], np.uint64)
                g.jit(f"rng_bits_{algorithm.name}_{np.dtype(dtype).name}_{'x'.join(map(str, shape))}",
                      lambda k: lax.rng_bit_generator(k, shape, dtype, algorithm), key)


if __name__ == "__main__":
    for name, run in (("rows", rows), ("rng", rng)):
        g.rng = np.random.default_rng(7)
        with open(g.HERE / f"{name}.txt", "w") as g.small, open(g.HERE / f"large_{name}.txt", "w") as g.large:
            run()
