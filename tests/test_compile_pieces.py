"""Graphs cut at what no program can hold: sizes that depend on data, numbers read from tensors, higher-order ops."""
import pytest
import torch
from torch import nn

from observe import native_only

X = torch.tensor([1.5, -2.0, 0.25, 3.0, -0.5, 1.5])
MASK = torch.tensor([True, False, True, True, False, True])
NONE = torch.zeros(6, dtype=torch.bool)


@pytest.fixture(autouse=True)
def _reset():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield
    torch._dynamo.reset()


def moved(args):
    return [value.to("tpu") if isinstance(value, torch.Tensor) else value for value in args]


def agree(f, *calls, **options):
    """The compiled f, whole, equals f on the CPU for each tuple of arguments."""
    compiled = torch.compile(f, backend="tpu", fullgraph=True, **options)
    with native_only(log_ops=False):
        for args in calls:
            expected = f(*[value.clone() for value in args])
            found = compiled(*moved(args))
            flat = torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, found)
            torch.testing.assert_close(flat, expected, rtol=1e-5, atol=1e-6)


SIZED = {
    "nonzero": (lambda x, m: (x * 2 > 0).nonzero().float() * 3, True),
    "masked_select": (lambda x, m: (x * 2).masked_select(m).sin() + 1, True),
    "boolean index": (lambda x, m: x.outer(x)[m].sum(1) * 2, True),
    "two masks": (lambda x, m: x.outer(x)[m][:, m] @ x.outer(x)[m].T[m], True),
    "unique": (lambda x, m: tuple(t * 2 for t in torch.unique(x * 2, return_inverse=True, return_counts=True)), False),
    "unique_consecutive": (lambda x, m: torch.unique_consecutive(m.long()) + 1, False),
    "unique_dim": (lambda x, m: torch.unique(m.long().view(3, 2), dim=0) * 2, False),
    "bincount": (lambda x, m: torch.bincount(x.abs().long()) * 2, False),
    "repeat_interleave": (lambda x, m: (x + 1).repeat_interleave(m.long() * 2) * 3, False),
    "repeat_interleave of a size": (lambda x, m: (x + 1).repeat_interleave(m.long(), output_size=4) * 3, False),
    "index_put": (lambda x, m: x.index_put((m,), x[m].flip(0) * 2) + 1, True),
    "two in a row": (lambda x, m: x[m][x[m] > 1] * 2, True),
}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_from_data(name):
    f, takes_empty = SIZED[name]
    agree(f, (X, MASK), (-X, MASK.flip(0)), *([(X, NONE)] if takes_empty else []))


def test_a_piece_is_compiled_once_a_size():
    compiled = torch.compile(lambda x, m: (x * 2)[m].sin() + 1, backend="tpu", fullgraph=True)
    for mask in (MASK, MASK.flip(0)):
        compiled(X.to("tpu"), mask.to("tpu"))
    before = torch.tpu.compile_stats()["misses"]
    for mask in (MASK.roll(1), MASK.roll(2)):
        torch.testing.assert_close(compiled(X.to("tpu"), mask.to("tpu")).cpu(), (X * 2)[mask].sin() + 1)
    assert torch.tpu.compile_stats()["misses"] == before


def test_gradient_through_a_boolean_index():
    def f(x, m):
        return (x * 2)[m].sin().sum() + x.masked_scatter(m, x.flip(0) * 3).cos().sum()

    mine, theirs = X.to("tpu").requires_grad_(), X.clone().requires_grad_()
    torch.compile(f, backend="tpu", fullgraph=True)(mine, MASK.to("tpu")).backward()
    f(theirs, MASK).backward()
    torch.testing.assert_close(mine.grad.cpu(), theirs.grad)


def test_export_with_sizes_from_data(tmp_path):
    class Model(nn.Module):
        def forward(self, x, m):
            chosen = (x * 2)[m]
            return chosen.sin() + 1, chosen.sum() * x

    exported = torch.export.export(Model(), tuple(moved((X, MASK)))).run_decompositions()
    torch.export.save(exported, tmp_path / "m.pt2")
    loaded = torch.export.load(tmp_path / "m.pt2").module()
    compiled = torch.compile(loaded, backend="tpu", fullgraph=True)
    for mask in (MASK, NONE, MASK.flip(0)):
        expected = Model()(X, mask)
        for run in (loaded, compiled):
            torch.testing.assert_close([t.cpu() for t in run(*moved((X, mask)))], list(expected))


def test_number_checks_run():
    def f(x, n):
        size = n.item()
        torch._check(size >= 2)
        torch._check(size <= 6)
        return x[:size] * 2

    compiled = torch.compile(f, backend="tpu", fullgraph=True)
    for n in (3, 6, 2):
        torch.testing.assert_close(compiled(X.to("tpu"), torch.tensor(n, device="tpu")).cpu(), X[:n] * 2)
    with pytest.raises(RuntimeError, match=">= 2|u0"):
        compiled(X.to("tpu"), torch.tensor(1, device="tpu"))


def test_tensor_assertion_is_kept():
    def f(x):
        torch._assert_async((x > -5).all(), "too low")
        return x * 2

    compiled = torch.compile(f, backend="tpu", fullgraph=True)
    torch.testing.assert_close(compiled(X.to("tpu")).cpu(), X * 2)
    with pytest.raises(RuntimeError, match="too low"):
        compiled(X.to("tpu") - 10).cpu()


def test_random_words_keep_their_order_across_a_cut():
    def f(x, m):
        first = torch.rand_like(x)
        return first, torch.rand_like((x + first)[m]), torch.rand(3, device=x.device)

    args = moved((X, MASK))
    torch.manual_seed(3)
    expected = f(*args)
    torch.manual_seed(3)
    found = torch.compile(f, backend="tpu", fullgraph=True)(*args)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))


@pytest.mark.parametrize("taken", [True, False])
def test_cond_with_gradient(taken):
    def f(p, x):
        return torch.cond(p, lambda x: x.sin() * 3, lambda x: x.cos() - 1, (x * 2,))

    mine, theirs = X.to("tpu").requires_grad_(), X.clone().requires_grad_()
    torch.compile(f, backend="tpu", fullgraph=True)(torch.tensor(taken, device="tpu"), mine).sum().backward()
    (theirs * 2).sin().mul(3).sum().backward() if taken else (theirs * 2).cos().sum().backward()
    torch.testing.assert_close(mine.grad.cpu(), theirs.grad)


def test_while_loop():
    from torch._higher_order_ops.while_loop import while_loop

    def f(i, x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + i), (i, x))

    agree(f, (torch.tensor(0), X), (torch.tensor(7), X))


def test_flex_attention():
    from torch.nn.attention.flex_attention import flex_attention

    def f(q, k, v):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j) * 0.1)

    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 8, 4, generator=generator) for _ in range(3))
    bias = (torch.arange(8)[:, None] - torch.arange(8)) * 0.1
    expected = torch.softmax(q @ k.mT / 2 + bias, -1) @ v
    found = torch.compile(f, backend="tpu", fullgraph=True)(*moved((q, k, v)))
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)


def test_other_libraries_ops_are_eager_nodes():
    library = torch.library.Library("tt_pieces_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    seen = []

    def twice(x):
        seen.append(type(x))
        return x + x

    library.impl("twice", twice, "CompositeExplicitAutograd")
    library.impl("twice", lambda x: torch.empty_like(x), "Meta")
    compiled = torch.compile(
        lambda x: torch.ops.tt_pieces_test.twice(x.sin()).cos(), backend="tpu", fullgraph=True)
    torch.testing.assert_close(compiled(X.to("tpu")).cpu(), (X.sin() * 2).cos())
    assert seen == [torch.Tensor]
