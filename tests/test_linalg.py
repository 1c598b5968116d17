"""Factorisations, matrix functions and distances on tpu against CPU PyTorch, beyond the samples of op_db."""

import pytest
import torch

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def tolerance(dtype):
    return dict(rtol=1e-4, atol=1e-4) if dtype in (torch.float32, torch.complex64) else dict(rtol=1e-9, atol=1e-9)


def close(tpu, cpu, **limits):
    torch.testing.assert_close(tpu.cpu(), cpu, equal_nan=True, **limits)


def symmetric(n, dtype, hermitian, batch=()):
    a = torch.randn(*batch, n, n, dtype=dtype)
    return a + (a.mH if hermitian else a.mT)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl(dtype, hermitian):
    """Factors and pivots are LAPACK's; zeros on the diagonal make 2 x 2 blocks."""
    torch.manual_seed(1)
    limits = tolerance(dtype)
    for n, hollow in ((1, False), (2, True), (5, False), (6, True), (17, True), (40, False)):
        a = symmetric(n, dtype, hermitian, (3,))
        if hollow:
            a.diagonal(dim1=-2, dim2=-1).zero_()
        cpu, tpu = torch.linalg.ldl_factor_ex(a, hermitian=hermitian), torch.linalg.ldl_factor_ex(a.to("tpu"), hermitian=hermitian)
        assert torch.equal(tpu[1].cpu(), cpu[1]) and torch.equal(tpu[2].cpu(), cpu[2])
        assert n == 1 or not hollow or bool((cpu[1] < 0).any())
        close(tpu[0], cpu[0], **limits)
        b = torch.randn(3, n, 2, dtype=dtype)
        x = torch.linalg.ldl_solve(tpu[0], tpu[1], b.to("tpu"), hermitian=hermitian)
        if dtype in (torch.float64, torch.complex128):
            close(a.to("tpu") @ x, b, rtol=1e-7, atol=1e-7)
        one = torch.linalg.ldl_solve(tpu[0][0], tpu[1][0], b.to("tpu"), hermitian=hermitian)   # one matrix, many sides
        close(one, torch.linalg.ldl_solve(cpu[0][0], cpu[1][0], b, hermitian=hermitian), rtol=1e-3, atol=1e-3)


def test_ldl_of_a_singular_matrix():
    cpu, tpu = torch.linalg.ldl_factor_ex(torch.zeros(3, 3)), torch.linalg.ldl_factor_ex(torch.zeros(3, 3, device="tpu"))
    for a, b in zip(tpu, cpu):
        assert torch.equal(a.cpu(), b)
    with pytest.raises(RuntimeError, match="pivot 1 of D is zero"):
        torch.linalg.ldl_factor_ex(torch.zeros(3, 3, device="tpu"), check_errors=True)


def test_ldl_solve_checks_pivots():
    with pytest.raises(RuntimeError, match="pivot 9 is out of range"):
        torch.linalg.ldl_solve(torch.eye(3, device="tpu"), torch.tensor([1, 9, 3], dtype=torch.int32, device="tpu"),
                               torch.ones(3, 1, device="tpu"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr(dtype, left, transpose):
    torch.manual_seed(2)
    for m, n, batch in ((5, 3, ()), (4, 4, (2,)), (3, 6, (2, 1))):
        a, tau = torch.geqrf(torch.randn(*batch, m, n, dtype=dtype))
        c = torch.randn(*batch, *((m, 2) if left else (2, m)), dtype=dtype)
        cpu = torch.ormqr(a, tau, c, left, transpose)
        close(torch.ormqr(a.to("tpu"), tau.to("tpu"), c.to("tpu"), left, transpose), cpu, **tolerance(dtype))


def test_ormqr_errors():
    a, tau, c = torch.randn(4, 3), torch.randn(3), torch.randn(4, 2)
    cases = [(a, tau, c[:2]), (a[0], tau, c), (a, tau, c[0]), (a, tau[None], c), (a, tau[:2], c), (a, tau.double(), c),
             (a, tau, c.double()), (a, tau, c[None])]
    for case in cases:
        with pytest.raises(RuntimeError) as cpu:
            torch.ormqr(*case)
        with pytest.raises(RuntimeError) as tpu:
            torch.ormqr(*(t.to("tpu") for t in case))
        assert str(cpu.value) in str(tpu.value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrix_exp(dtype):
    """Small and large norms in one batch: each matrix is scaled by itself."""
    torch.manual_seed(3)
    a = torch.randn(6, 4, 4, dtype=dtype) * torch.tensor([1e-6, 1e-2, 0.3, 1, 4, 12], dtype=dtype)[:, None, None]
    exact = torch.linalg.matrix_exp(a.to(torch.complex128))
    ours = torch.linalg.matrix_exp(a.to("tpu")).cpu()
    size = torch.linalg.matrix_norm(exact)[:, None, None]
    error = ((ours.to(torch.complex128) - exact).abs() / size).max()
    assert error < (2e-5 if dtype in (torch.float32, torch.complex64) else 1e-13)


def test_matrix_exp_of_nilpotent_and_not_finite():
    shift = torch.diag(torch.ones(3), 1)
    close(torch.linalg.matrix_exp(shift.to("tpu")), torch.linalg.matrix_exp(shift), rtol=1e-6, atol=1e-7)
    for value in (float("inf"), float("nan")):
        close(torch.linalg.matrix_exp(torch.full((2, 2), value, device="tpu")), torch.full((2, 2), float("nan")),
              rtol=0, atol=0)
    assert torch.linalg.matrix_exp(torch.zeros(0, 2, 2, device="tpu")).shape == (0, 2, 2)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_pdist(p):
    torch.manual_seed(4)
    x = torch.randn(6, 3)
    x[2] = x[4]                     # a pair of equal rows
    x[1, 0] = x[3, 0]               # equal in one place
    grads = []
    for device in ("cpu", "tpu"):
        leaf = x.to(device).requires_grad_()
        value = torch.nn.functional.pdist(leaf, p)
        (grad,) = torch.autograd.grad(value, leaf, torch.arange(15.0, device=device))
        grads.append((value.detach().cpu(), grad.cpu()))
    close(grads[1][0], grads[0][0], rtol=1e-5, atol=1e-5)
    close(grads[1][1], grads[0][1], rtol=1e-4, atol=1e-4)


def test_pdist_of_few_rows():
    for shape in ((0, 3), (1, 3), (3, 0)):
        cpu = torch.nn.functional.pdist(torch.zeros(shape))
        assert torch.equal(torch.nn.functional.pdist(torch.zeros(shape, device="tpu")).cpu(), cpu)


def test_lu_solve_checks_its_arguments():
    factors, pivots = torch.linalg.lu_factor(torch.eye(3, device="tpu"))
    wrong = {
        "at least 2 dimensions": (factors, pivots, torch.tensor(1.0)),
        "Incompatible shapes": (factors, pivots, torch.zeros(0, 4)),
        "must have at least 2": (factors[0, 0], pivots, torch.zeros(3, 1)),
        "torch.int32": (factors, pivots.bool(), torch.zeros(3, 1)),
        "Number of pivots": (factors, pivots[0], torch.zeros(3, 1)),
        "must be between 1 and": (factors, pivots + 100, torch.zeros(3, 1)),
    }
    for text, (a, p, b) in wrong.items():
        with pytest.raises(RuntimeError, match=text):
            torch.linalg.lu_solve(a, p, b.to("tpu"))


SHAPES = [
    lambda d: torch.linalg.solve(torch.eye(3, device=d), torch.zeros(2, 2, device=d)),
    lambda d: torch.linalg.solve_triangular(torch.eye(3, device=d), torch.zeros(2, 2, device=d), upper=True),
    lambda d: torch.linalg.solve_triangular(torch.eye(3, device=d), torch.zeros(2, 2, device=d), upper=True, left=False),
    lambda d: torch.cholesky_solve(torch.zeros(2, 2, device=d), torch.eye(3, device=d)),
    lambda d: torch.linalg.ldl_solve(torch.eye(3, device=d), torch.ones(3, dtype=torch.int32, device=d),
                                     torch.zeros(2, 2, device=d)),
    lambda d: torch.linalg.householder_product(torch.zeros(2, 3, device=d), torch.zeros(2, device=d)),
    lambda d: torch.linalg.householder_product(torch.zeros(3, 2, device=d), torch.zeros(3, device=d)),
    lambda d: torch.geqrf(torch.zeros(3, device=d)),
    lambda d: torch.lu_unpack(torch.tensor(1.0, device=d), torch.ones(3, dtype=torch.int32, device=d)),
    lambda d: torch.linalg.lu_factor(torch.zeros(3, device=d)),
]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_shapes_that_do_not_fit(number):
    with pytest.raises(RuntimeError):
        SHAPES[number]("cpu")
    with pytest.raises(RuntimeError):
        SHAPES[number]("tpu")
