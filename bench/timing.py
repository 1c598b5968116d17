"""Timing two things in alternating blocks: the ratio of their medians, whatever else the machine does."""
import statistics
import time


def block(function, seconds=0.02, least=3):
    """Seconds a call of one block of calls."""
    count, begin = 0, time.perf_counter()
    while True:
        function()
        count += 1
        now = time.perf_counter()
        if count >= least and now - begin >= seconds:
            return (now - begin) / count


def pair(ours, peer, blocks=15, seconds=0.02, least=3):
    """(median of ours, median of peer) in seconds a call; warm-up first, then blocks in turn."""
    for function in (ours, peer):
        for _ in range(3):
            function()
    a, b = [], []
    for _ in range(blocks):
        a.append(block(ours, seconds, least))
        b.append(block(peer, seconds, least))
    return statistics.median(a), statistics.median(b)


ROWS = []


def row(section, name, ours, peer, unit, target, better="less"):
    """Prints one line. better 'less': ratio is ours / peer and must be <= target; 'more': peer / ours (speed) >= target."""
    ratio = ours / peer if better == "less" else peer / ours
    good = ratio <= target if better == "less" else ratio >= target
    scale = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    print(f"{section:12s} {name:34s} ours {ours * scale:10.2f} {unit}  peer {peer * scale:10.2f} {unit}  "
          f"{'ratio' if better == 'less' else 'speed'} {ratio:6.2f}  {'<=' if better == 'less' else '>='} {target:g}  {'ok' if good else 'SHORT'}", flush=True)
    ROWS.append((section, name, ratio, target, good))
    return ratio


def note(section, text):
    print(f"{section:12s} {text}", flush=True)
