"""Large outputs against CPU eager with a tuned malloc (a process of its own) and against plain-store copy bandwidth,
both at the same number of threads."""
import json
import os
import subprocess
import sys
import statistics
import time

import torch
import torch.nn.functional as F

from limits import copy_bytes_per_second
from timing import TUNED, note, row

N = 4096


def cases(device):
    x, y = torch.randn(N, N, device=device), torch.randn(N, N, device=device)
    return {"add": lambda: x + y, "mul": lambda: x * y, "relu": lambda: torch.relu(x), "exp": lambda: torch.exp(x), "gelu": lambda: F.gelu(x),
            "softmax": lambda: torch.softmax(x, -1), "layer_norm": lambda: F.layer_norm(x, (N,))}


def measure(device, threads):
    torch.set_num_threads(threads)
    wait = torch.tpu.synchronize if device == "tpu" else lambda: None   # programs run behind their callers
    out = {}
    for name, function in cases(device).items():
        for _ in range(3):
            function()
        wait()
        times = []
        for _ in range(9):
            begin = time.perf_counter()
            function()
            wait()
            times.append(time.perf_counter() - begin)
        out[name] = statistics.median(times)
    return out


def compare(threads):
    copies, rounds = [], []
    for _ in range(3):   # the two processes in turn
        pair = []
        for device, env in (("tpu", {}), ("cpu", TUNED)):
            done = subprocess.run([sys.executable, __file__, device, str(threads)], env={**os.environ, **env}, capture_output=True, text=True, check=True)
            pair.append(json.loads(done.stdout))
        rounds.append(pair)
        copies.append(copy_bytes_per_second(threads))
    copy = statistics.median(copies)
    note("large", f"plain copy, {threads} thread(s): {copy / 1e9:.1f} GB/s")
    for name in rounds[0][0]:
        ours = statistics.median(r[0][name] for r in rounds)
        peer = statistics.median(r[1][name] for r in rounds)
        row("large", f"{name} {N}^2, {threads} thread(s)", ours, peer, "ms", 1.0, "more")
        traffic = (3 if name in ("add", "mul") else 2) * N * N * 4
        row("large", f"{name} {N}^2 against plain copy", ours, traffic / copy, "ms", 0.6, "more")


def main():
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
        return
    for threads in sorted({1, torch.get_num_threads()}):
        compare(threads)


if __name__ == "__main__":
    main()
