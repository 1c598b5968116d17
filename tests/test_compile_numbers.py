"""Numbers in compiled graphs: one program for many values where a number is only data, one a value where it is a shape."""
import pytest
import torch


@pytest.fixture(autouse=True)
def _reset():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def programs(f, calls, reference=None):
    """Calls the compiled f; each result equals the CPU's. Returns the compiles of each call."""
    compiled = torch.compile(f, backend="tpu", fullgraph=True, dynamic=True)
    counts = []
    for args in calls:
        expected = (reference or f)(*args)
        moved = [value.to("tpu") if isinstance(value, torch.Tensor) else value for value in args]
        before = torch.tpu.compile_stats()["misses"]
        found = compiled(*moved)
        counts.append(torch.tpu.compile_stats()["misses"] - before)
        torch.testing.assert_close([t.cpu() for t in found], list(expected), equal_nan=True)
    return counts


X = torch.tensor([1.5, -2.0, 0.25, 3.0])


def test_number_as_data_is_one_program():
    def f(x, n):
        return x * n, torch.full((4,), n, device=x.device), x + (n * 2 - 1), torch.tensor(n, device=x.device) + x.long()

    counts = programs(f, [(X, n) for n in (5, 6, 17, -40, 1 << 40)])
    assert counts == [1, 0, 0, 0, 0]


def test_range_that_moves_is_one_program():
    def f(x, n):
        positions = torch.arange(n, n + 4, device=x.device)
        return positions, positions * 2 + x.long(), torch.arange(n, n + 8, 2, device=x.device, dtype=torch.float32)

    counts = programs(f, [(X, n) for n in (5, 100, 1 << 33)])
    assert counts == [1, 0, 0]


def test_float_as_data_is_one_program():
    counts = programs(lambda x, rate: (x * rate, x - rate / 2), [(X, 0.375), (X, 1.25), (X, 1e-3)])
    assert counts[2:] == [0]


def test_special_numbers_keep_their_meaning():
    """addmm with beta 0 ignores a NaN; powers of 0, 0.5 and 2 are folded."""
    def f(x, n):
        wide = torch.addmm(torch.full((4, 4), float("nan"), device=x.device), torch.outer(x, x), torch.outer(x, x), beta=n)
        return wide, x ** n

    programs(f, [(X, n) for n in (0, 2, 5, 3, 0)], reference=f)


def test_number_too_large_for_the_dtype_is_eagers_error():
    def f(x, n):
        return (torch.full((3,), n, dtype=torch.uint8, device=x.device),)

    assert programs(f, [(X, 7), (X, 9), (X, 250)])[1:] == [0, 0]
    compiled = torch.compile(f, backend="tpu", fullgraph=True, dynamic=True)
    compiled(X.to("tpu"), 7)
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8"):
        compiled(X.to("tpu"), 300)


def test_sizes_are_still_programs_of_their_own():
    counts = programs(lambda x, n: (x.new_zeros(n) + n, x[:n] * n), [(X, 2), (X, 3), (X, 2)])
    assert counts == [1, 1, 0]


def test_data_number_saved_for_the_backward():
    def f(x, n):
        return (x * n).sin() * n

    compiled = torch.compile(f, backend="tpu", fullgraph=True, dynamic=True)
    counts = []
    for n in (4, 7, 9):
        mine, theirs = X.to("tpu").requires_grad_(), X.clone().requires_grad_()
        before = torch.tpu.compile_stats()["misses"]
        compiled(mine, n).backward(torch.ones(4, device="tpu"))
        counts.append(torch.tpu.compile_stats()["misses"] - before)
        f(theirs, n).backward(torch.ones(4))
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad)
    assert counts[2] == 0 and counts[1] < counts[0]


def test_item_is_data_of_the_next_piece():
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        counts = programs(
            lambda i, x: (x * i.item() + 1, x.long() // i.item()), [(torch.tensor(n), X) for n in (5, 8, 11, 100)])
    assert counts[0] >= 1 and counts[1:] == [0, 0, 0]
