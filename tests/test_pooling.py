"""Fractional pooling and unpooling on tpu against CPU PyTorch."""

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_fractional_max_pool2d(dtype):
    """The random numbers are an argument: windows and indices are the CPU's exactly."""
    torch.manual_seed(0)
    x, u = torch.randn(2, 3, 11, 9).to(dtype), torch.rand(2, 3, 2).to(dtype)
    x[0, 0, 3:5, 3:5] = float("nan")
    for size, out in (([2, 3], [5, 4]), ([1, 1], [11, 9]), ([3, 2], [1, 1]), ([11, 9], [1, 1])):
        cpu = torch.ops.aten.fractional_max_pool2d(x, size, out, u)
        tpu = torch.ops.aten.fractional_max_pool2d(x.to("tpu"), size, out, u.to("tpu"))
        torch.testing.assert_close(tpu[0].cpu(), cpu[0], rtol=0, atol=0, equal_nan=True)
        assert torch.equal(tpu[1].cpu(), cpu[1])
        grad = torch.randn(cpu[0].shape).to(dtype)
        back = torch.ops.aten.fractional_max_pool2d_backward
        torch.testing.assert_close(back(grad.to("tpu"), x.to("tpu"), size, out, tpu[1]).cpu(), back(grad, x, size, out, cpu[1]),
                                   rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("batch", [(2,), ()])
def test_fractional_max_pool3d(batch):
    torch.manual_seed(1)
    x, u = torch.randn(*batch, 3, 6, 5, 7), torch.rand(2 if batch else 1, 3, 3)
    for size, out in (([2, 1, 3], [3, 4, 2]), ([2, 2, 2], [1, 3, 5])):
        cpu = torch.ops.aten.fractional_max_pool3d(x, size, out, u)
        tpu = torch.ops.aten.fractional_max_pool3d(x.to("tpu"), size, out, u.to("tpu"))
        assert torch.equal(tpu[0].cpu(), cpu[0]) and torch.equal(tpu[1].cpu(), cpu[1])
        grad = torch.randn(cpu[0].shape)
        back = torch.ops.aten.fractional_max_pool3d_backward
        torch.testing.assert_close(back(grad.to("tpu"), x.to("tpu"), size, out, tpu[1]).cpu(), back(grad, x, size, out, cpu[1]))


def test_fractional_pool_backward_checks_indices():
    x, grad, index = torch.zeros(1, 1, 5, 5), torch.ones(1, 1, 2, 2), torch.full((1, 1, 2, 2), 99)
    with pytest.raises(RuntimeError, match="index 99 is out of range"):
        torch.ops.aten.fractional_max_pool2d_backward(grad.to("tpu"), x.to("tpu"), [2, 2], [2, 2], index.to("tpu"))


def test_max_unpool3d():
    x = torch.randn(2, 3, 4, 4, 4)
    pooled, index = torch.nn.functional.max_pool3d(x, 2, return_indices=True)
    cpu = torch.nn.functional.max_unpool3d(pooled, index, 2)
    assert torch.equal(torch.nn.functional.max_unpool3d(pooled.to("tpu"), index.to("tpu"), 2).cpu(), cpu)
    index[0, 0, 0, 0, 0] = 64
    with pytest.raises(RuntimeError, match="Found an invalid max index: 64"):
        torch.nn.functional.max_unpool3d(pooled.to("tpu"), index.to("tpu"), 2)


@pytest.mark.parametrize("pool", ["adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool3d"])
def test_adaptive_pool_refuses_sizes_that_cannot_be(pool):
    op, x = getattr(torch.nn.functional, pool), torch.ones(1, 2, 4, 4, 4)[(slice(None),) * (5 if "3d" in pool else 4)]
    x = x if "3d" in pool else x[..., 0]
    size = (2, 2, 2**40) if "3d" in pool else (2, 2**40)
    for device in ("cpu", "tpu"):
        with pytest.raises(RuntimeError):
            op(x.to(device), size)
