"""Resizing of bytes on tpu: PyTorch's integer weights, so the CPU's values exactly."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_bytes(mode, antialias):
    torch.manual_seed(0)
    for shape in ((1, 3, 5, 6), (2, 7, 9, 8), (1, 1, 33, 47)):
        x = torch.randint(0, 256, shape, dtype=torch.uint8)
        for size in ((7, 9), (3, 4), (5, 6), (5, 13), (64, 64)):
            for align in (False, True):
                options = dict(size=size, mode=mode, antialias=antialias, align_corners=align)
                assert torch.equal(F.interpolate(x.to("tpu"), **options).cpu(), F.interpolate(x, **options))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int64, torch.bool])
def test_other_integers_are_refused(dtype):
    for shape, mode in (((1, 2, 4, 4), "bilinear"), ((1, 2, 4, 4), "bicubic"), ((1, 2, 4), "linear")):
        for device in ("cpu", "tpu"):
            with pytest.raises(NotImplementedError):
                F.interpolate(torch.ones(shape, device=device).to(dtype), scale_factor=2, mode=mode)
