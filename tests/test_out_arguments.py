"""out=, results' strides and error classes as on the CPU."""

import itertools
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.complex128]
# CPU has no kernel for what others compute; samples that name a device; sparse layouts.
SKIPPED = {"nansum", "nanmean", "linalg.eigvals", "sparse.sampled_addmm", "normal"}
OPS = [op for op in op_db if op.supports_out and op.name not in SKIPPED]


def outcome(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "fine", call()
        except Exception as error:
            return type(error).__name__, str(error)


def out_dtypes(op, dtype):
    sample = next(iter(op.sample_inputs("cpu", dtype)), None)
    if sample is None or "device" in sample.kwargs:
        return
    kind, expected = outcome(lambda: op.op(sample.input, *sample.args, **sample.kwargs))
    if kind != "fine" or not isinstance(expected, torch.Tensor):
        return
    ours = sample.transform(lambda x: x.to("tpu") if isinstance(x, torch.Tensor) else x)
    for other in DTYPES:
        def call(one, device):
            out = torch.zeros(expected.shape, dtype=other, device=device)
            op.op(one.input, *one.args, **one.kwargs, out=out)

        (cpu, _), (tpu, text) = outcome(lambda: call(sample, "cpu")), outcome(lambda: call(ours, "tpu"))
        if "runs on the virtual TPU only" in str(text):   # through another plugin: refused whatever out= is
            return
        assert cpu == tpu, (op.name, dtype, other, cpu, tpu)


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))])
def test_dtypes_of_out(part):
    """Whether each op takes an out= of each dtype, or with which class it refuses, is the CPU's answer."""
    for op in OPS[part::6]:
        for dtype in (torch.float32, torch.int64, torch.complex64):
            if dtype in op.supported_dtypes("cpu"):
                out_dtypes(op, dtype)


def layouts():
    yield torch.randn(3, 4).t()
    yield torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    yield torch.randn(2, 3, 4).permute(2, 0, 1)
    yield torch.randn(3, 4)


RESIZED = {
    "add": lambda x, out: torch.add(x, 1, out=out),
    "sin": lambda x, out: torch.sin(x, out=out),
    "abs": lambda x, out: torch.abs(x, out=out),
    "where": lambda x, out: torch.where(x > 0, x, x, out=out),
    "clamp": lambda x, out: torch.clamp(x, 0, 1, out=out),
    "lerp": lambda x, out: torch.lerp(x, x, 0.5, out=out),
    "addcmul": lambda x, out: torch.addcmul(x, x, x, out=out),
    "floor division": lambda x, out: torch.div(x, x, rounding_mode="floor", out=out),
    "gelu": lambda x, out: torch.ops.aten.gelu.out(x, out=out),
    "log_sigmoid": lambda x, out: torch.ops.aten.log_sigmoid.out(x, out=out),
    "mse_loss": lambda x, out: torch.ops.aten.mse_loss.out(x, x, 0, out=out),
    "sum": lambda x, out: torch.sum(x, 0, out=out),
    "cumsum": lambda x, out: torch.cumsum(x, 0, out=out),
    "sort": lambda x, out: torch.sort(x, out=(out, torch.empty(0, dtype=torch.long, device=x.device))),
}


@pytest.mark.parametrize("name", RESIZED)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_strides_of_resized_outputs(name):
    for x, size in itertools.product(layouts(), (0, 7)):
        outs = []
        for device in ("cpu", "tpu"):
            out = torch.empty(size, device=device)
            RESIZED[name](x.to(device), out)
            outs.append(out)
        assert outs[0].stride() == outs[1].stride(), (x.stride(), size)
        torch.testing.assert_close(outs[1].cpu(), outs[0])


RESULTS = {
    "sort": lambda x: x.sort(0),
    "argsort": lambda x: x.argsort(0),
    "dropout": lambda x: F.dropout(x, 0.5),
    "logsigmoid": F.logsigmoid,
    "huber_loss": lambda x: F.huber_loss(x, x * 2, reduction="none"),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), reduction="none"),
    "index_fill": lambda x: x.index_fill(0, torch.tensor([0], device=x.device), 1),
    "put": lambda x: x.put(torch.tensor([0], device=x.device), torch.tensor([0.0], device=x.device)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_strides_of_results(name):
    for x in layouts():
        cpu, tpu = RESULTS[name](x), RESULTS[name](x.to("tpu"))
        for left, right in zip(*((t,) if isinstance(t, torch.Tensor) else t for t in (cpu, tpu))):
            assert left.stride() == right.stride(), x.stride()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_clamp_keeps_signs_of_zero(dtype):
    """x stays where it equals a bound."""
    x = torch.tensor([0.0, -0.0, float("nan"), 1, -1] * 5, dtype=dtype)
    bounds = [(0, 1), (0, None), (None, 0), (-0.0, 2), (-1, -0.0), (-1, 1), (float("nan"), 1), (2, -2)]
    for low, high in bounds:
        programs = [lambda x: torch.clamp(x, low, high)]
        numbers = [number for number in (low, high) if number is not None]
        if len(numbers) == 2 and low <= high:
            programs.append(lambda x: F.hardtanh(x, low, high))
        for program in programs:
            cpu, tpu = program(x), program(x.to("tpu")).cpu()
            torch.testing.assert_close(tpu, cpu, rtol=0, atol=0, equal_nan=True)
            ordered = ~cpu.isnan()
            assert torch.equal(torch.signbit(tpu)[ordered], torch.signbit(cpu)[ordered]), (low, high)
    assert torch.equal(torch.signbit(F.relu6(x.to("tpu")).cpu()), torch.signbit(F.relu6(x)))


def test_equal_of_several_dtypes():
    values = [
        torch.tensor([0.1, 1]), torch.tensor([0.1, 1], dtype=torch.float64), torch.tensor([1, 1]),
        torch.tensor([True, True]), torch.tensor([1 + 0j, 1]), torch.tensor([1, 1, 1], dtype=torch.int32),
        torch.tensor([1.0, 1.0], dtype=torch.bfloat16), torch.tensor([], dtype=torch.int8), torch.tensor([]),
    ]  # fmt: skip
    for a, b in itertools.product(values, values):
        cpu, tpu = outcome(lambda: torch.equal(a, b)), outcome(lambda: torch.equal(a.to("tpu"), b.to("tpu")))
        assert cpu == tpu or (cpu[0] == tpu[0] != "fine"), (a, b, cpu, tpu)


@pytest.mark.parametrize("shape", [(1, 5), (2, 1), (5,), (1,), (), (2, 5), (3, 5), (1, 1, 5)])
def test_addbmm_expands_a_smaller_self(shape):
    """Against the functional form: the CPU's in-place one reads a column that it has overwritten."""
    torch.manual_seed(0)
    x, a, b = torch.randn(shape), torch.randn(4, 2, 3), torch.randn(4, 3, 5)
    cpu = outcome(lambda: torch.addbmm(x, a, b, beta=2, alpha=3))
    assert outcome(lambda: x.clone().addbmm_(a, b))[0] == cpu[0]
    tpu = outcome(lambda: x.to("tpu").addbmm_(a.to("tpu"), b.to("tpu"), beta=2, alpha=3).cpu())
    assert cpu[0] == tpu[0], (cpu, tpu)
    if cpu[0] == "fine":
        torch.testing.assert_close(tpu[1], cpu[1])


def singular(device):
    return torch.tensor([[1.0, 2.0], [2.0, 1.0]], device=device)


def full_of(number):
    return lambda device: torch.full((2, 2), number, device=device)


ERRORS = {
    "cholesky": lambda device: torch.cholesky(singular(device)),
    "cholesky of a batch": lambda device: torch.cholesky(torch.stack([torch.eye(2, device=device), singular(device)])),
    "linalg.cholesky": lambda device: torch.linalg.cholesky(singular(device)),
    "cholesky_ex": lambda device: torch.linalg.cholesky_ex(singular(device), check_errors=True),
    "cholesky of integers": lambda device: torch.cholesky(torch.ones(2, 2, device=device, dtype=torch.int64)),
    "cholesky of a line": lambda device: torch.cholesky(torch.ones(2, device=device)),
    "cholesky not square": lambda device: torch.cholesky(torch.ones(2, 3, device=device)),
    "cholesky_inverse": lambda device: torch.cholesky_inverse(full_of(0.0)(device)),
    "inv": lambda device: torch.linalg.inv(full_of(0.0)(device)),
    "inv_ex": lambda device: torch.linalg.inv_ex(full_of(0.0)(device), check_errors=True),
    "solve": lambda device: torch.linalg.solve(full_of(0.0)(device), full_of(0.0)(device)),
    "lu_factor": lambda device: torch.linalg.lu_factor(full_of(0.0)(device)),
    "svd": lambda device: torch.linalg.svd(full_of(float("nan"))(device)),
    "svdvals": lambda device: torch.linalg.svdvals(full_of(float("nan"))(device)),
    "eig": lambda device: torch.linalg.eig(full_of(float("nan"))(device)),
    "cat into integers": lambda device: torch.cat([singular(device)], out=torch.empty(0, dtype=torch.int64, device=device)),
    "stack into bool": lambda device: torch.stack([singular(device)], out=torch.empty(0, dtype=torch.bool, device=device)),
    "cumsum into bool": lambda device: torch.cumsum(singular(device), 0, dtype=torch.bool),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_classes(name):
    cpu, tpu = outcome(lambda: ERRORS[name]("cpu")), outcome(lambda: ERRORS[name]("tpu"))
    assert cpu[0] == tpu[0] != "fine", (cpu, tpu)
