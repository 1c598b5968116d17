"""torch.compile(backend="tpu"): whole graphs, inference and training, symbolic shapes."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _reset():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def compiled(f, **options):
    return torch.compile(f, backend="tpu", fullgraph=True, **options)


def test_listed():
    assert "tpu" in torch._dynamo.list_backends()


def test_pointwise_and_matmul(check):
    def f(a, b):
        return torch.relu(a @ b + 1).sum(0), a.t() * 2

    a, b = torch.randn(3, 4), torch.randn(4, 5)
    check(compiled(f)(a.tpu(), b.tpu()), f(a, b), atol=1e-5, rtol=1e-5)


def test_training_matches_eager():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    expected = [p.grad.clone() for p in model.parameters()]
    tpu = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).tpu()
    tpu.load_state_dict(model.state_dict())

    def step(x, y):
        return torch.nn.functional.cross_entropy(tpu(x), y)

    result = compiled(step)(x.tpu(), y.tpu())
    result.backward()
    assert result.item() == pytest.approx(loss.item(), rel=1e-5)
    for p, grad in zip(tpu.parameters(), expected):
        torch.testing.assert_close(p.grad.cpu(), grad, atol=1e-5, rtol=1e-4)


def test_mutation_and_alias(check):
    def f(x):
        x.add_(1)
        return x[1:], x * 2

    x = torch.arange(4.0)
    t = x.tpu()
    a, b = compiled(f)(t)
    expected = f(x)
    check((a, b), expected)
    check(t, x)
    a.fill_(9)
    assert t.cpu()[1].item() == 9


def test_dynamic_shapes(check):
    def f(x):
        return (x * x.shape[0]).sum(-1)

    g = compiled(f, dynamic=True)
    for n in (3, 5, 8):
        x = torch.randn(n, 4)
        check(g(x.tpu()), (x * n).sum(-1), atol=1e-5, rtol=1e-5)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 1


def test_factories_and_constants(check):
    table = torch.arange(4.0)

    def f(x):
        return x + torch.ones(4, device=x.device) * torch.arange(4, device=x.device) + table.to(x.device)

    x = torch.randn(4)
    check(compiled(f)(x.tpu()), f(x))


def test_dropout_and_seed():
    f = compiled(lambda x: torch.nn.functional.dropout(x, 0.5, True))
    x = torch.ones(1000, device="tpu")
    torch.manual_seed(1)
    a = f(x).cpu()
    torch.manual_seed(1)
    eager = torch.nn.functional.dropout(x, 0.5, True).cpu()
    assert torch.equal(a, eager)
    assert 350 < (a == 0).sum() < 650


def test_channels_last_output_strides():
    f = compiled(lambda x: x.contiguous(memory_format=torch.channels_last) * 2)
    x = torch.randn(2, 3, 4, 5)
    out = f(x.tpu())
    assert out.stride() == (x.contiguous(memory_format=torch.channels_last) * 2).stride()
    torch.testing.assert_close(out.cpu(), x * 2)


def test_autocast_inside():
    def f(a):
        with torch.amp.autocast("tpu"):
            return a @ a

    assert compiled(f)(torch.ones(2, 2, device="tpu")).dtype == torch.bfloat16


def test_dtypes_that_torchs_own_interface_refuses(check):
    for dtype in (torch.float64, torch.float16):
        x = torch.ones(3, dtype=dtype)
        check(compiled(lambda v: v + v)(x.tpu()), x + x)


def test_static_cache_update(check):
    def f(cache, new, position):
        cache.index_copy_(1, position, new)
        return cache.sum(1)

    cache, new, position = torch.zeros(2, 5, 3), torch.ones(2, 1, 3), torch.tensor([2])
    t = cache.tpu()
    out = compiled(f)(t, new.tpu(), position.tpu())
    check(out, f(cache, new, position))
    check(t, cache)


def test_missing_op_is_named(monkeypatch):
    from torch_tpu_c import compile, graph

    compile.decompositions()   # of the real table
    find = graph.find
    monkeypatch.setattr(graph, "find", lambda name: None if name == "sin" else find(name))
    f = torch.compile(lambda x: torch.sin(x), backend="tpu")
    with pytest.raises(NotImplementedError, match=r"aten::sin.*test_compile.py"):
        f(torch.ones(3, device="tpu"))


def test_inductor_is_refused():
    with pytest.raises(Exception, match='backend="tpu"'):
        torch.compile(lambda x: x + 1)(torch.ones(2, device="tpu"))


def test_export(check):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 2)

        def forward(self, x):
            return torch.relu(self.linear(x))

    model = Model()
    x = torch.randn(3, 4)
    expected = model(x)
    exported = torch.export.export(model.tpu(), (x.tpu(),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}})
    f = torch.compile(exported.module(), backend="tpu")
    check(f(x.tpu()).detach(), expected.detach(), atol=1e-5, rtol=1e-5)


def test_checkpoint_inside_compile(check):
    from torch.utils.checkpoint import checkpoint

    def f(x):
        return checkpoint(lambda z: torch.nn.functional.dropout(torch.sin(z) * z, 0.5, True), x, use_reentrant=False).sum()

    x = torch.ones(64, device="tpu", requires_grad=True)
    torch.compile(f, backend="tpu")(x).backward()
    assert torch.isfinite(x.grad.cpu()).all()
