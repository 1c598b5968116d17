"""Once warm, repeated calls take no host memory: neither the core's nor the plugin's counters move."""
import gc

import pytest
import torch
import torch.nn.functional as F

T = "tpu"
WARM, CALLS = 50, 1000


def tensors():
    torch.manual_seed(0)
    return {
        "x": torch.randn(4, 4, device=T), "y": torch.randn(4, 4, device=T), "s": torch.randn(4, 8, device=T)[:, ::2],
        "i": torch.tensor([0, 2], device=T), "m": torch.tensor([[True, False, True, True]] * 4, device=T),
        "v": torch.randn(2, 3, 8, 8, device=T), "w": torch.randn(4, 3, 3, 3, device=T), "b": torch.randn(2, 4, 4, device=T),
        "q": torch.randn(1, 2, 8, 16, device=T), "n": torch.arange(16, device=T).view(4, 4), "p": torch.eye(4, device=T) * 4 + 0.1,
        "out": torch.empty(4, 4, device=T), "tokens": torch.tensor([[1, 2, 3]], device=T), "table": torch.randn(10, 4, device=T),
    }


OPS = {
    "add": lambda t: t["x"] + t["y"], "add number": lambda t: t["x"] + 1.5, "add_": lambda t: t["x"].add_(t["y"], alpha=1e-9),
    "add out": lambda t: torch.add(t["x"], t["y"], out=t["out"]), "mul": lambda t: t["x"] * t["y"], "exp": lambda t: t["x"].exp(),
    "relu": lambda t: torch.relu(t["x"]), "gelu": lambda t: F.gelu(t["x"]), "where": lambda t: torch.where(t["m"], t["x"], t["y"]),
    "to bf16": lambda t: t["x"].to(torch.bfloat16), "int div": lambda t: t["n"] // 3, "compare": lambda t: t["x"] < t["y"],
    "sum": lambda t: t["x"].sum(), "sum rows": lambda t: t["x"].sum(1), "mean": lambda t: t["x"].mean(0), "amax": lambda t: t["x"].amax(1),
    "argmax": lambda t: t["x"].argmax(1), "max": lambda t: t["x"].max(1), "var": lambda t: t["x"].var(1), "norm": lambda t: t["x"].norm(),
    "any": lambda t: t["m"].any(1), "cumsum": lambda t: t["x"].cumsum(1), "prod": lambda t: t["x"].prod(1), "logsumexp": lambda t: t["x"].logsumexp(1),
    "softmax": lambda t: torch.softmax(t["x"], -1), "log_softmax": lambda t: torch.log_softmax(t["x"], -1), "layer_norm": lambda t: F.layer_norm(t["x"], (4,)),
    "view + add": lambda t: t["x"].view(16) + 1, "strided": lambda t: t["s"] + t["x"], "transpose": lambda t: t["x"].t().contiguous(), "slice write": lambda t: t["x"][:, 1:3].copy_(t["y"][:, 1:3]),
    "expand": lambda t: t["x"][:1].expand(4, 4).contiguous(), "flip": lambda t: t["x"].flip(0), "roll": lambda t: t["x"].roll(1, 0), "clone": lambda t: t["x"].clone(),
    "cat": lambda t: torch.cat([t["x"], t["y"]]), "stack": lambda t: torch.stack([t["x"], t["y"]]), "split": lambda t: t["x"].split(2)[1] + 0, "pad": lambda t: F.pad(t["x"], (1, 1)),
    "index": lambda t: t["x"][t["i"]], "index_select": lambda t: t["x"].index_select(0, t["i"]), "gather": lambda t: t["x"].gather(1, t["n"] % 4), "embedding": lambda t: F.embedding(t["tokens"], t["table"]),
    "index_put_": lambda t: t["x"].index_put_((t["i"],), t["y"][:2]), "scatter_add": lambda t: t["x"].scatter_add(1, t["n"] % 4, t["y"]), "masked_fill": lambda t: t["x"].masked_fill(t["m"], 0.5),
    "mm": lambda t: t["x"] @ t["y"], "bmm": lambda t: t["b"] @ t["b"], "linear": lambda t: F.linear(t["x"], t["y"]), "addmm": lambda t: torch.addmm(t["x"], t["x"], t["y"]), "mv": lambda t: t["x"] @ t["y"][0],
    "conv2d": lambda t: F.conv2d(t["v"], t["w"], padding=1), "max_pool2d": lambda t: F.max_pool2d(t["v"], 2), "avg_pool2d": lambda t: F.avg_pool2d(t["v"], 2), "batch_norm": lambda t: F.batch_norm(t["v"], None, None, training=True),
    "attention": lambda t: F.scaled_dot_product_attention(t["q"], t["q"], t["q"]), "causal attention": lambda t: F.scaled_dot_product_attention(t["q"], t["q"], t["q"], is_causal=True),
    "sort": lambda t: t["x"].sort(1), "topk": lambda t: t["x"].topk(2, 1), "zeros": lambda t: torch.zeros(4, 4, device=T), "full": lambda t: torch.full((4, 4), 2.5, device=T), "arange": lambda t: torch.arange(7, device=T),
    "rand": lambda t: torch.rand(4, 4, device=T), "randn": lambda t: torch.randn(4, 4, device=T), "dropout": lambda t: F.dropout(t["x"], 0.5), "multinomial": lambda t: torch.multinomial(t["x"].abs(), 2, replacement=True),
    "cholesky": lambda t: torch.linalg.cholesky(t["p"]), "solve": lambda t: torch.linalg.solve(t["p"], t["x"]), "inv": lambda t: torch.linalg.inv(t["p"]), "fft": lambda t: torch.fft.fft(t["x"]),
    "item": lambda t: t["x"][0, 0].item(), "to cpu": lambda t: t["x"].cpu(),
    "index_add": lambda t: t["x"].index_add(0, t["i"], t["y"][:2]), "nonzero": lambda t: t["m"].nonzero(), "masked_select": lambda t: t["x"][t["m"]], "unique": lambda t: t["n"].unique(),
}


@pytest.mark.parametrize("name", OPS)
def test_repeated_calls_allocate_nothing(name):
    t, function = tensors(), OPS[name]
    for _ in range(WARM):
        function(t)
    gc.collect()
    before = torch.tpu.allocation_stats()
    for _ in range(CALLS):
        function(t)
    after = torch.tpu.allocation_stats()
    assert before["plugin_allocations"] > 0
    assert {k: after[k] - before[k] for k in after} == dict.fromkeys(after, 0)
