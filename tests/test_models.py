"""Model families on tpu: forward and every gradient equal CPU PyTorch, without fallbacks (point 2 of the device's contract)."""
import copy

import pytest
import torch

import models
from observe import native_only, transfers

CATALOGUE = models.catalogue()


def run(model, x, target, where):
    model, x, target = model.to(where), x.to(where), target.to(where)
    out = model(x)
    loss = torch.nn.functional.cross_entropy(out.flatten(0, -2), target.flatten()) if out.dim() in (2, 3) else (out * target).mean()
    loss.backward()
    return out, [p.grad for p in model.parameters()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_forward_and_gradients(name, dtype):
    torch.manual_seed(0)
    make, make_input = CATALOGUE[name]
    model = make().to(dtype)
    x = make_input(torch.Generator().manual_seed(1))
    if x.is_floating_point():
        x = x.to(dtype)
    with torch.no_grad():
        shape = copy.deepcopy(model)(x)
    target = torch.randint(0, shape.shape[-1], shape.shape[:-1]) if shape.dim() in (2, 3) else torch.randn_like(shape)
    expected, expected_grads = run(copy.deepcopy(model), x, target, "cpu")
    twin = copy.deepcopy(model)
    with native_only():
        actual, actual_grads = run(twin, x, target, "tpu")
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    def close(a, e, what):
        scale = e.abs().max().item()
        error = (a.detach().cpu() - e.detach()).abs().max().item()
        assert error <= tolerance * max(scale, 1e-30) or error <= 1e-12, f"{name} {what}: {error:.3g} against {scale:.3g}"
    close(actual, expected, "output")
    # Gradients of one model are compared on the scale of its largest: a bias before a batch norm has none of its own.
    largest = max(e.abs().max().item() for e in expected_grads if e is not None)
    for (parameter, _), a, e in zip(model.named_parameters(), actual_grads, expected_grads):
        assert (a is None) == (e is None), parameter
        if e is None:
            continue
        error = (a.cpu() - e).abs().max().item()
        assert error <= tolerance * max(e.abs().max().item(), 1e-3 * largest), f"{name} gradient of {parameter}: {error:.3g}"


def test_transfers_are_the_programs_own():
    torch.manual_seed(0)
    make, make_input = CATALOGUE["mlp"]
    model, x = make(), make_input(torch.Generator().manual_seed(1))
    with transfers() as moved:
        model = model.to("tpu")
        out = model(x.to("tpu"))
        out.sum().backward()
        result = out.detach().cpu()
    wanted = sum(p.numel() * 4 for p in model.parameters()) + x.numel() * 4
    assert moved["bytes_to_device"] == wanted
    assert moved["bytes_to_host"] == result.numel() * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_training_with_adamw_follows_cpu(dtype):
    torch.manual_seed(0)
    cpu = models.GPT(vocab=64, dim=32, layers=1, heads=4, length=16)
    tpu = copy.deepcopy(cpu).to("tpu")
    ids = torch.randint(0, 64, (20, 4, 17))
    losses = {}
    for where, model in [("cpu", cpu), ("tpu", tpu)]:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses[where] = []
        for step in range(20):
            batch = ids[step].to(where)
            with torch.amp.autocast(where, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1).float(), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[where].append(loss.item())
    for a, e in zip(losses["tpu"], losses["cpu"]):
        assert abs(a - e) <= (1e-4 if dtype == torch.float32 else 1e-2) * e


MASKS = {"none": {}, "causal": {"mask": True}, "padding": {"padding": True}, "both": {"mask": True, "padding": True}}


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("options", [{}, {"norm_first": True, "activation": "gelu"}], ids=["post relu", "pre gelu"])
def test_encoder_layer_inference(options, masks):
    """Without gradients torch.nn takes a fused op of its own here."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **options).eval()
    x = torch.randn(3, 5, 16)
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1) if "mask" in MASKS[masks] else None
    padding = torch.arange(5) >= torch.tensor([[5], [3], [4]]) if "padding" in MASKS[masks] else None
    twin = copy.deepcopy(layer).to("tpu")
    def move(m):
        return None if m is None else m.to("tpu")
    with torch.no_grad():
        expected = layer(x, src_mask=mask, src_key_padding_mask=padding)
        with native_only():
            actual = twin(x.to("tpu"), src_mask=move(mask), src_key_padding_mask=move(padding)).cpu()
    keep = torch.ones(3, 5, dtype=torch.bool) if padding is None else ~padding   # padded rows mean nothing
    torch.testing.assert_close(actual[keep], expected[keep], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("weights", [None, "averaged", "per head"])
def test_multihead_attention_inference(weights):
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(3, 5, 16)
    padding = torch.arange(5) >= torch.tensor([[5], [3], [4]])
    twin = copy.deepcopy(attention).to("tpu")
    options = dict(need_weights=weights is not None, average_attn_weights=weights == "averaged")
    with torch.no_grad():
        expected = attention(x, x, x, key_padding_mask=padding, **options)
        with native_only():
            t = x.to("tpu")
            actual = twin(t, t, t, key_padding_mask=padding.to("tpu"), **options)
    for a, e in zip(actual, expected):
        assert (a is None) == (e is None)
        if e is not None:
            torch.testing.assert_close(a.cpu(), e, atol=2e-6, rtol=1e-5)


def test_encoder_inference_with_padding():
    """torch.nn.TransformerEncoder would pack left-aligned padding into nested tensors; kept rows are the same."""
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2).eval()
    x, padding = torch.randn(3, 5, 16), torch.arange(5) >= torch.tensor([[5], [3], [4]])
    twin = copy.deepcopy(encoder).to("tpu")
    with torch.no_grad():
        expected = encoder(x, src_key_padding_mask=padding)
        with native_only():
            actual = twin(x.to("tpu"), src_key_padding_mask=padding.to("tpu")).cpu()
    torch.testing.assert_close(actual[~padding], expected[~padding], atol=2e-6, rtol=1e-5)
