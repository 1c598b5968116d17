"""libvtpu.so as others load it: a PJRT conformance probe, JAX, and its exported symbols. Each runs in a child process."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_plugin():
    given = os.environ.get("TT_TEST_VTPU")
    if given:
        return given
    found = sorted(ROOT.glob("build/*/libvtpu.so"), key=lambda p: p.stat().st_mtime)
    release = ROOT / "build/release/libvtpu.so"
    return str(release if release.is_file() else found[-1]) if found else None


PLUGIN = find_plugin()
pytestmark = pytest.mark.skipif(PLUGIN is None, reason="libvtpu.so is not built")


def run(arguments, topology="v6e:2x2", timeout=180):
    environment = dict(os.environ, TORCH_TPU_VIRTUAL=topology, TORCH_DEVICE_BACKEND_AUTOLOAD="0", JAX_PLATFORMS="vtpu")
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=timeout)


def test_exports_one_symbol():
    if not shutil.which("nm"):
        pytest.skip("nm is not installed")
    out = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], check=True, capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in out.splitlines()] == ["GetPjrtApi"]


def test_conformance_probe():
    pytest.importorskip("pypjrt", reason="pypjrt (a PJRT conformance probe) is not installed")
    done = run(["-m", "pypjrt.conform", PLUGIN])
    summary = done.stdout.strip().splitlines()[-1]
    assert " 0 FAIL" in summary, done.stdout + done.stderr
    assert int(summary.split()[0]) >= 52, done.stdout


JAX_PROGRAM = """
import sys
import numpy as np
from jax._src import xla_bridge
xla_bridge.register_plugin('vtpu', library_path=sys.argv[1])
import jax
devices = jax.devices()
assert len(devices) == 4 and devices[3].coords == [1, 1, 0], devices
assert devices[0].device_kind == 'TPU v6e (virtual, CPU)', devices[0].device_kind
assert [m.kind for m in devices[0].addressable_memories()] == ['device', 'pinned_host']
for x in (np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(12, dtype=np.int16).reshape(3, 4).T,
          np.zeros((0, 3), np.int32), np.float32(2.5), np.array([True, False])):
    on = jax.device_put(x, devices[3])
    assert np.array_equal(np.asarray(on), x)
    assert np.array_equal(np.asarray(jax.device_put(on, devices[1])), x)
stats = devices[0].memory_stats()
assert stats['bytes_in_use'] == 0 and stats['bytes_limit'] > 0, stats
on.delete()
assert on.is_deleted()
try:
    jax.jit(lambda a: a + 1)(jax.device_put(np.zeros(3, np.float32), devices[0]))
except Exception as error:
    assert 'UNIMPLEMENTED' in str(error) and 'StableHLO text' in str(error), error
print('jax is content')
"""


def test_jax_loads_it():
    pytest.importorskip("jax", reason="jax is not installed")
    done = run(["-c", JAX_PROGRAM, PLUGIN])
    assert done.returncode == 0 and "jax is content" in done.stdout, done.stdout + done.stderr


def test_jax_shows_a_wrong_topology():
    pytest.importorskip("jax", reason="jax is not installed")
    done = run(["-c", JAX_PROGRAM, PLUGIN], topology="v6e:2x")
    assert done.returncode != 0
    assert "virtual topology 'v6e:2x'" in done.stderr, done.stderr
