"""Copies that do not block, streams and events: on our plugin, and on one that really works behind our back."""

import os

import pytest
import torch


def foreign_plugin():
    try:
        import lammps_jax_pjrt_cpu
    except ImportError:
        return None
    path = os.path.join(os.path.dirname(lammps_jax_pjrt_cpu.__file__), "pjrt_c_api_cpu_plugin.so")
    return path if os.path.exists(path) else None


PLUGINS = [
    pytest.param({}, id="vtpu"),
    pytest.param({"TORCH_TPU_PLUGIN": foreign_plugin() or ""}, id="xla_cpu",
                 marks=pytest.mark.skipif(foreign_plugin() is None, reason="package lammps-jax-pjrt-cpu is not installed")),
]
both = pytest.mark.parametrize("env", PLUGINS)


def run(python, code, env):
    done = python("import torch, gc\n" + code + "\nprint('fine')", **env)
    assert done.returncode == 0 and done.stdout.endswith("fine\n"), done.stdout + done.stderr


@both
def test_pinned_to_device(python, env):
    """Values are those at the call; the block lives until its transfer has ended, whoever drops it."""
    run(python, """
held = []
for i in range(50):
    host = torch.full((1 << 16,), float(i)).pin_memory()
    assert host.is_pinned()
    held.append(host.to("tpu", non_blocking=True))
    del host            # the block may not be given to the next one yet
for i, x in enumerate(held):
    assert x.min().item() == i and x.max().item() == i, i
x = torch.empty(1 << 16, device="tpu", dtype=torch.float64)
host = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
x.copy_(host, non_blocking=True)                    # another dtype
y = torch.zeros(256, 512, device="tpu")
y[:, ::2].copy_(host.view(256, 256), non_blocking=True)     # a strided target
torch.tpu.synchronize()
assert x.cpu().equal(host.double()) and y[:, ::2].cpu().equal(host.view(256, 256)) and not y[:, 1::2].any()
""", env)


@both
def test_device_to_pinned(python, env):
    run(python, """
x = torch.arange(1 << 18, device="tpu", dtype=torch.float32)
outs = []
for i in range(20):
    x = x + 1
    outs.append(x.to("cpu", non_blocking=True))
    assert outs[-1].is_pinned()
    x.mul_(1)              # the source is written again while its copy is under way
event = torch.tpu.Event()
event.record()
event.synchronize()
assert event.query() and torch.tpu.current_stream().query()
base = torch.arange(1 << 18, dtype=torch.float32)
for i, out in enumerate(outs):
    assert out.equal(base + (i + 1)), i
into = torch.empty(512, 512).pin_memory()
into.copy_(x.view(512, 512), non_blocking=True)
dropped = torch.empty(1 << 18).pin_memory()
dropped.copy_(x, non_blocking=True)
del dropped; gc.collect()              # its memory stays until the transfer has ended
torch.tpu.synchronize()
assert into.view(-1).equal(base + 20)
part = torch.empty(256).pin_memory()
part.copy_(x[::1024], non_blocking=True)
torch.tpu.current_stream().synchronize()
assert part.equal((base + 20)[::1024])
""", env)


@both
def test_round_trips_through_one_block(python, env):
    """A block that is read after it was written to, and the other way round: in order."""
    run(python, """
block = torch.zeros(1 << 16).pin_memory()
x = torch.zeros(1 << 16, device="tpu")
for i in range(30):
    x.add_(1)
    block.copy_(x, non_blocking=True)
    x.copy_(block, non_blocking=True)
    x.add_(1)
torch.tpu.synchronize()
assert (x == 60).all() and (block == 59).all(), (x[0], block[0])
""", env)


@both
def test_pageable_is_complete_on_return(python, env):
    run(python, """
host = torch.zeros(1 << 20)
x = host.to("tpu", non_blocking=True)
host.fill_(7)
assert x.max().item() == 0
out = torch.empty(1 << 20)
out.copy_(x + 3, non_blocking=True)
assert (out == 3).all()
""", env)


@both
def test_streams_and_events(python, env):
    run(python, """
a, b = torch.tpu.Stream(), torch.tpu.Stream()
block = torch.empty(1 << 18).pin_memory()
x = torch.ones(512, 512, device="tpu")
for i in range(5):
    with torch.tpu.stream(a):
        y = x
        for _ in range(10):
            y = (y @ x) * (1 / 512)
        block.copy_(y.view(-1), non_blocking=True)
    b.wait_stream(a)
    b.synchronize()                       # covers what it was told to wait for
    assert b.query() and torch.allclose(block, torch.ones(1 << 18))
    block.zero_()
    event = torch.tpu.Event()
    with torch.tpu.stream(b):
        block.copy_(y.view(-1) * 2, non_blocking=True)
        event.record()
    torch.tpu.current_stream().wait_event(event)
    torch.tpu.current_stream().synchronize()
    assert event.query() and torch.allclose(block, torch.full((1 << 18,), 2.0))
    y.record_stream(a)
assert torch.tpu.Event().query()
""", env)


@both
def test_elapsed_time(python, env):
    run(python, """
import time
begin, end = (torch.tpu.Event(enable_timing=True) for _ in range(2))
try:
    begin.elapsed_time(end)
    raise SystemExit("no error")
except ValueError as error:
    assert "recorded" in str(error), error
x = torch.randn(700, 700, device="tpu")
wall = time.perf_counter()                      # an event's time may be that of the work before it
torch.tpu.synchronize()
begin.record()
for _ in range(8):
    y = x @ x
end.record()
end.synchronize()
wall = (time.perf_counter() - wall) * 1e3
assert 0 < begin.elapsed_time(end) <= wall, (begin.elapsed_time(end), wall)
again = torch.tpu.Event(enable_timing=True)
again.record(); again.synchronize()
assert end.elapsed_time(again) >= 0 and begin.elapsed_time(again) >= begin.elapsed_time(end)
begin.record(); begin.synchronize()            # recorded anew
assert again.elapsed_time(begin) >= 0
""", env)


@both
def test_several_devices(python, env):
    run(python, """
n = torch.tpu.device_count()
assert n > 1
block = torch.empty(n, 1 << 14).pin_memory()
for d in range(n):
    with torch.tpu.device(d):
        x = torch.full((1 << 14,), float(d), device=f"tpu:{d}")
        block[d].copy_(x + 1, non_blocking=True)
        moved = x.to(f"tpu:{(d + 1) % n}", non_blocking=True)
        assert moved.mean().item() == d
torch.tpu.synchronize()
for d in range(n):
    assert (block[d] == d + 1).all()
""", {"TORCH_TPU_VIRTUAL": "v6e:2x2", **env})


@both
def test_threads(python, env):
    run(python, """
import threading
def work(i):
    s = torch.tpu.Stream()
    with torch.tpu.stream(s):
        for k in range(20):
            host = torch.full((1 << 12,), float(i * 100 + k)).pin_memory()
            out = (host.to("tpu", non_blocking=True) + 1).to("cpu", non_blocking=True)
            s.synchronize()
            assert (out == i * 100 + k + 1).all()
    done.append(i)
done = []
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert sorted(done) == [0, 1, 2, 3], done
""", env)


@both
def test_pinned_memory_is_given_back(python, env):
    run(python, """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def work(times):
    for _ in range(times):
        x.copy_(torch.ones(1 << 18).pin_memory(), non_blocking=True)
        x.to("cpu", non_blocking=True)
    torch.tpu.synchronize()
x = torch.ones(1 << 18, device="tpu")
work(20)
before = resident()
work(300)                    # 600 MB, if nothing came back
assert resident() - before < 200 << 20, resident() - before
""", env)


@both
def test_copy_on_write_with_transfers(python, env):
    run(python, """
x = torch.arange(1 << 16, dtype=torch.float32, device="tpu")
y = torch._lazy_clone(x)
out = y.to("cpu", non_blocking=True)
x.mul_(0)
y.add_(1)
torch.tpu.synchronize()
base = torch.arange(1 << 16, dtype=torch.float32)
assert out.equal(base) and not x.any() and y.cpu().equal(base + 1)
""", env)
