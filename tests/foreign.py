"""The test suite through a PJRT plugin that others wrote: `python tests/foreign.py [--part] [pytest arguments]`.

Without arguments all tests that are not slow (`make test-foreign`), with --part those whose turn it is
(`make test`).
The plugin is TT_FOREIGN_PLUGIN, else XLA:CPU of the wheel lammps-jax-pjrt-cpu; `foreign.skips` lists what belongs to vtpu alone.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent
# `--part` runs a slice of all tests, by a hash of their names and the number of commits: so many commits run all.
PARTS = 30
# XLA:CPU drops NaN in minimum and maximum unless told otherwise; StableHLO does not.
XLA_FLAGS = "--xla_cpu_enable_fast_min_max=false"


def plugin():
    if os.environ.get("TT_FOREIGN_PLUGIN"):
        return os.environ["TT_FOREIGN_PLUGIN"]
    spec = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    path = pathlib.Path(spec.origin).parent / "pjrt_c_api_cpu_plugin.so" if spec else None
    return str(path) if path and path.exists() else None


def turn():
    done = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=TESTS, capture_output=True, text=True)
    return int(done.stdout) % PARTS if done.returncode == 0 else 0


def main(arguments):
    path = plugin()
    if path is None:
        print("foreign plugin: the wheel lammps-jax-pjrt-cpu is not installed (or name one in TT_FOREIGN_PLUGIN)")
        return 0 if "--part" in arguments else 1
    files = [str(TESTS)]
    environment = dict(os.environ, TORCH_TPU_PLUGIN=path, TT_FOREIGN="1")
    environment["XLA_FLAGS"] = " ".join([environment.get("XLA_FLAGS", ""), XLA_FLAGS]).strip()
    if "--part" in arguments:
        arguments.remove("--part")
        environment["TT_FOREIGN_PART"] = f"{turn()}/{PARTS}"
    if any(not argument.startswith("-") and ".py" in argument for argument in arguments):
        files = []
    command = [sys.executable, "-m", "pytest", *files, "-m", "not slow", *arguments]
    return subprocess.run(command, cwd=TESTS.parent, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
