"""tt-compile: programs ahead of time, through the virtual TPU and, where it is installed, libtpu without a TPU."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "build/release", *sorted(ROOT.glob("build/*"))]
BUILD = next((f for f in FOLDERS if (f / "tools/tt-compile").is_file() and (f / "libvtpu.so").is_file()), None)
LIBTPU = next(iter(sorted(pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/libtpu/libtpu.so"))), None)
pytestmark = pytest.mark.skipif(BUILD is None, reason="tt-compile and libvtpu.so are not built")
needs_libtpu = pytest.mark.skipif(LIBTPU is None, reason="libtpu is not installed (pip install --no-deps libtpu==0.0.51)")

DONATED_DOT = """
module @mm {
  func.func public @main(%a: tensor<256x128xf32>, %b: tensor<128x128xf32>, %c: tensor<256x128xf32> {tf.aliasing_output = 1 : i32})
      -> (tensor<256x128xf32>, tensor<256x128xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
    %1 = stablehlo.add %c, %0 : tensor<256x128xf32>
    return %0, %1 : tensor<256x128xf32>, tensor<256x128xf32>
  }
}
"""
ALL_REDUCE = """
module @ar {
  func.func public @main(%a: tensor<256xf32>) -> tensor<256xf32> {
    %0 = "stablehlo.all_reduce"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<256xf32>) -> tensor<256xf32>
    return %0 : tensor<256xf32>
  }
}
"""
TOO_LARGE = """
module @big {
  func.func public @main(%a: tensor<131072x65536xf32>) -> tensor<131072x65536xf32> {
    %0 = stablehlo.add %a, %a : tensor<131072x65536xf32>
    return %0 : tensor<131072x65536xf32>
  }
}
"""
UNBOUNDED = "module { func.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> } }"


def run(*arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH_TPU_", "TPU_"))}
    return subprocess.run([str(BUILD / "tools/tt-compile"), *map(str, arguments)], capture_output=True, text=True, timeout=240,
                          env={**kept, **environment})


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def programs(tmp_path):
    for name, text in {"dot": DONATED_DOT, "ar": ALL_REDUCE, "big": TOO_LARGE, "dyn": UNBOUNDED, "bad": "module {"}.items():
        (tmp_path / f"{name}.mlir").write_text(text)
    return tmp_path


BYTES = 4 * 256 * 128


def test_vtpu(programs):
    done = run("--plugin", "vtpu", "--topology", "v6e-4", "--report", "-", "--output-dir", programs, programs / "dot.mlir",
               programs / "bad.mlir", programs / "dyn.mlir", programs / "none.mlir", programs / "dot.mlir")
    assert done.returncode == 1, done.stderr
    first, bad, unbounded, missing, again = lines(done)
    assert first["status"] == "compiled" and first["topology"] == "v6e:2x2"
    memory = first["memory"]
    assert memory["arguments"] == 2 * BYTES + 4 * 128 * 128 and memory["outputs"] == 2 * BYTES and memory["aliased"] == BYTES
    assert first["flops"] >= 2 * 256 * 128 * 128
    assert first["aliases"] == [[1, 2]] and first["collectives"] == {}
    assert (programs / "dot.pjrt").stat().st_size == first["serialized_bytes"] > 0
    assert bad["status"] == "error" and bad["code"] == "INVALID_ARGUMENT" and "1:9" in bad["error"]
    assert unbounded["code"] == "INVALID_ARGUMENT" and "without a bound" in unbounded["error"]
    assert missing["code"] == "NOT_FOUND" and "none.mlir" in missing["error"]
    assert again["status"] == "compiled"


def test_vtpu_collectives(programs):
    done = run("--plugin", "vtpu", "--topology", "v5e:2x2", "--replicas", 4, "--report", programs / "out.json", programs / "ar.mlir")
    assert done.returncode == 0, done.stderr
    report = json.loads((programs / "out.json").read_text())
    assert report["collectives"] == {"all-reduce": 1} and report["aliases"] == []
    assert "collectives   all-reduce x 1" in done.stdout


def test_text_report(programs):
    done = run("--plugin", "vtpu", "--topology", "v5e:2x2", programs / "dot.mlir")
    assert done.returncode == 0, done.stderr
    assert "4 devices): compiled in" in done.stdout and "16.00 GiB of HBM" in done.stdout
    assert f"{2 * BYTES} B" in done.stdout


@pytest.mark.parametrize("arguments, environment, part", [
    (["--topology", "v9:2x2"], {}, "unknown topology 'v9:2x2': unknown TPU generation"),
    (["--topology", "v6e-3"], {}, "no slice of that size"),
    (["--plugin", "vtpu", "--topology", "v4:2x2x1"], {}, "unknown TPU generation"),
    (["--topology", "v5e:2x2", "--plugin", "/nowhere/libtpu.so"], {}, "/nowhere/libtpu.so"),
    (["--topology", "v5e:2x2", "--plugin", "libm.so.6"], {}, "does not export GetPjrtApi"),
    (["--topology", "v5e:2x2"], {"TPU_LIBRARY_PATH": "/nowhere/libtpu.so"}, "/nowhere/libtpu.so"),
    (["--topology", "v5e:2x2"], {"TORCH_TPU_SYSFS_ROOT": "/nowhere"}, "libtpu is not installed: pip install libtpu"),
    (["--topology", "v5e:2x2", "--timeout", "0"], {}, "--timeout takes a number from 1"),
    (["--topology", "v5e:2x2", "--bogus", "1"], {}, "--bogus"),
    ([], {}, "no --topology"),
])
def test_nothing_can_be_tried(programs, arguments, environment, part):
    done = run(*arguments, programs / "dot.mlir", **environment)
    assert done.returncode == 2 and done.stdout == ""
    assert part in done.stderr.splitlines()[0]


def test_a_compiler_that_dies_or_hangs_costs_one_program(programs):
    fake = BUILD / "libtt_fake_pjrt.so"
    if not fake.is_file():
        pytest.skip("libtt_fake_pjrt.so is not built")
    names = ["dot", "fake_abort", "dot2", "fake_hang", "fake_second_abort", "dot3"]
    for name in names:
        text = DONATED_DOT.replace("@mm", "@" + name)
        (programs / f"{name}.mlir").write_text(text)
    for jobs in (1, 2):
        done = run("--plugin", fake, "--topology", "v5e:2x2", "--timeout", 5, "--jobs", jobs, "--report", "-",
                   *[programs / f"{name}.mlir" for name in names])
        assert done.returncode == 1, done.stderr
        got = {pathlib.Path(line["program"]).stem: line for line in lines(done)}
        assert [pathlib.Path(line["program"]).stem for line in lines(done)] == names   # in the order given
        assert {name: line["status"] for name, line in got.items()} == {
            "dot": "compiled", "fake_abort": "crashed", "dot2": "compiled", "fake_hang": "timeout",
            "fake_second_abort": "compiled", "dot3": "compiled"}   # alone it compiles
        assert got["fake_abort"]["error"] == (
            "the compiler ended its process, signal 6 (Aborted): "
            "F0000 00:00:00.000000 1 fake.cc:1] Check failed: the fake was asked to")
        assert got["fake_hang"]["code"] == "DEADLINE_EXCEEDED" and "after 5 s" in got["fake_hang"]["error"]


@needs_libtpu
def test_libtpu(programs):
    # JAX reads libtpu's answers independently; here the program's own arithmetic is the source
    done = run("--plugin", LIBTPU, "--topology", "v5e:2x2", "--report", "-", programs / "dot.mlir", programs / "big.mlir",
               programs / "bad.mlir")
    assert done.returncode == 1, done.stderr
    dot, big, bad = lines(done)
    assert dot["status"] == "compiled" and dot["aliases"] == [[1, 2]] and dot["collectives"] == {}
    assert dot["memory"]["arguments"] == 2 * BYTES + 4 * 128 * 128 and dot["memory"]["aliased"] == BYTES
    assert dot["flops"] >= 2 * 256 * 128 * 128 and dot["serialized_bytes"] > 10000
    assert big["code"] == "RESOURCE_EXHAUSTED" and "PJRT_Compile" in big["error"]
    assert bad["status"] == "error" and "-:1:" in bad["error"]


@needs_libtpu
def test_libtpu_collective_and_advice(programs):
    done = run("--plugin", LIBTPU, "--topology", "v5litepod-4", "--replicas", 4, "--report", programs / "out.json", "--jobs", 2,
               programs / "ar.mlir", programs / "big.mlir")
    assert done.returncode == 1, done.stderr
    first, second = map(json.loads, (programs / "out.json").read_text().splitlines())
    assert first["collectives"] == {"all-reduce": 1} and second["status"] == "error"
    assert "collectives   all-reduce x 1" in done.stdout
    assert "needs 64.00 GiB a device and there are 15.75" in done.stdout and "8 devices or more" in done.stdout
    assert "donating arguments whose type a result has would save 32.00 GiB" in done.stdout
