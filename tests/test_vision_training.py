"""A CNN learns Fashion-MNIST on tpu."""
import copy

import pytest
import torch
from torch import nn

import pretrained
from observe import native_only


def cnn():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))


def train(model, images, labels, batch=64):
    """One pass; the losses, read back once at the end."""
    device = next(model.parameters()).device
    images, labels = images.to(device), labels.to(device)
    parts = torch.arange(len(images), device=device).split(batch)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, total_iters=len(parts))
    model.train()
    losses = []
    for part in parts:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[part]), labels[part])
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu()


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    right = [(model(x).argmax(1) == y).sum() for x, y in zip(images.to("tpu").split(500), labels.to("tpu").split(500))]
    return torch.stack(right).sum().item() / len(labels)


def test_first_steps_follow_cpu():
    images, labels = pretrained.fashion_mnist("train")
    images, labels = images[:640], labels[:640]
    cpu = cnn()
    cpu[11].p = 0.0   # two devices draw different dropout masks
    tpu = copy.deepcopy(cpu).to("tpu")
    with pretrained.one_thread():
        expected = train(cpu, images, labels)
    with native_only():
        actual = train(tpu, images, labels)
    torch.testing.assert_close(actual, expected, rtol=1e-2, atol=1e-3)
    assert actual[-1] < actual[0]


@pytest.mark.slow
def test_one_pass_reaches_88_percent():
    images, labels = pretrained.fashion_mnist("train")
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    images, labels = images[order], labels[order]
    model = cnn().to("tpu")
    with native_only():
        losses = train(model, images, labels)
    assert torch.isfinite(losses).all()
    found = accuracy(model, *pretrained.fashion_mnist("t10k"))
    print(f"test accuracy {found * 100:.2f} %")
    assert found >= 0.88
