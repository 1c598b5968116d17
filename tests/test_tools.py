"""tt-run and tt-doctor from the command line, against NumPy."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "build/release", *sorted(ROOT.glob("build/*"))]
BUILD = next((f for f in FOLDERS if (f / "tools/tt-run").is_file() and (f / "libvtpu.so").is_file()), None)
pytestmark = pytest.mark.skipif(BUILD is None, reason="tt-run and libvtpu.so are not built")

MATMUL = """
module @mm {
  func.func public @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<2x3xbf16>, tensor<2x3xi1>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.convert %a : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %2 = stablehlo.compare GT, %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    return %0, %1, %2 : tensor<2x2xf32>, tensor<2x3xbf16>, tensor<2x3xi1>
  }
}
"""


def run(*arguments, tool="tt-run"):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_TPU_")}
    return subprocess.run([str(BUILD / "tools" / tool), *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env=environment)


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    a = rng.integers(-8, 8, (2, 3)).astype(np.float32)   # exact in any order of summation
    b = rng.integers(-8, 8, (3, 2)).astype(np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", np.asfortranarray(b))
    (tmp_path / "mm.mlir").write_text(MATMUL)
    return tmp_path, a, b


@pytest.mark.parametrize("extra", [(), ("--handover",), ("--topology", "v6e:2x2", "--device", "3")])
def test_matmul(files, extra):
    folder, a, b = files
    done = run(*extra, "--input", folder / "a.npy", "--input", folder / "b.npy", "--output-dir", folder, folder / "mm.mlir")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(folder / "output0.npy"), a @ b)
    bits = np.load(folder / "output1.npy").view(np.uint16).reshape(2, 3)
    np.testing.assert_array_equal((bits.astype(np.uint32) << 16).view(np.float32), a)
    flags = np.load(folder / "output2.npy")
    assert flags.dtype == np.bool_ and not flags.any()


def test_print_and_repeat(files):
    folder, a, b = files
    done = run("--input", folder / "a.npy", "--input", folder / "b.npy", "--print", "--repeat", 3, folder / "mm.mlir")
    assert done.returncode == 0, done.stderr
    assert "output 0: tensor<2x2xf32>" in done.stdout and "3 runs: first" in done.stdout
    assert f"{(a @ b)[0, 0]:.9g}" in done.stdout


def test_random_is_reproducible(files):
    folder, _, _ = files
    one, two, other = (run("--random", seed, "--print", folder / "mm.mlir").stdout for seed in (5, 5, 6))
    assert one == two != other and "output 2" in one


@pytest.mark.parametrize("arguments, code, part", [
    (["--bogus", "1", "mm.mlir"], 2, "--bogus"),
    (["--repeat", "many", "mm.mlir"], 2, "many"),
    ([], 2, "no program"),
    (["--input", "a.npy", "mm.mlir"], 2, "takes 2 arguments, 1 inputs"),
    (["missing.mlir"], 3, "missing.mlir"),
    (["--input", "a.npy", "--input", "mm.mlir", "mm.mlir"], 3, "mm.mlir"),
    (["--input", "a.npy", "--input", "none.npy", "mm.mlir"], 3, "none.npy"),
    (["--input", "b.npy", "--input", "a.npy", "mm.mlir"], 1, "argument 0 of 'mm' is f32[3,2], the program wants f32[2,3]"),
    (["--plugin", "none.so", "--random", "1", "mm.mlir"], 1, "none.so"),
    (["--topology", "v6e:7", "--random", "1", "mm.mlir"], 1, "v6e:7"),
    (["--device", "9", "--random", "1", "mm.mlir"], 1, "device 9"),
    (["--random", "1", "broken.mlir"], 1, "broken.mlir"),
])
def test_errors(files, arguments, code, part):
    folder, _, _ = files
    (folder / "broken.mlir").write_text("module { func.func @main( }")
    resolved = [folder / a if a.endswith((".mlir", ".npy")) else a for a in arguments]
    done = run(*resolved)
    assert done.returncode == code, done.stderr
    assert part in done.stderr


EMPTY = """
func.func @main() -> tensor<1099511627776x0xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<1099511627776x0xf32>
  return %0 : tensor<1099511627776x0xf32>
}
"""


def test_an_empty_output_of_many_rows_is_printed_at_once(tmp_path):
    (tmp_path / "empty.mlir").write_text(EMPTY)
    done = run("--print", tmp_path / "empty.mlir")
    assert done.returncode == 0 and done.stdout == "output 0: tensor<1099511627776x0xf32>\n[]\n", done


@pytest.mark.parametrize("old, new, part", [
    (b"\x93NUMPY\x01", b"\x93NUMPY\x09", "version"),
    (b"False", b"Maybe", "order"),
    (b"'<f4'", b"'<f-'", "element type"),
    (b"(2, 3)", b"(2, -)", "shape"),
    (b"(2, 3), }         ", b"(9999999999999999999999, }", "shape"),
])
def test_damaged_arrays_are_refused(files, old, new, part):
    folder, _, _ = files
    data = (folder / "a.npy").read_bytes()
    assert old in data
    (folder / "bad.npy").write_bytes(data.replace(old, new.ljust(len(old))[:len(old)] if len(new) <= len(old) else new, 1)
                                     if len(new) <= len(old) else data.replace(old + b" " * (len(new) - len(old)), new, 1))
    done = run(folder / "mm.mlir", "--input", folder / "bad.npy", "--input", folder / "b.npy")
    assert done.returncode == 3 and part in done.stderr, done.stderr


def test_doctor():
    done = run(tool="tt-doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("pjrt version:     0.104", "handed over in memory", "TPU v6e (virtual, CPU)", "cpu features:"):
        assert part in done.stdout
    assert run("--no-plugin", tool="tt-doctor").returncode == 0
    assert run("--plugin", "none.so", tool="tt-doctor").returncode == 1


ANOTHER_BUILD = """
import warnings
import torch
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    y = torch.ones(3, device="tpu") + torch.arange(3.0, device="tpu").cumsum(0)
assert y.tolist() == [1.0, 2.0, 4.0]
found = [str(w.message) for w in seen if "of another build" in str(w.message)]
assert len(found) == 1, [str(w.message) for w in seen]
print("warned once")
"""


def test_a_virtual_tpu_of_another_build_is_named(tmp_path):
    """The build's identity stands in the library; another one makes its programs foreign to the core."""
    data = (BUILD / "libvtpu.so").read_bytes()
    places = list(re.finditer(rb"([0-9a-f]{64}) \d+\.\d+", data))
    assert len(places) == 1
    at = places[0].start()
    other = tmp_path / "libvtpu.so"
    other.write_bytes(data[:at] + (b"0" if data[at:at + 1] != b"0" else b"1") + data[at + 1:])
    done = run("--plugin", other, tool="tt-doctor")
    assert "another build: sent as text" in done.stdout and "problem:" in done.stdout, done.stdout + done.stderr
    assert "problem:" not in run("--plugin", BUILD / "libvtpu.so", tool="tt-doctor").stdout
    done = subprocess.run([sys.executable, "-c", ANOTHER_BUILD], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TORCH_TPU_PLUGIN": str(other)})
    assert done.returncode == 0 and "warned once" in done.stdout, done.stdout + done.stderr
