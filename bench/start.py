"""Cost of autoload in `import torch`, and CPU use of an idle process that has used the device."""
import os
import statistics
import subprocess
import sys
import time

from timing import note


def import_seconds(env):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], env={**os.environ, **env}, check=True)
    return time.perf_counter() - begin


def main():
    on, off = [], []
    for _ in range(9):
        on.append(import_seconds({}))
        off.append(import_seconds({"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))
    share = statistics.median(on) / statistics.median(off) - 1
    note("start", f"import torch with autoload {statistics.median(on):.3f} s, without {statistics.median(off):.3f} s: {share * 100:+.1f} % (target <= 6 %)")
    code = ("import torch, time\nx = torch.randn(512, 512, device='tpu')\nfor _ in range(20): (x @ x).sum().item()\n"
            "t = time.process_time(); time.sleep(2); print((time.process_time() - t) / 2)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    note("start", f"idle CPU use {float(done.stdout) * 100:.2f} % of one CPU (target 0)")


if __name__ == "__main__":
    main()
