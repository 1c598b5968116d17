"""In-place and out=: resize warning, castability, results."""

import warnings

import pytest
import torch


def test_out_is_written(check):
    a, out = torch.arange(4.0), torch.empty(4, device="tpu")
    result = torch.add(a.tpu(), a.tpu(), out=out)
    assert result is out
    check(out, a + a)


def test_out_resize_warns(check):
    a = torch.arange(6.0)
    out = torch.empty(2, device="tpu")
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.mul(a.tpu(), 2, out=out)
    check(out, a * 2)
    out = torch.empty(0, device="tpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.mul(a.tpu(), 2, out=out)
    check(out, a * 2)


def test_out_strided(check):
    a = torch.arange(6.0).reshape(2, 3)
    base = torch.zeros(3, 4, device="tpu")
    torch.add(a.tpu(), 1, out=base[:, ::2].t())
    expected = torch.zeros(3, 4)
    expected[:, ::2] = (a + 1).t()
    check(base, expected)


def test_out_other_dtype(check):
    a = torch.arange(3)
    out = torch.empty(3, dtype=torch.float64, device="tpu")
    torch.add(a.tpu(), a.tpu(), out=out)
    check(out, (a + a).double())


def test_cast_errors():
    i = torch.arange(3, device="tpu")
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        i.add_(1.5)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.mul(torch.ones(3, device="tpu"), 2, out=i)
    with pytest.raises(RuntimeError, match="can't be cast"):
        i.div_(2)
    assert i.cpu().tolist() == [0, 1, 2]


def test_inplace_shape_error():
    a = torch.ones(3, device="tpu")
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        a.add_(torch.ones(2, 3, device="tpu"))
    assert a.cpu().tolist() == [1, 1, 1]


def test_shape_error_text():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match the size of tensor b \(4\)"):
        torch.ones(3, device="tpu") + torch.ones(4, device="tpu")


def test_inplace_returns_self(check):
    a = torch.ones(3, device="tpu")
    version = a._version
    assert a.add_(1) is a and a.mul_(2) is a
    assert a._version == version + 2
    check(a, torch.full((3,), 4.0))


def test_masked_writes(check):
    x = torch.arange(12.0).reshape(3, 4)
    t = x.tpu()
    for base in (x, t):
        base[base > 5] = 0
        base[1] = base[2]
        base[:, [0, 2]] = -1
    check(t, x)
    mask = torch.tensor([True, False, True])
    check(t[mask.tpu()], x[mask])
    check(t[mask], x[mask])
    for base in (x, t):
        base[mask if base is x else mask.tpu()] = torch.arange(8.0).reshape(2, 4).to(base.device)
    check(t, x)
    with pytest.raises(IndexError, match="shape of the mask"):
        t[torch.tensor([True, False], device="tpu")]


def test_index_out_of_range():
    t = torch.arange(12.0, device="tpu").reshape(3, 4)
    with pytest.raises(IndexError):
        t[torch.tensor([3], device="tpu")].cpu()
    with pytest.raises(IndexError):
        t[5]
    with pytest.raises(IndexError, match="Dimension out of range"):
        t.sum(4)
