"""Results too large for any cache are written past it: the same values, whatever their dtype, shape and alignment."""
import pytest
import torch
import torch.nn.functional as F

MIB = 1 << 20
# rows of one tile, of many tiles, narrower than a tile, and one that no tile size divides
SHAPES = [(9, MIB), (33, 1000, 257), (130003, 67), (8 * MIB + 2 * MIB + 13,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pointwise(shape):
    torch.manual_seed(0)
    x, y = torch.randn(shape), torch.randn(shape)
    tx, ty = x.tpu(), y.tpu()
    assert (tx + ty).cpu().equal(x + y)
    assert (-tx).cpu().equal(-x)
    assert torch.relu(tx).cpu().equal(torch.relu(x))
    assert (tx * ty[..., :1] - 0.5).cpu().equal(x * y[..., :1] - 0.5)
    torch.testing.assert_close(F.gelu(tx).cpu(), F.gelu(x))
    assert torch.full_like(tx, 2.5).cpu().equal(torch.full_like(x, 2.5))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.uint8, torch.complex64, torch.bool], ids=str)
def test_dtypes(dtype):
    size = 35 * MIB // (1 if dtype in (torch.uint8, torch.bool) else 2) + 5
    x = torch.randint(0, 200, (size,))
    x = (x > 100) if dtype == torch.bool else x.to(dtype)
    y = x.flip(0)
    tx, ty = x.tpu(), y.tpu()
    if dtype == torch.bool:
        assert (tx ^ ty).cpu().equal(x ^ y)
    else:
        assert (tx * ty).cpu().equal(x * y)
        assert tx.to(torch.float32 if dtype != torch.complex64 else torch.complex128).cpu().equal(
            x.to(torch.float32 if dtype != torch.complex64 else torch.complex128))


def test_written_over_an_operand_and_through_views():
    x = torch.randn(9 * MIB + 3)
    t = x.tpu()
    kept = t.clone()
    t.add_(1.5).mul_(t)
    assert t.cpu().equal((x + 1.5) * (x + 1.5)) and kept.cpu().equal(x)
    base = torch.zeros(10 * MIB, device="tpu")
    base[7:-3].copy_(torch.arange(10 * MIB - 10, dtype=torch.float32).tpu() * 2)
    expected = torch.zeros(10 * MIB)
    expected[7:-3] = torch.arange(10 * MIB - 10, dtype=torch.float32) * 2
    assert base.cpu().equal(expected)


@pytest.mark.parametrize("shape", [(2100, 4099), (9000, 1000), (700, 20001)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rows(shape, dtype):
    torch.manual_seed(1)
    if dtype == torch.bfloat16:
        shape = (shape[0] * 2, shape[1])
    x = torch.randn(shape).to(dtype)
    t = x.tpu()
    wide = x.float()
    tolerances = {} if dtype == torch.float32 else {"rtol": 2**-8, "atol": 1e-6}
    for op in (lambda v: v.softmax(-1), lambda v: v.log_softmax(-1), lambda v: F.layer_norm(v, v.shape[-1:])):
        torch.testing.assert_close(op(t).float().cpu(), op(wide), **tolerances)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("columns", [1000, 4099])
def test_rows_with_parameters_gradients_and_special_values(dtype, columns):
    torch.manual_seed(2)
    rows = 36 * MIB // columns // dtype.itemsize
    x, grad = torch.randn(rows, columns, dtype=dtype), torch.randn(rows, columns, dtype=dtype)
    weight, bias = torch.randn(columns, dtype=dtype), torch.randn(columns, dtype=dtype)
    inf, nan = float("inf"), float("nan")
    for row, at, value in ((0, 0, nan), (1, columns - 1, nan), (2, 5, inf), (3, 7, -inf), (rows - 1, columns - 2, nan)):
        x[row, at] = value
    x[4] = -inf

    def run(x, grad, weight, bias):
        x = x.clone().requires_grad_()
        out = []
        for op in (lambda v: v.softmax(-1), lambda v: v.log_softmax(-1),
                   lambda v: F.layer_norm(v, (columns,), weight, bias), lambda v: F.rms_norm(v, (columns,), weight)):
            y = op(x)
            out += [y.detach(), torch.autograd.grad(y, x, grad)[0]]
        return [v.cpu() for v in out]
    for got, want in zip(run(x.tpu(), grad.tpu(), weight.tpu(), bias.tpu()), run(x, grad, weight, bias)):
        torch.testing.assert_close(got, want, equal_nan=True, rtol=2e-5 if dtype == torch.float32 else 1e-10, atol=2e-5 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("special", [float("nan"), float("inf"), -float("inf"), 0.0, -0.0])
@pytest.mark.parametrize("at", [0, 3, 700, 1023])
def test_largest_and_smallest_of_special_values(special, at):
    """NaN wins; a maximum of zeros is +0, a minimum -0 where both are there (IEEE 754-2019 maximum and minimum)."""
    x = -torch.rand(1024) - 1
    x[at] = special
    x[(at + 5) % 1024] = -special if special == 0 else -1.5
    t = x.tpu()
    for reduce, name in ((torch.amax, "maximum"), (torch.amin, "minimum")):
        for sign in (1, -1):
            got, want = reduce(t * sign, 0).cpu(), reduce(x * sign, 0)
            assert got.equal(want) or (got.isnan() and want.isnan())
    if special == 0:
        assert not t.amax(0).cpu().signbit() and (-t).amin(0).cpu().signbit()
