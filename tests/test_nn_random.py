"""Convolutions, pools, resizing, norms, attention and RNNs with random parameters and layouts, forward and backward,
against the CPU; each seed is one set of parameters."""

import copy
import random

import pytest
import torch
import torch.nn.functional as F


def layout(rng, t):
    """t with other strides, or t."""
    kind = rng.randrange(4)
    if kind == 1 and t.dim() == 4:
        return t.to(memory_format=torch.channels_last)
    if kind == 2:
        return t.transpose(-1, -2).contiguous().transpose(-1, -2)
    if kind == 3 and t.shape[0] > 1:
        return torch.cat([t, t], 0)[::2]
    return t


def run(function, inputs, device):
    leaves = [t.detach().to(device) for t in inputs]
    leaves = [t.clone() if t.is_contiguous() else t for t in leaves]
    leaves = [t.requires_grad_() for t in leaves]
    results = function(*leaves)
    results = results if isinstance(results, (tuple, list)) else [results]
    generator = torch.Generator().manual_seed(3)
    total = sum((t * torch.randn(t.shape, generator=generator).to(device)).sum() for t in results)
    gradients = torch.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else []
    return [None if t is None else t.detach().cpu() for t in [*results, *gradients]]


def alike(what, function, *inputs):
    try:
        cpu = run(function, inputs, "cpu")
    except Exception as error:
        with pytest.raises(type(error)):
            run(function, inputs, "tpu")
        return
    for tpu, expected in zip(run(function, inputs, "tpu"), cpu, strict=True):
        if expected is None:
            assert tpu is None
        else:
            torch.testing.assert_close(tpu, expected, rtol=1e-4, atol=1e-4, equal_nan=True, msg=lambda m: f"{what}: {m}")


CONV = [F.conv1d, F.conv2d, F.conv3d]
TRANSPOSED = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
MAX = [F.max_pool1d, F.max_pool2d, F.max_pool3d]
AVERAGE = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]
ADAPTIVE = [(F.adaptive_avg_pool1d, F.adaptive_max_pool1d), (F.adaptive_avg_pool2d, F.adaptive_max_pool2d),
            (F.adaptive_avg_pool3d, F.adaptive_max_pool3d)]
MODES = [["nearest", "linear", "nearest-exact"], ["nearest", "bilinear", "bicubic"], ["nearest", "trilinear"]]


@pytest.mark.parametrize("seed", range(12))
def test_images(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    n, groups, batch = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 2, 3]), rng.choice([1, 2])
    channels, outputs = groups * rng.choice([1, 2]), groups * rng.choice([1, 2, 3])
    stride, dilation, padding, kernel = ([rng.randrange(*bounds) for _ in range(n)] for bounds in
                                         ((1, 3), (1, 3), (0, 3), (1, 4)))
    x = layout(rng, torch.randn(batch, channels, *(rng.randrange(4, 9) for _ in range(n))))
    bias = torch.randn(outputs)
    what = (tuple(x.shape), x.stride(), kernel, stride, padding, dilation, groups)
    alike(("conv", what), lambda x, w, b: CONV[n - 1](x, w, b, stride, padding, dilation, groups), x,
          torch.randn(outputs, channels // groups, *kernel), bias)
    extra = [rng.randrange(0, max(s, d)) for s, d in zip(stride, dilation)]
    alike(("transposed", what, extra),
          lambda x, w, b: TRANSPOSED[n - 1](x, w, b, stride, padding, extra, groups, dilation), x,
          torch.randn(channels, outputs // groups, *kernel), bias)
    inner, ceil, counted = [rng.randrange(0, k // 2 + 1) for k in kernel], rng.random() < 0.5, rng.random() < 0.5
    alike(("max", what), lambda x: MAX[n - 1](x, kernel, stride, inner, dilation, ceil), x)
    alike(("average", what), lambda x: AVERAGE[n - 1](x, kernel, stride, inner, ceil, counted), x)
    sizes = [rng.randrange(1, 10) for _ in range(n)]
    for pool in ADAPTIVE[n - 1]:
        alike(("adaptive", what, sizes), lambda x: pool(x, sizes), x)
    mode = rng.choice(MODES[n - 1])
    corners = rng.random() < 0.5 if "linear" in mode or mode == "bicubic" else None
    alike(("resize", what, sizes, mode), lambda x: F.interpolate(x, sizes, mode=mode, align_corners=corners), x)
    scales = [rng.uniform(0.4, 2.3) for _ in range(n)]
    alike(("scale", what, scales, mode), lambda x: F.interpolate(x, None, scales, mode, corners), x)
    margins, fill = [rng.randrange(0, 3) for _ in range(2 * n)], rng.choice(["constant", "reflect", "replicate", "circular"])
    alike(("pad", what, margins, fill), lambda x: F.pad(x, margins, fill), x)
    alike(("group_norm", what), lambda x, w, b: F.group_norm(x, groups, w, b), x, torch.randn(channels), torch.randn(channels))
    training, mean, var = rng.random() < 0.5, torch.randn(channels), torch.rand(channels) + 0.5

    def batch_norm(x, w, b):
        running = mean.clone().to(x.device), var.clone().to(x.device)
        return F.batch_norm(x, *running, w, b, training, 0.1), *running

    alike(("batch_norm", what, training), batch_norm, x, torch.randn(channels), torch.randn(channels))
    alike(("layer_norm", what), lambda x, w: F.layer_norm(x, x.shape[-1:], w), x, torch.randn(x.shape[-1]))
    if n == 2:
        outside = rng.choice(["zeros", "border", "reflection"])
        alike(("grid", what, mode, outside),
              lambda x, g: F.grid_sample(x, g, mode, outside, bool(corners)), x, torch.rand(batch, 3, 4, 2) * 3 - 1.5)


@pytest.mark.parametrize("seed", range(12))
def test_sequences(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    batch, heads, rows, columns, width = (rng.choice(c) for c in ([1, 2], [1, 2], [1, 3, 6], [1, 4, 5], [4, 8]))
    query = torch.randn(batch, heads, rows, width)
    query = query if rng.random() < 0.5 else torch.randn(batch, rows, heads, width).transpose(1, 2)
    key, value = torch.randn(batch, heads, columns, width), torch.randn(batch, heads, columns, rng.choice([width, 4]))
    mask = rng.choice([None, torch.rand(rows, columns) > 0.3, torch.randn(batch, 1, rows, columns),
                       torch.rand(batch, 1, 1, columns) > 0.3])
    causal = mask is None and rng.random() < 0.5
    alike(("attention", tuple(query.shape), columns, None if mask is None else mask.dtype, causal),
          lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None if mask is None else mask.to(q.device), 0.0, causal),
          query, key, value)
    kind = rng.choice([torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
    options = dict(num_layers=rng.choice([1, 2]), bidirectional=rng.random() < 0.5, batch_first=rng.random() < 0.5,
                   bias=rng.random() < 0.7)
    module = kind(3, 5, **options)
    names = [name for name, _ in module.named_parameters()]

    def recurrent(x, *parameters):
        twin = copy.deepcopy(module).to(x.device)
        out, state = torch.func.functional_call(twin, dict(zip(names, parameters)), (x,))
        return [out, *(state if isinstance(state, tuple) else [state])]

    alike((kind.__name__, options), recurrent, torch.randn(2, 4, 3), *module.parameters())
