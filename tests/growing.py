"""Programs of tests/test_growing.py: each runs with every length, on the CPU and through the device.

`python tests/growing.py rules [name ...]` prints a line a case: name, worst error, compiles where there should be none.
"""

import contextlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from torch_tpu_c import _core

LENGTHS = range(1, 21)
SETTLED = (12, 13, 20)   # lengths whose programs those before had compiled, also for n - 1, n + 3, 2 n + 1
ROOM = 24


def plans():
    return torch.tpu.compile_stats()["plans"]


def grown(shape, dim, n, kind, seed=0):
    """A tensor of `shape` with size n in `dim` on the CPU: a prefix of one that does not depend on n."""
    full = list(shape)
    full[dim] = ROOM
    generator = torch.Generator().manual_seed(seed)
    if kind == "float":
        x = torch.randn(full, generator=generator)
    elif kind == "positive":
        x = torch.rand(full, generator=generator) + 0.5
    elif kind == "int":
        x = torch.randint(0, 5, full, generator=generator)
    elif kind == "index":
        x = torch.randint(0, 4, full, generator=generator)
    else:
        x = torch.randint(0, 2, full, generator=generator) > 0
    return x.narrow(dim, 0, n).contiguous().clone()


def on_device(x, dim):
    """The same on the device, in a storage that grows: cut there, so that its padding is poison."""
    full = torch.zeros([ROOM if d == dim else s for d, s in enumerate(x.shape)], dtype=x.dtype)
    full.narrow(dim, 0, x.shape[dim]).copy_(x)
    return full.to("tpu").narrow(dim, 0, x.shape[dim]).clone()


# name: (shape, kind, function of the tensor and, if it has two arguments, of n). Each dimension of size 0 here grows in turn.
N = 0
RULES = {
    # pointwise
    "add": ((N, N), "float", lambda x: x + 1.5),
    "mul_broadcast": ((N, 4), "float", lambda x: x * x[:, :1]),
    "where": ((N, N), "float", lambda x: torch.where(x > 0, x, -x)),
    "gelu": ((3, N), "float", lambda x: F.gelu(x)),
    "div_int": ((N,), "int", lambda x: x // 2 + x % 3),
    "clamp": ((N, 3), "float", lambda x: x.clamp(-0.5, 0.5)),
    "to_half": ((N, 3), "float", lambda x: x.half().float()),
    "logical": ((N, 3), "bool", lambda x: ~x | x.roll(0)),
    "addcmul": ((N, 3), "float", lambda x: torch.addcmul(x, x, x, value=0.3)),
    # reductions
    "sum": ((N, N), "float", lambda x: x.sum(0)),
    "sum_all": ((N, N), "float", lambda x: x.sum()),
    "sum_keep": ((2, N, 3), "float", lambda x: x.sum(1, keepdim=True)),
    "mean": ((N, N), "float", lambda x: x.mean(0)),
    "mean_last": ((3, N), "float", lambda x: x.mean(-1)),
    "var": ((3, N), "float", lambda x: x.var(-1, unbiased=False)),
    "std_mean": ((3, N), "float", lambda x: torch.cat(torch.std_mean(x, -1, unbiased=False))),
    "prod": ((3, N), "positive", lambda x: x.prod(-1)),
    "amax": ((3, N), "float", lambda x: x.amax(-1)),
    "amin": ((N, 3), "float", lambda x: x.amin(0)),
    "max_dim": ((3, N), "float", lambda x: torch.cat([t.float() for t in x.max(-1)])),
    "argmax": ((N, 3), "float", lambda x: x.argmax(0)),
    "argmin_flat": ((3, N), "float", lambda x: x.argmin()),
    "any": ((3, N), "bool", lambda x: x.any(-1)),
    "all": ((3, N), "bool", lambda x: x.all(-1)),
    "count_nonzero": ((3, N), "int", lambda x: x.count_nonzero(-1)),
    "norm": ((3, N), "float", lambda x: x.norm(dim=-1)),
    "logsumexp": ((3, N), "float", lambda x: x.logsumexp(-1)),
    "softmax": ((N, N), "float", lambda x: x.softmax(-1)),
    "softmax_first": ((N, 3), "float", lambda x: x.softmax(0)),
    "log_softmax": ((3, N), "float", lambda x: x.log_softmax(-1)),
    "layer_norm": ((N, 4), "float", lambda x: F.layer_norm(x, (4,))),
    "layer_norm_growing": ((3, N), "float", lambda x: F.layer_norm(x, x.shape[-1:])),
    "rms_norm": ((N, 4), "float", lambda x: F.rms_norm(x, (4,))),
    "nll": ((N, 5), "float", lambda x: F.cross_entropy(x, x.argmax(1))),
    "mse": ((3, N), "float", lambda x: F.mse_loss(x, x * 2)),
    "cumsum": ((3, N), "float", lambda x: x.cumsum(-1)),
    "cumprod": ((3, N), "positive", lambda x: x.cumprod(-1)),
    "cummax": ((3, N), "float", lambda x: x.cummax(-1).values),
    "logcumsumexp": ((3, N), "float", lambda x: x.logcumsumexp(-1)),
    "cumsum_backward": ((3, N), "float", lambda x: x.flip(-1).cumsum(-1).flip(-1)),
    # products
    "matmul_free": ((N, 4), "float", lambda x: x @ x[:1].expand(4, 4)),
    "matmul_contracted": ((N, N), "float", lambda x: x @ x.transpose(0, 1)),
    "bmm": ((2, N, 4), "float", lambda x: torch.bmm(x, x.transpose(1, 2))),
    "bmm_contracted": ((2, N, 4), "float", lambda x: torch.bmm(x.transpose(1, 2), x)),
    "linear": ((2, N, 4), "float", lambda x: F.linear(x, x[0, :1].expand(6, 4))),
    "einsum": ((2, N, 4), "float", lambda x: torch.einsum("bnd,bmd->nm", x, x)),
    "outer": ((N,), "float", lambda x: torch.outer(x, x)),
    "conv1d_batch": ((N, 3, 6), "float", lambda x: F.conv1d(x, x[:1, :, :3].expand(2, 3, 3))),
    "dot": ((N,), "float", lambda x: torch.dot(x, x)),
    # windows
    "conv1d": ((2, 3, N), "float", lambda x: F.conv1d(x, _weight(x, 4, 3, 3), _weight(x, 4), padding=1)),
    "conv1d_strided": ((2, 3, N), "float", lambda x: F.conv1d(x, _weight(x, 4, 3, 3), stride=2, padding=2, dilation=2)),
    "conv1d_groups": ((2, 4, N), "float", lambda x: F.conv1d(x, _weight(x, 4, 1, 5), padding=2, groups=4)),
    "conv1d_channels": ((2, N, 6), "float", lambda x: F.conv1d(x, x[:1, :, :3].expand(2, -1, 3), padding=1)),
    "conv2d": ((N, 2, N, N), "float", lambda x: F.conv2d(x, _weight(x, 3, 2, 3, 3), stride=(1, 2), padding=1)),
    "conv_transpose2d": ((1, 2, N, N), "float", lambda x: F.conv_transpose2d(
        x, _weight(x, 2, 3, 3, 3), stride=2, padding=1, output_padding=1)),
    "max_pool2d": ((2, N, N), "float", lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max_pool1d": ((2, N), "float", lambda x: F.max_pool1d(x, 2, 1, 1, ceil_mode=True)),
    "avg_pool2d": ((1, 2, N, N), "float", lambda x: F.avg_pool2d(x, 2, 2, 1)),
    "avg_pool1d_inside": ((2, N), "float", lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)),
    "adaptive_avg_pool2d": ((1, 2, N, N), "float", lambda x: F.adaptive_avg_pool2d(x, 1)),
    "batch_norm": ((3, 2, N), "float", lambda x: F.batch_norm(x, None, None, training=True) if x.shape[-1] > 1 else x),
    "group_norm": ((2, 4, N), "float", lambda x: F.group_norm(x, 2)),
    "solve_triangular": ((N, N), "float", lambda x: torch.linalg.solve_triangular(
        (x @ x.t()).tril() * 0.1 + torch.eye(x.shape[0], device=x.device), x, upper=False)),
    "sdpa": ((2, 2, N, 4), "float", lambda x: F.scaled_dot_product_attention(x, x, x)),
    "sdpa_causal": ((2, 2, N, 4), "float", lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)),
    "sdpa_last": ((2, 2, N, 4), "float", lambda x: F.scaled_dot_product_attention(x[:, :, -1:], x, x)),
    # factorisations: loops at exact sizes, all around them rounded up
    "cholesky": ((N, N), "float", lambda x: torch.linalg.cholesky(x @ x.t() * 0.1 + torch.eye(x.shape[0], device=x.device))),
    "qr": ((N, 3), "float", lambda x: torch.linalg.qr(x).R),
    "inv": ((N, N), "float", lambda x: torch.linalg.inv(x @ x.t() * 0.1 + torch.eye(x.shape[0], device=x.device))),
    # shapes
    "transpose": ((N, N, 3), "float", lambda x: x.transpose(0, 1).contiguous()),
    "unsqueeze_expand": ((N, 3), "float", lambda x: (x[:, None].expand(-1, 2, -1) + 0).reshape(-1, 6)),
    "view_split": ((2, N, 6), "float", lambda x: x.view(2, -1, 2, 3).transpose(1, 2) * 2),
    "view_merge": ((2, N, 2, 3), "float", lambda x: x.flatten(2) * 2),
    "flatten_batch": ((2, N, 4), "float", lambda x: x.reshape(-1, 4) * 2),
    "unflatten_batch": ((2, N, 4), "float", lambda x: (x.reshape(-1, 4) * 2).view(2, -1, 4) + 1),
    "heads": ((2, N, 6), "float", lambda x: (x.view(2, -1, 3, 2).transpose(1, 2) + 0).transpose(1, 2).reshape(2, -1, 6)),
    "last": ((2, N, 3), "float", lambda x: x[:, -1] + 0),
    "all_but_first": ((2, N, 3), "float", lambda x: x[:, 1:] + 0),
    "all_but_last": ((N, 3), "float", lambda x: x[:-1] * 2),
    "last_three": ((N, 3), "float", lambda x: F.pad(x, (0, 0, 3, 0))[-3:] + 0),
    "every_second": ((N, 3), "float", lambda x: x[::2] + 0),
    "half_last": ((N, 6), "float", lambda x: torch.cat([-x[..., 3:], x[..., :3]], -1)),
    "cat": ((N, 3), "float", lambda x: torch.cat([x, x[:1], x])),
    "cat_other": ((N, 3), "float", lambda x: torch.cat([x, x], 1)),
    "stack": ((N, 3), "float", lambda x: torch.stack([x, x * 2], 1)),
    "chunk": ((N, 6), "float", lambda x: x.chunk(3, -1)[1] + 0),
    "flip": ((N, 3), "float", lambda x: x.flip(0)),
    "roll": ((N, 3), "float", lambda x: x.roll(1, 0)),
    "pad": ((N, 3), "float", lambda x: F.pad(x, (0, 0, 2, 1), value=7.0)),
    "pad_crop": ((N, 3), "float", lambda x: F.pad(x, (0, 0, 2, -1))),
    "tril": ((N, N), "float", lambda x: x.tril()),
    "triu": ((N, 4), "float", lambda x: x.triu(1)),
    "diag": ((N,), "float", lambda x: torch.diag(x)),
    "repeat": ((N, 3), "float", lambda x: x.repeat(2, 2)),
    "repeat_interleave": ((N, 3), "float", lambda x: x.repeat_interleave(2, 0)),
    "as_complex": ((N, 2), "float", lambda x: torch.view_as_real(torch.view_as_complex(x.contiguous()) * 1j)),
    "bytes": ((N, 2), "float", lambda x: x.view(torch.int32) + 0),
    # indices
    "embedding": ((2, N), "index", lambda x: F.embedding(x, torch.arange(12.0, device=x.device).view(4, 3))),
    "index_select": ((N, 3), "float", lambda x: x.index_select(0, torch.zeros(2, dtype=torch.long, device=x.device))),
    "index_last": ((N, 3), "float", lambda x: x[torch.tensor([-1, 0], device=x.device)]),
    "index_growing": ((N,), "index", lambda x: torch.arange(12.0, device=x.device).view(4, 3)[x]),
    "index_put": ((N,), "index", lambda x: torch.zeros(4, device=x.device).index_put((x,), x + 1.0, accumulate=True)),
    "gather": ((3, N), "float", lambda x: x.gather(1, x.argsort(1))),
    "scatter_add": ((N, 3), "float", lambda x: x.new_zeros(2, 3).scatter_add(0, (x > 0).long(), x)),
    "masked_fill": ((3, N), "float", lambda x: x.masked_fill(x > 0, 9.0)),
    "one_hot": ((N,), "index", lambda x: F.one_hot(x, 4)),
    "sort": ((3, N), "float", lambda x: torch.cat([t.float() for t in x.sort(-1)])),
    "sort_descending": ((N, 3), "float", lambda x: x.sort(0, descending=True).values),
    "argsort": ((3, N), "float", lambda x: x.argsort(-1)),
    "topk": ((3, N), "float", lambda x: x.topk(1, -1).values),
    "bincount": ((N,), "index", lambda x: torch.bincount(x, minlength=5)),
    # made to a length
    "arange": ((N,), "float", lambda x, n: torch.arange(n, device=x.device) + x),
    "arange_step": ((N,), "float", lambda x, n: torch.arange(n, 3 * n, 2, device=x.device)),
    "linspace": ((N,), "float", lambda x, n: torch.linspace(0, 1, n, device=x.device)),
    "zeros_like": ((N, 3), "float", lambda x: torch.zeros_like(x) + 1),
    "ones": ((N,), "float", lambda x, n: torch.ones(n, n, device=x.device).tril()),
    "full": ((N,), "float", lambda x, n: torch.full((2, n), 1.5, device=x.device)),
    "rand": ((N,), "float", lambda x, n: torch.rand(n, 3, device=x.device) < 2),   # all true: the words are another test's
    "new_tensor": ((N,), "float", lambda x, n: x.new_ones(3, n).sum(1)),
    # written in place
    "add_": ((N, 3), "float", lambda x: x.clone().add_(1).mul_(x)),
    "row_": ((N, 3), "float", lambda x: _set(x.clone(), 0, 5.0)),
    "last_row_": ((N, 3), "float", lambda x: _set(x.clone(), -1, 5.0)),
    "tail_": ((N, 3), "float", lambda x: _set(x.clone(), slice(1, None), x[1:] * 2)),
    "column_": ((3, N), "float", lambda x: _set(x.clone(), (slice(None), -1), 1.0)),
    "out": ((N, 3), "float", lambda x: torch.add(x, x, out=torch.empty_like(x))),
    "out_resized": ((N, 3), "float", lambda x: torch.add(x, x, out=torch.empty(0, device=x.device))),
    "fill_": ((N, 3), "float", lambda x: x.clone().fill_(3) + x),
    "copy_": ((N, 3), "float", lambda x: torch.empty_like(x).copy_(x * 2)),
    "transposed_copy_": ((N, 3), "float", lambda x: torch.empty_like(x).t().copy_(x.t() * 2)),
    # backward
    "grad_linear": ((2, N, 4), "float", lambda x: _grad(lambda a: (F.gelu(a @ a[0, :1].expand(4, 4))).sum(), x)),
    "grad_softmax": ((3, N), "float", lambda x: _grad(lambda a: (a.softmax(-1) * a).sum(), x)),
    "grad_mean": ((3, N), "float", lambda x: _grad(lambda a: (a * a).mean(), x)),
    "grad_sdpa": ((1, 2, N, 4), "float", lambda x: _grad(lambda a: F.scaled_dot_product_attention(a, a, a).sum(), x)),
    "grad_layer_norm": ((N, 4), "float", lambda x: _grad(lambda a: F.layer_norm(a, (4,)).pow(3).sum(), x)),
    "grad_cat": ((N, 3), "float", lambda x: _grad(lambda a: torch.cat([a, a[:1] * 2]).pow(2).sum(), x)),
    "grad_embedding": ((N,), "index", lambda x: _grad(
        lambda w: F.embedding(x, w).pow(2).sum(), torch.arange(12.0, device=x.device).view(4, 3))),
    "grad_conv1d": ((2, 3, N), "float", lambda x: _grad(lambda a: F.conv1d(a, _weight(a, 4, 3, 3), padding=1).pow(2).sum(), x)),
    "grad_conv1d_weight": ((2, 3, N), "float", lambda x: _grad(
        lambda w: F.conv1d(x, w, padding=1).pow(2).sum(), _weight(x, 4, 3, 3))),
    "grad_conv2d": ((N, 2, N, N), "float", lambda x: torch.cat([g.flatten() for g in _grads(
        lambda a, w: F.conv2d(a, w, stride=2, padding=1).pow(2).sum(), x, _weight(x, 3, 2, 3, 3))])),
    "grad_max_pool2d": ((2, N, N), "float", lambda x: _grad(lambda a: F.max_pool2d(a, 3, 2, 1).pow(2).sum(), x)),
    "grad_avg_pool2d": ((1, 2, N, N), "float", lambda x: _grad(lambda a: F.avg_pool2d(a, 3, 2, 1).pow(2).sum(), x)),
    "grad_cross_entropy": ((N, 5), "float", lambda x: _grad(lambda a: F.cross_entropy(a, a.detach().argmax(1)), x)),
}


# Of these a flat size passes a power of two at a settled length (12 x 12 > 128), or two programs take turns, each known
# to grow by its third size (the last window has a place of padding or none).
PASSING = {"diag", "avg_pool1d_inside"}
# Operations without a rule: a compile for each size.
EXACT = {"cholesky", "qr", "inv"}


def _set(x, index, value):
    x[index] = value
    return x


def _weight(x, *shape):
    """Weights of a convolution, of x's dtype and on its device."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(x)


def _grads(function, *tensors):
    tensors = [t.detach().clone().requires_grad_() for t in tensors]
    return torch.autograd.grad(function(*tensors), tensors)


def _grad(function, x):
    return _grads(function, x)[0]


def call(function, x, n):
    return function(x, n) if function.__code__.co_argcount == 2 else function(x)


def run_rule(name):
    """(compiles at settled lengths, the worst error)."""
    shape, kind, function = RULES[name]
    worst, late = 0.0, []
    for dim in [d for d, s in enumerate(shape) if s == N]:
        _core.core().tt_compile_cache_clear()
        for n in LENGTHS:
            x = grown([4 if s == N else s for s in shape], dim, n, kind)
            expected = call(function, x, n)
            before = plans()
            got = call(function, on_device(x, dim), n)
            if n in SETTLED and plans() != before:
                late.append((dim, n, plans() - before))
            assert got.shape == expected.shape and got.dtype == expected.dtype, (n, got.shape, expected.shape, got.dtype)
            got = got.cpu()
            torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-4, equal_nan=True, msg=lambda text: f"dim {dim}, n {n}: {text}")
            if expected.is_floating_point() and expected.numel():
                worst = max(worst, (got - expected).abs().nan_to_num().max().item())
    return late, worst


def rules(names):
    failed = 0
    for name in names or RULES:
        try:
            late, worst = run_rule(name)
            print(name, f"{worst:.1e}", "compiles at settled lengths (dimension, length, compiles): " + str(late) if late else "", flush=True)
            failed += bool(late) and name not in PASSING | EXACT
        except Exception as error:
            failed += 1
            print(name, "FAILED", type(error).__name__, str(error)[:1500], flush=True)
    return failed


# ---- decoding ------------------------------------------------------------------------------------
WIDTH, HEADS, WORDS, LAYERS = 32, 4, 50, 2
DECODES = ("step", "fused", "masked", "whole")   # kinds of steps()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, cache, mask, fused):
        batch, n, _ = x.shape
        q, k, v = self.qkv(self.norms[0](x)).split(WIDTH, -1)
        q, k, v = (t.view(batch, n, HEADS, WIDTH // HEADS).transpose(1, 2) for t in (q, k, v))
        if cache:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        if fused:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            y = scores.softmax(-1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(batch, n, WIDTH))
        return x + self.down(F.gelu(self.up(self.norms[1](x)))), (k, v)


class Gpt(torch.nn.Module):
    def __init__(self, most):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Embedding(most, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, WORDS)

    def forward(self, ids, places, caches, mask, fused):
        x, kept = self.words(ids) + self.places(places), []
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache, mask, fused)
            kept.append(cache)
        return self.head(self.norm(x)), kept


class Ops(TorchDispatchMode):
    """The distinct operations of what runs under it: name and, as overloads do not tell them apart, dtypes."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.add(str(function))
        return function(*args, **(kwargs or {}))


def steps(device, ids, kind):
    """Logits of the last token after 1, 2, ... tokens, and the operations of one step."""
    torch.manual_seed(0)
    length = ids.shape[1]
    model, caches, ops = Gpt(length).to(device).eval(), [None] * LAYERS, Ops()
    logits = []
    for n in range(1, length + 1):
        with torch.no_grad(), ops if n == 3 else contextlib.nullcontext():
            if kind == "whole":
                mask = torch.ones(n, n, dtype=torch.bool, device=device).tril()
                out, _ = model(ids[:, :n].to(device), torch.arange(n, device=device), [None] * LAYERS, mask, False)
            else:
                mask = torch.ones(1, 1, 1, n, dtype=torch.bool, device=device) if kind == "masked" else None
                places = torch.arange(n - 1, n, device=device)
                out, caches = model(ids[:, n - 1 : n].to(device), places, caches, mask, kind == "fused")
            logits.append(out[:, -1].cpu())
    return torch.cat(logits), len(ops.seen)


def llama(device, ids):
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=1024)
    model, cache, ops, logits = LlamaForCausalLM(config).to(device).eval(), DynamicCache(), Ops(), []
    for n in range(ids.shape[1]):
        with torch.no_grad(), ops if n == 3 else contextlib.nullcontext():
            logits.append(model(ids[:, n : n + 1].to(device), past_key_values=cache, use_cache=True).logits[:, -1].cpu())
    return torch.cat(logits), len(ops.seen)


def decode(arguments):
    """decode KIND LENGTH: fails unless the logits are the CPU's and the compiles at most ten times a step's operations."""
    kind, length = arguments[0], int(arguments[1])
    ids = torch.randint(0, WORDS, (1, length), generator=torch.Generator().manual_seed(1))
    run = (lambda device: llama(device, ids)) if kind == "llama" else (lambda device: steps(device, ids, kind))
    expected, _ = run("cpu")
    got, ops = run("tpu")
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    print(kind, length, "compiles", plans(), "operations of a step", ops, "worst", (got - expected).abs().max().item())
    return int(plans() > 10 * ops)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit({"rules": rules, "decode": decode}[sys.argv[1]](sys.argv[2:]))
