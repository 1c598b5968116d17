"""Attacks on the written invariants of storages and views: each test is named after the invariant it attacks
(src/eager/cell.h E1 to E9, overlap.h, view.h, vtpu/exec/memory.h M, vtpu/exec/pool.h P, design D2, D3).

A program runs on the CPU and on tpu; every tensor that it returns, and every error, must be the same."""

import copy
import gc
import threading

import pytest
import torch
from forks import run_forked


def outcome(program, device):
    """What a program gives: its results, or the class and text of the error, and then the results it left."""
    try:
        return program(device)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return type(error), str(error).split("\n")[0]


def plain(value):
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().cpu()
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


def twins(program, text=True, **tolerance):
    cpu, tpu = outcome(program, "cpu"), outcome(program, "tpu")
    compare(tpu, cpu, text, tolerance)


def compare(tpu, cpu, text=True, tolerance=None):
    if isinstance(cpu, tuple) and cpu and isinstance(cpu[0], type):
        assert isinstance(tpu, tuple) and tpu[0] is cpu[0], f"the CPU raises {cpu}, tpu gives {tpu}"
        if text:
            assert tpu[1].replace("tpu:0", "cpu").endswith(cpu[1]), (tpu[1], cpu[1])
        return
    if isinstance(cpu, (tuple, list)):
        assert isinstance(tpu, (tuple, list)) and len(tpu) == len(cpu), (tpu, cpu)
        for left, right in zip(tpu, cpu):
            compare(left, right, text, tolerance)
        return
    if isinstance(cpu, torch.Tensor):
        assert isinstance(tpu, torch.Tensor), tpu
        assert tpu.device.type == "tpu" or cpu.numel() == 0
        assert tpu.shape == cpu.shape and tpu.stride() == cpu.stride(), (tpu.stride(), cpu.stride())
        assert tpu.storage_offset() == cpu.storage_offset()
        torch.testing.assert_close(
            plain(tpu), plain(cpu), **(tolerance or {"rtol": 0, "atol": 0}), equal_nan=True
        )
        return
    assert tpu == cpu, (tpu, cpu)


def ramp(device, *shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    return torch.arange(count, dtype=dtype).reshape(shape).to(device)


# ---- E1: an unbound storage reads as zeros, a partial write starts from zeros -----------------------------


def test_E1_partial_write_of_an_unbound_storage():
    t = torch.empty(6, 5, device="tpu")
    t[2:4, ::2] = 3
    expected = torch.zeros(6, 5)
    expected[2:4, ::2] = 3
    assert t.cpu().equal(expected)


def test_E1_read_of_an_unbound_storage():
    assert torch.empty(3, 3, device="tpu").cpu().abs().sum() == 0
    x = torch.empty(8, device="tpu")
    assert (x[1::2] + 1).cpu().tolist() == [1] * 4
    assert torch.empty(0, device="tpu").cpu().shape == (0,)
    assert x.view(torch.int32).cpu().tolist() == [0] * 8


def test_E1_copy_of_an_unbound_storage():
    x = torch.empty(4, device="tpu")
    y = x.clone()
    z = copy.deepcopy(x)
    x.fill_(1)
    assert y.cpu().tolist() == [0] * 4 == z.cpu().tolist()


# ---- E2, E3: a buffer covers exactly the bytes; canonical form follows whole overwrites -------------------

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
]


@pytest.mark.parametrize("first", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.complex64])
def test_E3_set_with_every_other_dtype(first):
    def program(device):
        x = (ramp(device, 32) % 7).to(first)
        out = []
        for dtype in DTYPES:
            count = x.untyped_storage().nbytes() // dtype.itemsize
            y = torch.empty(0, dtype=dtype, device=device)
            y.set_(x.untyped_storage(), 0, (count,), (1,))
            if dtype != torch.bool:  # bytes that are neither 0 nor 1 are no bools
                out.append(y.view(torch.uint8).clone())
                y[1 : count // 2].zero_()
                out.append(x.view(torch.uint8).clone())
                y.fill_(3)
            else:
                y.fill_(True)
            out.append(x.view(torch.uint8).clone())
            x.copy_((ramp(device, 32) % 5).to(first))
        return out

    twins(program)


def test_E2_resize_growth_keeps_the_old_bytes():
    def program(device):
        x = ramp(device, 2, 3)
        view = x[1]
        before = x.untyped_storage().nbytes()
        x.resize_(5, 4)
        x.view(-1)[6:] = -1
        view.mul_(10)  # the view sees the grown storage
        grown = x.untyped_storage().nbytes()
        x.resize_(2)
        return x, view, before, grown, x.untyped_storage().nbytes()

    twins(program)


def test_E2_resize_of_strided_and_offset_tensors():
    def program(device):
        base = ramp(device, 4, 4)
        x = base[1:, 1:3]
        x.resize_(3, 5)
        base2 = torch.empty(0, device=device).set_(base.untyped_storage(), 0, (5,), (1,))
        x[0] = 7
        return x[0], base2, x.untyped_storage().nbytes(), x.storage_offset()

    twins(program)


def test_E2_storage_resize_and_views():
    def program(device):
        x = ramp(device, 6)
        y = x[2:4]
        x.untyped_storage().resize_(24 + 16)
        z = torch.empty(0, device=device).set_(x.untyped_storage(), 0, (10,), (1,))
        z[6:] = 5
        y.add_(1)
        x.untyped_storage().resize_(12)
        w = torch.empty(0, device=device).set_(x.untyped_storage(), 0, (3,), (1,))
        return w.clone(), x.untyped_storage().nbytes()

    twins(program)


def test_E2_view_outside_of_the_storage():
    def program(device):
        x = ramp(device, 6)
        return x.as_strided((4, 2), (2, 1), 0)

    twins(program, text=False)
    x = ramp("tpu", 6)
    y = x[3:]
    x.untyped_storage().resize_(8)
    with pytest.raises(
        (RuntimeError, IndexError), match="storage of 8 bytes"
    ):  # never memory of somebody else
        (y + 1).cpu()
    assert torch.ones(2, device="tpu").sum().item() == 2


def test_E3_permuted_whole_writes():
    def program(device):
        x = torch.empty_strided((3, 4, 5), (1, 15, 3), device=device)
        x.copy_(ramp(device, 3, 4, 5))
        y = x.permute(2, 0, 1)
        y.mul_(2)
        z = torch.empty(0, device=device).set_(x.untyped_storage(), 0, (60,), (1,))
        return x, y, z

    twins(program)


def test_E3_whole_overwrite_with_another_form():
    def program(device):
        x = ramp(device, 4, 6)
        x.view(torch.int16).view(8, 6).t().copy_(ramp(device, 6, 8, dtype=torch.int16))
        x.view(torch.complex64).mul_(1j)
        return x.view(torch.uint8)

    twins(program)


# ---- view(dtype) at odd offsets and every width -----------------------------------------------------------


@pytest.mark.parametrize("begin", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.int64, torch.float16, torch.uint8])
def test_E3_view_dtype_at_odd_offsets(begin, dtype):
    def program(device):
        x = ramp(device, 40, dtype=torch.uint8)[begin : begin + 16]
        y = x.view(dtype)
        y = y.clone() if dtype in (torch.float32, torch.float16) else y + 1
        x.view(dtype)[1:].fill_(3)
        return y.view(torch.uint8), x

    twins(program)


def test_E3_unaligned_storage_offset_in_bytes():
    # a storage that is read at an element offset that is no multiple of another view's element
    def program(device):
        x = ramp(device, 9, dtype=torch.int16)
        y = torch.empty(0, dtype=torch.int32, device=device).set_(x.untyped_storage(), 0, (4,), (1,))
        a, b = x[1:], y[1:]
        b.add_(65536)
        a[2::2].mul_(2)
        return x, y, a, b

    twins(program)


def test_E3_bool_and_uint8():
    def program(device):
        x = torch.tensor([True, False, True, True]).to(device)
        y = x.view(torch.uint8)
        y[1:3] = torch.tensor([1, 0], dtype=torch.uint8).to(device)
        z = (ramp(device, 6, dtype=torch.uint8) % 2).view(torch.bool)
        z.logical_not_()
        return x, y + 1, z, z.view(torch.int8), x & z[:4], z.sum()

    twins(program)


def test_E3_complex_and_real():
    def program(device):
        x = torch.view_as_complex(ramp(device, 3, 4, 2))
        real, imag = x.real, x.imag
        real.mul_(2)
        imag[1] = -1
        x.add_(1j)
        y = x.conj()
        y.mul_(1j)  # writes through a conjugated view
        z = x.imag
        z.neg_()
        negative = x.conj().imag  # a negated view
        negative.add_(5)
        return torch.view_as_real(x), real, imag, z, y.is_conj(), negative.is_neg()

    twins(program)


def test_E3_results_keep_the_order_of_dimensions():
    def program(device):
        x = ramp(device, 2, 3, 4)
        views = (x.permute(2, 0, 1), x.transpose(0, 2), x[:, 1:].permute(1, 2, 0), x.unfold(2, 2, 1))
        return [
            (
                v.flip(0),
                v + 1,
                v.clone(),
                v.relu(),
                torch.empty_like(v).zero_(),
                v.to(torch.float64),
                v.contiguous(),
            )
            for v in views
        ]

    twins(program)


# ---- overlap: CPU's verdicts and CPU's texts ---------------------------------------------------------------

OVERLAPS = {
    "shifted": lambda x: x[1:].add_(x[:-1]),
    "shifted mul": lambda x: x[:-1].mul_(x[1:]),
    "alternate": lambda x: x[::2].add_(x[1::2]),
    "same": lambda x: x.add_(x),
    "same through a view": lambda x: x.add_(x.view(12)),
    "halves": lambda x: x[:6].add_(x[6:]),
    "reversed order": lambda x: x.view(3, 4).add_(x.view(4, 3).t()),
    "square and its transpose": lambda x: x[:9].view(3, 3).add_(x[:9].view(3, 3).t()),
    "expanded target": lambda x: x[:1].expand(4).add_(1),
    "expanded target fill": lambda x: x[:1].expand(4).fill_(1),
    "expanded target zero": lambda x: x[:1].expand(4).zero_(),
    "expanded column fill": lambda x: x.view(3, 4)[:, 1:2].expand(2, 3, 4).fill_(3),
    "expanded steps zero": lambda x: x[::3][None].expand(5, 4).zero_(),
    "expanded target copy": lambda x: x[:1].expand(4).copy_(x[4:8]),
    "expanded source": lambda x: x[:4].add_(x[5:6].expand(4)),
    "strided overlap copy": lambda x: x.as_strided((4, 3), (2, 1)).copy_(x.view(4, 3)),
    "out shifted": lambda x: torch.add(x[:-1], 1, out=x[1:]),
    "out same": lambda x: torch.add(x, 1, out=x),
    "out cat": lambda x: torch.cat([x[:4], x[4:8]], out=x[:8]),
    "out cumsum": lambda x: torch.cumsum(x, 0, out=x),
    "out cumsum shifted": lambda x: torch.cumsum(x[:-1], 0, out=x[1:]),
    "copy shifted": lambda x: x[1:].copy_(x[:-1].clone()),
    "addcmul": lambda x: x[:4].addcmul_(x[2:6], x[8:]),
    "lerp": lambda x: x[:4].lerp_(x[4:8], x[8:]),
    "where out": lambda x: torch.where(x > 3, x, -x, out=x),
    "masked_fill": lambda x: x.masked_fill_(x > 4, 9),
    "index_fill": lambda x: x.index_fill_(0, torch.tensor([1, 2], device=x.device), 5),
    "index_add": lambda x: x[:4].index_add_(0, torch.tensor([1, 2], device=x.device), x[4:6]),
    "scatter": lambda x: x[:4].scatter_(0, torch.tensor([3, 0], device=x.device), x[8:10]),
    "scatter self": lambda x: x.scatter_(0, torch.tensor([3, 0], device=x.device), x),
    "relu expanded": lambda x: x[:1].expand(4).relu_(),
    "clamp shifted": lambda x: torch.clamp(x[1:], 2, 5, out=x[:-1]),
    "tril": lambda x: x[:9].view(3, 3).tril_(),
    "tril out": lambda x: torch.tril(x[:9].view(3, 3), out=x[:9].view(3, 3)),
    "foreach": lambda x: torch._foreach_add_([x[:4], x[4:8]], [x[4:8], x[8:]]) or x,
    "foreach same": lambda x: torch._foreach_mul_([x[:4], x[:4]], 2) or x,
    "take out": lambda x: torch.take(x, torch.tensor([3, 0], device=x.device), out=x[:2]),
    "addmm": lambda x: x[:4].view(2, 2).addmm_(x[4:8].view(2, 2), x[8:].view(2, 2)),
    "baddbmm": lambda x: x[:4].view(1, 2, 2).baddbmm_(x[4:8].view(1, 2, 2), x[4:8].view(1, 2, 2)),
    "sort out": lambda x: torch.sort(
        x, descending=True, out=(x, torch.empty(12, dtype=torch.int64, device=x.device))
    )[0],
    "other dtype in the same bytes": lambda x: x.add_(x.view(torch.int32)),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlap_verdict_is_the_cpus(name):
    def program(device):
        x = ramp(device, 12) + 1
        result = outcome(lambda _: OVERLAPS[name](x), device)
        return x, result

    twins(program)


def test_overlap_that_is_a_race_on_the_cpu():
    # the CPU lets these pass and its result depends on its loops; ours reads all before it writes, or refuses
    x = ramp("tpu", 12) + 1
    square = x[:9].view(3, 3)
    torch.mm(square, square, out=square)
    expected = torch.arange(1.0, 10).view(3, 3) @ torch.arange(1.0, 10).view(3, 3)
    assert torch.equal(square.cpu(), expected) and x.cpu()[9:].tolist() == [10, 11, 12]
    x = ramp("tpu", 12) + 1
    x[:4].add_(x[2:3].expand(4))
    assert x.cpu()[:5].tolist() == [4, 5, 6, 7, 5]
    x = ramp("tpu", 12) + 1
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.sum(x[:4].view(2, 2), 0, out=x[:2])
    for write in (
        lambda: x[:1].expand(4).masked_fill_(x[:4] > 1, 9),
        lambda: x[:1].expand(4).index_put_((torch.tensor([1], device="tpu"),), x[:1].clone()),
    ):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write()
    assert x.cpu().equal(torch.arange(12.0) + 1)
    x.as_strided((4, 3), (2, 1)).add_(1)
    assert (x.cpu() - torch.arange(12.0) - 1)[:9].tolist() == [1] * 9


# ---- D2: writes through views reach the base, writes of the base reach the views ------------------------

ALIASES = {
    "split": lambda x: x.split(2),
    "split sizes": lambda x: x.split([1, 3, 2], 1),
    "chunk": lambda x: x.chunk(3, 1),
    "unbind": lambda x: x.unbind(1),
    "tensor_split": lambda x: x.tensor_split((1, 4), 1),
    "hsplit": lambda x: x.hsplit(3),
    "as_strided": lambda x: (x.as_strided((3, 2), (7, 2), 1),),
    "as_strided offset": lambda x: (x[1:].as_strided((2, 2), (6, 1), 8),),
    "diagonal": lambda x: (x.diagonal(-1), x.diagonal(2)),
    "diagonal of a view": lambda x: (x.t()[1:].diagonal(),),
    "select": lambda x: (x.select(1, 3), x[2]),
    "narrow": lambda x: (x.narrow(0, 1, 2).narrow(1, 2, 3),),
    "transposes": lambda x: (x.t(), x.view(2, 2, 6).transpose(0, 2), x.mT),
    "squeeze": lambda x: (x.unsqueeze(0).squeeze(0), x[:, :1].squeeze()),
    "unflatten": lambda x: (x.unflatten(1, (2, 3)), x.flatten()),
    "unfold": lambda x: (x.unfold(1, 2, 3),),
    "movedim": lambda x: (x.view(2, 2, 6).movedim(-1, 0),),
    "detach": lambda x: (x.detach(), x.data),
    "view_as": lambda x: (x.view_as(torch.empty(3, 8)),),
    "int32": lambda x: (x.view(torch.int32),),
    "int16": lambda x: (x.view(torch.int16)[:, 1::2],),
    "0-d": lambda x: (x[1, 2], x[3, 5]),
    "empty": lambda x: (x[4:], x[:, 2:2]),
    "slices of slices": lambda x: (x[1:][::2][:, 1:][:, ::2],),
    "swapdims": lambda x: (x.swapdims(0, 1), x.swapaxes(1, 0)),
    "permute": lambda x: (x.view(2, 2, 3, 2).permute(3, 1, 0, 2),),
    "ravel": lambda x: (x.ravel(),),
    "view_as_complex": lambda x: (torch.view_as_complex(x.view(4, 3, 2)),),
    "real": lambda x: (torch.view_as_complex(x.view(4, 3, 2)).imag,),
}


@pytest.mark.parametrize("name", ALIASES)
def test_D2_aliasing_both_ways(name):
    def program(device):
        x = ramp(device, 4, 6)
        views = ALIASES[name](x)
        out = []
        for step, view in enumerate(views):
            assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            view.fill_(100 + step)
            out.append(x.clone())
            view.add_(step + 1)
            out.append(x.clone())
        x.mul_(2) if "int" not in name else x.neg_()
        out += [view.clone() for view in views]
        x.copy_(ramp(device, 4, 6) * 3)
        out += [view.clone() for view in views]
        return out, views, x

    twins(program)


def test_D2_expand_reads_follow_the_base():
    def program(device):
        x = ramp(device, 3, 1)
        y = x.expand(3, 4)
        z = x.t().expand(2, 5, 3)
        x.add_(10)
        return y + 0, z * 1, y.contiguous(), y.sum(1), torch.cat([y, y]), y.stride(), y.reshape(-1)

    twins(program)


def test_D2_several_views_of_one_storage_in_one_call():
    def program(device):
        x = ramp(device, 24)
        a, b, c = x[:8], x[8:16], x[16:]
        d, e = x[::3], x.view(torch.int32)[1::3]
        return (
            torch.addcmul(a, b, c),
            torch.cat([a, c, b, x]),
            torch.stack([a, b, c]),
            torch.where(a > 3, b, c),
            torch.lerp(a, b, 0.5),
            d * e,
            torch.addmm(x.view(6, 4)[:2, :2], x.view(12, 2)[:2], x.view(4, 6)[2:, ::3]),
            torch.mm(x.view(4, 6), x.view(6, 4)),
            x.view(4, 6) @ x.view(4, 6).t(),
        )

    twins(program)


def test_D2_many_writes_through_many_views():
    def program(device):
        generator = torch.Generator().manual_seed(5)
        x = ramp(device, 8, 9)
        for step in range(60):
            i, j, k = (int(v) for v in torch.randint(0, 4, (3,), generator=generator))
            view = [
                x[i:, j :: k + 1],
                x.t()[j:, i:],
                x.view(-1)[i * 5 :].view(-1)[:: k + 1],
                x.diagonal(i - j),
                x[i],
                x[:, j],
                x.view(torch.int32)[i : i + 2].view(torch.float32),
                x.as_strided((3, 3), (9, 2), i),
            ][step % 8]
            if step % 3 == 0:
                view.add_(step)
            elif step % 3 == 1:
                view.mul_(0.5).clamp_(-50, 50)
            else:
                view.copy_(view.flip(0))
        return x

    twins(program)


def test_D2_out_into_views():
    def program(device):
        x = torch.zeros(6, 8).to(device)
        a, b = ramp(device, 3, 4), ramp(device, 4, 3)
        torch.add(a, 1, out=x[::2, ::2])
        torch.mm(b, a, out=x[:4, 4:])
        torch.sum(a, 0, out=x[5, :4])
        torch.cat([a[0], a[1]], out=x[4])
        torch.exp(a * 0.01, out=x[3:, 4:])
        torch.max(a, 1, out=(x[:3, 0], torch.empty(3, dtype=torch.int64).to(device)))
        torch.arange(4, out=x[0, :4])
        torch.gt(a, 3, out=x[3:, :4])
        return x

    twins(program, rtol=1e-6, atol=1e-6)


def test_D2_tensor_data():
    def program(device):
        x = ramp(device, 4)
        y = x[1:]
        x.data = torch.full((2, 2), 7.0).to(device)
        x.add_(1)
        y.mul_(2)  # y keeps the old storage
        p = torch.nn.Parameter(ramp(device, 3))
        version = p._version
        p.data.add_(5)
        p.data = p.data.double()
        return x, y, p.detach(), p.dtype, p._version - version

    twins(program)


def test_D2_data_of_another_device_or_type():
    t = torch.ones(3, device="tpu")
    t.data = torch.full((2,), 5, device="tpu", dtype=torch.int64)
    assert t.dtype == torch.int64 and t.cpu().tolist() == [5, 5]
    # torch lets only its own backends' tensors change the device of .data; the attempt changes nothing
    p = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        p.data = p.data.to("tpu")
    assert not p.is_tpu and p.sum().item() == 3
    assert torch.nn.Linear(2, 2).to("tpu").to("cpu").weight.device.type == "cpu"


def test_D2_zero_size_and_0d():
    def program(device):
        e = torch.empty(0, 3).to(device)
        s = torch.tensor(3.0).to(device)
        e.add_(1).mul_(e)
        s.add_(1).mul_(s)
        s[()] = s * 2
        s.view(1)[0] += 1
        x = ramp(device, 3)
        x[1] = s
        x[:0] = 5
        x[2:2].copy_(e[:, 0])
        return (
            e,
            s,
            x,
            e.sum(),
            e.sum(0),
            torch.cat([e, e]),
            torch.cat([e, x[None]]),
            e.t() @ e,
            s.expand(3),
            s[None].sum(),
            e.view(3, 0, 1),
            torch.mm(e, torch.ones(3, 0).to(device)),
            torch.zeros(2, 0).to(device) @ torch.zeros(0, 2).to(device),
            e.max(1).values,
            e.mean(),
            s.view(torch.int32),
            e.reshape(-1),
            s.unsqueeze(0).expand(0, 1),
        )

    twins(program)


def test_D2_set_to_another_tensors_view():
    def program(device):
        x, y = ramp(device, 4, 4), torch.zeros(2).to(device)
        y.set_(x[1:, 1:])
        y.add_(100)
        z = torch.zeros(1).to(device)
        z.set_(y.untyped_storage(), 3, (2, 2), (5, 1))
        z.zero_()
        return x, y, z, y.untyped_storage().nbytes()

    twins(program)


def test_D2_set_refuses_what_the_cpu_refuses():
    def program(device):
        x, y = ramp(device, 4), torch.zeros(2, dtype=torch.int64).to(device)
        return y.set_(x)

    twins(program, text=False)
    with pytest.raises(RuntimeError):
        torch.zeros(2).set_(torch.zeros(2, device="tpu"))
    with pytest.raises(RuntimeError):
        torch.zeros(2, device="tpu").set_(torch.zeros(2).untyped_storage(), 0, (2,), (1,))


def test_D2_negative_and_huge_geometry():
    for bad in (
        lambda x: x.as_strided((2,), (-1,)),
        lambda x: x.as_strided((-2,), (1,)),
        lambda x: x.as_strided((2,), (1,), -1),
        lambda x: x.as_strided((1 << 40, 1 << 40), (1, 1)),
        lambda x: x.resize_(-1),
        lambda x: x.resize_(1 << 62),
        lambda x: x.view(5),
        lambda x: x.view(-1, -1),
        lambda x: x[:3].view(torch.float64),
        lambda x: x.t().view(9).t(),
        lambda x: torch.empty(1 << 62, 4, device=x.device),
        lambda x: x.expand(1 << 62, 1 << 62, 4),
    ):
        with pytest.raises((RuntimeError, ValueError)):
            result = bad(ramp("tpu", 4))
            if result.numel():
                result.clone()
    assert ramp("tpu", 4).sum().item() == 6


def test_D2_same_storage_is_seen():
    x = ramp("tpu", 4)
    y = x[2:]
    assert torch._C._is_alias_of(x, y) and x.untyped_storage()._cdata == y.untyped_storage()._cdata
    assert y.data_ptr() - x.data_ptr() == 8
    z = x.clone()
    assert not torch._C._is_alias_of(x, z) and z.data_ptr() != x.data_ptr()


def test_D2_inplace_on_a_slice_in_autograd():
    def program(device):
        x = ramp(device, 3, 4).requires_grad_()
        y = x * 2
        y[1:].mul_(3)
        y[:, ::2].add_(y[:, 1::2].clone())
        y.t()[0].zero_()
        y.diagonal().copy_(x[0, :3])
        (y * y).sum().backward()
        return x.grad, y.detach()

    twins(program)


# ---- E4: calls that share storages in several threads -----------------------------------------------------


def run_threads(*bodies):
    errors = []

    def guard(body):
        try:
            body()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guard, args=(body,), daemon=True) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "two calls wait for each other"
    assert not errors, errors


def test_E4_add_beside_add_of_the_same_pair():
    x, y = torch.ones(64, device="tpu"), torch.ones(64, device="tpu")

    def body(left, right):
        for _ in range(150):
            left.add_(right)
            left.remainder_(1009)

    run_threads(lambda: body(x, y), lambda: body(y, x))
    assert (
        ((x.cpu() >= 0) & (x.cpu() < 1009)).all()
        and (x.cpu() == x.cpu()[0]).all()
        and (y.cpu() == y.cpu()[0]).all()
    )


def test_E4_disjoint_views_of_one_base():
    base = torch.zeros(8, 33, device="tpu")
    rounds = 300

    def rows():
        for _ in range(rounds):
            base[::2, :].add_(1)

    def others():
        for step in range(rounds):
            base[1::2, 1:].add_(1)

    def bytes_():
        view = base.view(torch.int32)[1::2, :1]
        for _ in range(rounds):
            view.add_(1)

    run_threads(rows, others, bytes_)
    result = base.cpu()
    assert (result[::2] == rounds).all() and (result[1::2, 1:] == rounds).all()
    assert (result.view(torch.int32)[1::2, 0] == rounds).all()


def test_E4_readers_beside_writers_see_whole_calls():
    x = torch.zeros(4096, device="tpu")
    stop = threading.Event()

    def write():
        try:
            for step in range(200):
                x.fill_(step)
                x.add_(0.5)
        finally:
            stop.set()

    def read():
        while not stop.is_set():
            host = x.cpu()
            assert (host == host[0]).all(), host.unique()
            total = (x * 2).cpu()
            assert (total == total[0]).all()

    run_threads(write, read)


def test_E4_both_ways_over_four_storages():
    tensors = [torch.ones(16, device="tpu") for _ in range(4)]

    def body(order):
        for _ in range(60):
            a, b, c, d = (tensors[i] for i in order)
            a.addcmul_(b, c, value=0.0)
            torch._foreach_mul_([a, b, c, d], 1.0)
            torch.add(c, d, alpha=0.0, out=b)

    run_threads(lambda: body((0, 1, 2, 3)), lambda: body((3, 2, 1, 0)), lambda: body((2, 0, 3, 1)))
    assert all((t.cpu() == 1).all() for t in tensors)


def test_E4_set_and_resize_beside_calls():
    x = torch.zeros(1024, device="tpu")

    def grow():
        for step in range(100):
            x.untyped_storage().resize_(4096 + 64 * step)

    def work():
        for _ in range(200):
            x.add_(1)

    run_threads(grow, work)
    assert (x.cpu() == 200).all()


# ---- E5: the version counter, and a failed call changes nothing ------------------------------------------


def test_E5_versions_are_the_cpus():
    def program(device):
        x = ramp(device, 4, 4)
        marks = []
        for write in (
            lambda: x.add_(1),
            lambda: x[1:].mul_(2),
            lambda: x.t().zero_(),
            lambda: torch.add(x, 1, out=x),
            lambda: x.copy_(x * 2),
            lambda: x.__setitem__((0, slice(None)), 3),
            lambda: x.resize_(4, 4),
            lambda: x.data.add_(1),
            lambda: x.detach().add_(1),
            lambda: x.fill_(1),
            lambda: x.view(-1).sort(),
            lambda: x.index_put_((torch.tensor([1], device=device),), x[0].clone()),
        ):
            write()
            marks.append(x._version)
        return marks

    twins(program)


FAILURES = {
    "index_add": lambda x: x.index_add_(
        0, torch.tensor([0, 9], device=x.device), torch.ones(2, 4, device=x.device)
    ),
    "index_put": lambda x: x.index_put_(
        (torch.tensor([0, 7], device=x.device),), torch.ones(2, 4, device=x.device)
    ),
    "scatter": lambda x: x.scatter_(0, torch.full((1, 4), 11, device=x.device), 1.0),
    "index_copy": lambda x: x.index_copy_(
        0, torch.tensor([5], device=x.device), torch.ones(1, 4, device=x.device)
    ),
    "index_fill": lambda x: x.index_fill_(0, torch.tensor([5], device=x.device), 1),
    "view": lambda x: x[1:, 1:].index_fill_(1, torch.tensor([0, 3], device=x.device), 1),
    "shape": lambda x: x.add_(torch.ones(3, 3, device=x.device)),
    "put": lambda x: x.put_(torch.tensor([0, 99], device=x.device), torch.ones(2, device=x.device)),
    "masked_scatter": lambda x: x.masked_scatter_(x >= 0, torch.ones(2, device=x.device)),
    "embedding": lambda x: x.copy_(
        torch.nn.functional.embedding(torch.tensor([0, 1, 2, 44], device=x.device), x)
    ),
    "multinomial": lambda x: torch.multinomial(torch.tensor([-1.0, 1.0], device=x.device), 1),
    "bernoulli": lambda x: x.bernoulli_(torch.full((4, 4), 2.0, device=x.device)),
}


@pytest.mark.parametrize("name", FAILURES)
def test_E5_a_failed_call_keeps_the_bits(name):
    x = ramp("tpu", 4, 4)
    before, address = x.cpu(), x.data_ptr()
    cpu = outcome(lambda device: FAILURES[name](ramp(device, 4, 4)), "cpu")
    assert isinstance(cpu[0], type), "the CPU does not fail"
    with pytest.raises(Exception) as caught:
        FAILURES[name](x)
    # index_add's class depends on the CPU's path
    assert caught.type is cpu[0] or name == "index_add", (caught.value, cpu)
    assert x.cpu().equal(before) and x.data_ptr() == address
    x.add_(1)  # and the storage still works
    assert x.cpu().equal(before + 1)


# ---- E6: the donated buffer is nobody else's --------------------------------------------------------------


def test_E6_saved_tensor_is_guarded_by_the_version_counter():
    def program(device):
        x = ramp(device, 4).requires_grad_()
        y = x * 2
        z = y * y  # saves y
        y.add_(1)  # donates y's buffer
        z.sum().backward()

    cpu, tpu = outcome(program, "cpu"), outcome(program, "tpu")
    assert cpu[0] is tpu[0] is RuntimeError
    assert "modified by an inplace operation" in tpu[1] and "at version 1" in tpu[1], tpu


def test_E6_detached_alias_of_a_saved_tensor():
    def program(device):
        x = ramp(device, 4).requires_grad_()
        y = x.exp()
        y.detach().mul_(2)
        return torch.autograd.grad(y.sum(), x)

    twins(program, text=False)


def test_E6_clone_survives_donation():
    def program(device):
        x = ramp(device, 1000)
        copies = []
        for step in range(5):
            copies.append(x.clone())
            copies.append(x.contiguous())
            copies.append(x.to(device))
            copies.append(x * 1)
            copies.append(x.reshape(10, 100).clone())
            copies.append(torch._lazy_clone(x))
            x.add_(1)
        return copies

    twins(program)


def test_E6_host_copies_survive_donation():
    x = torch.arange(100_000.0)
    t = x.tpu()
    host = t.cpu()
    numpy = t.cpu().numpy()
    x.fill_(-1)  # the source of the copy
    t.add_(1)
    assert host[5] == 5 and numpy[7] == 7 and t.cpu()[9] == 10
    pinned = torch.arange(4096.0).pin_memory()
    t = pinned.to("tpu", non_blocking=True)
    torch.tpu.synchronize()
    pinned.zero_()
    assert t.cpu()[9] == 9


def test_E6_identity_results_do_not_alias():
    # ops whose program is the identity must not hand the parameter's buffer to two storages
    def program(device):
        x = ramp(device, 64)
        out = []
        for op in (
            lambda: x + 0,
            lambda: x * 1,
            lambda: x.clone(),
            lambda: torch.cat([x]),
            lambda: x.clamp(-1e9, 1e9),
            lambda: x.repeat(1),
            lambda: x.flip(0).flip(0),
            lambda: torch.stack([x])[0],
            lambda: x.to(torch.float64).to(torch.float32),
            lambda: torch.nn.functional.dropout(x, 0.0),
            lambda: x.index_select(0, torch.arange(64, device=device)),
            lambda: torch.nn.functional.pad(x, (0, 0)).clone(),
            lambda: x.roll(64),
            lambda: x.relu(),
            lambda: x.pow(1),
            lambda: x.copy_(x),
            lambda: torch.add(x, 0, out=torch.empty(64, device=device)),
        ):
            y = op()
            x[3] += 1
            x.add_(1)
            out.append(y.clone())
            y.mul_(2)
            out.append(x.clone())
        return out

    twins(program)


def test_E6_copy_between_storages_does_not_share():
    def program(device):
        x, y = ramp(device, 64), torch.zeros(64).to(device)
        y.copy_(x)
        x.add_(1)
        z = y.clone()
        y.mul_(3)
        return x, y, z

    twins(program)


# ---- E7, E8, E9: budgets, addresses, life ---------------------------------------------------------------


def test_E7_accounting_returns_to_its_start():
    gc.collect()
    start = torch.tpu.memory_allocated()
    x = torch.empty(1 << 20, device="tpu")
    assert torch.tpu.memory_allocated() - start >= 4 << 20
    y = x[5:]
    del x
    assert torch.tpu.memory_allocated() - start >= 4 << 20, "a view keeps its storage"
    y.untyped_storage().resize_(0)
    assert torch.tpu.memory_allocated() - start < 1 << 20
    del y
    gc.collect()
    assert torch.tpu.memory_allocated() == start


def test_E8_a_slot_is_given_to_one_storage_at_a_time():
    seen = {}
    kept = []
    for step in range(500):
        t = torch.full((step % 7 + 1,), float(step), device="tpu")
        if step % 3 == 0:
            kept.append((step, t))
    addresses = [t.data_ptr() for _, t in kept]
    assert len(set(addresses)) == len(addresses)
    for step, t in kept:
        seen[t.data_ptr()] = step
        assert (t.cpu() == step).all()
    del t


def test_E9_the_last_view_frees_the_storage():
    views = [torch.ones(1000, device="tpu")[i : i + 5] for i in range(20)]
    gc.collect()
    del views[::2]
    assert all(v.cpu().sum() == 5 for v in views)


# ---- M, P -------------------------------------------------------------------------------------------------


def test_M1_reads_past_the_end_never_count():
    # vector kernels may read up to 63 bytes past the end, never use them
    for count in (1, 3, 7, 15, 17, 31, 33, 63, 65, 127):
        junk = torch.full((count + 64,), float("nan"), device="tpu")
        del junk
        x = torch.arange(float(count))
        t = x.tpu()
        assert t.sum().item() == x.sum().item() and t.max().item() == x.max().item()
        assert t.cumsum(0).cpu().equal(x.cumsum(0)) and t.flip(0).cpu().equal(x.flip(0))
        assert (t * 0 + 1).prod().item() == 1 and t.sort(descending=True)[0].cpu().equal(x.flip(0))
        assert (t @ t).item() == pytest.approx((x @ x).item())


def test_P4_results_do_not_depend_on_the_thread_count():
    before = torch.get_num_threads()
    x = torch.randn(300, 257, generator=torch.Generator().manual_seed(1))
    t, results = x.tpu(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(
                [
                    r.cpu()
                    for r in (
                        t.sum(),
                        t.sum(0),
                        t @ t.t(),
                        t.softmax(1),
                        t.var(),
                        t.cumsum(0),
                        t.norm(),
                        torch.nn.functional.layer_norm(t, (257,)),
                    )
                ]
            )
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for left, right in zip(results[0], other):
            assert left.equal(right)


def test_N3_and_P5_a_child_forked_before_the_first_use_opens_its_own_device():
    program = """
import os
x = torch.arange(64.0 * 64, device="tpu").reshape(64, 64)
for _ in range(3):
    y = (x @ x.t()).sum()
assert torch.tpu.is_initialized() and y.item() > 0
pid = os.fork()
if pid == 0:   # a child of the child is told, and what it inherited is released in peace
    try:
        torch.ones(1, device="tpu")
    except RuntimeError as error:
        os._exit(0 if "forked subprocess" in str(error) else 2)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print((x + 1).sum().item() == 64 * 64 * (64 * 64 + 1) / 2)
"""
    status, out, error = run_forked({"child": program})["child"]
    assert (status, out.strip()) == (0, "True"), (status, out, error)
