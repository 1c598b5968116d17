"""Matrix products against CPU PyTorch in the same run: bench/matmul.py BENCH_BINARY [THREADS] [name part].

Blocks alternate between the two; each row prints the best of both, GFLOP/s (GB/s of weights for few rows) and the ratio.
"""
import subprocess
import sys
import time

import torch

ROWS = [("f32", 1, n, n, n, 0) for n in (4, 16, 64, 128, 256, 512, 1024, 2048)] + [
    ("f32", 1, 512, 512, 512, 1), ("f32", 1, 512, 1536, 576, 1), ("f32", 1, 64, 1536, 576, 1), ("f32", 9, 512, 512, 64, 1), ("f32", 9, 512, 64, 512, 0),
    ("f32", 1, 1, 1536, 576, 0), ("f32", 1, 1, 1536, 576, 1), ("f32", 1, 1, 4096, 4096, 0), ("f32", 1, 1, 4096, 4096, 1),
    ("f32", 1, 8, 4096, 4096, 1), ("f32", 1, 4096, 1, 4096, 0), ("f32", 72, 1, 1024, 64, 1), ("f64", 1, 512, 512, 512, 0),
    ("bf16", 1, 64, 64, 64, 0), ("bf16", 1, 512, 512, 512, 0), ("bf16", 1, 1024, 1024, 1024, 0), ("bf16", 1, 2048, 2048, 2048, 0),
    ("bf16", 1, 512, 1536, 576, 1), ("bf16", 1, 1, 1536, 576, 1), ("bf16", 1, 1, 4096, 4096, 1), ("bf16", 1, 8, 4096, 4096, 1),
    ("f16", 1, 512, 512, 512, 0), ("s8", 1, 512, 512, 512, 1), ("s8", 1, 1024, 1024, 1024, 1), ("s8", 1, 32, 4096, 4096, 1)]
SECONDS = "0.12"
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "s8": torch.int8}



def clock():
    """One thread: its CPU time, so that neighbours on the machine do not count."""
    return time.thread_time() if torch.get_num_threads() == 1 else time.perf_counter()


def peer(dtype, batch, m, n, k, nk, seconds):
    if dtype == "s8":
        a, b = torch.randint(-127, 127, (m, k), dtype=torch.int8), torch.randint(-127, 127, (n, k), dtype=torch.int8)
        b = b.T if nk else b.reshape(k, n)
        run = lambda: torch._int_mm(a, b)
    else:
        a = torch.rand(batch, m, k).to(DTYPES[dtype])
        b = torch.rand(batch, n, k).to(DTYPES[dtype]) if nk else torch.rand(batch, k, n).to(DTYPES[dtype])
        if nk:
            b = b.transpose(1, 2)
        out = torch.empty(batch, m, n, dtype=DTYPES[dtype])
        if batch == 1:
            a, b, out = a[0], b[0], out[0]
        run = (lambda: torch.mm(a, b, out=out)) if batch == 1 else (lambda: torch.bmm(a, b, out=out))
    best, start = 1e9, clock()
    while clock() - start < seconds:
        t = clock()
        run()
        best = min(best, clock() - t)
    return best


def main():
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    torch.set_num_threads(threads)
    bench = subprocess.Popen([sys.argv[1], str(threads), SECONDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for row in ROWS:
        name = "%s %dx%dx%dx%d%s" % (row[0], *row[1:5], " B^T" if row[5] else "")
        if part not in name:
            continue
        ours = theirs = 1e9
        for _ in range(3):
            bench.stdin.write(" ".join(map(str, row)) + "\n")
            bench.stdin.flush()
            ours = min(ours, float(bench.stdout.readline()))
            theirs = min(theirs, peer(*row, float(SECONDS)))
        dtype, batch, m, n, k, _ = row
        if min(m, n) <= 8 and m * n > 64:
            size = {"f32": 4, "f64": 8, "bf16": 2, "f16": 2, "s8": 1}[dtype]
            work, unit = batch * max(m, n) * k * size, "GB/s"
        else:
            work, unit = 2 * batch * m * n * k, "GFLOP/s"
        print(f"{name:30} ours {work / ours * 1e-9:8.1f}  torch {work / theirs * 1e-9:8.1f} {unit:8} ratio {theirs / ours:5.2f}", flush=True)


main()
