"""Module.to() across devices keeps Parameter objects, as between the devices that torch knows."""
import pytest
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        return self.head(torch.tanh(self.embedding(x))) * self.scale


def test_tied_weights_stay_tied():
    model = Tied()
    before = list(model.parameters())
    for move in (lambda: model.to("tpu"), lambda: model.cpu(), lambda: model.to("tpu", torch.bfloat16), lambda: model.to("cpu")):
        assert move() is model
        assert [id(p) for p in model.parameters()] == [id(p) for p in before]
        assert model.head.weight is model.embedding.weight
        weight = model.head.weight
        assert type(weight) is nn.Parameter and weight.is_leaf and weight.requires_grad


def test_optimizer_made_before_the_move():
    torch.manual_seed(0)
    model, twin = Tied(), Tied()
    twin.load_state_dict(model.state_dict())
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.1) for m in (model, twin)]
    model.to("tpu")
    x = torch.tensor([[1, 2, 3], [3, 3, 0]])
    for _ in range(3):
        for m, optimizer, device in ((model, optimizers[0], "tpu"), (twin, optimizers[1], "cpu")):
            optimizer.zero_grad()
            m(x.to(device)).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(model.head.weight.detach().cpu(), twin.head.weight.detach(), rtol=1e-4, atol=1e-5)


def test_gradients_and_flags_move_along():
    model = Tied()
    model.embedding.weight.grad = torch.full((7, 4), 2.0)
    model.head.weight.requires_grad_(False)
    model.to("tpu")
    assert model.head.weight.grad.device.type == "tpu" and not model.head.weight.requires_grad
    assert torch.equal(model.head.weight.grad.cpu(), torch.full((7, 4), 2.0))
    assert model.scale.device.type == "tpu"
    model.to_empty(device="meta")
    assert model.to_empty(device="tpu").head.weight is model.embedding.weight


def test_a_parameter_in_use_is_said():
    model = Tied()
    alive = model(torch.tensor([1]))   # noqa: F841  its graph holds the weight
    with pytest.warns(UserWarning, match="in use elsewhere"):
        model.to("tpu")
    assert model.head.weight.device.type == "tpu"
