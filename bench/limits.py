"""What the machine gives: copy bandwidth with plain stores, matrix product rate of NumPy's BLAS, first touch."""
import concurrent.futures
import mmap
import statistics
import time

import numpy as np


def copy_bytes_per_second(threads=1, mebibytes=128):
    """Read + write, plain stores: NumPy's absolute value, a vector loop without the streaming stores of memcpy; it runs without
    the interpreter's lock, so each thread takes a part."""
    a = np.ones(mebibytes << 18, np.float32)
    b = np.ones_like(a)
    parts = list(zip(np.array_split(a, threads), np.array_split(b, threads)))
    times = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(9):
            t = time.perf_counter()
            list(pool.map(lambda part: np.absolute(part[0], out=part[1]), parts))
            times.append(time.perf_counter() - t)
    return 2 * a.nbytes / statistics.median(times[2:])


def first_touch_seconds(mebibytes=64):
    times = []
    for _ in range(3):
        with mmap.mmap(-1, mebibytes << 20) as memory:
            t = time.perf_counter()
            for offset in range(0, mebibytes << 20, 4096):
                memory[offset] = 1
            times.append(time.perf_counter() - t)
    return statistics.median(times)


def main():
    import torch
    for threads in sorted({1, torch.get_num_threads()}):
        print(f"copy, plain stores, {threads} thread(s): {copy_bytes_per_second(threads) / 1e9:.1f} GB/s (read + write)")
    print(f"first touch of 64 MiB, 4 KiB pages: {first_touch_seconds() * 1e3:.1f} ms (Python loop included)")
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        a = torch.randn(1024, 1024)
        times = []
        for _ in range(8):
            t = time.perf_counter()
            a @ a
            times.append(time.perf_counter() - t)
        print(f"CPU PyTorch float32 1024^3, {threads} thread(s): {2 * 1024**3 / statistics.median(times[2:]) / 1e9:.0f} GFLOP/s")
    capability = torch.backends.cpu.get_cpu_capability()
    flags = open("/proc/cpuinfo").read()
    print(f"CPU capability {capability}; bf16 unit {'yes' if 'avx512_bf16' in flags or 'amx_bf16' in flags else 'not measured: the CPU has none'}")


if __name__ == "__main__":
    main()
