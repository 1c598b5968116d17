"""Small stand-ins for the model families that users bring, written with plain torch.nn."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        return F.relu(y + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    """ResNet-18's shape; `width` 64 is the original."""

    def __init__(self, classes=10, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        layers, cin = [], width
        for i, stride in enumerate([1, 2, 2, 2]):
            cout = width << i
            layers += [Block(cin, cout, stride), Block(cout, cout, 1)]
            cin = cout
        self.layers = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(cin, classes)

    def forward(self, x):
        return self.fc(self.pool(self.layers(self.stem(x))).flatten(1))


class ViT(nn.Module):
    def __init__(self, dim=48, heads=4, depth=2, patch=4, size=16, classes=10):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.position
        return self.head(self.encoder(x)[:, 0])


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        def double(cin, cout):
            return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU(), nn.Conv2d(cout, cout, 3, padding=1), nn.SiLU())
        self.d1, self.d2, self.mid = double(3, c), double(c, c * 2), double(c * 2, c * 4)
        self.up2, self.u2 = nn.ConvTranspose2d(c * 4, c * 2, 2, 2), double(c * 4, c * 2)
        self.u1, self.out = double(c * 3, c), nn.Conv2d(c, 3, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.avg_pool2d(b, 2))
        b = self.u2(torch.cat([self.up2(m), b], 1))
        up = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(self.u1(torch.cat([up, a], 1)))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class GPT(nn.Module):
    """Byte-level GPT: 4 layers, d 128 by default."""

    def __init__(self, vocab=256, dim=128, layers=4, heads=4, length=64):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "n1": nn.LayerNorm(dim), "attention": Attention(dim, heads), "n2": nn.LayerNorm(dim),
            "mlp": nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))}) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = x + block["attention"](block["n1"](x))
            x = x + block["mlp"](block["n2"](x))
        return self.head(self.norm(x))


class MoE(nn.Module):
    """Top-2 of 4 experts; which rows an expert sees depends on the data."""

    def __init__(self, dim=16, experts=4, classes=5):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 32), nn.SiLU(), nn.Linear(32, dim)) for _ in range(experts))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        weights, chosen = F.softmax(self.gate(x), -1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if len(rows):
                y = y.index_add(0, rows, expert(x[rows]) * weights[rows, slot].unsqueeze(-1))
        return self.head(x + y)


class Recurrent(nn.Module):
    def __init__(self, kind, dim=12, hidden=20, classes=6):
        super().__init__()
        self.rnn = kind(dim, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        return self.head(self.rnn(x)[0]).mean(1)


def catalogue():
    """name -> (constructor, input constructor)"""
    def images(size):
        return lambda g: torch.randn(2, 3, size, size, generator=g)
    return {
        "mlp": (lambda: nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 7)), lambda g: torch.randn(8, 20, generator=g)),
        "resnet18": (ResNet18, images(64)),
        "vit": (ViT, images(16)),
        "unet": (UNet, images(16)),
        "gpt": (lambda: GPT(vocab=64, dim=32, layers=2, heads=4, length=16), lambda g: torch.randint(0, 64, (3, 16), generator=g)),
        "moe": (MoE, lambda g: torch.randn(24, 16, generator=g)),
        "lstm": (lambda: Recurrent(nn.LSTM), lambda g: torch.randn(3, 9, 12, generator=g)),
        "gru": (lambda: Recurrent(nn.GRU), lambda g: torch.randn(3, 9, 12, generator=g)),
    }
