"""Training: gradients, optimizers, checkpointing, hooks, subclasses, modes, functional transforms."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint


def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_mlp_follows_cpu(optimizer):
    cpu, tpu = mlp(), mlp().tpu()
    tpu.load_state_dict(cpu.state_dict())
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    steps = []
    for model, device in ((cpu, "cpu"), (tpu, "tpu")):
        opt = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(5):
            loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        steps.append(losses)
    assert steps[0] == pytest.approx(steps[1], rel=1e-4)
    assert steps[1][-1] < steps[1][0]


def test_gradient_accumulates(check):
    w = torch.ones(3, device="tpu", requires_grad=True)
    for _ in range(2):
        (w * torch.arange(3.0, device="tpu")).sum().backward()
    check(w.grad, torch.arange(3.0) * 2)


def test_checkpoint_with_dropout(check):
    x = torch.ones(64, device="tpu", requires_grad=True)
    torch.manual_seed(2)
    torch.nn.functional.dropout(x * x).sum().backward()
    plain = x.grad.clone()
    for reentrant in (True, False):
        x.grad = None
        torch.manual_seed(2)
        checkpoint(lambda z: torch.nn.functional.dropout(z * z), x, use_reentrant=reentrant).sum().backward()
        check(x.grad, plain.cpu())


def test_vmap_and_grad(check):
    x = torch.randn(4, 3)
    f = lambda v: (v * v).sum()   # noqa: E731
    check(torch.vmap(torch.func.grad(f))(x.tpu()), 2 * x)
    check(torch.func.jacrev(lambda v: v * v)(x[0].tpu()), torch.diag(2 * x[0]))


def test_dispatch_mode_and_subclass():
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Log():
        torch.ones(2, device="tpu") + 1
    assert any("add" in name for name in seen)

    class Named(torch.Tensor):
        pass

    t = torch.ones(2, device="tpu").as_subclass(Named)
    assert isinstance(t + 1, Named) and (t + 1).is_tpu


def test_fake_tensor_mode():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        a = torch.ones(3, 4, device="tpu")
        assert (a @ a.t()).shape == (3, 3) and a.device.type == "tpu"


def test_inference_mode(check):
    with torch.inference_mode():
        a = torch.ones(3, device="tpu")
        a.add_(1)
        check(a * 2, torch.full((3,), 4.0))


def test_threads():
    import threading

    errors = []

    def work(seed):
        try:
            x = torch.full((32, 32), float(seed), device="tpu", requires_grad=True)
            for _ in range(20):
                (x @ x).sum().backward()
                x.grad = None
            assert (x.detach().cpu() == seed).all()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
