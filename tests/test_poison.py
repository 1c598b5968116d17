"""A program that fails while it runs behind our back, through XLA:CPU: what it wrote gives its error until a whole overwrite (D3).

The failure is real: a product whose operand takes more bytes than an address space has. test_fake_plugin.py has the
failures that only a plugin in front of vtpu can give.
"""

import foreign
import pytest

PROGRAM = """
import torch

wide = 1 << 44
x = torch.full((8, 8), 1.0, device=device)
view, other = x[1:3], torch.full((8, 8), 5.0, device=device)

def fail():
    torch.mm(other[:, :1].expand(8, wide), other[:1].expand(wide, 8), out=x)

def error(call):
    try:
        call()
    except torch.OutOfMemoryError as caught:
        return str(caught)
    except RuntimeError as caught:
        assert type(caught) is RuntimeError, caught
        return str(caught)
    return None

def poisoned():
    texts = [error(lambda: x.cpu()) for _ in range(2)]
    assert texts[0] == texts[1] and texts[0], texts
    assert "Out of memory allocating" in texts[0] and "aten::mm.out" in texts[0], texts
    for read in (lambda: view.cpu(), lambda: x.sum().item(), lambda: (x + other).cpu(), lambda: x[3, 4].item(), lambda: x.to(other.dtype).cpu()):
        text = error(read)
        assert text and "Out of memory allocating" in text, text

heals = {
    "fill_": lambda: x.fill_(2.0),
    "zero_": lambda: x.zero_(),
    "copy_ from the device": lambda: x.copy_(other),
    "copy_ from the host": lambda: x.copy_(torch.arange(64.0).view(8, 8)),
    "copy_ of another dtype": lambda: x.copy_(other.long()),
    "out=": lambda: torch.add(other, 1, out=x),
    "random": lambda: x.uniform_(3, 4),
    "a transposed view": lambda: x.t().fill_(7.0),
    ".data": lambda: x.data.copy_(other + 2),
}
"""

LATE = PROGRAM + """
for name, heal in heals.items():
    assert error(fail) is None, "the failure was to come late"
    poisoned()
    x[0] = 1.0                                   # a part heals nothing
    assert error(lambda: x.cpu()), name
    x.add_(1)                                    # nor does what reads the old value
    assert error(lambda: x.cpu()), name
    heal()
    healed = x.cpu()
    twin = torch.full((8, 8), 1.0)
    if name == "random":
        assert ((healed >= 3) & (healed < 4)).all()
    else:
        there, x = x, twin
        at, other = other, torch.full((8, 8), 5.0)
        heal()
        assert torch.equal(healed, twin), (name, healed)
        x, other = there, at
    assert torch.equal(view.cpu(), healed[1:3]) and torch.equal(other.cpu(), torch.full((8, 8), 5.0))
text = error(torch.tpu.synchronize)              # a wait for everything tells of them once
assert text and "Out of memory allocating" in text, text
torch.tpu.synchronize()
print("done")
"""

DEBUG = PROGRAM + """
with torch.tpu.eager_mode("debug"):
    text = error(fail)
    assert text and "Out of memory allocating" in text and "aten::mm.out" in text, text
assert torch.equal(x.cpu(), torch.full((8, 8), 1.0))   # not donated: nothing is lost
print("done")
"""


def run(python, code, device, **environment):
    path = foreign.plugin()
    if path is None:
        pytest.skip("the wheel lammps-jax-pjrt-cpu is not installed")
    done = python(f"device = {device!r}\n" + code, TORCH_TPU_PLUGIN=path, **environment)
    assert done.returncode == 0 and done.stdout.split()[-1:] == ["done"], done.stdout[-500:] + done.stderr[-2000:]


@pytest.mark.parametrize("device", ["tpu", "tpu:3"])
@pytest.mark.parametrize("safe", ["0", "1"])
def test_until_a_whole_overwrite(python, device, safe):
    run(python, LATE, device, TORCH_TPU_SAFE_INPLACE=safe)


def test_debug_mode_without_donation_loses_nothing(python):
    run(python, DEBUG, "tpu:1", TORCH_TPU_SAFE_INPLACE="1")
