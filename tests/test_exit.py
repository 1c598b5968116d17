"""The end of a process right after backward on several devices: no abort, whatever autograd's threads still do."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import torch
xs = [torch.ones(4, device=f"tpu:{d}", requires_grad=True) for d in range(torch.tpu.device_count())]
sum((x * 2).sum().to("tpu:0") for x in xs[:COUNT]).backward()
print(xs[0].grad.tolist())
"""
HOOKS = """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.held = [object() for _ in range(100)]
        return v * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
x = torch.ones(4, device="tpu:1", requires_grad=True)
x.register_hook(lambda g: g)
Double.apply(x).sum().backward()
print(x.grad.tolist())
"""


def run_many(code, times, **env):
    """Two at a time; every one ends well and says what it should."""
    environment = dict(os.environ, TORCH_TPU_VIRTUAL="v6e:2x2", **env)
    waiting, outputs = [], []
    for i in range(times):
        waiting.append(subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ))
        if len(waiting) == 2 or i == times - 1:
            for process in waiting:
                out, error = process.communicate(timeout=300)
                assert process.returncode == 0, (process.returncode, error)
                outputs.append(out)
            waiting = []
    assert set(outputs) == {"[2.0, 2.0, 2.0, 2.0]\n"}, outputs


def test_a_few_processes():
    run_many(PROGRAM.replace("COUNT", "4"), 2)
    run_many(PROGRAM.replace("COUNT", "1"), 2)   # three threads of autograd never had work


@pytest.mark.slow
@pytest.mark.parametrize("count", ["1", "4"])
def test_many_processes(count):
    run_many(PROGRAM.replace("COUNT", count), 30)


@pytest.mark.slow
def test_python_objects_in_the_graph():
    run_many(HOOKS, 30)


def test_forward_alone_starts_no_threads(python):
    done = python("""
import torch, glob
torch.ones(2, device="tpu").add_(1)
import atexit
from torch_tpu_c import _hooks
_hooks._quiesce_autograd()
assert not _hooks._has_autograd_threads() and not _hooks._kept
""")
    assert done.returncode == 0, done.stderr


def test_libraries_replaced_while_a_process_lives(python, tmp_path):
    """Python calls the core that torch runs, whatever lies at its path meanwhile."""
    from torch_tpu_c import _core

    for name in _core._NAMES:
        shutil.copy(_core.path(name), tmp_path / name)
    done = python(
        f"""
import os, shutil, torch
for name in {_core._NAMES!r}:
    path = os.path.join({str(tmp_path)!r}, name)
    shutil.copy(path, path + ".new")
    os.replace(path + ".new", path)
before = torch.tpu.compile_stats()
x = torch.ones(3, device="tpu") + 1
after = torch.tpu.compile_stats()
assert after["misses"] + after["hits"] > before["misses"] + before["hits"], (before, after)
assert torch.tpu.is_initialized()
inodes = {{line.split()[4] for line in open("/proc/self/maps") if "libtorch_tpu_core.so" in line}}
assert len(inodes) == 1, inodes
print("one core")
""",
        TORCH_TPU_LIBRARY_DIR=str(tmp_path),
    )
    assert done.stdout == "one core\n", done.stderr
