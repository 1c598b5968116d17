"""Growing dimensions on a plugin with slow compiles (XLA:CPU): rounded up, few compiles, the same results."""

import pathlib
import subprocess
import sys

import pytest

import foreign
import growing

FOREIGN = foreign.plugin()
pytestmark = pytest.mark.skipif(FOREIGN is None, reason="package lammps-jax-pjrt-cpu is not installed")
PROGRAM = str(pathlib.Path(growing.__file__))
# One of each rule of src/ir/padding.def, and what a language model needs; the others are slow tests.
SHORT = ["add", "sum", "mean", "argmax", "any", "softmax", "layer_norm_growing", "cumsum", "cumsum_backward", "matmul_contracted",
         "bmm", "sdpa_causal", "unflatten_batch", "heads", "last", "all_but_first", "cat", "flip", "pad", "tril", "embedding",
         "index_put", "gather", "sort", "conv1d", "avg_pool2d", "solve_triangular", "grad_conv1d_weight", "arange", "tail_", "out", "grad_softmax"]


def environment(**more):
    # poison: padding holds NaN and the like
    return {"TORCH_TPU_PLUGIN": FOREIGN or "", "TORCH_TPU_ROUNDING": "2", "TT_FOREIGN": None, **more}


def program(*arguments, timeout=1500):
    import os

    env = {k: v for k, v in {**os.environ, **environment()}.items() if v is not None}
    done = subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, timeout=timeout, env=env)
    assert done.returncode == 0, done.stdout + done.stderr


def run(python, code, **env):
    done = python("import torch\nfrom torch_tpu_c import _core\nplans = lambda: torch.tpu.compile_stats()['plans']\n" + code +
                  "\nprint('fine')", timeout=600, **environment(**env))
    assert done.returncode == 0 and done.stdout.endswith("fine\n"), done.stdout + done.stderr


def test_rules():
    program("rules", *SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_other_rules(part):
    program("rules", *[name for name in growing.RULES if name not in SHORT][part::4])


def test_decode_from_1_to_512():
    program("decode", "step", "512")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fused", "masked", "whole", "llama"])
def test_other_decodes(kind):
    program("decode", kind, "512")


GROW = """
def grow(n, width=4):   # a cache of n rows, made row by row: its buffer is padded
    rows = torch.arange(n * width, dtype=torch.float32).view(n, width)
    cache = rows[:1].to("tpu")
    for i in range(1, n):
        cache = torch.cat([cache, rows[i : i + 1].to("tpu")])
    return cache, rows
"""


def test_what_leaves_the_device_is_exact(python):
    run(python, GROW + """
import copy, io, pickle
x, rows = grow(11)
assert x.shape == (11, 4) and x.stride() == (4, 1) and x.untyped_storage().nbytes() == 11 * 16
assert x.cpu().equal(rows) and x.tolist() == rows.tolist() and x[3:, 1].cpu().equal(rows[3:, 1])
assert x.t().cpu().equal(rows.t()) and x[-1, 2].item() == rows[-1, 2] and repr(x).startswith("tensor([[ 0.")
assert x.view(torch.int32).cpu().equal(rows.view(torch.int32))
assert bytes(x.untyped_storage().cpu()) == bytes(rows.untyped_storage())
file = io.BytesIO(); torch.save(x, file); file.seek(0)
assert torch.load(file, map_location="cpu").equal(rows)
file.seek(0)
assert torch.load(file).cpu().equal(rows)
assert copy.deepcopy(x).cpu().equal(rows) and pickle.loads(pickle.dumps(x)).cpu().equal(rows)
assert torch.from_dlpack(x.cpu()).equal(rows) and x.clone().cpu().equal(rows)
assert x.to(torch.float16).cpu().equal(rows.half()) and x.double().sum().item() == rows.sum()
y = torch.empty(11, 4, device="tpu"); y.copy_(x)
assert y.cpu().equal(rows)
y.untyped_storage().copy_(x.untyped_storage())
assert y.cpu().equal(rows)
x.resize_(12, 4); assert x[:11].cpu().equal(rows)
f = torch.compile(lambda a: (a * 2).sum(0), backend="tpu")
z, rows = grow(13)
assert f(z).cpu().equal((rows * 2).sum(0)) and z.cpu().equal(rows)
""")


def test_written_in_place(python):
    run(python, GROW + """
x, rows = grow(11)
a, b = x, rows.clone()
view = x[2:9, 1:3]
for t in (a, b):
    t.add_(1); t[3] = 7; t[-1, 1:] = 5; t[:, 0].mul_(2); t[::2] -= 1; t.t()[1:3].zero_(); t.clamp_(max=30)
assert a.cpu().equal(b) and view.cpu().equal(b[2:9, 1:3])
out = torch.empty(11, 4, device="tpu"); torch.mul(a, a, out=out); assert out.cpu().equal(b * b)
out = torch.empty(3, device="tpu"); torch.mul(a, a, out=out); assert out.cpu().equal(b * b)
c = a.clone(); c.add_(a); assert c.cpu().equal(b + b) and a.cpu().equal(b)
d = torch._lazy_clone(a); d.add_(1); assert d.cpu().equal(b + 1) and a.cpu().equal(b)
w = a.clone().requires_grad_(); v = b.clone().requires_grad_()
for t in (w, v):
    ((t * t)[1:].softmax(0).cumsum(1).sum() + t.mean()).backward()
torch.testing.assert_close(w.grad.cpu(), v.grad)
torch.optim.SGD([w], 0.1).step(); torch.optim.SGD([v], 0.1).step()
torch.testing.assert_close(w.detach().cpu(), v.detach())
""")


def test_random_words_are_those_of_exact_sizes(python):
    run(python, """
def draw():
    out = []
    for n in range(1, 14):
        torch.manual_seed(n)
        out += [torch.rand(n, device="tpu").cpu(), torch.randn(3, n, device="tpu").cpu(), torch.rand(n, 5, device="tpu").cpu(),
                torch.nn.functional.dropout(torch.ones(n, 4, device="tpu")).cpu(), torch.randperm(n, device="tpu").cpu()]
    return out
rounded = draw()
with torch.tpu.rounding(False):
    _core.core().tt_compile_cache_clear()
    exact = draw()
assert all(a.equal(b) for a, b in zip(rounded, exact))
""")


def test_one_compile_for_any_length(python):
    """Prompts of any length: known to grow at the third, then a compile for each power of two."""
    run(python, """
w = torch.randn(16, 8)
tw = w.to("tpu")
lengths = [17, 93, 40, 120, 64, 33, 77, 110, 50, 127, 35]
made = []
for n in lengths:
    ids = torch.randint(0, 16, (2, n), generator=torch.Generator().manual_seed(n))
    x, y = torch.nn.functional.embedding(ids.to("tpu"), tw), torch.nn.functional.embedding(ids, w)
    before = plans()
    got = (x.softmax(1) @ tw.t()).amax(1).cpu()
    torch.testing.assert_close(got, (y.softmax(1) @ w.t()).amax(1))
    made.append(plans() - before)
assert sum(made[5:]) == 0, made
""")


def test_reasons_and_settings(python):
    run(python, GROW + """
grow(12)
stats = torch.tpu.compile_stats()
assert stats["rounded"] > 8 and stats["plans"] < stats["misses"], stats
assert "(growing sizes rounded up)" in torch.tpu.compile_reasons()[0], torch.tpu.compile_reasons()[0]
with torch.tpu.forbid_recompiles():   # a length of its own, a program that is there
    grow(16)
with torch.tpu.forbid_recompiles():
    try:
        grow(17)
        raise SystemExit("17 rows fit no program")
    except RuntimeError as error:
        assert "cat" in str(error) and "forbidden" in str(error), error
before = plans()
with torch.tpu.rounding(False):
    for n in range(40, 45):
        (torch.zeros(n, 3, device="tpu") + 1).cpu()
assert plans() - before >= 10, plans() - before
""")


def test_several_devices(python):
    run(python, GROW + """
if torch.tpu.device_count() > 1:
    x, rows = grow(11)
    y = x.to("tpu:1")
    assert y.cpu().equal(rows) and (y * 2).cpu().equal(rows * 2) and x[2:].to("tpu:1").cpu().equal(rows[2:])
    z = torch.empty(11, 4, device="tpu:1").copy_(x)
    assert z.cpu().equal(rows)
""", XLA_FLAGS="--xla_force_host_platform_device_count=2")


def test_never_on_vtpu(python):
    run(python, GROW + """
x, rows = grow(20)
x.add_(1).softmax(0).cpu()
assert torch.tpu.compile_stats()["rounded"] == 0
""", TORCH_TPU_PLUGIN="vtpu")
