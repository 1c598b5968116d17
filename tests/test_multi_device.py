"""Several devices in one process: placement, copies, guards, errors, autograd, random states, memory.

The programs run in one fresh interpreter with the four devices of a virtual v6e:2x2 slice."""

import json
import os
import subprocess
import sys

import pytest

PROGRAMS = {
    "placement": """
assert torch.tpu.device_count() == 4 and torch.accelerator.device_count() == 4
for i in range(4):
    t = torch.arange(4.0, device=f"tpu:{i}")
    assert t.device == torch.device("tpu", i) and t.get_device() == i
    assert (t * 2 + 1).device.index == i and t[1:].device.index == i and t.sum().item() == 6
    assert torch.zeros_like(t).device.index == i and t.new_ones(2).device.index == i
    assert repr(t).endswith(f"device='tpu:{i}')")
names = {torch.tpu.get_device_properties(i).name for i in range(4)}
assert len(names) == 1 and torch.tpu.get_device_name(3) in names
assert len(torch.tpu.get_local_device_attributes()) == 4
""",
    "copies": """
x = torch.randn(6, 7)
t = x.to("tpu:1")
for i in range(4):
    for j in range(4):
        a = x.to(f"tpu:{i}")
        b = a.to(f"tpu:{j}")
        assert b.device.index == j and b.cpu().equal(x)
        c = torch.empty(7, 6, device=f"tpu:{j}").t()
        c.copy_(a)                       # strided target
        assert c.cpu().equal(x)
        d = torch.zeros(3, 7, dtype=torch.float64, device=f"tpu:{j}")
        d.copy_(a[::2], non_blocking=True)   # strided source, another dtype
        assert d.cpu().equal(x[::2].double())
        if i != j:
            b.add_(1)
            assert a.cpu().equal(x)      # no sharing
        else:
            assert b is a
assert t.to("tpu").device.index == 0     # no index: the current device, as on CUDA
assert t.tpu(3).device.index == 3 and t.to(2).device.index == 2
""",
    "guards": """
assert torch.tpu.current_device() == 0
with torch.tpu.device(2):
    assert torch.tpu.current_device() == 2 and torch.ones(1, device="tpu").device.index == 2
    with torch.tpu.device("tpu:1"):
        assert torch.ones(1).tpu().device.index == 1
    assert torch.tpu.current_device() == 2
    t = torch.ones(3, device="tpu:3")
    assert (t + t).device.index == 3 and torch.tpu.current_device() == 2
assert torch.tpu.current_device() == 0
with torch.tpu.device_of(t):
    assert torch.tpu.current_device() == 3
with torch.device("tpu:2"):
    assert torch.ones(1).device.index == 2 and torch.nn.Linear(1, 1).weight.device.index == 2
torch.tpu.set_device("tpu:3")
assert torch.ones(1, device="tpu").device.index == 3 and torch.accelerator.current_device_index() == 3
seen = []
thread = threading.Thread(target=lambda: seen.append(torch.tpu.current_device()))
thread.start(); thread.join()
assert seen == [0], seen
try:
    with torch.tpu.device(1):
        raise KeyError
except KeyError:
    pass
assert torch.tpu.current_device() == 3
torch.accelerator.set_device_index(1)
assert torch.tpu.current_device() == 1
""",
    "errors": """
a, b = torch.ones(3, device="tpu:1"), torch.ones(3, device="tpu:2")
for mix in (lambda: a + b, lambda: a.add_(b), lambda: torch.mm(a[None], b[:, None]),
            lambda: torch.cat([a, b]), lambda: torch.where(a > 0, a, b),
            lambda: torch.add(a, a, out=b),
            lambda: a.index_select(0, torch.tensor([0], device="tpu:2")), lambda: torch.stack([a, b]),
            lambda: torch.nn.functional.linear(a, torch.ones(2, 3, device="tpu:2")),
            lambda: torch.addmm(b[None], a[None], b[:, None]),
            lambda: torch.nn.functional.layer_norm(a, (3,), b), lambda: a.masked_fill_(b > 0, 1),
            lambda: torch._foreach_add([a], [b]),
            lambda: a.addcmul(b, b), lambda: torch.dot(a, b),
            lambda: torch.nn.functional.embedding(torch.tensor([0], device="tpu:1"), b[None])):
    try:
        mix()
    except RuntimeError as error:
        text = str(error)
        assert "same device" in text and "tpu:1" in text and "tpu:2" in text, text
    else:
        raise SystemExit("no error")
assert a.cpu().tolist() == [1, 1, 1] == b.cpu().tolist()
for make in (lambda: torch.ones(1, device="tpu:7"), lambda: torch.ones(1).to("tpu:7"),
            lambda: torch.tpu.set_device(7), lambda: a.to("tpu:7"),
             lambda: torch.Generator("tpu:7"), lambda: torch.tpu.get_device_properties(7),
            lambda: torch.tpu.synchronize(7),
             lambda: torch.tpu.memory_allocated(7), lambda: torch.tpu.device(7).__enter__(),
            lambda: torch.nn.Linear(1, 1).to("tpu:7"),
             lambda: torch.tpu.Stream(7), lambda: torch.tpu.get_rng_state(7), lambda: torch.ones(1).tpu(7)):
    try:
        make()
    except (RuntimeError, IndexError, ValueError) as error:
        assert "7" in str(error) and "4" in str(error), str(error)
    else:
        raise SystemExit("no error")
assert torch.tpu.current_device() == 0
assert (a + torch.tensor(1.0)).device.index == 1     # a 0-dim CPU tensor is a number
""",
    "autograd": """
torch.manual_seed(0)
layers = [torch.nn.Linear(5, 5) for _ in range(4)]
x = torch.randn(3, 5)
h = x
for layer in layers:
    h = layer(h).tanh()
h.pow(2).sum().backward()
expected = [layer.weight.grad.clone() for layer in layers]
for i, layer in enumerate(layers):
    layer.zero_grad(); layer.to(f"tpu:{i}")
h = x.to("tpu:0")
for i, layer in enumerate(layers):
    h = layer(h.to(f"tpu:{i}")).tanh()
h.pow(2).sum().backward()
for i, (layer, grad) in enumerate(zip(layers, expected)):
    assert layer.weight.grad.device.index == i
    torch.testing.assert_close(layer.weight.grad.cpu(), grad)
# one leaf used on three devices
w = torch.ones(3, device="tpu:2", requires_grad=True)
loss = sum((w.to(f"tpu:{i}") * (i + 1)).sum().to("tpu:0") for i in range(3))
loss.backward()
assert w.grad.device.index == 2 and w.grad.cpu().tolist() == [6, 6, 6]
# loss on the CPU
w.grad = None
(w.cpu() * torch.arange(3.0)).sum().backward()
assert w.grad.device.index == 2 and w.grad.cpu().tolist() == [0, 1, 2]
optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=0.1)
optimizer.step()
assert all(state["exp_avg"].device == p.device for p, state in optimizer.state.items())
total = torch.nn.utils.clip_grad_norm_([p for layer in layers for p in layer.parameters()], 1.0)
assert total.item() > 0
""",
    "random": """
torch.manual_seed(5)
draws = [torch.rand(4, device=f"tpu:{i}").cpu() for i in range(4)]
assert all(d.equal(draws[0]) for d in draws)          # one seed for all devices
states = torch.tpu.get_rng_state_all()
assert len(states) == 4
more = torch.rand(4, device="tpu:2").cpu()
assert not more.equal(draws[2])
assert torch.tpu.get_rng_state(2).equal(states[2]) is False and torch.tpu.get_rng_state(1).equal(states[1])
torch.tpu.set_rng_state_all(states)
assert torch.rand(4, device="tpu:2").cpu().equal(more)
with torch.random.fork_rng(devices=[1, 3], device_type="tpu"):
    a = torch.rand(3, device="tpu:1").cpu()
assert torch.rand(3, device="tpu:1").cpu().equal(a)
with torch.tpu.device(3):
    torch.tpu.manual_seed(9)
g = torch.Generator("tpu:1").manual_seed(9)
assert torch.rand(3, device="tpu:3").cpu().equal(torch.rand(3, device="tpu:1", generator=g).cpu())
try:
    torch.rand(3, device="tpu:2", generator=g)
except RuntimeError as error:
    assert "tpu:1" in str(error) and "tpu:2" in str(error), error
else:
    raise SystemExit("no error")
""",
    "memory": """
before = [torch.tpu.memory_allocated(i) for i in range(4)]
t = torch.ones(1 << 20, device="tpu:2")
after = [torch.tpu.memory_allocated(i) for i in range(4)]
assert after[2] - before[2] >= 4 << 20 and [after[i] for i in (0, 1, 3)] == [before[i] for i in (0, 1, 3)], (before, after)
u = t.to("tpu:3")
assert torch.tpu.memory_allocated(3) - before[3] >= 4 << 20
del t
assert torch.tpu.memory_allocated(2) == before[2]
assert torch.tpu.max_memory_allocated(2) >= 4 << 20
torch.tpu.reset_peak_memory_stats(2)
assert torch.tpu.max_memory_allocated(2) < 4 << 20
torch.tpu.empty_cache()
free, total = torch.tpu.mem_get_info(1)
assert 0 < free <= total
""",
    "streams": """
x = torch.ones(64, 64, device="tpu:1")
s = torch.tpu.Stream("tpu:1")
assert s.device.index == 1
with torch.tpu.stream(s):
    assert torch.tpu.current_device() == 1
    y = x @ x
    event = s.record_event()
torch.tpu.current_stream(0).wait_event(event)
z = y.to("tpu:0")
event.synchronize()
assert z.sum().item() == 64 ** 3 and torch.tpu.current_device() == 0
for i in range(4):
    torch.tpu.synchronize(i)
assert torch.tpu.default_stream(2).device.index == 2
""",
    "threads": """
errors = []
def work(i):
    try:
        torch.tpu.set_device(i)
        x = torch.full((16, 16), float(i + 1), device="tpu", requires_grad=True)
        for _ in range(20):
            (x @ x).sum().backward()
        assert x.grad.device.index == i and x.grad.cpu().eq(20 * 2 * 16 * (i + 1)).all()
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join(60)
assert not errors, errors
""",
    "serialization": """
import copy, io
t = {"a": torch.arange(3.0, device="tpu:2"), "b": torch.ones(2, device="tpu:1")}
file = io.BytesIO(); torch.save(t, file)
file.seek(0); back = torch.load(file)
assert back["a"].device.index == 2 and back["b"].device.index == 1 and back["a"].cpu().tolist() == [0, 1, 2]
file.seek(0); assert torch.load(file, map_location="tpu:3")["a"].device.index == 3
file.seek(0); assert torch.load(file, map_location={"tpu:2": "tpu:0"})["a"].device.index == 0
file.seek(0); assert torch.load(file, map_location="cpu")["b"].device.type == "cpu"
assert copy.deepcopy(t["a"]).device.index == 2
m = torch.nn.Linear(2, 2).to("tpu:3")
m.load_state_dict({k: v.cpu() for k, v in m.state_dict().items()})
assert m.weight.device.index == 3
""",
    "data parallel by hand": """
torch.manual_seed(1)
model = torch.nn.Linear(4, 2)
x, y = torch.randn(8, 4), torch.randn(8, 2)
torch.nn.functional.mse_loss(model(x), y).backward()
import copy
replicas = [copy.deepcopy(model).to(f"tpu:{i}") for i in range(4)]
for i, replica in enumerate(replicas):
    replica.zero_grad()
    torch.nn.functional.mse_loss(replica(x[2 * i:2 * i + 2].to(f"tpu:{i}")), y[2 * i:2 * i + 2].to(f"tpu:{i}")).backward()
mean = sum(r.weight.grad.to("tpu:0") for r in replicas) / 4
torch.testing.assert_close(mean.cpu(), model.weight.grad)
""",
}


RUNNER = """
import io, json, sys, threading, traceback, torch
programs, failures = json.load(sys.stdin), {}
for name, text in programs.items():
    try:
        exec(compile(text, name, "exec"), {"torch": torch, "threading": threading})
    except BaseException:
        failures[name] = traceback.format_exc()
    torch.tpu.set_device(0)
print("FAILURES", json.dumps(failures))
"""


@pytest.fixture(scope="module")
def failures():
    environment = dict(os.environ, TORCH_TPU_VIRTUAL="v6e:2x2")
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(PROGRAMS),
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0 and "FAILURES" in done.stdout, (
        done.returncode,
        done.stdout[-500:],
        done.stderr[-3000:],
    )
    return json.loads(done.stdout.split("FAILURES ")[1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, failures):
    assert name not in failures, failures[name]


def test_one_device_has_no_seventh():
    import torch

    with pytest.raises((RuntimeError, IndexError), match="7.*1 "):
        torch.ones(1, device="tpu:7")


@pytest.mark.parametrize("text", ["v9z:1", "v6e:0x2"])
def test_bad_topology_is_a_clear_error(text, python):
    done = python(
        "import torch\ntry:\n  torch.ones(1, device='tpu')\nexcept RuntimeError as e:\n  print('E', e)\nprint(torch.ones(2).sum())",
        TORCH_TPU_VIRTUAL=text,
    )
    assert (
        done.returncode == 0
        and done.stdout.startswith("E")
        and text in done.stdout
        and "tensor(2.)" in done.stdout
    ), (done.stdout, done.stderr[-500:])
