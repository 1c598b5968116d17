"""vmap, grad, vjp, jvp, jacobians, hessians, functional_call on tpu, against the CPU."""

import pytest
import torch
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)


def values(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def both(program, *inputs, **tolerance):
    expected = program(*inputs)
    result = program(*[t.tpu() for t in inputs])
    torch.utils._pytree.tree_map(
        lambda a, b: torch.testing.assert_close(a.cpu(), b, **(tolerance or {"rtol": 1e-4, "atol": 1e-5})),
        result,
        expected,
    )
    assert all(t.is_tpu for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor))


FUNCTIONS = {
    "sin": lambda x: x.sin(),
    "dot": lambda x: x @ x,
    "softmax": lambda x: x.softmax(-1),
    "sum": lambda x: (x * x).sum(),
    "norm": lambda x: x.norm(),
    "cumsum": lambda x: x.cumsum(0),
    "outer": lambda x: torch.outer(x, x),
    "view": lambda x: x.view(2, -1).t(),
    "where": lambda x: torch.where(x > 0, x, -x),
    "index": lambda x: x[torch.tensor([1, 0], device=x.device)],
    "flip": lambda x: x.flip(0),
    "cat": lambda x: torch.cat([x, x * 2]),
    "max": lambda x: x.max(),
    "sort": lambda x: x.sort()[0],
    "std": lambda x: x.std(),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2)),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (4,)),
    "gelu": lambda x: torch.nn.functional.gelu(x),
    "new": lambda x: x + torch.ones(4, device=x.device),
    "roll": lambda x: x.roll(1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap(name):
    both(vmap(FUNCTIONS[name]), values(5, 4))


@pytest.mark.parametrize(
    "name", ["sin", "dot", "softmax", "norm", "cumsum", "where", "max", "std", "layer_norm", "gelu"]
)
def test_vmap_of_grad(name):
    both(vmap(grad(lambda x: FUNCTIONS[name](x).sum())), values(5, 4, seed=1))


@pytest.mark.parametrize("name", ["sin", "dot", "softmax", "cumsum", "where", "cat", "gelu", "outer"])
def test_jvp_and_vjp(name):
    both(lambda x, t: jvp(FUNCTIONS[name], (x,), (t,)), values(4), values(4, seed=2))
    both(lambda x: vjp(FUNCTIONS[name], x)[1](torch.ones_like(FUNCTIONS[name](x)))[0], values(4))


def test_jacobians_and_hessian():
    both(jacrev(lambda x: x.sin() * x.sum()), values(4))
    both(jacfwd(lambda x: x.sin() * x.sum()), values(4))
    both(hessian(lambda x: (x.sin() ** 2).sum()), values(4))


def test_in_dims_out_dims_and_nesting():
    both(vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1), values(3, 4), values(4))
    both(vmap(vmap(torch.dot, in_dims=(0, None)), in_dims=(None, 0)), values(3, 4), values(5, 4))
    both(vmap(lambda x: x.sum(), chunk_size=2), values(5, 4))


def test_matmul_and_linear_batching():
    both(vmap(torch.mm), values(3, 2, 4), values(3, 4, 5))
    both(vmap(torch.nn.functional.linear, in_dims=(0, None)), values(3, 2, 4), values(5, 4))
    both(
        vmap(lambda x, w: torch.nn.functional.conv2d(x[None], w)[0], in_dims=(0, None)),
        values(3, 2, 6, 6),
        values(4, 2, 3, 3),
    )


def test_in_place_under_vmap():
    def program(x):
        y = x.clone()
        y.add_(1)
        y[0] = 5
        return y

    both(vmap(program), values(3, 4))


def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def test_per_sample_gradients():
    cpu, tpu = mlp(), mlp().tpu()

    def loss(model):
        def compute(parameters, x, y):
            return torch.nn.functional.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

        return compute

    x, y = values(6, 4), torch.arange(6) % 3
    results = []
    for model, device in ((cpu, "cpu"), (tpu, "tpu")):
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        results.append(vmap(grad(loss(model)), in_dims=(None, 0, 0))(parameters, x.to(device), y.to(device)))
    for name, expected in results[0].items():
        assert results[1][name].shape == (6, *expected.shape[1:])
        torch.testing.assert_close(results[1][name].cpu(), expected, rtol=1e-4, atol=1e-5)


def test_ensemble_of_models():
    models = [mlp() for _ in range(3)]
    for step, model in enumerate(models):
        for p in model.parameters():
            p.data.mul_(step + 1)
    x = values(5, 4)
    expected = torch.stack([model(x) for model in models])
    models = [model.tpu() for model in models]
    parameters, buffers = stack_module_state(models)
    skeleton = mlp().to("meta")
    result = vmap(lambda p, b, v: functional_call(skeleton, (p, b), (v,)), in_dims=(0, 0, None))(
        parameters, buffers, x.tpu()
    )
    torch.testing.assert_close(result.cpu(), expected, rtol=1e-4, atol=1e-5)


def test_grad_and_value_and_aux():
    both(lambda x: grad_and_value(lambda v: (v * v).sum())(x), values(4))
    both(lambda x: grad(lambda v: ((v**3).sum(), v * 2), has_aux=True)(x), values(4))


def test_randomness_modes():
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: x + torch.rand(2, device="tpu"))(torch.ones(3, 2, device="tpu"))
    same = vmap(lambda x: x + torch.rand(2, device="tpu"), randomness="same")(
        torch.zeros(3, 2, device="tpu")
    ).cpu()
    assert same[0].equal(same[1]) and (same > 0).all()
    different = vmap(lambda x: x + torch.rand(2, device="tpu"), randomness="different")(
        torch.zeros(3, 2, device="tpu")
    ).cpu()
    assert not different[0].equal(different[1])


def test_forward_ad():
    import torch.autograd.forward_ad as forward

    x, t = values(4), values(4, seed=3)
    with forward.dual_level():
        dual = forward.make_dual(x.tpu(), t.tpu())
        result = forward.unpack_dual(dual.exp() * dual)
        expected = forward.unpack_dual((lambda d: d.exp() * d)(forward.make_dual(x, t)))
    torch.testing.assert_close(result.tangent.cpu(), expected.tangent)


def test_functionalize_and_make_fx():
    from torch.func import functionalize
    from torch.fx.experimental.proxy_tensor import make_fx

    def program(x):
        y = x.clone()
        y[1:].add_(1)
        return y

    x = torch.arange(4.0, device="tpu")
    assert functionalize(program)(x).cpu().tolist() == [0, 2, 3, 4]
    graph = make_fx(functionalize(program))(x)
    assert "add_" not in graph.code and graph(x).cpu().tolist() == [0, 2, 3, 4]


def test_double_backward_and_gradcheck():
    x = values(3).double().tpu().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: v.sin() * v.sum(), (x,))
    assert torch.autograd.gradgradcheck(lambda v: (v**3).sum(), (x,))
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second.cpu(), 6 * x.detach().cpu())
