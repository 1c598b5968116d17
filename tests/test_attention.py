"""Scaled dot-product attention with grouped heads, against the CPU: values, gradients, errors, and that it is one operation."""
import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

#        queries, keys, heads, groups, causal, mask
CASES = {
    "one query": (1, 65, 9, 3, False, None), "one group": (7, 7, 8, 1, True, None), "additive mask": (5, 9, 6, 2, False, "additive"),
    "causal": (64, 64, 9, 3, True, None), "boolean mask": (3, 17, 4, 2, False, "boolean"), "as many groups as heads": (4, 6, 3, 3, False, None),
}


def operands(name, dtype):
    queries, keys, heads, groups, causal, kind = CASES[name]
    generator = torch.Generator().manual_seed(1)
    shape = lambda h, n, d=16: torch.randn(2, h, n, d, generator=generator).to(dtype)   # noqa: E731
    mask = {None: None, "additive": torch.randn(queries, keys, generator=generator).to(dtype),
            "boolean": torch.rand(2, 1, queries, keys, generator=generator) > 0.2}[kind]
    return (shape(heads, queries), shape(groups, keys), shape(groups, keys)), dict(attn_mask=mask, is_causal=causal, enable_gqa=True)


def run(device, tensors, options):
    leaves = [t.to(device).requires_grad_() for t in tensors]
    options = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    out = F.scaled_dot_product_attention(*leaves, **options)
    out.sin().sum().backward()
    return [t.detach().cpu() for t in (out, *(leaf.grad for leaf in leaves))]


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-10), (torch.bfloat16, 2e-2)], ids=["f32", "f64", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_grouped_heads(name, dtype, tolerance):
    tensors, options = operands(name, dtype)
    expected = run("cpu", [t.clone() for t in tensors], options)
    for found, want in zip(run("tpu", tensors, options), expected):
        assert found.dtype == want.dtype
        torch.testing.assert_close(found, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_is_one_operation(name):
    names = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(func._schema.name)
            return func(*args, **(kwargs or {}))

    tensors, options = operands(name, torch.float32)
    options = {k: v.to("tpu") if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    on_device = [t.to("tpu") for t in tensors]
    with Log():
        F.scaled_dot_product_attention(*on_device, **options)
    assert "aten::_scaled_dot_product_fused_attention_overrideable" in names
    assert not {"aten::bmm", "aten::_safe_softmax", "aten::repeat_interleave"} & set(names)


@pytest.mark.parametrize("heads, groups, gqa", [(9, 2, True), (9, 3, False), (3, 9, True)])
def test_heads_that_do_not_fit(heads, groups, gqa):
    q, k = torch.ones(1, heads, 2, 8), torch.ones(1, groups, 2, 8)
    with pytest.raises(RuntimeError) as expected:
        F.scaled_dot_product_attention(q, k, k, enable_gqa=gqa)
    with pytest.raises(RuntimeError) as found:
        F.scaled_dot_product_attention(q.to("tpu"), k.to("tpu"), k.to("tpu"), enable_gqa=gqa)
    assert type(found.value) is type(expected.value)


def test_compiled():
    tensors, options = operands("one query", torch.float32)
    attend = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)   # noqa: E731
    found = torch.compile(attend, backend="tpu", fullgraph=True)(*(t.to("tpu") for t in tensors))
    torch.testing.assert_close(found.cpu(), attend(*tensors), rtol=1e-5, atol=1e-5)
