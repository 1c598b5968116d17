"""torch.compile(backend="tpu") and torch.export over whole models: equal to eager, traced once, forward and backward."""
import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import models
from observe import native_only

CATALOGUE = models.catalogue()
# Dynamo does not compile loops with data-dependent branches (moe) and breaks graphs at torch's recurrent layers.
WHOLE = [name for name in sorted(CATALOGUE) if name not in ("moe", "lstm", "gru")]


@pytest.fixture(autouse=True)
def _reset():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def make(name, dtype=torch.float32):
    torch.manual_seed(0)
    constructor, make_input = CATALOGUE[name]
    model, x = constructor().to(dtype), make_input(torch.Generator().manual_seed(1))
    if x.is_floating_point():
        x = x.to(dtype)
    return model.to("tpu"), x.to("tpu")


def close(actual, expected, tolerance, what, scale=0.0):
    scale = max(expected.abs().max().item(), scale)
    error = (actual.detach() - expected.detach()).abs().max().item()
    assert error <= tolerance * max(scale, 1e-30), f"{what}: {error:.3g} against {scale:.3g}"


def traces():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_inference(name):
    model, x = make(name)
    model.eval()
    compiled = torch.compile(model, backend="tpu", fullgraph=name in WHOLE)
    with torch.no_grad():
        expected = model(x)
        with native_only(log_ops=False):
            actual, again = compiled(x), compiled(x)
    assert actual.stride() == expected.stride() and actual.dtype == expected.dtype
    close(actual, expected, 1e-4, name)
    close(again, expected, 1e-4, name)
    assert traces() == 1 or name not in WHOLE


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_training(name, dtype):
    """Outputs, every gradient and the buffers (batch norm's running values) after a step."""
    model, x = make(name, dtype)
    twin = copy.deepcopy(model)
    compiled = torch.compile(twin, backend="tpu", fullgraph=name in WHOLE)
    out = model(x)
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(2)).to("tpu", out.dtype)
    (out * weight).sum().backward()
    with native_only(log_ops=False):
        result = compiled(x)
        (result * weight).sum().backward()
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    close(result, out, tolerance, "output")
    largest = max(p.grad.abs().max().item() for p in model.parameters() if p.grad is not None)
    for (parameter, p), q in zip(model.named_parameters(), twin.parameters()):
        assert (p.grad is None) == (q.grad is None), parameter
        if p.grad is not None:
            close(q.grad, p.grad, tolerance, parameter, 1e-3 * largest)
    for (buffer, p), q in zip(model.named_buffers(), twin.buffers()):
        torch.testing.assert_close(q, p, msg=buffer)


def test_training_loop_follows_eager():
    """Compiled forward and backward under an eager AdamW, several steps, one trace."""
    torch.manual_seed(0)
    eager = models.GPT(vocab=64, dim=32, layers=2, heads=4, length=16).to("tpu")
    other = copy.deepcopy(eager)
    ids = torch.randint(0, 64, (6, 4, 17), device="tpu")
    compiled = torch.compile(other, backend="tpu", fullgraph=True)
    losses = []
    for model, forward in ((eager, eager), (other, compiled)):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        losses.append([])
        for batch in ids:
            loss = F.cross_entropy(forward(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert traces() == 1


@pytest.mark.parametrize("name", ["mlp", "vit", "gpt"])
def test_dynamic_batch_is_one_trace(name):
    model, x = make(name)
    model.eval()
    compiled = torch.compile(model, backend="tpu", fullgraph=True, dynamic=True)
    with torch.no_grad():
        for batch in (2, 3, 5, 2):
            part = torch.cat([x] * 3)[:batch]
            close(compiled(part), model(part), 1e-4, f"batch {batch}")
    assert traces() == 1


def test_dynamic_training_is_one_trace():
    model, x = make("mlp")
    twin = copy.deepcopy(model)
    compiled = torch.compile(twin, backend="tpu", fullgraph=True, dynamic=True)
    for batch in (8, 5, 3):
        for p in (*model.parameters(), *twin.parameters()):
            p.grad = None
        part = x[:batch].clone()   # Dynamo guards on the base of a view
        model(part).square().mean().backward()
        compiled(part).square().mean().backward()
        for (parameter, p), q in zip(model.named_parameters(), twin.named_parameters()):
            close(q[1].grad, p.grad, 1e-4, f"{parameter} at batch {batch}")
    assert traces() == 1


def test_dynamic_sequence_marked():
    model, x = make("gpt")
    model.eval()
    compiled = torch.compile(model, backend="tpu", fullgraph=True)
    with torch.no_grad():
        for length in (4, 9, 16):
            part = x[:, :length].contiguous()
            torch._dynamo.mark_dynamic(part, 1)
            close(compiled(part), model(part), 1e-4, f"length {length}")
    assert traces() == 1


def twice(function, *tensors, **options):
    """Eager on one copy of the inputs and compiled on another: results and inputs must agree."""
    left, right = [t.clone() for t in tensors], [t.clone() for t in tensors]
    compiled = torch.compile(function, backend="tpu", fullgraph=True, **options)
    expected, actual = function(*left), compiled(*right)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(right, left)
    return actual, right


def test_mutated_inputs():
    def f(x, y):
        x[1:].mul_(2)
        y.copy_(x.sum(0))
        return x + 1

    twice(f, torch.randn(3, 4, device="tpu"), torch.zeros(4, device="tpu"))


def test_mutated_view_of_an_input():
    def f(x):
        column = x[:, 1]
        column.add_(10)
        return column, x.view(-1)[2:5]

    base = torch.arange(12.0, device="tpu").view(3, 4)
    (column, part), (x,) = twice(f, base)
    column.fill_(-1)
    part.fill_(-2)
    assert (x[:, 1].cpu() == -1).sum() + (x.flatten()[2:5].cpu() == -2).sum() >= 5


def test_returned_views_alias_their_base():
    f = torch.compile(lambda x: (x.t(), x[0], x.view(-1), x), backend="tpu", fullgraph=True)
    x = torch.arange(6.0, device="tpu").view(2, 3)
    transposed, row, flat, same = f(x)
    x.fill_(5)
    assert all((view.cpu() == 5).all() for view in (transposed, row, flat, same))
    assert transposed.stride() == (1, 3) and same.data_ptr() == x.data_ptr()


def test_outputs_that_alias_each_other():
    def f(x):
        y = x * 2
        return y, y[1:], y.t()

    x = torch.randn(3, 4, device="tpu")
    y, tail, turned = torch.compile(f, backend="tpu", fullgraph=True)(x)
    y.zero_()
    assert (tail.cpu() == 0).all() and (turned.cpu() == 0).all()


def test_mutated_buffer_and_parameter_under_no_grad():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
            self.register_buffer("average", torch.zeros(3))

        def forward(self, x):
            self.calls += 1
            with torch.no_grad():
                self.average.lerp_(x.mean(0), 0.1)
            return x * self.weight + self.calls

    eager = Counter().to("tpu")
    other = copy.deepcopy(eager)
    compiled = torch.compile(other, backend="tpu", fullgraph=True)
    for _ in range(3):
        x = torch.randn(4, 3, device="tpu")
        torch.testing.assert_close(compiled(x), eager(x))
    torch.testing.assert_close(dict(other.named_buffers()), dict(eager.named_buffers()))


def test_autocast_inside():
    linear = nn.Linear(8, 8).to("tpu")

    def f(x):
        with torch.amp.autocast("tpu", dtype=torch.bfloat16):
            hidden = linear(x)
            assert hidden.dtype == torch.bfloat16
            return F.softmax(hidden, -1), hidden

    x = torch.randn(4, 8, device="tpu")
    compiled = torch.compile(f, backend="tpu", fullgraph=True)
    expected, actual = f(x), compiled(x)
    assert [t.dtype for t in actual] == [t.dtype for t in expected] == [torch.float32, torch.bfloat16]
    torch.testing.assert_close(actual, expected)
    with torch.amp.autocast("tpu", dtype=torch.bfloat16):   # and around
        outside = torch.compile(lambda v: linear(v), backend="tpu", fullgraph=True)(x)
        torch.testing.assert_close(outside, linear(x))
    actual[1].float().sum().backward()
    assert torch.isfinite(linear.weight.grad.cpu()).all()


@pytest.mark.parametrize("kind", ["dropout", "attention", "bernoulli", "randn", "rand_like"])
def test_random_numbers_follow_eager(kind):
    """Masks differ between calls, and equal eager's after the same seed."""
    functions = {
        "dropout": lambda x: F.dropout(F.dropout(x, 0.3) + 1, 0.5),
        "attention": lambda x: F.dropout(F.scaled_dot_product_attention(x, x, x, is_causal=True), 0.2),
        "bernoulli": lambda x: torch.bernoulli(torch.full_like(x, 0.4)) + x,
        "randn": lambda x: torch.randn(4, 8, 16, device=x.device) * x,
        "rand_like": lambda x: torch.rand_like(x) + torch.randint(0, 9, x.shape, device=x.device),
    }
    f = functions[kind]
    compiled = torch.compile(f, backend="tpu", fullgraph=True)
    x = torch.ones(4, 8, 16, device="tpu")
    torch.manual_seed(5)
    first, second = compiled(x), compiled(x)
    after = torch.rand(3, device="tpu")
    torch.manual_seed(5)
    torch.testing.assert_close(first, f(x))
    torch.testing.assert_close(second, f(x))
    assert torch.equal(after, torch.rand(3, device="tpu"))
    assert not torch.equal(first, second)


def test_dropout_in_training_follows_eager():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.5), nn.Linear(32, 4)).to("tpu")
    twin = copy.deepcopy(model)
    compiled = torch.compile(twin, backend="tpu", fullgraph=True)
    x = torch.randn(6, 8, device="tpu")
    torch.manual_seed(9)
    model(x).sum().backward()
    torch.manual_seed(9)
    compiled(x).sum().backward()
    for p, q in zip(model.parameters(), twin.parameters()):
        close(q.grad, p.grad, 1e-4, "gradient", 1e-3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.complex64], ids=str)
def test_dtypes(dtype):
    x = torch.randn(4, 4).to(dtype).to("tpu")
    twice(lambda v: (v @ v + v * 2).sum(0), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_traced_attention_looks_like_the_real_one(dtype):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def f(q, k, v):
        q = q.transpose(1, 2)
        out = torch.ops.aten._scaled_dot_product_fused_attention_overrideable(q, k, v)
        grads = torch.ops.aten._scaled_dot_product_fused_attention_overrideable_backward(
            out[0], q, k, v, None, [True, True, True, False], out[0], out[1], None, None, 5, 7, 0.0, False, out[6], out[7])
        return [x for x in (*out[:2], *grads) if x is not None]

    q, k, v = (torch.randn(2, *s, 8, device="tpu").to(dtype) for s in ((5, 3), (3, 7), (3, 7)))
    real = f(q, k, v)
    mode = FakeTensorMode()
    with mode:
        traced = f(*(mode.from_tensor(x) for x in (q, k, v)))
    assert [(x.shape, x.stride(), x.dtype, x.device) for x in real] == [
        (x.shape, x.stride(), x.dtype, x.device) for x in traced]


def test_whole_step_with_the_gradient_inside():
    """torch.func.grad inside the compiled function: forward and backward are one program."""
    def step(w, x):
        return torch.func.grad(lambda v: (x @ v).tanh().sum())(w)

    twice(step, torch.randn(4, 3, device="tpu"), torch.randn(5, 4, device="tpu"))


@pytest.mark.parametrize("name", ["mlp", "vit", "gpt", "unet"])
def test_export(name):
    model, x = make(name)
    model.eval()
    dynamic = name != "vit"   # torch.nn.TransformerEncoder fixes the batch, on the CPU too
    dim = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: dim},) if dynamic else None)
    assert all(node.meta["val"].device.type == "tpu" for node in exported.graph.nodes
               if isinstance(node.meta.get("val"), torch.Tensor))
    eager = exported.module()
    compiled = torch.compile(exported.module(), backend="tpu", fullgraph=True)
    with torch.no_grad():
        for batch in (2, 3) if dynamic else (len(x),):
            part = torch.cat([x] * 2)[:batch]
            expected = model(part)
            close(eager(part), expected, 1e-4, "exported graph, eager")
            close(compiled(part), expected, 1e-4, "exported graph, compiled")


def test_export_decomposed_and_saved(tmp_path):
    model, x = make("mlp")
    exported = torch.export.export(model.eval(), (x,)).run_decompositions()
    torch.export.save(exported, tmp_path / "mlp.pt2")
    loaded = torch.export.load(tmp_path / "mlp.pt2").module()
    with torch.no_grad():
        close(loaded(x), model(x), 1e-4, "loaded")
        close(torch.compile(loaded, backend="tpu", fullgraph=True)(x), model(x), 1e-4, "loaded and compiled")


def tiny_llama():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
    return transformers.LlamaForCausalLM(config).eval().to("tpu")


def test_generate_with_a_static_cache_compiles_for_tpu():
    model = tiny_llama()
    ids = torch.tensor([[5, 6, 7, 8]], device="tpu")
    options = dict(max_new_tokens=8, min_new_tokens=8, do_sample=False, attention_mask=torch.ones_like(ids))
    expected = model.generate(ids, **options)
    assert traces() == 0
    seen = []
    from torch_tpu_c import compile as ours
    inner = ours.compile_graph

    def spy(*args, **kwargs):
        seen.append(1)
        return inner(*args, **kwargs)

    ours.compile_graph = spy
    try:
        with native_only(log_ops=False):
            actual = model.generate(ids, cache_implementation="static", **options)
    finally:
        ours.compile_graph = inner
    assert torch.equal(actual, expected)
    assert seen, "the decoding step was not compiled for tpu"
    assert traces() == 1


def test_inductor_names_our_backend():
    with pytest.raises(Exception, match='backend="tpu"') as caught:
        torch.compile(lambda x: x + 1)(torch.ones(2, device="tpu"))
    assert len(str(caught.value).splitlines()) < 12, str(caught.value)


@pytest.mark.slow
def test_inductor_on_the_cpu_is_untouched():
    import shutil

    if not shutil.which("g++"):
        pytest.skip("Inductor's CPU backend needs g++")
    x = torch.randn(3)
    torch.testing.assert_close(torch.compile(lambda v: v.sin() + 1)(x), x.sin() + 1)
