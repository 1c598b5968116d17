# Two commands do everything on a fresh machine:
#   make demo   virtual environment, dependencies, build, then three programs on the tpu device
#   make test   the tests
# Others: make build | check-fast | test-long | test-foreign | check-tpu | check-tpu-long | asan | tsan | fuzz | wheel | bench | clean.
# See CONTRIBUTING.md.

SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
BUILD := build/release
JOBS := $(shell nproc)
# The tests run in as many processes, each with threads of its own: more than four only make them wait for each other.
PARALLEL = -n $(shell [ $(JOBS) -gt 4 ] && echo 4 || echo $(JOBS)) --dist worksteal
PYTEST = $(PY) -m pytest $(PARALLEL)
WERROR ?= $(if $(CI),ON,OFF)
CMAKE = $(if $(wildcard $(VENV)/bin/cmake),$(CURDIR)/$(VENV)/bin/cmake,cmake)
NINJA = $(if $(wildcard $(VENV)/bin/ninja),$(CURDIR)/$(VENV)/bin/ninja,ninja)
CTEST = $(dir $(CMAKE))ctest
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: demo test test-long test-foreign build check-fast check-tpu check-tpu-long asan tsan fuzz wheel bench clean system environment environment-test rules c-tests help

help:
	@sed -n '1,5p' Makefile

system:
	@tools/system-packages.sh

$(VENV)/.base: constraints.txt tools/environment.sh | system
	tools/environment.sh base $(VENV)
$(VENV)/.demo: $(VENV)/.base
	tools/environment.sh demo $(VENV)
$(VENV)/.test: $(VENV)/.demo
	tools/environment.sh test $(VENV)
$(VENV)/.tpu: $(VENV)/.test
	tools/environment.sh tpu $(VENV)
environment: $(VENV)/.demo
environment-test: $(VENV)/.test

$(BUILD)/build.ninja: CMakeLists.txt cmake/layers.cmake torch/CMakeLists.txt tools/CMakeLists.txt | $(VENV)/.base
	$(CMAKE) -S . -B $(BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM=$(NINJA) -DPython3_EXECUTABLE=$(CURDIR)/$(PY) -DTT_WERROR=$(WERROR) >/dev/null

build: $(VENV)/.base $(BUILD)/build.ninja
	$(NINJA) -C $(BUILD)
	$(PY) python/dev_install.py $(BUILD)

demo: $(VENV)/.demo build
	$(PY) examples/seed.py
	$(PY) examples/digits.py
	$(PY) examples/chat.py "What is the capital of France?"

rules:
	$(PY) tools/check-includes.py
	$(PY) tools/check-symbols.py $(BUILD)

c-tests: build
	cd $(BUILD) && $(CTEST) --output-on-failure -j $(JOBS)

# What goes before a commit: without the program catalogue, the models, the sweeps and the files that start many processes.
check-fast: $(VENV)/.test build rules c-tests
	$(PYTEST) -x tests -m "not slow" --ignore tests/kernels --ignore tests/lower --ignore tests/tpu --ignore-glob "tests/test_compile*" \
	  $(foreach name,allocations async_copies bad_input dataloader discovery eigen_foreign embeddings exit fake_plugin faults growing interrupt jax_programs linalg_foreign locations \
	  models multi_device nn_random notebook ops out_arguments programs text_round_trip text_training thread_count tt_compile views_random vision_training vtpu_plugin,--ignore tests/test_$(name).py)

test: $(VENV)/.test build rules c-tests
	$(PYTEST) tests -m "not slow"
	$(PY) tests/foreign.py --part $(PARALLEL)

# The same tests through a PJRT plugin that others wrote (XLA:CPU): half an hour or more on two cores, most of it XLA compiling small programs.
test-foreign: $(VENV)/.test build
	$(PY) tests/foreign.py $(PARALLEL)

# Minutes each: the language model, whole training passes, all of op_db, process exits. By hand before an issue is closed.
test-long: $(VENV)/.test build
	$(PY) -m pytest tests -m slow

# Every program that we emit through the TPU compiler, ahead of time and without a TPU: docs/tpu_legality.md. Long: three samples, all
# generations, training graphs, all growing cases; it also renews the document. Hours; goes on where it was stopped.
check-tpu: $(VENV)/.test $(VENV)/.tpu build
	$(PY) tests/tpu/gate.py
check-tpu-long: $(VENV)/.test $(VENV)/.tpu build
	$(PY) tests/tpu/gate.py --long --write

# The C tests under sanitizers, in builds of their own.
asan: $(VENV)/.base
	$(CMAKE) -S . -B build/asan -G Ninja -DCMAKE_MAKE_PROGRAM=$(NINJA) -DTT_TORCH=OFF -DTT_SANITIZE=address,undefined -DTT_WERROR=$(WERROR) >/dev/null
	$(NINJA) -C build/asan
	cd build/asan && ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 $(CTEST) --output-on-failure -j $(JOBS)
tsan: $(VENV)/.base
	$(CMAKE) -S . -B build/tsan -G Ninja -DCMAKE_MAKE_PROGRAM=$(NINJA) -DTT_TORCH=OFF -DTT_SANITIZE=thread -DTT_WERROR=$(WERROR) >/dev/null
	$(NINJA) -C build/tsan
	cd build/tsan && TSAN_OPTIONS=allocator_may_return_null=1:suppressions=$(CURDIR)/tests/tsan.supp $(CTEST) --output-on-failure -j $(JOBS)

# The parsers under libFuzzer and sanitizers: make fuzz FUZZ_SECONDS=3600. Needs clang and its compiler-rt (Debian: clang libclang-rt-14-dev).
FUZZ_SECONDS ?= 600
fuzz: $(VENV)/.base
	@command -v clang >/dev/null || { echo "clang is needed: install clang and libclang-rt-14-dev (Debian, Ubuntu)" >&2; exit 1; }
	$(CMAKE) -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang -DTT_TORCH=OFF -DTT_FUZZ=ON -DTT_SANITIZE=address,undefined >/dev/null
	$(NINJA) -C build/fuzz $(foreach target,text compile plan options run,fuzz_$(target) fuzz_$(target)_replay)
	tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

# Source archive, a wheel built from it, its platform tag as auditwheel confirms it (torch's libraries come with torch).
$(VENV)/.wheel: $(VENV)/.base
	tools/environment.sh wheel $(VENV)
wheel: $(VENV)/.wheel
	rm -rf dist build/wheel-plain
	$(PY) -c 'import scikit_build_core.build as b; b.build_sdist("dist")'
	$(PY) -m pip wheel -q --no-build-isolation --no-deps -w build/wheel-plain dist/torch_tpu_c-*.tar.gz
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m auditwheel repair --exclude libtorch.so --exclude libtorch_cpu.so --exclude libc10.so \
	  -w dist build/wheel-plain/torch_tpu_c-*.whl
	tools/check-wheel.sh dist

bench: $(VENV)/.test build
	$(PY) bench/run.py

clean:
	rm -rf build dist
