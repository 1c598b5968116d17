"""torch.amp.GradScaler("tpu"): scale, unscale, skipped steps, growth and backoff as on the CPU."""

import pytest
import torch


def run(device, gradients, **options):
    """Feeds a sequence of gradient factors; gives parameters and scales after each step."""
    w = torch.ones(4, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.125, momentum=0.5)
    scaler = torch.amp.GradScaler(device, init_scale=4.0, growth_interval=2, **options)
    trace = []
    for factor in gradients:
        optimizer.zero_grad()
        scaler.scale((w * w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        trace.append((w.detach().cpu().tolist(), scaler.get_scale(), scaler._get_growth_tracker()))
    return trace


def test_trace_is_the_cpus():
    factors = [1, 1, 1, float("inf"), 1, float("nan"), float("nan"), 1, 1, 1, 1]
    assert str(run("tpu", factors)) == str(run("cpu", factors))
    assert str(run("tpu", factors, growth_factor=3.0, backoff_factor=0.25)) == str(
        run("cpu", factors, growth_factor=3.0, backoff_factor=0.25)
    )
    assert str(run("tpu", factors[:3], enabled=False)) == str(run("cpu", factors[:3], enabled=False))


def test_unscale_and_clip():
    results = []
    for device in ("cpu", "tpu"):
        w = torch.arange(1.0, 5.0, device=device).requires_grad_()
        optimizer = torch.optim.AdamW([w], lr=0.1)
        scaler = torch.amp.GradScaler(device, init_scale=1024.0)
        for _ in range(3):
            optimizer.zero_grad()
            scaler.scale((w**3).sum()).backward()
            scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_([w], 1.0)
            with pytest.raises(RuntimeError, match="unscale_"):
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        results.append((w.detach().cpu(), norm.detach().cpu()))
    torch.testing.assert_close(results[1], results[0])


def test_float16_training_recovers_from_overflow():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).tpu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    scaler = torch.amp.GradScaler("tpu", init_scale=2.0**24)  # overflows float16 at first
    x, y = torch.randn(32, 8, device="tpu"), torch.randn(32, 1, device="tpu")
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        with torch.autocast("tpu", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert scaler.get_scale() < 2.0**24 and losses[-1] < losses[0]
    assert all(torch.isfinite(p).all().item() for p in model.parameters())


def test_several_optimizers_and_dtypes():
    a = torch.ones(3, device="tpu", requires_grad=True)
    b = torch.ones(3, device="tpu", dtype=torch.bfloat16, requires_grad=True)
    first, second = torch.optim.SGD([a], lr=1.0), torch.optim.SGD([b], lr=1.0)
    scaler = torch.amp.GradScaler("tpu", init_scale=2.0)
    scaler.scale(a.sum() * float("inf") + b.float().sum()).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (
        a.detach().cpu().tolist() == [1, 1, 1]
        and b.detach().cpu().tolist() == [0, 0, 0]
        and scaler.get_scale() == 1.0
    )


def test_state_dict_and_lists():
    scaler = torch.amp.GradScaler("tpu", init_scale=8.0, growth_interval=5)
    left, right = scaler.scale([torch.ones(1, device="tpu"), torch.ones(2, device="tpu")])
    assert left.item() == 8 and right.cpu().tolist() == [8, 8]
    state = scaler.state_dict()
    other = torch.amp.GradScaler("tpu")
    other.load_state_dict(state)
    assert other.get_scale() == 8.0 and other.get_growth_interval() == 5 and other.state_dict() == state


def test_kernels_directly():
    for device in ("cpu", "tpu"):
        grads = [torch.tensor([2.0, 4.0], device=device), torch.tensor([[8.0]], device=device)]
        found = torch.zeros(1, device=device)
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5], device=device))
        assert [g.cpu().tolist() for g in grads] == [[1, 2], [[4]]] and found.item() == 0
        grads[0][1] = float("nan")
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([1.0], device=device))
        assert found.item() == 1
        scale, tracker = (
            torch.tensor([16.0], device=device),
            torch.tensor([1], dtype=torch.int32, device=device),
        )
        torch._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 2)
        assert scale.item() == 8 and tracker.item() == 0
        torch._amp_update_scale_(scale, tracker, torch.zeros(1, device=device), 2.0, 0.5, 1)
        assert scale.item() == 16 and tracker.item() == 0
