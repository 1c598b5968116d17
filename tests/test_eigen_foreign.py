"""eigh, svd, lstsq and LDL on a plugin without our custom calls (XLA:CPU), against LAPACK through CPU PyTorch.

Limits are in units of the dtype's rounding times the norm; LAPACK's own errors are of that size. Each shape is a program
that XLA compiles for a second, so what is odd lies in few batches.
"""

import pytest

import foreign

FOREIGN = foreign.plugin()
pytestmark = pytest.mark.skipif(FOREIGN is None, reason="package lammps-jax-pjrt-cpu is not installed")

HEAD = """
import torch
torch.manual_seed(0)
wide = lambda x: x.cpu().to(torch.complex128 if x.is_complex() else torch.float64)
def below(limit, error, like, norm=torch.ones(())):
    units = (error.abs().flatten(norm.dim()).amax(-1) / norm / torch.finfo(like.dtype).eps).max().item()
    assert units <= limit, f"{units} units, allowed {limit}"
def norm_of(a):
    return torch.linalg.matrix_norm(wide(a), 2).clamp_min(1e-300)
def orthonormal(q, limit, like):
    below(limit, q.mH @ q - torch.eye(q.shape[-1]), like)
def eigh(a, limit=20, **more):
    w, v = torch.linalg.eigh(a.to("tpu"), **more)
    ref = torch.linalg.eigvalsh(wide(a), **more)
    assert w.dtype == a.real.dtype and w.shape == ref.shape and v.dtype == a.dtype and v.shape == a.shape
    W, V = w.cpu().double(), wide(v)
    orthonormal(V, limit, a)
    below(limit, W - ref, a, norm_of(a))
    assert (W.diff(dim=-1) >= 0).all()
    if not more:
        below(limit, (V * W.unsqueeze(-2)) @ V.mH - wide(a), a, norm_of(a))
def svd(a, full=False, limit=20):
    u, s, vh = torch.linalg.svd(a.to("tpu"), full_matrices=full)
    r = torch.linalg.svd(a, full_matrices=full)
    assert [(x.shape, x.dtype) for x in (u, s, vh)] == [(x.shape, x.dtype) for x in r]
    U, S, Vh, k = wide(u), s.cpu().double(), wide(vh), s.shape[-1]
    orthonormal(U, limit, a)
    orthonormal(Vh.mH, limit, a)
    below(limit, S - torch.linalg.svdvals(wide(a)), a, norm_of(a))
    assert (S.diff(dim=-1) <= 0).all() and (S >= 0).all()
    below(limit, (U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :] - wide(a), a, norm_of(a))
def random(*shape):
    return torch.randn(*shape, dtype=dtype)
def hermitian(*shape):
    a = random(*shape, shape[-1])
    return (a + a.mH) / 2
BAD = (float("nan"), float("inf"), -float("inf"))
"""


def run(python, code, *dtypes):
    body = "".join(f"\ndtype = torch.{name}\n{code}" for name in dtypes)
    done = python(HEAD + body + "\nprint('fine')", timeout=600, TORCH_TPU_PLUGIN=FOREIGN, TT_FOREIGN=None,
                  XLA_FLAGS=foreign.XLA_FLAGS)
    assert done.returncode == 0 and done.stdout.endswith("fine\n"), done.stdout + done.stderr


def test_eigh(python):
    run(python, """
q = torch.linalg.qr(random(7, 7))[0]
h = (q * torch.tensor([1, 1, 1, 2, 2, -3, -3])) @ q.mH   # repeated eigenvalues
h = (h + h.mH) / 2
a = torch.stack([h, h * 1e30, h * 1e-30, torch.zeros(7, 7), torch.eye(7), torch.ones(7, 7), torch.diag(torch.arange(7.) - 3),
                 *hermitian(5, 7)]).to(dtype)
eigh(a)
eigh(hermitian(1)); eigh(hermitian(2, 2, 24)); eigh(random(7, 7), UPLO="U")
below(20, torch.linalg.eigvalsh(a.to("tpu")).cpu().double() - torch.linalg.eigvalsh(wide(a)), a, norm_of(a))
w, v = torch.linalg.eigh(torch.zeros(2, 0, 0, dtype=dtype, device="tpu"))
assert w.shape == (2, 0) and v.shape == (2, 0, 0)
for i, bad in enumerate(BAD):
    a[i, 2, 2] = bad
w, v = torch.linalg.eigh(a.to("tpu"))
assert w[:3].isnan().all() and v[:3].isnan().all()
below(20, w[3:].cpu().double() - torch.linalg.eigvalsh(wide(a[3:])), a, norm_of(a[3:]))
""", "float32", "complex64")


def test_svd(python):
    run(python, """
a, low = random(4, 7, 4), random(3, 7, 2) @ random(3, 2, 4)
a = torch.cat([a, low, a[:1] * 1e30, a[:1] * 1e-30, a[:1] * torch.tensor([1, 0, 1, 1e-25]),
               a[:1] * torch.tensor([1, 1e-9, 1e-18, 1e-27]), a[:1] * 10.0 ** -torch.arange(0, 35, 5)[:, None], torch.zeros(1, 7, 4),
               torch.ones(1, 7, 4), torch.eye(7, 4)[None]]).to(dtype)
svd(a, full=True); svd(a.mH.contiguous())
svd(random(1, 1)); svd(random(21, 21))
for shape in ((0, 3), (3, 0), (2, 0, 0), (0, 3, 2)):
    of_both = [torch.linalg.svd(torch.zeros(shape, dtype=dtype, device=d)) for d in ("tpu", "cpu")]
    assert all(x.cpu().equal(y) for x, y in zip(*of_both)), shape
for i, bad in enumerate(BAD):
    a[i, 2, 3] = bad
u, s, vh = (x.cpu() for x in torch.linalg.svd(a.to("tpu"), full_matrices=True))
assert all(x[:3].isnan().all() for x in (u, s, vh))
below(20, s[3:].double() - torch.linalg.svdvals(wide(a[3:])), a, norm_of(a[3:]))
""", "float32", "complex64")


def test_wide_dtypes(python):
    run(python, """
h = hermitian(3, 9)
eigh(torch.cat([h, h[:1] * 1e200, h[:1] * 1e-250]))
svd(torch.cat([random(2, 9, 6), random(1, 9, 2) @ random(1, 2, 6), random(1, 9, 6) * 1e200]), full=True)
""", "float64", "complex128")


def test_what_stands_on_them(python):
    """Pseudoinverse, rank, norms, least squares and gradients."""
    run(python, """
a, b = random(7, 4), random(7, 2)
t = a.to("tpu")
close = lambda x, y: torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5)
close(torch.linalg.pinv(t), torch.linalg.pinv(a))
assert torch.linalg.matrix_rank(torch.stack([t, t * 0, t * torch.tensor([1, 0, 1, 1], device="tpu")])).tolist() == [4, 0, 3]
close(torch.linalg.cond(t), torch.linalg.cond(a))
close(torch.linalg.matrix_norm(t, 2), torch.linalg.matrix_norm(a, 2))
close(torch.linalg.matrix_norm(t, "nuc"), torch.linalg.matrix_norm(a, "nuc"))
close(torch.linalg.lstsq(t, b.to("tpu")).solution, torch.linalg.lstsq(a, b).solution)
h, weights, grads = hermitian(5), torch.arange(25.0).view(5, 5), []
for device in ("cpu", "tpu"):
    x, y, by = h.detach().clone().to(device), a.detach().clone().to(device), weights.to(device)
    x.requires_grad_(), y.requires_grad_()
    w, v = torch.linalg.eigh(x)
    ((w ** 3).sum() + (v ** 2 * by).sum()).backward()
    u, s, vh = torch.linalg.svd(y, full_matrices=False)
    ((s ** 3).sum() + (u[:5] ** 2 * by[:, :4]).sum() + vh[0, 1] ** 2).backward()
    grads += [x.grad.cpu(), y.grad.cpu()]
torch.testing.assert_close(grads[2:], grads[:2], rtol=1e-3, atol=1e-3)
""", "float32")


def test_ldl(python):
    run(python, """
kind = dtype.is_complex
a = random(3, 9, 9)
a = a + (a.mH if kind else a.mT)
a[1].diagonal().zero_()   # blocks of two
a[2] = 0
cpu, tpu = torch.linalg.ldl_factor_ex(a, hermitian=kind), torch.linalg.ldl_factor_ex(a.to("tpu"), hermitian=kind)
assert tpu[1].cpu().equal(cpu[1]) and tpu[2].cpu().equal(cpu[2]) and (cpu[1][1] < 0).any() and cpu[2][2] == 1
torch.testing.assert_close(tpu[0].cpu(), cpu[0], rtol=1e-4, atol=1e-4)
b = random(2, 9, 3)
x = torch.linalg.ldl_solve(tpu[0][:2], tpu[1][:2], b.to("tpu"), hermitian=kind)
torch.testing.assert_close(a[:2] @ x.cpu(), b, rtol=1e-3, atol=1e-3)
""", "float32", "complex64")
