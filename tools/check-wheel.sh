#!/usr/bin/env bash
# check-wheel.sh DIST: installs the newest wheel of DIST in a fresh environment and runs the seed program there.
set -eu
wheel=$(ls -t "$1"/torch_tpu_c-*.whl | head -1)
environment=build/wheel-env
rm -rf "$environment"
python3 -m venv "$environment"
pip() { "$environment/bin/python" -m pip --disable-pip-version-check -q "$@"; }
pip install "$(grep '^torch==' constraints.txt)" "$(grep '^numpy==' constraints.txt)"
pip install --no-deps "$wheel"
root=$PWD
cd "$environment"   # away from the checkout: only what the wheel holds can be imported
out=$(./bin/python "$root/examples/seed.py")
echo "$out"
case "$out" in *"Executed on device: tpu:0"*) ;; *) echo "the seed program did not run on tpu" >&2; exit 1 ;; esac
./bin/python -c "import torch_tpu, torch; assert torch.compile(lambda x: x * 2 + 1, backend='tpu')(torch.ones(3, device='tpu')).sum().item() == 9"
echo "wheel: $(basename "$wheel") works in a fresh environment"
