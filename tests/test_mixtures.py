"""Random programs that mix views, writes, out=, copy on write, autograd and copies, in step with the CPU.

Each action runs on both devices; both raise the same class or none, and every living tensor agrees afterwards: values,
shape, strides, offset, and whether its bytes are shared.
"""

import copy
import io
import pickle
import random

import pytest
import torch


def views(rng, t):
    """A function that makes some view of a tensor shaped like t."""
    choices = [lambda x: x.view(-1), lambda x: x.t() if x.dim() == 2 else x, lambda x: x.unsqueeze(0), lambda x: x.squeeze()]
    if t.dim():
        d = rng.randrange(t.dim())
        size = t.size(d)
        a = rng.randrange(size + 1)
        b = rng.randrange(a, size + 1)
        step = rng.choice([1, 2, 3])
        choices += [
            lambda x: x.narrow(d, a, b - a),
            lambda x: x[(slice(None),) * d + (slice(a, b, step),)],
            lambda x: x.select(d, a),
            lambda x: x.unfold(d, min(2, size), 1),
            lambda x: x.chunk(2, d)[-1],
            lambda x: x.expand(2, *x.shape),
            lambda x: x.flip(d),
            lambda x: x.movedim(d, 0),
        ]
    if t.dim() > 1:
        choices += [lambda x: x.diagonal(), lambda x: x.transpose(0, -1), lambda x: x.reshape(-1), lambda x: x.permute(*reversed(range(x.dim())))]
    choices += [lambda x: x.as_strided((2, 2), (1, 2), x.storage_offset()), lambda x: x.view(torch.int32), lambda x: x.detach()]
    return rng.choice(choices)


def own(x):
    """Growing memory that is shared fails in torch 2.13's CPU on an assertion of its own."""
    x.data_ptr()
    return x


def writes(rng):
    k = rng.randrange(1, 5)
    return rng.choice([
        lambda x, y: x.add_(k),
        lambda x, y: x.mul_(k),
        lambda x, y: x.zero_(),
        lambda x, y: x.copy_(y),
        lambda x, y: x.copy_(y.cpu()),
        lambda x, y: x.add_(y),
        lambda x, y: x.sub_(x.sum()),
        lambda x, y: torch.add(x, y, out=own(x)),
        lambda x, y: torch.neg(y.to(x.dtype), out=own(x)),
        lambda x, y: torch.mul(y, k, out=own(x)),
        lambda x, y: torch.cat([y.clone(), y.clone()], out=own(x)),
        lambda x, y: torch.sum(y.clone(), 0, out=own(x)),
        lambda x, y: x.__setitem__(0, y),
        lambda x, y: x.__setitem__(x > k, k),
        lambda x, y: x.__setitem__((Ellipsis, slice(None, None, 2)), k),
        lambda x, y: x.clamp_(-k, k),
        lambda x, y: x.masked_fill_(x == k, 0),
        lambda x, y: own(x.contiguous()).index_add_(0, torch.zeros(1, dtype=torch.int64, device=x.device), x.narrow(0, 0, 1).clone()),
        lambda x, y: torch._foreach_mul_([x, y], k),
        lambda x, y: own(x).resize_(2, 2) if x.is_contiguous() and x.numel() > 3 else own(x).resize_(0),
        lambda x, y: own(x).resize_(0),
        lambda x, y: x.set_(y),
        lambda x, y: x.t_() if x.dim() == 2 else x.fill_(k),
        lambda x, y: x.unsqueeze_(0),
        lambda x, y: x.untyped_storage().fill_(0),
        lambda x, y: x.data_ptr() and None,
        lambda x, y: x.swapaxes_(0, -1),
    ])


def makes(rng):
    return rng.choice([
        lambda x, y: torch._lazy_clone(x),
        lambda x, y: torch._lazy_clone(x),
        lambda x, y: torch._lazy_clone(x),
        lambda x, y: x.clone(),
        lambda x, y: x + y,
        lambda x, y: x.contiguous(),
        lambda x, y: copy.deepcopy(x),
        lambda x, y: pickle.loads(pickle.dumps(x)),
        lambda x, y: through_save(x),
        lambda x, y: torch.from_dlpack(x.to("cpu", copy=True)).clone().to(x.device),
        lambda x, y: x.to("cpu", copy=True).to(x.device),
        lambda x, y: x.to(torch.float64).to(x.dtype),
        lambda x, y: torch.where(x > 0, x, y),
        lambda x, y: gradient(x, y),
        lambda x, y: torch.func.vmap(lambda v: v * 2)(x),
        lambda x, y: torch.stack([x, x])[1],
        lambda x, y: torch.empty_like(x).copy_(x),
    ])


def through_save(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file).clone()   # torch 2.13 cannot share what the CPU has loaded


def gradient(x, y):
    leaf = x.detach().float().clone().requires_grad_()
    shared = torch._lazy_clone(leaf)
    shared[..., :1].mul_(2)
    ((shared * y.detach().float()).sum() + (leaf * 3).sum()).backward()
    return leaf.grad


def attempt(action):
    try:
        return action(), None
    except NotImplementedError:
        raise
    except Exception as error:
        return None, type(error)


def state(tensors):
    return [(t.shape, t.stride(), t.storage_offset(), t.dtype, torch._C._is_cow_tensor(t)) for t in tensors]


def same_values(cpu, tpu):
    for left, right in zip(cpu, tpu):
        other = right.detach().cpu()
        if not torch.equal(left.detach(), other):
            torch.testing.assert_close(other, left.detach(), equal_nan=True)


@pytest.mark.parametrize("seed", range(11))
def test_in_step(seed):
    rng = random.Random(seed)
    base = [torch.arange(12.0).reshape(3, 4), torch.arange(6.0) - 2, torch.tensor(3.0), torch.ones(2, 3, 2)]
    pools = {"cpu": [t.clone() for t in base], "tpu": [t.tpu() for t in base]}
    log = []
    for step in range(40):
        cpu = pools["cpu"]
        i, j = rng.randrange(len(cpu)), rng.randrange(len(cpu))
        kind = rng.choice("vvwwwm")
        if kind == "v":
            function, two = views(rng, cpu[i]), False
        else:
            function, two = (writes(rng) if kind == "w" else makes(rng)), True
        outcomes = {}
        for device, pool in pools.items():
            outcomes[device] = attempt(lambda: function(pool[i], pool[j]) if two else function(pool[i]))
        log.append((kind, i, j, outcomes["cpu"][1]))
        assert outcomes["cpu"][1] == outcomes["tpu"][1], (log, outcomes)
        if kind != "w" and outcomes["cpu"][1] is None and outcomes["cpu"][0].numel() < 200:
            for device, pool in pools.items():
                if len(pool) < 10:
                    pool.append(outcomes[device][0])
                else:
                    pool[j] = outcomes[device][0]
        assert state(pools["cpu"]) == state(pools["tpu"]), log
        same_values(pools["cpu"], pools["tpu"])
