"""CTC and margin losses on tpu against CPU PyTorch, beyond the samples of op_db."""

import pytest
import torch
import torch.nn.functional as F


def both(function, *tensors):
    """Value and gradient of function's sum on the CPU and on tpu."""
    results = []
    for device in ("cpu", "tpu"):
        moved = [t.detach().to(device) for t in tensors]
        moved[0].requires_grad_()
        value = function(*moved)
        weights = torch.arange(1, value.numel() + 1, dtype=torch.float32).reshape(value.shape).to(device)
        (grad,) = torch.autograd.grad(value, moved[0], weights.to(value.dtype))
        results.append((value.detach().cpu(), grad.cpu()))
    return results


def same(function, *tensors, rtol=1e-5, atol=1e-5):
    (cpu, cpu_grad), (tpu, tpu_grad) = both(function, *tensors)
    torch.testing.assert_close(tpu, cpu, rtol=rtol, atol=atol, equal_nan=True)
    torch.testing.assert_close(tpu_grad, cpu_grad, rtol=rtol, atol=atol, equal_nan=True)


LENGTHS = [((7, 7, 7), (3, 3, 3)), ((7, 5, 1), (3, 2, 1)), ((7, 6, 3), (0, 4, 3)), ((4, 7, 0), (2, 3, 0))]


@pytest.mark.parametrize("input_lengths,target_lengths", LENGTHS)
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_loss(input_lengths, target_lengths, flat, blank):
    torch.manual_seed(sum(input_lengths) + blank)
    log_probs = torch.randn(7, 3, 5, dtype=torch.float64)
    labels = torch.tensor([1, 1, 3, 4] if blank == 0 else [0, 0, 3, 4])   # equal neighbours need a blank between
    if flat:
        targets = torch.cat([labels[:n] for n in target_lengths])
    else:
        targets = labels.repeat(3, 1)
    same(lambda p: F.ctc_loss(p.log_softmax(2), targets.to(p.device), input_lengths, target_lengths, blank=blank,
                              reduction="none", zero_infinity=True), log_probs)


def test_ctc_loss_of_a_target_that_does_not_fit():
    log_probs = torch.randn(2, 2, 4).log_softmax(2)
    targets = torch.tensor([[1, 1, 2], [1, 2, 3]])
    for zero in (False, True):
        same(lambda p: F.ctc_loss(p, targets.to(p.device), (2, 2), (3, 2), reduction="none", zero_infinity=zero),
             log_probs)


def test_ctc_loss_reductions_and_tensor_lengths():
    log_probs, targets = torch.randn(6, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 1]])
    for reduction in ("mean", "sum"):
        same(lambda p: F.ctc_loss(p, targets.to(p.device), torch.tensor([6, 5]), torch.tensor([2, 1]),
                                  reduction=reduction), log_probs)
        same(lambda p: F.ctc_loss(p, targets.to(p.device), torch.tensor([6, 5], device=p.device),
                                  torch.tensor([2, 1], device=p.device), reduction=reduction), log_probs)


CTC_ERRORS = {
    "longer than the frames": dict(input_lengths=(6, 5), target_lengths=(2, 2)),
    "negative": dict(input_lengths=(-1, 5), target_lengths=(2, 2)),
    "longer than the targets": dict(input_lengths=(5, 5), target_lengths=(3, 2)),
    "too few": dict(input_lengths=(5,), target_lengths=(2, 2)),
    "blank": dict(input_lengths=(5, 5), target_lengths=(2, 2), blank=4),
}


@pytest.mark.parametrize("what", CTC_ERRORS)
def test_ctc_loss_errors(what):
    messages = []
    for device in ("cpu", "tpu"):
        with pytest.raises(RuntimeError) as error:
            F.ctc_loss(torch.zeros(5, 2, 4, device=device), torch.ones(2, 2, dtype=torch.long, device=device),
                       **CTC_ERRORS[what])
        messages.append(str(error.value))
    assert messages[1].endswith(messages[0])


def test_ctc_loss_refuses_a_label_that_is_no_class():
    with pytest.raises(IndexError, match="target 4 is out of range"):
        F.ctc_loss(torch.zeros(5, 2, 4, device="tpu"), torch.tensor([[1, 2], [3, 4]], device="tpu"), (5, 5), (2, 2))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p,margin", [(1, 1.0), (2, 2.5)])
def test_multi_margin_loss(reduction, p, margin):
    torch.manual_seed(0)
    x, weight = torch.randn(4, 5), torch.rand(5)
    for target in (torch.tensor([0, 4, 2, 2]),):
        for w in (None, weight):
            same(lambda v: F.multi_margin_loss(v, target.to(v.device), p=p, margin=margin, reduction=reduction,
                                               weight=None if w is None else w.to(v.device)), x)
    for one in (torch.tensor(3), torch.tensor([3])):
        same(lambda v: F.multi_margin_loss(v, one.to(v.device), reduction=reduction), x[0])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multilabel_margin_loss(reduction):
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    target = torch.tensor([[0, 3, -1, 4, 1], [-1, 1, 1, 1, 1], [4, 3, 2, 1, 0], [2, 2, 1, -1, -1]])   # one label twice
    same(lambda v: F.multilabel_margin_loss(v, target.to(v.device), reduction=reduction), x)
    same(lambda v: F.multilabel_margin_loss(v, target[0].to(v.device), reduction=reduction), x[0])
    cpu = torch.ops.aten.multilabel_margin_loss_forward(x, target, 1)
    tpu = torch.ops.aten.multilabel_margin_loss_forward(x.to("tpu"), target.to("tpu"), 1)
    assert torch.equal(tpu[1].cpu(), cpu[1])


MARGIN_ERRORS = [
    lambda d: F.multi_margin_loss(torch.zeros(3, 4, device=d), torch.tensor([0, 1, 4], device=d)),
    lambda d: F.multi_margin_loss(torch.zeros(3, 4, device=d), torch.tensor([0, 1], device=d)),
    lambda d: F.multi_margin_loss(torch.zeros(3, 0, device=d), torch.tensor([0, 0, 0], device=d)),
    lambda d: F.multi_margin_loss(torch.zeros(3, 4, device=d), torch.tensor([0, 1, 3], device=d).int()),
    lambda d: F.multi_margin_loss(torch.zeros(3, 4, device=d), torch.tensor([0, 1, 3], device=d),
                                  weight=torch.zeros(3, device=d)),
    lambda d: F.multi_margin_loss(torch.zeros(3, 4, device=d).half(), torch.tensor([0, 1, 3], device=d)),
    lambda d: F.multilabel_margin_loss(torch.zeros(3, 4, device=d), torch.full((3, 4), 4, device=d)),
    lambda d: F.multilabel_margin_loss(torch.zeros(3, 4, device=d), torch.full((3, 4), -2, device=d)),
    lambda d: F.multilabel_margin_loss(torch.zeros(3, 4, device=d), torch.full((2, 4), 0, device=d)),
]


@pytest.mark.parametrize("number", range(len(MARGIN_ERRORS)))
def test_margin_loss_errors(number):
    with pytest.raises(Exception) as cpu:
        MARGIN_ERRORS[number]("cpu")
    with pytest.raises(cpu.type) as tpu:
        MARGIN_ERRORS[number]("tpu")
    assert str(cpu.value).split("\n")[0] in str(tpu.value)
