#!/usr/bin/env bash
# Names, and where it may installs, the system packages that the build needs; goes on without optional ones.
set -u
missing=()
command -v cc >/dev/null && command -v c++ >/dev/null || missing+=(build-essential)
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
optional=()
[ -d /usr/share/datasets/fashion-mnist ] || optional+=(dataset-fashion-mnist)
command -v bible >/dev/null || optional+=(bible-kjv bible-kjv-text)
stamp=build/.system-packages
[ ${#missing[@]} -eq 0 ] && { [ ${#optional[@]} -eq 0 ] || [ -e "$stamp" ]; } && exit 0
mkdir -p build
install=""
if command -v apt-get >/dev/null; then
  if [ "$(id -u)" = 0 ]; then install="apt-get"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then install="sudo -n apt-get"; fi
fi
if [ -n "$install" ]; then
  $install update -qq >build/system-packages.log 2>&1 || true
  [ ${#missing[@]} -gt 0 ] && DEBIAN_FRONTEND=noninteractive $install install -y -qq "${missing[@]}" >>build/system-packages.log 2>&1
  for package in "${optional[@]}"; do   # one by one: a missing one must not stop the others
    DEBIAN_FRONTEND=noninteractive $install install -y -qq "$package" >>build/system-packages.log 2>&1 \
      || echo "optional package $package was not installed; the tests that need it will be skipped (build/system-packages.log)"
  done
fi
touch "$stamp"
command -v cc >/dev/null && command -v c++ >/dev/null || { echo "A C and C++ compiler is needed: install 'build-essential' (Debian, Ubuntu) or gcc and g++." >&2; exit 1; }
python3 -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is needed: install 'python3-venv' (Debian, Ubuntu)." >&2; exit 1; }
[ -n "$install" ] || [ ${#optional[@]} -eq 0 ] || echo "not root and no sudo: going on without the optional packages ${optional[*]} (some tests will be skipped)"
exit 0
