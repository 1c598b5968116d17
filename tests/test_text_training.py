"""A byte-level GPT learns the King James text on tpu, step by step beside CPU PyTorch."""
import copy

import pytest
import torch

import models
import pretrained
from observe import native_only, transfers

LENGTH, BATCH = 64, 16


def batches(steps):
    text = torch.frombuffer(bytearray(pretrained.king_james()), dtype=torch.uint8)
    generator = torch.Generator().manual_seed(3)
    starts = torch.randint(0, len(text) - LENGTH - 1, (steps, BATCH), generator=generator)
    return text[starts.unsqueeze(-1) + torch.arange(LENGTH + 1)].long()


def train(model, data, device):
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for ids in data:
        ids = ids.to(device)
        loss = torch.nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("steps", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_each_loss_follows_cpu(steps):
    torch.manual_seed(0)
    cpu = models.GPT(length=LENGTH)
    tpu = copy.deepcopy(cpu)
    data = list(batches(steps))
    with pretrained.one_thread():
        expected = train(cpu, data, "cpu")
    with native_only(), transfers() as moved:
        actual = train(tpu, data, "tpu")
    for step, (a, e) in enumerate(zip(actual, expected)):
        assert abs(a - e) <= 0.01 * e, f"step {step}: {a} on tpu, {e} on the CPU"
    assert actual[-1] < 0.8 * actual[0]
    # The weights and each batch went up, each loss came down.
    assert moved["bytes_to_device"] == sum(p.numel() * 4 for p in tpu.parameters()) + sum(ids.numel() * 8 for ids in data)
    assert moved["bytes_to_host"] == 4 * steps
