"""Activation checkpointing: recomputation gives the same gradients, dropout included."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

BOTH = pytest.mark.parametrize("reentrant", [True, False])


def block(width=16, p=0.3):
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(width, width),
        torch.nn.GELU(),
        torch.nn.Dropout(p),
        torch.nn.Linear(width, width),
        torch.nn.Dropout(p),
    )


def gradients(model, run):
    model.zero_grad()
    x = torch.linspace(-1, 1, 48).reshape(3, 16).tpu().requires_grad_()
    torch.manual_seed(9)
    run(model, x).pow(2).sum().backward()
    return [x.grad.cpu()] + [p.grad.cpu() for p in model.parameters()]


@BOTH
def test_dropout_is_the_same_in_the_second_forward(reentrant):
    model = block().tpu()
    plain = gradients(model, lambda m, x: m(x))
    kept = gradients(model, lambda m, x: checkpoint(m, x, use_reentrant=reentrant))
    for left, right in zip(plain, kept):
        assert left.equal(right)


@BOTH
def test_state_after_is_the_plain_one(reentrant):
    model = block().tpu()
    gradients(model, lambda m, x: m(x))
    state = torch.tpu.get_rng_state()
    gradients(model, lambda m, x: checkpoint(m, x, use_reentrant=reentrant))
    assert torch.tpu.get_rng_state().equal(state)


@BOTH
def test_without_preserving_the_state(reentrant):
    model = block().tpu()
    plain = gradients(model, lambda m, x: m(x))
    other = gradients(model, lambda m, x: checkpoint(m, x, use_reentrant=reentrant, preserve_rng_state=False))
    assert any(not left.equal(right) for left, right in zip(plain, other))


@BOTH
def test_sequential_and_nested(reentrant):
    model = torch.nn.Sequential(*[block() for _ in range(4)]).tpu()
    plain = gradients(model, lambda m, x: m(x))
    kept = gradients(model, lambda m, x: checkpoint_sequential(m, 2, x, use_reentrant=reentrant))
    for left, right in zip(plain, kept):
        assert left.equal(right)
    if not reentrant:

        def nested(m, x):
            inner = lambda v: checkpoint(m[1], checkpoint(m[0], v, use_reentrant=False), use_reentrant=False)  # noqa: E731
            return m[3](m[2](checkpoint(inner, x, use_reentrant=False)))

        for left, right in zip(plain, gradients(model, nested)):
            assert left.equal(right)


@BOTH
def test_autocast_is_restored(reentrant):
    model = block(p=0.0).tpu()

    def run(m, x, kept):
        with torch.autocast("tpu", dtype=torch.bfloat16):
            return (checkpoint(m, x, use_reentrant=reentrant) if kept else m(x)).float()

    plain = gradients(model, lambda m, x: run(m, x, False))
    for left, right in zip(plain, gradients(model, lambda m, x: run(m, x, True))):
        assert left.equal(right)


def test_values_are_the_cpus_without_dropout():
    model = block(p=0.0)
    x = torch.linspace(-1, 1, 48).reshape(3, 16).requires_grad_()
    model(x).pow(2).sum().backward()
    expected = [x.grad] + [p.grad.clone() for p in model.parameters()]
    for left, right in zip(
        gradients(model.tpu(), lambda m, v: checkpoint(m, v, use_reentrant=False)), expected
    ):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-5)


def test_selective_checkpointing():
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    calls = []

    def policy(context, op, *args, **kwargs):
        calls.append(op)
        return (
            CheckpointPolicy.MUST_SAVE
            if op in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default)
            else CheckpointPolicy.PREFER_RECOMPUTE
        )

    model = block(p=0.0).tpu()
    plain = gradients(model, lambda m, x: m(x))
    kept = gradients(
        model,
        lambda m, x: checkpoint(
            m, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)
        ),
    )
    for left, right in zip(plain, kept):
        torch.testing.assert_close(left, right)
    assert calls


def test_memory_is_saved():
    layers = torch.nn.Sequential(
        *[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Tanh()) for _ in range(6)]
    ).tpu()
    x = torch.randn(512, 256, device="tpu").requires_grad_()

    def held(run):
        before = torch.tpu.memory_allocated()
        y = run()
        figure = torch.tpu.memory_allocated() - before
        y.sum().backward()
        return figure

    plain = held(lambda: layers(x))

    def saving():
        h = x
        for layer in layers:
            h = checkpoint(layer, h, use_reentrant=False)
        return h

    assert held(saving) < plain * 0.6


def test_determinism_check_and_metadata_errors():
    flips = []

    def unstable(x):
        flips.append(1)
        return x.sin() if len(flips) % 2 else x[:2].sin()

    x = torch.ones(4, device="tpu", requires_grad=True)
    with pytest.raises(torch.utils.checkpoint.CheckpointError):
        checkpoint(unstable, x, use_reentrant=False).sum().backward()
    assert (x.detach() + 1).sum().item() == 8


@BOTH
def test_compiled_with_dropout(reentrant):
    """A compiled graph draws the same words in its second forward, and the same as without compiling."""
    if reentrant:
        pytest.skip("Dynamo traces the variant that is not reentrant only")
    model = block().tpu()
    plain = gradients(model, lambda m, x: checkpoint(m, x, use_reentrant=False))
    torch._dynamo.reset()
    compiled = torch.compile(lambda m, x: checkpoint(m, x, use_reentrant=False), backend="tpu")
    for left, right in zip(plain, gradients(model, compiled)):
        torch.testing.assert_close(left, right)
    inner = torch.compile(model, backend="tpu")
    for left, right in zip(plain, gradients(model, lambda m, x: checkpoint(inner, x, use_reentrant=False))):
        torch.testing.assert_close(left, right)


def test_graphsafe_recomputation(python):
    """torch's other way to recompute random ops: a pair of generators that go side by side."""
    done = python("""
import torch
from torch.utils.checkpoint import checkpoint
from torch._functorch._aot_autograd.utils import register_graphsafe_rng_device_type
register_graphsafe_rng_device_type("tpu")
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Dropout(0.5)).tpu()
f = torch.compile(lambda x: checkpoint(model, x, use_reentrant=False), backend="tpu")
x = torch.ones(4, 16, device="tpu", requires_grad=True)
for _ in range(3):
    model.zero_grad()
    y = f(x)
    kept = (y != 0).float()
    y.sum().backward()
    # the bias' gradient counts what the forward kept: the second forward kept the same
    torch.testing.assert_close(model[0].bias.grad, kept.sum(0) * 2)
print("same words")
""")
    assert done.stdout == "same words\n", done.stderr[-3000:]
