"""Promotion, out=, in-place, views, checks and integer edges: the CPU is the oracle, texts included."""

import itertools
import math
import warnings

import pytest
import torch
import torch.nn.functional as F

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64, torch.complex64, torch.complex128,
]


def outcome(function, device):
    """Results as CPU tensors with their dtypes, or the exception's class and text; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(device)
            if isinstance(result, torch.Tensor):
                result = [result]
            for t in result:
                assert t.device.type == device
            result = [t.cpu() for t in result]
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            result = error
    return result, [str(w.message)[:40] for w in caught]


def alike(function, warned=True, text=True, **tolerance):
    cpu, cpu_warnings = outcome(function, "cpu")
    tpu, tpu_warnings = outcome(function, "tpu")
    if isinstance(cpu, Exception):
        assert isinstance(tpu, Exception), f"CPU raises {cpu!r}, tpu gives {tpu}"
        assert type(tpu) is type(cpu), f"CPU raises {cpu!r}, tpu {tpu!r}"
        if text:
            assert str(cpu)[:50] in str(tpu)
        return
    if isinstance(tpu, Exception):
        raise tpu
    for a, b in zip(tpu, cpu, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True, **tolerance)
    if warned:
        assert tpu_warnings == cpu_warnings


def ramp(device, *shape):
    return torch.arange(1, 1 + math.prod(shape), dtype=torch.float32).reshape(shape).to(device)


# ---- promotion ---------------------------------------------------------------------------------
BINARY = [
    "add", "sub", "mul", "true_divide", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "eq", "lt",
    "logical_and", "bitwise_and", "bitwise_left_shift", "copysign", "hypot", "gcd", "xlogy", "fmax", "float_power",
]
LEFT, RIGHT = torch.tensor([[3, 1, 2], [5, 4, 2]]), torch.tensor([[2, 1, 3], [1, 2, 2]])


@pytest.mark.parametrize("name", BINARY)
def test_promotion(name):
    op = getattr(torch, name)
    for left, right, zero in itertools.product(DTYPES, DTYPES, (0, 1, 2)):
        a, b = LEFT.to(left), RIGHT.to(right)
        a, b = (a, b[1, 0]) if zero == 1 else (a[1, 0], b) if zero == 2 else (a, b)
        try:
            cpu = op(a, b)
        except Exception as error:
            if isinstance(error, NotImplementedError):
                continue   # more works here
            with pytest.raises(type(error)):
                op(a.to("tpu"), b.to("tpu"))
            continue
        if torch.complex32 in (cpu.dtype, torch.result_type(a, b)):
            if cpu.dtype == torch.complex32:
                with pytest.raises(NotImplementedError):
                    op(a.to("tpu"), b.to("tpu"))
            continue
        tpu = op(a.to("tpu"), b.to("tpu"))
        assert tpu.dtype == cpu.dtype, (left, right, zero)
        torch.testing.assert_close(tpu.cpu(), cpu, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_promotion_with_numbers(dtype):
    for number in (True, 2, 1.5, 1 + 2j):
        for op in (torch.add, torch.mul, torch.true_divide, torch.eq):
            try:
                cpu = op(LEFT.to(dtype), number)
            except NotImplementedError:
                continue
            if torch.complex32 in (cpu.dtype, torch.result_type(LEFT.to(dtype), number)):
                continue
            tpu = op(LEFT.to(dtype).to("tpu"), number)
            assert tpu.dtype == cpu.dtype, (op, number)
            torch.testing.assert_close(tpu.cpu(), cpu)


@pytest.mark.parametrize("default", [torch.float64, torch.bfloat16])
def test_default_dtype(default):
    ints = torch.arange(1, 4)
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        for op in (lambda t: t * 0.1, lambda t: t / 3, torch.sqrt, torch.sin, lambda t: t**0.5, lambda t: t.sigmoid()):
            tpu, cpu = op(ints.to("tpu")), op(ints)
            assert tpu.dtype == cpu.dtype == default
            torch.testing.assert_close(tpu.cpu(), cpu)
    finally:
        torch.set_default_dtype(before)
    assert (ints.to("tpu") / 3).dtype == torch.float32


# ---- out= and in-place -------------------------------------------------------------------------
def out_strided(d):
    out = torch.zeros(3, 4, device=d).t()
    torch.add(ramp(d, 4, 3), 1, out=out)
    return out, torch.tensor(out.stride()).to(d)


def out_view(d):
    base = torch.zeros(6, device=d)
    torch.mul(ramp(d, 3), 2, out=base[::2])
    return base


def out_alias(d):
    x = ramp(d, 6)
    torch.add(x, 1, out=x)
    return x


def out_partial(d):
    x = ramp(d, 6)
    return torch.add(x[:-1], 1, out=x[1:])


@pytest.mark.parametrize("case", [
    lambda d: torch.add(ramp(d, 3), 1, out=torch.zeros(3, dtype=torch.float64, device=d)),
    lambda d: torch.add(ramp(d, 3), 1, out=torch.zeros(3, dtype=torch.int64, device=d)),
    lambda d: torch.add(ramp(d, 3), 1, out=torch.zeros(5, device=d)),
    lambda d: torch.add(ramp(d, 3), 1, out=torch.zeros(0, device=d)),
    lambda d: torch.add(ramp(d, 3), 1, out=torch.zeros(1, device=d).expand(3)),
    lambda d: torch.mm(ramp(d, 2, 2), ramp(d, 2, 2), out=torch.zeros(2, 2, dtype=torch.float64, device=d)),
    lambda d: torch.argmax(ramp(d, 3), out=torch.zeros((), device=d)),
    out_strided, out_view, out_alias, out_partial,
])
def test_out(case):
    alike(case)


def in_place_views(d):
    x = ramp(d, 3, 4)
    x.t()[1].mul_(10)
    x[:, ::2].sub_(1)
    x.diagonal().zero_()
    x[1, 1:3] = torch.tensor([7.0, 8.0])
    x.unfold(1, 2, 2)[0, 1] *= 2
    x.view(-1)[3:5].fill_(9)
    return x


@pytest.mark.parametrize("case", [
    lambda d: (lambda x: x[1:].add_(x[:-1]))(ramp(d, 6)),
    lambda d: (lambda x: (x[::2].add_(x[1::2]), x))(ramp(d, 6)),
    lambda d: torch.zeros(1, device=d).expand(3).add_(1),
    lambda d: torch.zeros(3, device=d).add_(torch.ones(2, 3, device=d)),
    lambda d: torch.zeros(3, dtype=torch.int64, device=d).add_(1.5),
    lambda d: torch.zeros(3, dtype=torch.int32, device=d).mul_(torch.ones(3, device=d)),
    lambda d: torch.zeros(3, dtype=torch.bool, device=d).add_(1),
    lambda d: torch.ones(3, dtype=torch.int64, device=d).div_(2),
    lambda d: ramp(d, 4).view(torch.int32),
    lambda d: ramp(d, 4).view(torch.int64),
    lambda d: ramp(d, 3).view(torch.int64),
    lambda d: ramp(d, 3, 4).t().view(12),
    in_place_views,
])
def test_in_place_and_views(case):
    alike(case)


# ---- checks ------------------------------------------------------------------------------------
def index(d, k):
    return torch.tensor([k], device=d)


INDEXED = {
    "select": lambda d, k: ramp(d, 3)[k],
    "index": lambda d, k: ramp(d, 3)[index(d, k)],
    "index_select": lambda d, k: torch.index_select(ramp(d, 3), 0, index(d, k)),
    "gather": lambda d, k: torch.gather(ramp(d, 3), 0, index(d, k)),
    "scatter": lambda d, k: torch.zeros(3, device=d).scatter(0, index(d, k), 1.0),
    "take": lambda d, k: torch.take(ramp(d, 3), index(d, k)),
    "put": lambda d, k: ramp(d, 3).put_(index(d, k), torch.ones(1, device=d)),
    "index_put": lambda d, k: ramp(d, 3).index_put_((index(d, k),), torch.ones(1, device=d)),
    "index_add": lambda d, k: ramp(d, 3).index_add_(0, index(d, k), torch.ones(1, device=d)),
    "index_copy": lambda d, k: ramp(d, 3).index_copy_(0, index(d, k), torch.ones(1, device=d)),
    "index_fill": lambda d, k: ramp(d, 3).index_fill_(0, index(d, k), 2),
    "embedding": lambda d, k: F.embedding(index(d, k), ramp(d, 3, 2)),
    "nll": lambda d, k: F.nll_loss(ramp(d, 1, 3), index(d, k)),
}


@pytest.mark.parametrize("k", [3, -4, 2])
@pytest.mark.parametrize("name", INDEXED)
def test_index_range(name, k):
    alike(lambda d: INDEXED[name](d, k))


@pytest.mark.parametrize("case", [
    lambda d: ramp(d, 3, 4) @ ramp(d, 3, 4),
    lambda d: torch.bmm(ramp(d, 2, 3, 4), ramp(d, 2, 3, 4)),
    lambda d: ramp(d, 3) + ramp(d, 4),
    lambda d: torch.cat([ramp(d, 2, 3), ramp(d, 2, 4)]),
    lambda d: torch.stack([ramp(d, 2), ramp(d, 3)]),
    lambda d: ramp(d, 3)[torch.tensor([1.0], device=d)],
    lambda d: ramp(d, 3)[torch.tensor([True, False], device=d)],
    lambda d: ramp(d, 3).topk(4),
    lambda d: ramp(d, 3).sum(2),
    lambda d: ramp(d, 3).softmax(1),
    lambda d: ramp(d, 3).reshape(2),
    lambda d: ramp(d, 3, 2).expand(3, 3),
    lambda d: F.linear(ramp(d, 3, 2), ramp(d, 3, 3)),
    lambda d: F.conv2d(ramp(d, 1, 3, 4, 4), ramp(d, 2, 2, 3, 3)),
    lambda d: F.layer_norm(ramp(d, 3, 2), (3,)),
    lambda d: F.cross_entropy(ramp(d, 3, 2), torch.zeros(2, dtype=torch.long, device=d)),
    lambda d: torch.linalg.cholesky(-torch.eye(2, device=d)),
    lambda d: torch.linalg.inv(torch.zeros(2, 2, device=d)),
    lambda d: torch.multinomial(-ramp(d, 3), 1),
    lambda d: torch.zeros(3, device=d).normal_(0, -1),
    lambda d: torch.arange(0, 3, -1, device=d),
    lambda d: ramp(d, 2).to(torch.complex64) < 1,
])
def test_bad_arguments(case):
    alike(case, text=False)


# ---- integers, NaN, empty ----------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_integer_edges(dtype):
    low = torch.iinfo(dtype).min
    values = [low, 7, -7 if low else 7]
    for divisor in (0, -1 if low else 255, 2):
        for name in ("floor_divide", "remainder", "fmod", "true_divide"):
            op = getattr(torch, name)
            alike(lambda d: op(torch.tensor(values, dtype=dtype, device=d), torch.full((3,), divisor, dtype=dtype, device=d)))
            alike(lambda d: op(torch.tensor(values, dtype=dtype, device=d), divisor))
    x = torch.tensor(values, dtype=dtype, device="tpu")
    if low:   # the CPU's own kernel ends the process here
        assert torch.div(x, torch.full_like(x, -1), rounding_mode="trunc").tolist() == [low, -7, 7]
    for case in (
        lambda t: -t, torch.abs, lambda t: t**3, lambda t: t << 3, lambda t: t >> 1, lambda t: t << 70, lambda t: t >> 70,
        lambda t: t.sum(), lambda t: t.prod(), lambda t: t.cumsum(0), lambda t: t.mean(), lambda t: t**-1,
    ):
        alike(lambda d: case(torch.tensor(values, dtype=dtype, device=d)))


@pytest.mark.parametrize("name", [
    "max", "min", "argmax", "argmin", "sort", "argsort", "median", "nanmedian", "sum", "nansum", "mean", "sign", "relu",
    "round", "floor", "isnan", "amax", "any", "all", "sigmoid", "tanh", "unique",
])
def test_nan(name):
    alike(lambda d: getattr(torch.tensor([math.nan, 1.0, -math.inf, math.inf, 0.5, 0.0], device=d), name)())


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "amax", "argmax", "any", "all", "var", "logsumexp",
                                  "median", "norm"])
def test_empty(name):
    alike(lambda d: getattr(torch.zeros(0, device=d), name)(), warned=False)
    alike(lambda d: getattr(torch.zeros(2, 0, device=d), name)(1), warned=False)
    alike(lambda d: getattr(torch.zeros(2, 0, device=d), name)(0), warned=False)


def test_division_of_zeros():
    x = torch.arange(-9, 10)
    for divisor in (2.5, 3.0, -4.0, 400.0):
        torch.testing.assert_close((x.to("tpu") // divisor).cpu(), x // divisor)


# ---- conversions -------------------------------------------------------------------------------
EDGES = [0.0, -0.0, 1.5, -1.5, 2.5, 127.6, 128.0, 255.9, 256.0, -1.0, -129.0, 32768.0, 65535.9, 1e5, -1e5, 3e4]


@pytest.mark.parametrize("source", [d for d in DTYPES if d != torch.complex128])
def test_casts(source):
    edges = torch.tensor(EDGES)
    edges = edges.to(source) if source.is_floating_point else edges.to(torch.int64).to(source)
    for target in [*DTYPES, torch.uint16, torch.uint32]:
        for view in (slice(None), slice(1, None, 2)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")   # imaginary parts are dropped
                tpu, cpu = edges.to("tpu")[view].to(target), edges[view].to(target)
            torch.testing.assert_close(tpu.cpu(), cpu, msg=lambda m: f"{source} to {target}: {m}")


def test_casts_of_what_no_integer_holds():
    x = torch.tensor([math.nan, math.inf, -math.inf, 1e20, -1e20])
    for target in (torch.int32, torch.int64):
        assert torch.equal(x.to("tpu").to(target).cpu(), x.to(target))


@pytest.mark.parametrize("dtype,number", [
    (torch.uint8, 300), (torch.uint8, -5), (torch.int8, -129), (torch.int8, 200), (torch.int32, 2**40), (torch.int64, 1e30),
    (torch.float16, 1e6), (torch.float32, 1e300), (torch.float32, 1j), (torch.int32, 1.5), (torch.bool, 2),
])
def test_numbers_that_do_not_fit(dtype, number):
    def zeros(d):
        return torch.zeros(3, dtype=dtype, device=d)

    for case in (
        lambda d: zeros(d).fill_(number),
        lambda d: torch.full((2,), number, dtype=dtype, device=d),
        lambda d: zeros(d).masked_fill(zeros(d) == 0, number),
        lambda d: zeros(d).scatter(0, torch.tensor([0], device=d), number),
        lambda d: zeros(d) == number,
        lambda d: zeros(d) + number,
    ):
        alike(case, text=False, warned=False)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_integer_powers_wrap(dtype):
    """Exponents of more digits than count the bits of the type, too."""
    base = torch.tensor([0, 1, 2, 3, 5, 7, 100, 125], dtype=dtype)
    if dtype != torch.uint8:
        base = torch.cat([base, -base])
    powers = [0, 1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70, 100, 127]
    exponents = torch.tensor(powers, dtype=dtype)
    alike(lambda d: torch.pow(base.to(d)[:, None], exponents.to(d)))
    for power in powers:
        alike(lambda d: torch.pow(base.to(d), power))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64])
def test_negative_integer_powers(dtype):
    for exponent in (-1, -5, 4, 5):
        alike(lambda d: torch.ones(3, dtype=dtype, device=d) ** exponent)


# ---- what one change of op_db's samples found ------------------------------------------------------
STRICT_OUT = ["abs", "neg", "sign", "floor", "ceil", "round", "trunc", "frac", "conj_physical", "nan_to_num"]


@pytest.mark.parametrize("name", STRICT_OUT)
def test_out_of_another_dtype_is_refused(name):
    for dtype in (torch.float64, torch.float16):
        alike(lambda d: getattr(torch, name)(ramp(d, 3), out=torch.zeros(3, dtype=dtype, device=d)), text=False)


@pytest.mark.parametrize("name", ["gelu", "silu", "hardtanh", "elu", "leaky_relu", "softplus", "hardswish"])
def test_out_of_activations_in_another_dtype_is_refused(name):
    op = getattr(torch.ops.aten, name)
    alike(lambda d: op.out(ramp(d, 3), out=torch.zeros(3, dtype=torch.float64, device=d)), text=False)


MIXED_DTYPES = [
    lambda d: torch.addmm(ramp(d, 2, 3).double(), ramp(d, 2, 2), ramp(d, 2, 3)),
    lambda d: torch.addmv(ramp(d, 2).double(), ramp(d, 2, 2), ramp(d, 2)),
    lambda d: torch.addbmm(ramp(d, 2, 3).double(), ramp(d, 1, 2, 2), ramp(d, 1, 2, 3)),
    lambda d: torch.baddbmm(ramp(d, 1, 2, 3).bool(), ramp(d, 1, 2, 2), ramp(d, 1, 2, 3)),
    lambda d: F.nll_loss(ramp(d, 2, 2), torch.ones(2, dtype=torch.int32, device=d)),
    lambda d: F.nll_loss(ramp(d, 2, 2), torch.ones(2, device=d)),
    lambda d: F.nll_loss(ramp(d, 2, 2), torch.ones(2, dtype=torch.uint8, device=d)),
    lambda d: ramp(d, 3).masked_fill(ramp(d, 3) > 1, torch.tensor(1 + 2j, device=d)),
    lambda d: torch.ops.aten._softmax_backward_data(ramp(d, 3), ramp(d, 4), 0, torch.float32),
]


@pytest.mark.parametrize("number", range(len(MIXED_DTYPES)))
def test_dtypes_and_shapes_are_checked(number):
    alike(MIXED_DTYPES[number], text=False)


def test_relu_keeps_the_sign_of_zero():
    values = [-0.0, 0.0, -1.0, 2.0, math.nan, -math.inf] * 5
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        alike(lambda d: torch.tensor(values, dtype=dtype, device=d).relu())
        alike(lambda d: torch.signbit(torch.tensor(values[:4], dtype=dtype, device=d).relu()))


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_without_degrees_of_freedom_there_is_a_warning(name):
    op = getattr(torch, name)
    for _ in range(2):   # from the cache too
        alike(lambda d: op(ramp(d, 1)))
    alike(lambda d: op(ramp(d, 2, 3), dim=1, correction=3))
    alike(lambda d: op(ramp(d, 2, 3), dim=1, correction=2))


def test_batch_norm_leaves_the_statistics_of_inference_alone():
    for device in ("cpu", "tpu"):
        outs = [torch.empty(n, device=device) for n in (0, 7, 3)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = torch.ops.aten.native_batch_norm.out(
                ramp(device, 2, 3), None, None, torch.zeros(3, device=device), torch.ones(3, device=device), False, 0.1,
                1e-5, out=outs[0], save_mean=outs[1], save_invstd=outs[2])
        assert [t.shape[0] for t in result] == [2, 7, 3]
