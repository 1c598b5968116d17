"""Convolution kernels against PyTorch's CPU ones, alternating in one process.

    ninja -C build/release conv_bench && python bench/conv_bench.py build/release/bench/libconv_bench.so

Prints GFLOP/s of both (fastest call; one thread: by its CPU time, so that other load hardly shows) and their ratio, ours /
PyTorch; above 1 ours is faster. The bf16 column compares
our bf16 with our f32."""

import argparse
import ctypes
import math
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
parser.add_argument("--batch", type=int, nargs="*", default=[1, 8])
parser.add_argument("--only", default="", help="part of a case's name")
parser.add_argument("--seconds", type=float, default=0.05, help="of each measurement")
parser.add_argument("--bf16", action="store_true")
options = parser.parse_args()

lib = ctypes.CDLL(options.library)
lib.conv_bench_open.restype = ctypes.c_void_p
lib.conv_bench_open.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 3
lib.conv_bench_run.restype = ctypes.c_double
lib.conv_bench_run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
lib.conv_bench_close.argtypes = [ctypes.c_void_p]

# name: input channels, output channels, image, kernel, stride, padding, groups
CASES = {
    "7x7/2 3-64 @224": (3, 64, 224, 7, 2, 3, 1),
    "3x3 64 @56": (64, 64, 56, 3, 1, 1, 1),
    "1x1 256-64 @56": (256, 64, 56, 1, 1, 0, 1),
    "3x3 256 @14": (256, 256, 14, 3, 1, 1, 1),
    "3x3 512 @7": (512, 512, 7, 3, 1, 1, 1),
    "3x3/2 64-128 @56": (64, 128, 56, 3, 2, 1, 1),
    "depthwise 3x3 128 @28": (128, 128, 28, 3, 1, 1, 128),
    "digits 3x3 32-64 @8": (32, 64, 8, 3, 1, 1, 1),
    "digits 3x3 1-32 @8": (1, 32, 8, 3, 1, 1, 1),
}


def text(x, w, y, dims, stride, pad, lhs, rhs, reverse, groups, batch_groups):
    def kind(t):
        return "tensor<" + "x".join(map(str, t.shape)) + "x" + {torch.float32: "f32", torch.bfloat16: "bf16"}[t.dtype] + ">"

    return f"""module @m {{
      func.func public @main(%arg0: {kind(x)}, %arg1: {kind(w)}) -> {kind(y)} {{
        %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = {dims}, window = {{stride = {[stride] * 2}, pad = {[list(pad)] * 2},
          lhs_dilate = {[lhs] * 2}, rhs_dilate = {[rhs] * 2}, reverse = [{reverse}, {reverse}]}}
          {{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}} : ({kind(x)}, {kind(w)}) -> {kind(y)}
        return %0 : {kind(y)}
      }}
    }}""".encode()


def fastest(run, seconds):
    first = run(1)
    return min(first, run(max(2, min(200, math.ceil(seconds / max(first, 1e-6))))))


def theirs(call):
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter

    def run(calls):
        best = math.inf
        for _ in range(calls):
            start = clock()
            call()
            best = min(best, clock() - start)
        return best

    return run


def programs(name, batch, dtype):
    ci, co, size, k, s, p, g = CASES[name]
    x = torch.randn(batch, ci, size, size, dtype=dtype)
    w = torch.randn(co, ci // g, k, k, dtype=dtype)
    y = torch.nn.functional.conv2d(x, w, None, s, p, 1, g)
    grad = torch.randn_like(y)
    out = y.shape[2]

    def backward(mask):
        return torch.ops.aten.convolution_backward(grad, x, w, None, [s, s], [p, p], [1, 1], False, [0, 0], g, mask)

    gx, gw = torch.empty_like(x), torch.empty_like(w)
    reach, dilated = k - 1, (out - 1) * s + 1
    yield "forward", x, w, torch.empty_like(y), text(x, w, y, "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", s, (p, p), 1, 1, "false", g, 1), (
        lambda: torch.nn.functional.conv2d(x, w, None, s, p, 1, g))
    dims = "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]" if g == 1 else "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
    yield "input", grad, w, gx, text(grad, w, gx, dims, 1, (reach - p, size + reach - dilated - reach + p), s, 1, "true", g, 1), (
        lambda: backward([True, False, False]))
    yield "weight", x, grad, gw, text(x, grad, gw, "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]", 1, (p, dilated + k - 1 - size - p), 1, s,
                                      "false", 1, g), (lambda: backward([False, True, False]))


worst = math.inf
print(f"{'case':24} {'batch':>5} {'threads':>7} {'pass':8} {'ours':>8} {'PyTorch':>8} {'ratio':>6}" + ("  bf16/f32" if options.bf16 else ""))
for name, (ci, co, size, k, s, p, g) in CASES.items():
    if options.only not in name:
        continue
    for batch in [100] if name.startswith("digits") else options.batch:
        out = (size + 2 * p - k) // s + 1
        gflop = 2e-9 * batch * co * out * out * (ci // g) * k * k
        halves = list(programs(name, batch, torch.bfloat16)) if options.bf16 else [None] * 3
        for (label, a, b, c, program, call), half in zip(programs(name, batch, torch.float32), halves):
            ours = lib.conv_bench_open(program, a.data_ptr(), b.data_ptr(), c.data_ptr())
            assert ours, f"{name} {label}: no kernel"
            for threads in options.threads:
                torch.set_num_threads(threads)
                mine = other = math.inf
                for _ in range(3):
                    mine = min(mine, fastest(lambda n: lib.conv_bench_run(ours, threads, n), options.seconds))
                    other = min(other, fastest(theirs(call), options.seconds))
                line = f"{name:24} {batch:5} {threads:7} {label:8} {gflop / mine:8.1f} {gflop / other:8.1f} {other / mine:6.2f}"
                worst = min(worst, other / mine)
                if half:
                    bench = lib.conv_bench_open(half[4], half[1].data_ptr(), half[2].data_ptr(), half[3].data_ptr())
                    line += f" {mine / fastest(lambda n: lib.conv_bench_run(bench, threads, n), 3 * options.seconds):9.2f}"
                    lib.conv_bench_close(bench)
                print(line, flush=True)
            lib.conv_bench_close(ours)
            got, want = c, call()
            want = want if label == "forward" else want[0 if label == "input" else 1]
            assert torch.allclose(got, want, rtol=1e-3, atol=1e-3 * want.abs().max().item()), f"{name} {label}: wrong values"
print(f"smallest ratio {worst:.2f}")
