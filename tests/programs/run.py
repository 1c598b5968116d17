"""Runs StableHLO text through tt-run (our runtime and vtpu) and through XLA:CPU."""
import functools
import pathlib
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"


@functools.cache
def _cpu():
    import jax
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    return jax.devices("cpu")[0]


def run_xla(text, inputs):
    import jax
    from jaxlib import xla_client as xc
    device = _cpu()
    executable = device.client.compile_and_load(text, xc.DeviceList((device,)), xc.CompileOptions())
    result = executable.execute_sharded([jax.device_put(x, device) for x in inputs])
    return [np.asarray(x[0]) for x in result.disassemble_into_single_device_arrays()]


def run_vtpu(text, inputs, build=BUILD, plugin=None):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "program.mlir").write_text(text)
        command = [str(build / "tools" / "tt-run"), "--plugin", str(plugin or build / "libvtpu.so"), "--output-dir", str(folder)]
        for index, array in enumerate(inputs):
            np.save(folder / f"input{index}.npy", array)
            command += ["--input", str(folder / f"input{index}.npy")]
        done = subprocess.run(command + [str(folder / "program.mlir")], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"tt-run exited with {done.returncode}: {done.stderr.strip()}")
        outputs = sorted(folder.glob("output*.npy"), key=lambda p: int("".join(c for c in p.stem if c.isdigit())))
        return [np.load(p) for p in outputs]


def compare(actual, expected, rtol, atol, where=""):
    assert len(actual) == len(expected), f"{where}: {len(actual)} results, expected {len(expected)}"
    for index, (a, e) in enumerate(zip(actual, expected)):
        assert a.shape == e.shape and a.dtype == e.dtype, f"{where} result {index}: {a.dtype}{a.shape}, expected {e.dtype}{e.shape}"
        np.testing.assert_allclose(a, e, rtol=rtol, atol=atol, err_msg=f"{where} result {index}")
