"""Timing two things in alternating blocks: the ratio of their medians, whatever else the machine does."""
import os
import statistics
import sys
import time

import torch

# The C library otherwise maps and clears the memory of large results anew for each, or not, as earlier sizes have it.
TUNED = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "536870912", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def tune_malloc():
    """Starts this program again if the C library's memory is not tuned: it reads these variables once."""
    if any(os.environ.get(name) != value for name, value in TUNED.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **TUNED})


class Seconds(float):
    """A median, with the relative spread of what it is the median of (half the range between the quartiles)."""
    def __new__(cls, values):
        self = super().__new__(cls, statistics.median(values))
        quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [self] * 3
        self.spread = (quartiles[2] - quartiles[0]) / 2 / self
        return self


def settle(limit=0.25):
    """Waits until no thread of this process runs. OpenMP's workers spin for about 10 ms after a parallel region: whoever is timed next
    would share their CPUs."""
    end = time.perf_counter() + limit
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(0.003)
        if time.process_time() - before < 0.0003:
            return


def block(function, seconds=0.02, least=3):
    """Seconds a call of one block of calls, until the last has done its work: tpu programs run behind their callers."""
    count, begin = 0, time.perf_counter()
    while True:
        function()
        count += 1
        now = time.perf_counter()
        if count >= least and now - begin >= seconds:
            torch.tpu.synchronize()
            return (time.perf_counter() - begin) / count


def pair(ours, peer, blocks=15, seconds=0.02, least=3):
    """(median of ours, median of peer) in seconds a call; warm-up first, then blocks in turn, each from a quiet process."""
    for function in (ours, peer):
        for _ in range(3):
            function()
    torch.tpu.synchronize()
    a, b = [], []
    for _ in range(blocks):
        settle()
        a.append(block(ours, seconds, least))
        settle()
        b.append(block(peer, seconds, least))
    return Seconds(a), Seconds(b)


ROWS = []


def spread(seconds):
    return f"±{seconds.spread * 100:2.0f} %" if isinstance(seconds, Seconds) else "      "


def row(section, name, ours, peer, unit, target, better="less"):
    """Prints one line. better 'less': ratio is ours / peer and must be <= target; 'more': peer / ours (speed) >= target."""
    ratio = ours / peer if better == "less" else peer / ours
    good = ratio <= target if better == "less" else ratio >= target
    scale = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    print(f"{section:12s} {name:34s} ours {ours * scale:10.2f} {unit} {spread(ours)}  peer {peer * scale:10.2f} {unit} {spread(peer)}  "
          f"{'ratio' if better == 'less' else 'speed'} {ratio:6.2f}  {'<=' if better == 'less' else '>='} {target:g}  {'ok' if good else 'SHORT'}", flush=True)
    ROWS.append((section, name, ratio, target, good))
    return ratio


def note(section, text):
    print(f"{section:12s} {text}", flush=True)
