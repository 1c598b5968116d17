"""Lowerings against PyTorch on the CPU: error texts, optimizer steps, random words, special functions, data sizes."""

import copy

import lowering
import numpy as np
import pytest
import torch

A = torch.ops.aten


def check(lower, op, args, kwargs=None, rtol=1e-5, atol=1e-6, parameters=False):
    kwargs = kwargs or {}
    got, kinds = lower.run(op, copy.deepcopy(args), kwargs, parameters=parameters)
    mutated = copy.deepcopy(args)
    wanted = op(*mutated, **kwargs)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted or [])
    got = iter(got)
    results = iter(wanted)
    for kind in kinds:
        if kind == "r":
            want = next(results)
        elif kind.startswith("w"):
            arg, element = map(int, kind[1:].split("."))
            want = mutated[arg] if isinstance(mutated[arg], torch.Tensor) else mutated[arg][element]
        else:
            continue
        torch.testing.assert_close(next(got), want, rtol=rtol, atol=atol, equal_nan=True)


def lists(n):
    return [torch.randn(3, 2) for _ in range(n)]


@pytest.mark.parametrize("op", ["_fused_adam_", "_fused_adamw_"])
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_fused_adam(lower, op, amsgrad, scaled):
    torch.manual_seed(0)
    squares = [[x.abs() for x in lists(2)] for _ in range(2)]
    args = [lists(2), lists(2), lists(2), squares[0], squares[1] if amsgrad else [], [torch.tensor(3.0), torch.tensor(5.0)]]
    kwargs = dict(lr=0.013, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=amsgrad, maximize=False)
    if scaled:
        kwargs.update(grad_scale=torch.tensor(2.0), found_inf=torch.tensor(0.0))
    check(lower, getattr(A, op).default, args, kwargs, parameters=True)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
def test_fused_sgd(lower, first, nesterov):
    kwargs = dict(weight_decay=0.1, momentum=0.9, lr=0.03, dampening=0.0 if nesterov else 0.1, nesterov=nesterov, maximize=True,
                  is_first_step=first)
    check(lower, A._fused_sgd_.default, [lists(2), lists(2), lists(2)], kwargs)


def test_scaler(lower):
    grads = lists(2)
    grads[0][0, 0] = float("inf")
    check(lower, A._amp_foreach_non_finite_check_and_unscale_.default, [grads, torch.zeros(1), torch.tensor([0.5])])
    for found in (0.0, 1.0):
        args = [torch.tensor([4.0]), torch.tensor([1], dtype=torch.int32), torch.tensor([found]), 2.0, 0.5, 2]
        check(lower, A._amp_update_scale_.default, args)


def philox(seed, counter):
    """Philox4x32-10 from its published definition; known answer 6627e8d5 e169c58d bc57ac4c 9b00dbd8 for zeros."""
    key = [seed & 0xFFFFFFFF, seed >> 32]
    c = [counter & 0xFFFFFFFF, counter >> 32, 0, 0]
    for r in range(10):
        if r:
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
    return c


SEED = 1234567  # the driver's; its offset starts at 0


def test_words_are_philox(lower):
    assert [hex(w) for w in philox(0, 0)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    words = np.array([w for block in range(3) for w in philox(SEED, block)], dtype=np.uint64)
    got = lower.run(A.random_.to, (torch.empty(11, dtype=torch.int64), 1 << 32))[0][0].numpy()
    np.testing.assert_array_equal(got, words[:11].astype(np.int64))
    got = lower.run(A.random_.default, (torch.empty(6, dtype=torch.int64),))[0][0].numpy()
    pairs = (words[0::2] | words[1::2] << np.uint64(32)) & np.uint64((1 << 63) - 1)
    np.testing.assert_array_equal(got, pairs.astype(np.int64))
    got = lower.run(A.uniform_.default, (torch.empty(12),))[0][0].numpy()
    np.testing.assert_array_equal(got, ((words >> np.uint64(8)).astype(np.float64) * 2.0**-24).astype(np.float32))
    got = lower.run(A.normal_.default, (torch.empty(6),))[0][0].numpy()
    u = ((words[0::2] >> np.uint64(8)) + np.uint64(1)).astype(np.float64) * 2.0**-24
    v = (words[1::2] >> np.uint64(8)).astype(np.float64) * 2.0**-24
    np.testing.assert_allclose(got, np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "op, args, mean, std",
    [
        (A.uniform_.default, (-1.0, 3.0), 1.0, 4 / 12**0.5),
        (A.normal_.default, (1.0, 2.0), 1.0, 2.0),
        (A.exponential_.default, (2.0,), 0.5, 0.5),
        (A.geometric_.default, (0.3,), 1 / 0.3, (0.7 / 0.09) ** 0.5),
        (A.bernoulli_.float, (0.3,), 0.3, 0.21**0.5),
        (A.log_normal_.default, (0.0, 0.25), np.exp(0.03125), ((np.exp(0.0625) - 1) * np.exp(0.0625)) ** 0.5),
    ],
)
def test_moments(lower, op, args, mean, std):
    n = 100000
    got = lower.run(op, (torch.empty(n), *args))[0][0].double()
    assert abs(got.mean() - mean) < 5 * std / n**0.5
    assert abs(got.std() - std) < 0.03 * std


@pytest.mark.parametrize("rate", [0.5, 4.0, 15.0, 40.0])
def test_poisson_moments(lower, rate):
    got = lower.run(A.poisson.default, (torch.full((100000,), rate),))[0][0].double()
    assert abs(got.mean() - rate) < 5 * rate**0.5 / 316
    assert abs(got.var() - rate) < 0.03 * rate


def test_permutation_and_multinomial(lower):
    assert sorted(lower.run(A.randperm.default, (1000,))[0][0].tolist()) == list(range(1000))
    p = torch.tensor([0.1, 0.2, 0.7])
    draws = lower.run(A.multinomial.default, (p, 100000, True))[0][0]
    torch.testing.assert_close(torch.bincount(draws) / 1e5, p, atol=6e-3, rtol=0)
    assert sorted(lower.run(A.multinomial.default, (p, 3, False))[0][0].tolist()) == [0, 1, 2]


POINTS = torch.cat([torch.linspace(-30, 30, 241), torch.tensor([0.0, 1.0, -1.0, 1e-6, 1e-3])])


@pytest.mark.parametrize(
    "name",
    ["i0", "special_i0e", "special_i1", "special_i1e", "special_modified_bessel_k0", "special_modified_bessel_k1",
     "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_bessel_j0", "special_bessel_j1",
     "special_bessel_y0", "special_bessel_y1", "special_spherical_bessel_j0", "special_erfcx", "special_log_ndtr",
     "special_entr", "digamma", "lgamma"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_special(lower, name, dtype):
    check(lower, getattr(A, name).default, (POINTS.to(dtype),), rtol=5e-5, atol=2e-6)


def test_airy_against_scipy(lower):
    scipy_special = pytest.importorskip("scipy.special", reason="the reference")
    x = torch.linspace(-12, 8, 401, dtype=torch.float64)
    got = lower.run(A.special_airy_ai.default, (x,))[0][0]
    np.testing.assert_allclose(got.numpy(), scipy_special.airy(x.numpy())[0], rtol=1e-10, atol=1e-13)


def test_bessel_against_scipy(lower):
    scipy_special = pytest.importorskip("scipy.special", reason="the reference")
    x = torch.linspace(0.01, 40, 801, dtype=torch.float64)
    for name, function in (("j0", scipy_special.j0), ("j1", scipy_special.j1), ("y0", scipy_special.y0), ("y1", scipy_special.y1)):
        got = lower.run(getattr(A, f"special_bessel_{name}").default, (x,))[0][0]
        np.testing.assert_allclose(got.numpy(), function(x.numpy()), rtol=1e-12, atol=1e-13)


def test_ndtri_against_scipy(lower):
    scipy_special = pytest.importorskip("scipy.special", reason="the reference")
    p = torch.cat([torch.linspace(0, 1, 201), torch.logspace(-30, -1, 50)])
    got = lower.run(A.special_ndtri.default, (p,))[0][0].double().numpy()
    np.testing.assert_allclose(got, scipy_special.ndtri(p.double().numpy()), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("op", ["igamma", "igammac"])
def test_incomplete_gamma(lower, op):
    torch.manual_seed(0)
    a, x = torch.rand(500) * 30, torch.rand(500) * 40
    wanted = getattr(A, op).default(a.double(), x.double())
    torch.testing.assert_close(lower.run(getattr(A, op).default, (a, x))[0][0].double(), wanted, rtol=2e-5, atol=1e-6)
    edge = torch.tensor([0.0, 1.0, float("inf"), -1.0, float("nan")])
    check(lower, getattr(A, op).default, torch.meshgrid(edge, edge, indexing="ij"))


ERRORS = [
    (A.add.Tensor, (torch.ones(3), torch.ones(4)), {}),
    (A.add.Tensor, (torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)), {"alpha": 1.5}),
    (A.sub.Tensor, (torch.ones(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)), {}),
    (A.neg.default, (torch.ones(3, dtype=torch.bool),), {}),
    (A.lt.Tensor, (torch.ones(3, dtype=torch.complex64), torch.ones(3, dtype=torch.complex64)), {}),
    (A.gelu.default, (torch.ones(3, dtype=torch.int64),), {}),
    (A.sum.dim_IntList, (torch.ones(3, 4), [3]), {}),
    (A.sum.dim_IntList, (torch.ones(3, 4), [0, 0]), {}),
    (A.mean.default, (torch.ones(3, dtype=torch.int32),), {}),
    (A.max.default, (torch.ones(0),), {}),
    (A.max.dim, (torch.ones(0, 3), 0), {}),
    (A.bitwise_and.Tensor, (torch.ones(3), torch.ones(3)), {}),
    (A.lerp.Scalar, (torch.ones(3), torch.ones(3, dtype=torch.float64), 0.5), {}),
    (A.trace.default, (torch.ones(3),), {}),
    (A.kthvalue.default, (torch.ones(3), 5), {}),
    (A.topk.default, (torch.ones(3), 5), {}),
    (A.bincount.default, (torch.ones(3),), {}),
    (A.multinomial.default, (torch.ones(3), 5), {}),
    (A.uniform_.default, (torch.ones(3), 2.0, 1.0), {}),
    (A.random_.to, (torch.ones(3), 0), {}),
    (A.geometric_.default, (torch.ones(3), 2.0), {}),
    (A.exponential_.default, (torch.ones(3), -1.0), {}),
]
KINDS = {"INVALID_ARGUMENT": RuntimeError, "OUT_OF_RANGE": IndexError, "UNIMPLEMENTED": NotImplementedError}


@pytest.mark.parametrize("op, args, kwargs", ERRORS, ids=lambda v: v.name() if hasattr(v, "name") else "")
def test_errors_as_on_the_cpu(lower, op, args, kwargs):
    with pytest.raises(Exception) as cpu:
        op(*args, **kwargs)
    with pytest.raises(lowering.LoweringError) as ours:
        lower.run(op, args, kwargs)
    first = str(cpu.value).split("\n")[0]
    assert first in ours.value.message, f"{ours.value.message!r} lacks {first!r}"
    # a RuntimeError is what users catch; the finer classes must agree
    if type(cpu.value) is not RuntimeError:
        assert isinstance(cpu.value, KINDS[ours.value.code])


@pytest.mark.parametrize(
    "op, args",
    [
        (A.nonzero.default, (torch.tensor([[1, 0, 2], [0, 0, 3]]),)),
        (A.nonzero.default, (torch.zeros(2, 3),)),
        (A.masked_select.default, (torch.arange(6.0).reshape(2, 3), torch.tensor([True, False, True]))),
        (A._unique2.default, (torch.tensor([3, 1, 2, 3, 1]), True, True, True)),
        (A.unique_dim.default, (torch.tensor([[1, 2], [0, 5], [1, 2]]), 0, True, True, True)),
        (A.unique_consecutive.default, (torch.tensor([1, 1, 2, 2, 1]), True, True)),
        (A.bincount.default, (torch.tensor([1, 5, 1]),)),
        (A.bincount.default, (torch.tensor([1, 5, 1]), torch.tensor([0.5, 1.0, 2.0]), 8)),
        (A.repeat_interleave.Tensor, (torch.tensor([0, 2, 3]),)),
    ],
    ids=lambda v: v.name() if hasattr(v, "name") else "",
)
def test_sizes_that_depend_on_data(lower, op, args):
    check(lower, op, args)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int32])
def test_hash_without_float64(lower, dtype):
    """A target without float64 makes its bits from integers: zeros, subnormals, inf and NaN too."""
    if dtype.is_floating_point:
        info = torch.finfo(dtype)
        tiny = info.smallest_normal
        values = [0.0, -0.0, 1.0, -1.5, tiny, -tiny / 2, 3 * tiny / 4, info.max, info.min, float("inf"), -float("inf")]
        values += [tiny * 2.0**-k for k in range(1, 12)]
    else:
        values = [0, -1, 7, 2**31 - 1, -(2**31)]
    x = torch.tensor(values, dtype=torch.float64).to(dtype)
    target = None if dtype == torch.float64 else "v5e"
    for one in x:   # one by one: a sum over all would hide two errors
        got = lower.run(A.hash_tensor.default, (one.view(1), [0]), target=target)[0][0]
        assert got.item() == torch.hash_tensor(one.view(1), 0).item(), one
    random = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)).mul(100).to(dtype)
    got = lower.run(A.hash_tensor.default, (random, [1]), {"keepdim": True}, target=target)[0][0]
    assert got.equal(torch.hash_tensor(random, 1, keepdim=True))
    if dtype.is_floating_point:
        got = lower.run(A.hash_tensor.default, (torch.tensor([float("nan")], dtype=dtype), [0]), target=target)[0][0]
        assert got.item() == torch.hash_tensor(torch.tensor([float("nan")], dtype=dtype), 0).item()


@pytest.mark.parametrize(
    "op, args, text",
    [
        (A.index_select.default, (torch.ones(3), 0, torch.tensor([1])), "index out of range in self"),
        (A.gather.default, (torch.ones(3), 0, torch.tensor([1])), "index {0} is out of bounds for dimension 0 with size 3"),
        (A.index.Tensor, (torch.ones(3, 2), [None, torch.tensor([1])]), "index {0} is out of bounds for dimension 1 with size 2"),
        (A.take.default, (torch.ones(3), torch.tensor([1])), "out of range: tried to access index {0} on a tensor of 3 elements."),
        (A.floor_divide.default, (torch.tensor([1]), torch.tensor([1])), "ZeroDivisionError"),
    ],
    ids=lambda v: v.name() if hasattr(v, "name") else "",
)
def test_checks_carry_cpu_texts(lower, op, args, text):
    words, _, _ = lower.words(op, args, {})
    assert text in lower.text(words, expand=False, checks=True)[2]


def test_value_scalars_are_parameters(lower):
    words, _, _ = lower.words(A.add.Tensor, (torch.ones(3), torch.ones(3)), {"alpha": 2.5}, parameters=True)
    assert lower.text(words)[1] == "2 f32;"
    words, _, _ = lower.words(A.add.Tensor, (torch.ones(3), torch.ones(3)), {"alpha": 2}, parameters=True)
    assert lower.text(words)[1] == ""   # special values fold
    words, _, _ = lower.words(A.pow.Tensor_Scalar, (torch.ones(3), 2.5), {}, parameters=True)
    assert lower.text(words)[1] == "1 f32;"
