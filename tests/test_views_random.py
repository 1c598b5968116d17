"""Random chains of views, read and written through, against the CPU; each seed is a test."""

import random

import pytest
import torch


def step(rng, t):
    """One random view of t, as a function of a tensor, so that both devices take the same."""
    kinds = ["slice", "select", "transpose", "unsqueeze", "squeeze", "expand", "narrow", "diagonal", "unfold", "reshape",
             "flatten", "view", "permute", "stride"]
    kind = rng.choice(kinds)
    rank = t.dim()
    dim = rng.randrange(rank) if rank else 0
    if kind == "slice" and rank and t.shape[dim] > 1:
        start, step_ = rng.randrange(t.shape[dim]), rng.choice([1, 1, 2, 3])
        index = [slice(None)] * rank
        index[dim] = slice(start, None, step_)
        return lambda x: x[tuple(index)]
    if kind == "select" and rank > 1:
        at = rng.randrange(-t.shape[dim], t.shape[dim]) if t.shape[dim] else None
        return None if at is None else lambda x: x.select(dim, at)
    if kind == "transpose" and rank > 1:
        other = rng.randrange(rank)
        return lambda x: x.transpose(dim, other)
    if kind == "unsqueeze" and rank < 5:
        return lambda x: x.unsqueeze(dim)
    if kind == "squeeze":
        return lambda x: x.squeeze()
    if kind == "expand" and rank and t.shape[dim] == 1:
        sizes = [-1] * rank
        sizes[dim] = 3
        return lambda x: x.expand(*sizes)
    if kind == "narrow" and rank and t.shape[dim] > 2:
        start = rng.randrange(t.shape[dim] - 1)
        length = rng.randrange(1, t.shape[dim] - start + 1)
        return lambda x: x.narrow(dim, start, length)
    if kind == "diagonal" and rank > 1:
        offset = rng.choice([0, 1, -1])
        return lambda x: x.diagonal(offset, 0, rank - 1)
    if kind == "unfold" and rank and rank < 5 and t.shape[dim] >= 2:
        return lambda x: x.unfold(dim, 2, rng_step)
    if kind == "permute" and rank > 1:
        order = rng.sample(range(rank), rank)
        return lambda x: x.permute(*order)
    if kind == "reshape" and t.is_contiguous() and t.numel() % 2 == 0 and t.numel():
        return lambda x: x.view(2, -1)
    if kind == "stride" and rank == 1 and t.shape[0] > 3:
        n = t.shape[0]
        return lambda x: x.as_strided((n // 2,), (2 * x.stride(0),), x.storage_offset())
    return None


rng_step = 1


def chain(rng, base):
    functions = []
    view = base
    for _ in range(rng.randrange(1, 6)):
        function = step(rng, view)
        if function is None:
            continue
        functions.append(function)
        view = function(view)
    return functions


def apply(functions, t):
    for function in functions:
        t = function(t)
    return t


READS = [
    lambda t: t.clone(), lambda t: t + 1, lambda t: t.sum(), lambda t: t.contiguous(), lambda t: t * t.flip(0) if t.dim() else t,
    lambda t: t.sum(-1) if t.dim() else t, lambda t: t.cumsum(0) if t.dim() else t, lambda t: t.reshape(-1),
    lambda t: torch.cat([t, t]) if t.dim() else t, lambda t: t.sort(0)[0] if t.dim() else t, lambda t: (t > 3).nonzero(),
    lambda t: t.argmax() if t.numel() else t, lambda t: torch.where(t > 2, t, -t), lambda t: t.to(torch.int32),
]


def writes(rng):
    number = rng.randrange(-5, 6)
    return rng.choice([
        lambda t: t.fill_(number), lambda t: t.add_(number), lambda t: t.mul_(2), lambda t: t.zero_(),
        lambda t: t.copy_(torch.arange(t.numel(), dtype=t.dtype, device=t.device).reshape(t.shape)),
        lambda t: t.copy_(torch.arange(t.numel(), device=t.device).reshape(t.shape)),
        lambda t: t.clamp_(0, 5), lambda t: t.masked_fill_(t > 3, number),
        lambda t: t.index_fill_(0, torch.tensor([0], device=t.device), number) if t.dim() and t.shape[0] else t,
        lambda t: t.__setitem__(0, number) if t.dim() and t.shape[0] else t,
        lambda t: t.__setitem__(t > 2, number), lambda t: t.neg_(), lambda t: t.sub_(t.clone()),
        lambda t: t.scatter_(0, torch.zeros_like(t, dtype=torch.int64), float(number)) if t.dim() and t.shape[0] else t,
        lambda t: t.cumsum_(0) if t.dim() else t, lambda t: t.relu_() if t.dtype.is_floating_point else t.abs_(),
    ])


@pytest.mark.parametrize("block", range(10))
def test_chains(block):
    for seed in range(block * 30, block * 30 + 30):
        rng = random.Random(seed)
        shape = rng.choice([(4, 6), (2, 3, 4), (24,), (3, 4, 2, 2), (5, 5), (1, 7), (6, 1, 4)])
        dtype = rng.choice([torch.float32, torch.int64, torch.float32, torch.uint8, torch.bfloat16, torch.float64])
        cpu = torch.arange(24 if shape in [(4, 6), (2, 3, 4), (24,)] else torch.Size(shape).numel()).reshape(shape).to(dtype)
        tpu = cpu.to("tpu")
        for _ in range(rng.randrange(1, 5)):
            functions = chain(rng, cpu)
            a, b = apply(functions, cpu), apply(functions, tpu)
            assert a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset(), seed
            read = rng.choice(READS)
            try:
                expected = read(a)
            except Exception as error:
                with pytest.raises(type(error)):
                    read(b)
            else:
                torch.testing.assert_close(read(b).cpu(), expected, msg=lambda m: f"seed {seed}, read: {m}")
            write = writes(rng)
            places = apply(functions, torch.arange(cpu.numel()).reshape(cpu.shape))
            if places.unique().numel() != places.numel():
                continue   # elements in one place: what a write gives there is not defined
            try:
                write(a)
            except Exception as error:
                with pytest.raises(type(error)):
                    write(b)
                cpu, tpu = cpu.clone(), cpu.clone().to("tpu")
            else:
                write(b)
            torch.testing.assert_close(tpu.cpu(), cpu, msg=lambda m: f"seed {seed}, write: {m}")
