"""torch.tpu.precision: float32 products as the matrix unit makes them, against bfloat16 parts computed on the CPU."""
import pytest
import torch
import torch.nn.functional as F

P = torch.tpu.Precision


def parts(x, count):
    out = []
    for _ in range(count):
        part = x.bfloat16().float()
        out.append(part)
        x = x - part
    return out


def passes(product, a, b, count):
    """Sum of products of bfloat16 parts, in float64."""
    terms = {1: [(0, 0)], 3: [(0, 0), (0, 1), (1, 0)], 6: [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)]}[count]
    x, y = parts(a, 3), parts(b, 3)
    return sum(product(x[i].double(), y[j].double()) for i, j in terms)


@pytest.mark.parametrize("level", [P.DEFAULT, P.HIGH, P.HIGHEST], ids=lambda level: level.name)
def test_matmul_and_convolution(level):
    torch.manual_seed(0)
    a, b = torch.randn(33, 70), torch.randn(70, 21)
    x, w = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)
    with torch.tpu.precision(level):
        product = (a.to("tpu") @ b.to("tpu")).cpu()
        convolved = F.conv2d(x.to("tpu"), w.to("tpu")).cpu()
    torch.testing.assert_close(product.double(), passes(torch.matmul, a, b, level.value), rtol=2e-6, atol=2e-5)
    torch.testing.assert_close(convolved.double(), passes(F.conv2d, x, w, level.value), rtol=2e-6, atol=2e-5)
    if level is P.DEFAULT:
        assert (product - a @ b).abs().max() > 1e-3, "one pass must differ from true float32"


def test_true_float32_again_afterwards():
    a = torch.randn(16, 16)
    with torch.tpu.precision(P.DEFAULT):
        a.to("tpu") @ a.to("tpu")
    torch.testing.assert_close((a.to("tpu") @ a.to("tpu")).cpu(), a @ a, rtol=1e-5, atol=1e-5)


def test_infinities_stay():
    a = torch.tensor([[float("inf"), 1.0], [float("nan"), 2.0]])
    with torch.tpu.precision(P.HIGHEST):
        out = (a.to("tpu") @ torch.eye(2, device="tpu")[:, 1:]).cpu()
    assert torch.isnan(out[0, 0]) and torch.isnan(out[1, 0])
