"""Eager dispatch, 4x4 float32, one thread, against CPU eager in the same process."""
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

from timing import note, pair, row


def cases(device):
    x, y = torch.randn(4, 4, device=device), torch.randn(4, 4, device=device)
    big = torch.randn(4, 8, device=device)[:, ::2]
    index = torch.tensor([0, 2], device=device)
    w = torch.randn(4, 4, device=device, requires_grad=True)
    one = torch.ones((), device=device)
    return {
        "add": lambda: x + y, "mul": lambda: x * y, "relu": lambda: torch.relu(x), "mm": lambda: x @ y,
        "softmax": lambda: torch.softmax(x, -1), "layer_norm": lambda: F.layer_norm(x, (4,)), "strided add": lambda: big + x,
        "cat": lambda: torch.cat([x, y]), "index": lambda: x[index], "view + add": lambda: x.view(16) + 1.0, "add_": lambda: x.add_(y, alpha=0.0),
        "add with grad": lambda: x + w, "mm with grad": lambda: x @ w, "relu with grad": lambda: torch.relu(w), "softmax with grad": lambda: torch.softmax(w, -1),
        "item": lambda: one.item(),
    }


def allocations():
    stats = torch.tpu.allocation_stats()
    return stats["core_allocations"] + stats["plugin_allocations"]


def main():
    torch.set_num_threads(1)
    ours, peer = cases("tpu"), cases("cpu")
    ratios = []
    for name in ours:
        a, b = pair(ours[name], peer[name], blocks=21, seconds=0.01, least=200)
        limit = 10 if name == "item" else 2.5
        ratio = row("dispatch", name, a, b, "us", limit)
        if name != "item":
            ratios.append(ratio)
    note("dispatch", f"median ratio {statistics.median(ratios):.2f} (target 1.5)")

    # First use of a signature: each call has a shape not seen before.
    cpu_x = torch.randn(4, 4)
    add = pair(lambda: cpu_x + cpu_x, lambda: cpu_x + cpu_x, blocks=5, least=200)[1]
    makers = {
        "pointwise": lambda n: (lambda x: x * x, torch.randn(3, n, device="tpu")),
        "reduction": lambda n: (lambda x: x.sum(1), torch.randn(3, n, device="tpu")),
        "view": lambda n: (lambda x: x[:, 1:] + 1, torch.randn(3, n, device="tpu")),
        "cat": lambda n: (lambda x: torch.cat([x, x]), torch.randn(3, n, device="tpu")),
        "matmul": lambda n: (lambda x: x @ x.t(), torch.randn(3, n, device="tpu")),
    }
    for name, make in makers.items():
        times = []
        for n in range(101, 301):
            function, x = make(n)
            begin = time.perf_counter()
            function(x)
            torch.tpu.synchronize()
            times.append(time.perf_counter() - begin)
        times.sort()
        row("first use", name, times[len(times) // 2], add, "us", 30)
        row("first use", name + " p95", times[int(len(times) * 0.95)], add, "us", 90)

    # The executable cache stays within its bound, and so does memory: several times as many signatures as entries.
    code = ("import resource, torch\nx = torch.randn(4, 4096, device='tpu')\ndef use(low):\n    for n in range(low, low + 1500): x[:, :n] + 1\n"
            "use(1)\nbefore = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nuse(1501)\n"
            "s = torch.tpu.compile_stats()\nprint(s['entries'], s['evictions'], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "TORCH_TPU_CACHE_ENTRIES": "512"})
    entries, evictions, grown = map(int, done.stdout.split())
    note("cache", f"{entries} programs of 3,000 after {evictions} evictions (bound 512, the default is 8192); {grown} KiB more in the second half  "
         f"{'ok' if entries <= 512 and evictions >= 2400 else 'SHORT'}")

    # Nothing is allocated once warm (tests/test_allocations.py has many more).
    x, y = torch.randn(4, 4, device="tpu"), torch.randn(4, 4, device="tpu")
    for name, function in {"add": lambda: x + y, "mm": lambda: x @ y, "sum": lambda: x.sum(), "softmax": lambda: torch.softmax(x, -1)}.items():
        for _ in range(100):
            function()
        before = allocations()
        for _ in range(1000):
            function()
        note("allocations", f"{name}: {allocations() - before} host allocations of core and plugin in 1,000 calls (target 0)")


if __name__ == "__main__":
    main()
