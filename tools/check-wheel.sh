#!/usr/bin/env bash
# check-wheel.sh DIST: installs the newest wheel of DIST in a fresh environment and tries it there, away from the checkout.
set -eu
fail() { echo "check-wheel: $*" >&2; exit 1; }
wheel=$(ls -t "$1"/torch_tpu_c-*.whl | head -1)
case "$wheel" in *-py3-none-manylinux_*) ;; *) fail "$wheel has no manylinux tag" ;; esac
environment=build/wheel-env
rm -rf "$environment"
python3 -m venv "$environment"
pip() { "$environment/bin/python" -m pip --disable-pip-version-check -q "$@"; }
pip install "$(grep '^torch==' constraints.txt)" "$(grep '^numpy==' constraints.txt)"
pip install --no-deps "$wheel"
pip check
root=$PWD
unset TORCH_TPU_LIBRARY_DIR TORCH_TPU_PLUGIN PYTHONPATH
cd "$environment"   # away from the checkout: only what the wheel holds can be imported
PATH=$PWD/bin:$PATH
out=$(python "$root/examples/seed.py")
echo "$out"
case "$out" in *"Executed on device: tpu:0"*) ;; *) fail "the seed program did not run on tpu" ;; esac
python - <<'P' || fail "torch.compile or the libraries"
import glob, os, subprocess, sys, torch, torch_tpu, torch_tpu_c
from torch_tpu_c import _core

assert torch_tpu.__file__.startswith(sys.prefix), torch_tpu.__file__
assert _core.directory() == os.path.join(os.path.dirname(torch_tpu_c.__file__), "lib"), _core.directory()
x = torch.ones(3, device="tpu", requires_grad=True)
y = torch.compile(lambda x: (x * 2 + 1).sum(), backend="tpu")(x)
y.backward()
assert y.item() == 9 and x.grad.tolist() == [2, 2, 2]
for file in glob.glob(os.path.join(_core.directory(), "*")):
    assert b".debug_info" not in open(file, "rb").read(), f"{file} is not stripped"
P
case "$(tt-doctor)" in *"device 0"*) ;; *) fail "tt-doctor shows no device" ;; esac
cat > add.mlir <<'P'
module @add {
  func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %a : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
P
tt-run add.mlir --random 1 >/dev/null || fail "tt-run"
tt-compile --help >/dev/null || fail "tt-compile"
echo "wheel: $(basename "$wheel") works in a fresh environment"
