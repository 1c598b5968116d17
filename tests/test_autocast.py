"""Automatic mixed precision."""

import threading

import torch


def test_default_is_bfloat16():
    a = torch.ones(2, 2, device="tpu")
    with torch.amp.autocast("tpu"):
        assert (a @ a).dtype == torch.bfloat16
        assert torch.nn.functional.softmax(a.bfloat16(), 0).dtype == torch.float32
        assert torch.is_autocast_enabled("tpu")
    assert (a @ a).dtype == torch.float32


def test_float16_and_other_threads():
    a = torch.ones(2, 2, device="tpu")
    with torch.amp.autocast("tpu", dtype=torch.float16):
        assert (a @ a).dtype == torch.float16
    seen = []

    def work():
        with torch.amp.autocast("tpu"):
            seen.append((a @ a).dtype)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [torch.bfloat16]


def test_training_step_matches_cpu():
    torch.manual_seed(0)
    cpu = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    tpu = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    tpu.load_state_dict(cpu.state_dict())
    tpu = tpu.tpu()
    x, y = torch.randn(5, 8), torch.tensor([0, 1, 2, 3, 0])
    losses = []
    for model, device in ((cpu, "cpu"), (tpu, "tpu")):
        with torch.amp.autocast(device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        losses.append(loss.item())
    assert abs(losses[0] - losses[1]) < 0.02
    for a, b in zip(cpu.parameters(), tpu.parameters()):
        torch.testing.assert_close(b.grad.cpu(), a.grad, atol=2e-2, rtol=2e-2)


def test_grad_scaler():
    w = torch.ones(3, device="tpu", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("tpu", init_scale=8.0)
    scaler.scale((w * w).sum()).backward()
    assert w.grad.cpu().tolist() == [16, 16, 16]
    scaler.step(optimizer)
    scaler.update()
    assert w.detach().cpu().tolist() == [0, 0, 0]
    scaler.scale((w * float("inf")).sum()).backward()
    before = w.detach().cpu().clone()
    scaler.step(optimizer)   # skipped: the gradients are not finite
    scaler.update()
    assert torch.equal(w.detach().cpu(), before) and scaler.get_scale() == 4.0
