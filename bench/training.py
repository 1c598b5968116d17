"""Training steps (forward, backward, optimizer) against CPU eager, alternating in one process."""
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import models
from timing import pair, row


def step_of(model, x, y, optimizer):
    def step():
        optimizer.zero_grad()
        out = model(x)
        F.cross_entropy(out.flatten(0, -2), y.flatten()).backward()
        optimizer.step()
    return step


def mlp(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    return step_of(model, torch.randn(128, 784).to(device), torch.randint(0, 10, (128,)).to(device), torch.optim.SGD(model.parameters(), lr=0.01))


def gpt(device):
    torch.manual_seed(0)
    model = models.GPT(vocab=256, dim=384, layers=4, heads=6, length=256).to(device)
    ids = torch.randint(0, 256, (8, 257))
    return step_of(model, ids[:, :-1].to(device), ids[:, 1:].to(device), torch.optim.AdamW(model.parameters(), lr=1e-3))


def resnet(device):
    torch.manual_seed(0)
    model = models.ResNet18(width=64).to(device)
    return step_of(model, torch.randn(32, 3, 64, 64).to(device), torch.randint(0, 10, (32,)).to(device), torch.optim.SGD(model.parameters(), lr=0.01))


def main():
    for name, make in {"MLP 784-512-512-10 b128": mlp, "GPT 4L d384 T256 b8": gpt, "ResNet-18 64x64 b32": resnet}.items():
        ours, peer = pair(make("tpu"), make("cpu"), blocks=3, seconds=0.5, least=1)
        row("training", name, ours, peer, "ms", 0.6, "more")


if __name__ == "__main__":
    main()
