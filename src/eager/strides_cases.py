"""Writes strides_cases.inc: strides that CPU PyTorch gives the results of pointwise ops.

Run from the repository root: .venv/bin/python src/eager/strides_cases.py > src/eager/strides_cases.inc
Each line: S(rank, {sizes}, inputs, {{rank, {sizes}, {strides}}, ...}, {expected strides}).
"""
import random

import torch

random.seed(7)


def make(shape):
    """A tensor of `shape` with a random layout: permuted, expanded, sliced, channels-last, broadcast."""
    shape = list(shape)
    kind = random.choice(["dense", "permuted", "expanded", "sliced", "channels", "sized1", "lower"])
    if kind == "lower" and len(shape) > 1:
        return torch.zeros(shape[random.randrange(1, len(shape)):])
    if kind == "sized1":
        shape = [1 if random.random() < 0.4 else s for s in shape]
    if kind == "channels" and len(shape) == 4:
        return torch.zeros(shape).contiguous(memory_format=torch.channels_last)
    if kind == "expanded":
        small = [1 if random.random() < 0.5 else s for s in shape]
        return torch.zeros(small).expand(shape)
    order = list(range(len(shape)))
    if kind != "dense":
        random.shuffle(order)
    if kind == "sliced":
        big = torch.zeros([shape[i] * 2 + 1 for i in order])
        for d, i in enumerate(order):
            big = big.narrow(d, random.randrange(2), shape[i] * 2)[(slice(None),) * d + (slice(None, None, 2),)]
    else:
        big = torch.zeros([shape[i] for i in order])
    inverse = [order.index(i) for i in range(len(shape))]
    return big.permute(inverse)


def braces(values):
    return "{" + ", ".join(str(v) for v in values) + "}"


seen = set()
while len(seen) < 400:
    rank = random.randrange(1, 6)
    shape = [random.choice([1, 2, 3, 4]) for _ in range(rank)]
    count = random.choice([1, 2, 2, 3])
    inputs = [make(shape) for _ in range(count)]
    if count == 1:
        result = torch.relu(inputs[0])
    elif count == 2:
        result = torch.add(inputs[0], inputs[1])
    else:
        result = torch.addcmul(inputs[0], inputs[1], inputs[2])
    ins = ", ".join("{%d, %s, %s}" % (t.dim(), braces(t.shape), braces(t.stride())) for t in inputs)
    line = "S(%d, (%s), %d, (%s), (%s))" % (result.dim(), ", ".join(map(str, result.shape)), count, ins, ", ".join(map(str, result.stride())))
    if line not in seen and result.dim() > 0:
        seen.add(line)
        print(line)
