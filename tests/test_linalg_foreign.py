"""Factorisations as StableHLO (src/lower/expand_linalg.c, expand_qr.c) on XLA:CPU against LAPACK on the CPU."""

import pytest

import foreign

FOREIGN = foreign.plugin()
pytestmark = pytest.mark.skipif(FOREIGN is None, reason="package lammps-jax-pjrt-cpu is not installed")

# Nearly all the time goes into XLA's compiles.
FLAGS = f"{foreign.XLA_FLAGS} --xla_backend_optimization_level=0"
HELPERS = """
import torch
linalg = torch.linalg
torch.manual_seed(3)
EPSILON = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}

def close(got, want, units, floor=0.0):
    # the largest difference in units of the rounding error of the largest element, matrix by matrix
    got = got.cpu()
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    if not want.numel():
        return
    per = lambda x: x.abs().reshape(-1, x.shape[-2] * x.shape[-1]).amax(1) if x.dim() > 1 else x.abs().max()
    error = per(got - want) / (per(want) + floor).clamp(min=torch.finfo(want.dtype).tiny)
    assert error.max() <= units * EPSILON[want.real.dtype], (error.max() / EPSILON[want.real.dtype], units)

def exact(dtype):
    return torch.complex128 if dtype.is_complex else torch.float64
"""


def run(python, code):
    env = {"TORCH_TPU_PLUGIN": FOREIGN or "", "TT_FOREIGN": None, "XLA_FLAGS": FLAGS}
    done = python(HELPERS + code + "\nprint('fine')", timeout=600, **env)
    assert done.returncode == 0 and done.stdout.endswith("fine\n"), done.stdout + done.stderr


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("float64", "complex128")]


@pytest.mark.parametrize("dtype", ["float32", "complex64", *SLOW])
def test_factors(python, dtype):
    """LU, QR and Cholesky are unique, so the factors themselves are compared: over several panels, tall and wide."""
    run(python, f"""
dtype, wide = torch.{dtype}, exact(torch.{dtype})
slow = dtype in (torch.float64, torch.complex128)
for shape in [(3, 5), (1, 4), (3, 1, 5, 3), (70, 66), (66, 80)] if slow else [(80, 66) if dtype.is_complex else (2, 66, 80)]:
    a = torch.randn(shape, dtype=dtype)
    d = a.to("tpu")
    factors, pivots = linalg.lu_factor(d)
    want = linalg.lu_factor(a)
    assert pivots.cpu().equal(want.pivots), shape
    close(factors, want.LU, 200)
    q, r = linalg.qr(d, mode="complete")
    want = linalg.qr(a.to(wide), mode="complete")
    k = min(a.shape[-2:])
    close(r, want.R.to(dtype), 100)
    close(q[..., :k], want.Q[..., :k].to(dtype), 300)
    whole = q.cpu().to(wide)
    close(whole @ r.cpu().to(wide), a.to(wide), 50 * EPSILON[a.real.dtype] * 2.0**52)
    close(whole.mH @ whole, torch.eye(shape[-2], dtype=wide).expand_as(whole), 50 * EPSILON[a.real.dtype] * 2.0**52)
    assert not r.cpu().tril(-1).any()
    reflectors, tau = torch.geqrf(d)
    want = torch.geqrf(a.to(wide))
    close(reflectors, want.a.to(dtype), 300)
    close(tau, want.tau.to(dtype), 300)
for n, upper in ((70, False), (5, True), (1, False)) if slow else ((70, dtype.is_complex),):
    a = torch.randn(2, n, n, dtype=dtype)
    a = a @ a.mH + n * torch.eye(n, dtype=dtype)
    l, info = linalg.cholesky_ex(a.to("tpu"), upper=upper)
    assert not info.cpu().any() and not (l.cpu().tril(-1) if upper else l.cpu().triu(1)).any()
    close(l, linalg.cholesky(a.to(wide), upper=upper).to(dtype), 50)
""")


def test_products_of_reflectors(python):
    run(python, """
for dtype in (torch.float32, torch.complex64):
    a = torch.randn(2, 70, 68, dtype=dtype)
    reflectors, tau = torch.geqrf(a)
    for k in (68, 3) if dtype.is_complex else (66,):
        want = linalg.householder_product(reflectors, tau[..., :k])
        close(linalg.householder_product(reflectors.to("tpu"), tau[..., :k].to("tpu")), want, 100)
    c = torch.randn(2, 70, 3, dtype=dtype)
    want = torch.ormqr(reflectors, tau, c, transpose=True)
    if dtype.is_complex:
        close(torch.ormqr(reflectors.to("tpu"), tau.to("tpu"), c.to("tpu"), transpose=True), want, 100)
""")


SPECIAL = """
def special(dtype):
    n = 5
    a = torch.randn(n, n, dtype=dtype)
    ties = torch.randint(-1, 2, (n, n), generator=torch.Generator().manual_seed(6)).to(dtype)
    column, far, nan = a.clone(), a.clone(), a.clone()
    column[:, 2] = 0
    far[1:, 0] *= 1e-30
    nan[3, 1] = float("nan")
    spread = a * torch.logspace(-30, 0, n).to(dtype)
    return torch.stack([a, 0 * a, -0 * a, column, ties, torch.eye(n, dtype=dtype) * (2 - 1j if dtype.is_complex else -1), far,
                        a * 1e30, a * 1e-30, spread, spread.mT, a.triu(), nan])
"""


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_special_matrices(python, dtype):
    """Singular matrices, ties, huge and tiny elements; NaN stays NaN and ends."""
    run(python, SPECIAL + f"""
a = special(torch.{dtype})
factors, pivots, info = linalg.lu_factor_ex(a.to("tpu"))
want = linalg.lu_factor_ex(a)
assert pivots.cpu()[:-1].equal(want.pivots[:-1]) and info.cpu().equal(want.info), (info, want.info)
close(factors[:-1], want.LU[:-1], 50)
assert factors[-1].cpu().isnan().any()
reflectors, tau = torch.geqrf(a.to("tpu"))
want = torch.geqrf(a)
regular = torch.tensor([i for i in range(len(a) - 1) if i not in (3, 4, 10)])   # these have columns of rounding errors
close(reflectors.cpu()[regular], want.a[regular], 100)
close(tau.cpu()[regular][..., None], want.tau[regular][..., None], 100)
close(reflectors[3, :, :2].cpu(), want.a[3, :, :2], 100)
assert reflectors[-1].cpu().isnan().any() and reflectors[-1, :, 0].cpu().isfinite().all()
q, r = (x.cpu()[:-1].to(exact(a.dtype)) for x in linalg.qr(a.to("tpu")))
close(q @ r, a[:-1].to(q.dtype), 20 * EPSILON[a.real.dtype] * 2.0**52)
close(q.mH @ q, torch.eye(5, dtype=q.dtype).expand_as(q), 20 * EPSILON[a.real.dtype] * 2.0**52)
""")


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_not_positive_definite(python, dtype):
    """info is the order of the first minor that is not positive, and the triangle is NaN; the other one is not read."""
    run(python, f"""
dtype = torch.{dtype}
n = 5
a = torch.randn(n, n, dtype=dtype)
a = a @ a.mH + torch.eye(n, dtype=dtype)
middle, first, nan, unread = a.clone(), a.clone(), a.clone(), a.clone()
middle[2, 2] = -1
first[0, 0] = -3
nan[3, 1] = float("nan")
unread[1, 3] = float("nan")
if dtype.is_complex:
    unread[1, 1] += 5j
matrices = torch.stack([a, middle, first, nan, 0 * a, unread, a * 1e30, a * 1e-30])
l, info = linalg.cholesky_ex(matrices.to("tpu"))
want = linalg.cholesky_ex(matrices)
assert info.cpu().equal(want.info), (info, want.info)
good = want.info == 0
close(l.cpu()[good], want.L[good], 30)
assert l.cpu()[~good].tril().isnan().equal(torch.ones(n, n).tril().bool().expand(4, n, n)) and not l.cpu().triu(1).any()
large = torch.eye(150)
large[100, 100] = large[140, 140] = 0
assert linalg.cholesky_ex(large.to("tpu")).info.item() == 101
""")


def test_solutions_and_determinants(python):
    run(python, """
for dtype in (torch.float32, torch.complex64):
    a = torch.randn(2, 4, 4, dtype=dtype) + 3 * torch.eye(4, dtype=dtype)
    b = torch.randn(2, 4, 3, dtype=dtype)
    close(linalg.solve(a.to("tpu"), b.to("tpu")), linalg.solve(a, b), 50)
    close(linalg.inv(a.to("tpu")), linalg.inv(a), 50)
    close(linalg.det(a.to("tpu")), linalg.det(a), 50)
    for got, want in zip(linalg.slogdet(a.to("tpu")), linalg.slogdet(a)):
        close(got, want, 50)
    for got, want in zip(linalg.lu(a.to("tpu")), linalg.lu(a)):
        close(got, want, 50)
""")


def test_empty(python):
    run(python, """
for shape in ((0, 3), (3, 0), (2, 0, 3, 3)):
    a = torch.zeros(shape)
    d = a.to("tpu")
    for got, want in ((linalg.lu(d), linalg.lu(a)), (linalg.lu_factor_ex(d), linalg.lu_factor_ex(a)),
                      (linalg.qr(d, mode="complete"), linalg.qr(a, mode="complete")), (linalg.qr(d), linalg.qr(a)),
                      (torch.geqrf(d), torch.geqrf(a))):
        for x, y in zip(got, want):
            assert x.cpu().equal(y), (shape, x, y)
    if shape[-2] >= shape[-1]:
        tau = torch.zeros(*shape[:-2], shape[-1])
        assert linalg.householder_product(d, tau.to("tpu")).cpu().equal(linalg.householder_product(a, tau))
    if shape[-1] == shape[-2]:
        for x, y in zip(linalg.cholesky_ex(d), linalg.cholesky_ex(a)):
            assert x.cpu().equal(y)
        assert linalg.det(d).cpu().equal(linalg.det(a)) and linalg.inv(d).cpu().equal(linalg.inv(a))
no_reflector = linalg.householder_product(torch.zeros(4, 2, device="tpu"), torch.zeros(0, device="tpu"))
assert no_reflector.cpu().equal(torch.eye(4, 2))
""")


def test_gradients(python):
    run(python, """
a = torch.randn(4, 4) + 3 * torch.eye(4)
for function in (lambda x: sum(y.sin().sum() for y in linalg.qr(x)), lambda x: linalg.cholesky(x @ x.mT).sin().sum(),
                 linalg.det, lambda x: linalg.solve(x, x.new_ones(4, 1)).sum(), lambda x: sum(y.sin().sum() for y in linalg.lu(x))):
    leaves = [a.clone().requires_grad_(), a.to("tpu").requires_grad_()]
    for leaf in leaves:
        function(leaf).backward()
    close(leaves[1].grad, leaves[0].grad, 200)
""")


def test_growing_batches(python):
    """A number of matrices that grows is rounded up around the factorisation, not in it."""
    run(python, """
for n in range(3, 7):
    a = torch.randn(n, 3, 2)
    d = a.to("tpu") * 1.0
    close((torch.geqrf(d).a * 2).sum(0), (torch.geqrf(a).a * 2).sum(0), 100)
""")
