"""Fused attention against CPU PyTorch's scaled_dot_product_attention in the same run: bench/attention.py BENCH_BINARY [THREADS]."""
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

ROWS = [("f32", 1, 9, 9, 512, 512, 64, 0), ("f32", 1, 9, 9, 512, 512, 64, 1), ("f32", 8, 6, 6, 256, 256, 64, 0), ("f32", 1, 9, 3, 512, 512, 64, 1),
        ("f32", 8, 9, 9, 1, 1024, 64, 0), ("f32", 1, 9, 3, 1, 576, 64, 0), ("bf16", 1, 9, 9, 512, 512, 64, 0), ("bf16", 8, 9, 9, 1, 1024, 64, 0)]
SECONDS = "0.12"
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}



def clock():
    """One thread: its CPU time, so that neighbours on the machine do not count."""
    return time.thread_time() if torch.get_num_threads() == 1 else time.perf_counter()


def best(run, seconds):
    result, start = 1e9, clock()
    while clock() - start < seconds:
        t = clock()
        run()
        result = min(result, clock() - t)
    return result


def peer(dtype, b, h, hk, lq, lk, d, causal, seconds):
    make = lambda heads, rows: torch.randn(b, heads, rows, d).to(DTYPES[dtype]).requires_grad_()
    q, k, v = make(h, lq), make(hk, lk), make(hk, lk)
    forward = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=h != hk)
    with torch.no_grad():
        t = best(forward, seconds)
    out = forward()
    g = torch.randn_like(out)
    return t, best(lambda: torch.autograd.grad(out, (q, k, v), g, retain_graph=True), seconds)


def main():
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.set_num_threads(threads)
    bench = subprocess.Popen([sys.argv[1], str(threads), SECONDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for row in ROWS:
        ours, theirs = [1e9, 1e9], [1e9, 1e9]
        for _ in range(3):
            bench.stdin.write(" ".join(map(str, row)) + "\n")
            bench.stdin.flush()
            ours = [min(x, float(y)) for x, y in zip(ours, bench.stdout.readline().split())]
            theirs = [min(x, y) for x, y in zip(theirs, peer(*row, float(SECONDS)))]
        for i, name in enumerate(("forward", "backward")):
            print(f"{row[0]} {row[1]}x{row[2]}/{row[3]} {row[4]}x{row[5]}x{row[6]}{' causal' if row[7] else '':7} {name:9}"
                  f" ours {ours[i] * 1e6:9.1f} us  torch {theirs[i] * 1e6:9.1f} us  ratio {theirs[i] / ours[i]:5.2f}", flush=True)


main()
