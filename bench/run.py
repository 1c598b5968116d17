"""All benchmarks, each in a process of its own; what a later one needs is not warmed by an earlier one.

    python bench/run.py [name ...]      limits dispatch kernels large training decode start
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ALL = ["limits", "dispatch", "kernels", "large", "training", "decode", "start"]


def main():
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}   # they slow the peer
    failed = 0
    for name in sys.argv[1:] or ALL:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, str(HERE / f"{name}.py")], cwd=HERE, env=env).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
