"""Views, strided reads and writes, set_, resize_: values and aliasing as on the CPU."""

import pytest
import torch

VIEWS = {
    "t": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[1],
    "narrow": lambda x: x.narrow(1, 1, 3),
    "expand": lambda x: x[:, :1].expand(4, 5),
    "unsqueeze": lambda x: x[:, None, :, None],
    "view": lambda x: x.view(2, 2, 6),
    "reshape": lambda x: x.t().reshape(-1),
    "as_strided": lambda x: x.as_strided((3, 2), (2, 5), 3),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "unfold overlapping": lambda x: x.unfold(1, 3, 2),
    "diagonal": lambda x: x.diagonal(1),
    "flip": lambda x: x.flip(0),
    "movedim": lambda x: x.view(2, 2, 6).movedim(0, 2),
    "int32": lambda x: x.view(torch.int32),
    "int16": lambda x: x.view(torch.int16),
    "int16 offset": lambda x: x.view(torch.int16)[:, 1:],
    "chunk": lambda x: x.chunk(2, 1)[1],
    "unbind": lambda x: x.unbind(0)[2],
    "real": lambda x: torch.view_as_complex(x.view(4, 3, 2)).real,
    "imag": lambda x: torch.view_as_complex(x.view(4, 3, 2)).imag,
    "conj": lambda x: torch.view_as_complex(x.view(4, 3, 2)).conj(),
    "conj imag": lambda x: torch.view_as_complex(x.view(4, 3, 2)).conj().imag,
}


@pytest.mark.parametrize("name", VIEWS)
def test_reads(name, check):
    x = torch.arange(24.0).reshape(4, 6)
    t = x.tpu()
    check(VIEWS[name](t), VIEWS[name](x))
    # ... and as an operand
    if VIEWS[name](x).is_floating_point():
        check(VIEWS[name](t) * 2 + 1, VIEWS[name](x) * 2 + 1)


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("expand", "flip", "conj", "conj imag", "unfold overlapping")])
def test_writes(name, check):
    x = torch.arange(24.0).reshape(4, 6)
    t = x.tpu()
    for base in (x, t):
        VIEWS[name](base).fill_(7)
    check(t, x)
    for base in (x, t):
        VIEWS[name](base).add_(3)
    check(t, x)
    value = torch.arange(VIEWS[name](x).numel(), dtype=VIEWS[name](x).dtype).reshape(VIEWS[name](x).shape)
    VIEWS[name](x).copy_(value)
    VIEWS[name](t).copy_(value.tpu())
    check(t, x)
    VIEWS[name](x).copy_(value + 1)
    VIEWS[name](t).copy_(value + 1)   # from the host
    check(t, x)


def test_overlap_errors():
    x = torch.arange(6.0, device="tpu")
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        x[1:].add_(x[:-1])
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[:1].expand(3).add_(1)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[:1].expand(3).copy_(x[:3])


def test_disjoint_views_of_one_storage(check):
    x = torch.arange(6.0)
    t = x.tpu()
    for base in (x, t):
        base[::2].add_(base[1::2])
    check(t, x)


def test_overlapping_copy(check):
    t = torch.arange(6.0, device="tpu")
    t[1:].copy_(t[:-1].clone())
    check(t, torch.tensor([0.0, 0, 1, 2, 3, 4]))


def test_resize(check):
    x = torch.arange(6.0).reshape(2, 3)
    t = x.tpu()
    t.resize_(4, 3)
    check(t[:2], x)
    t.resize_(3)
    check(t, x.flatten()[:3])
    t = torch.empty(0, device="tpu")
    t.resize_(2, 2).fill_(1)
    check(t, torch.ones(2, 2))
    t = torch.ones(1, 2, 3, 4, device="tpu").resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    assert t.is_contiguous(memory_format=torch.channels_last)


def test_set(check):
    x = torch.arange(12.0)
    t = x.tpu()
    v = torch.empty(0, device="tpu")
    v.set_(t)
    assert v.data_ptr() == t.data_ptr()
    v.set_(t.untyped_storage(), 2, (2, 3), (3, 1))
    check(v, x[2:8].view(2, 3))
    v.fill_(0)
    assert t.cpu()[2:8].sum() == 0
    v.set_(t.untyped_storage())
    assert v.shape == (12,)
    v.set_()
    assert v.numel() == 0
    i = torch.empty(0, dtype=torch.int32, device="tpu")
    i.set_(t.untyped_storage(), 0, (12,), (1,))
    check(i, t.cpu().view(torch.int32))


def test_storage_resize():
    t = torch.arange(8.0, device="tpu")
    t.untyped_storage().resize_(0)
    assert t.untyped_storage().nbytes() == 0
    t.untyped_storage().resize_(32)
    assert t.untyped_storage().nbytes() == 32
    t.fill_(3)
    assert t.cpu().tolist() == [3] * 8


def test_two_threads_write_disjoint_views():
    import threading

    t = torch.zeros(2, 64, device="tpu")

    def work(row):
        for _ in range(200):
            t[row].add_(1)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (t.cpu() == 200).all()


def test_two_threads_cross():
    import threading

    a, b = torch.ones(16, device="tpu"), torch.ones(16, device="tpu")

    def work(left, right):
        for _ in range(100):
            left.add_(right)
            left.mul_(0.5)

    threads = [threading.Thread(target=work, args=pair) for pair in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert torch.isfinite(a.cpu()).all() and torch.isfinite(b.cpu()).all()


def test_channels_last(check):
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    t = x.tpu()
    assert t.is_contiguous(memory_format=torch.channels_last)
    check(t, x)
    assert (t * 2).stride() == (x * 2).stride()


def test_lazy_clone(check):
    t = torch.arange(4.0, device="tpu")
    c = torch._lazy_clone(t)
    c.add_(1)
    check(t, torch.arange(4.0))
    check(c, torch.arange(4.0) + 1)
