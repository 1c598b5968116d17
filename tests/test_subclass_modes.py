"""Tensor subclasses, function and dispatch modes, set_default_device, with tpu tensors inside."""

import copy

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        if isinstance(result, cls):
            result.note = getattr(args[0], "note", None) if args else None
        return result


class Wrapper(torch.Tensor):
    """A wrapper subclass: two tensors that act as their sum."""

    @staticmethod
    def __new__(cls, left, right):
        return torch.Tensor._make_wrapper_subclass(
            cls, left.shape, dtype=left.dtype, device=left.device, requires_grad=left.requires_grad
        )

    def __init__(self, left, right):
        self.left, self.right = left, right

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def unwrap(value):
            return value.left + value.right if isinstance(value, cls) else value

        tree_map = torch.utils._pytree.tree_map
        return function(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))


def test_subclass_passes_through():
    t = torch.ones(2, 3, device="tpu").as_subclass(Named)
    t.note = "a"
    for result in (t + 1, t[0], t.view(3, 2), t.sum(), torch.cat([t, t]), t.clone(), t.to(torch.float64)):
        assert isinstance(result, Named) and result.is_tpu
    assert (t * 2).note == "a"
    t.add_(1)
    assert type(t) is Named and t.as_subclass(torch.Tensor).cpu().sum() == 12


def test_subclass_parameter_trains():
    class Weight(torch.nn.Parameter):
        pass

    layer = torch.nn.Linear(3, 2, device="tpu")
    layer.weight = Weight(layer.weight.detach())
    layer(torch.ones(1, 3, device="tpu")).sum().backward()
    assert type(layer.weight) is Weight and layer.weight.grad.cpu().tolist() == [[1, 1, 1]] * 2


def test_wrapper_subclass():
    w = Wrapper(torch.ones(3, device="tpu"), torch.arange(3.0, device="tpu"))
    assert w.device.type == "tpu" and w.is_tpu
    assert (w * 2).cpu().tolist() == [2, 4, 6]
    assert torch.mm(w[None], torch.ones(3, 1, device="tpu")).item() == 6


def test_uninitialized_and_buffers():
    lazy = torch.nn.LazyLinear(4, device="tpu")
    assert lazy(torch.ones(2, 3, device="tpu")).shape == (2, 4) and lazy.weight.is_tpu
    norm = torch.nn.BatchNorm1d(3, device="tpu")
    norm(torch.randn(5, 3, device="tpu"))
    assert norm.num_batches_tracked.item() == 1 and norm.running_mean.is_tpu


def test_function_mode():
    seen = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    with Log():
        torch.ones(2, device="tpu").add(1)
    assert "ones" in seen and "add" in seen


def test_function_mode_moves_factories():
    class OnTpu(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function in (torch.zeros, torch.rand):
                kwargs.setdefault("device", "tpu")
            return function(*args, **kwargs)

    with OnTpu():
        assert torch.zeros(2).is_tpu and torch.rand(2).is_tpu and not torch.ones(2).is_tpu


def test_dispatch_mode_sees_every_op(check):
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function.overloadpacket.__name__)
            return function(*args, **(kwargs or {}))

    x = torch.randn(3, 4)
    t = x.tpu().requires_grad_()
    with Log():
        y = torch.nn.functional.layer_norm(t, (4,))
        (y.relu()[1:, ::2] * 2).sum().backward()
    assert {"native_layer_norm", "relu", "slice", "mul", "sum"} <= set(seen), seen
    expected = x.clone().requires_grad_()
    (torch.nn.functional.layer_norm(expected, (4,)).relu()[1:, ::2] * 2).sum().backward()
    check(t.grad, expected.grad)


def test_dispatch_mode_changes_results():
    class Double(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            return result * 2 if function is torch.ops.aten.add.Tensor else result

    with Double():
        assert (torch.ones(2, device="tpu") + 1).cpu().tolist() == [4, 4]


def test_flop_counter():
    from torch.utils.flop_counter import FlopCounterMode

    a = torch.ones(4, 8, device="tpu")
    with FlopCounterMode(display=False) as counter:
        a @ a.t()
    assert counter.get_total_flops() == 2 * 4 * 8 * 4


def test_saved_tensor_hooks(check):
    x = torch.arange(3.0, device="tpu").requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    check(x.grad, torch.arange(3.0) * 2)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t.device.type) or t.cpu(), lambda t: t.tpu()
    ):
        y = x.exp().sum()
    y.backward()
    assert packed == ["tpu"]


def test_default_device():
    torch.set_default_device("tpu")
    assert torch.get_default_device().type == "tpu"
    assert (
        torch.ones(2).is_tpu and torch.tensor([1]).is_tpu and torch.randn(2).is_tpu and torch.empty(1).is_tpu
    )
    assert torch.nn.Linear(2, 2).weight.is_tpu and torch.arange(3).is_tpu and torch.eye(2).is_tpu
    assert torch.randperm(4).is_tpu and torch.linspace(0, 1, 3).is_tpu and torch.full((2,), 1).is_tpu
    assert (
        torch.as_tensor([1.0]).is_tpu and torch.zeros_like(torch.ones(1, device="cpu")).device.type == "cpu"
    )
    assert torch.ones(1, device="cpu").device.type == "cpu"
    with torch.device("cpu"):
        assert not torch.ones(2).is_tpu
    assert torch.ones(2).is_tpu
    torch.set_default_device(None)
    assert not torch.ones(2).is_tpu
    with torch.device("tpu"):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.LSTM(2, 2))
    assert all(t.is_tpu for t in [*model.parameters(), *model.buffers()])


def test_default_device_is_per_thread():
    import threading

    seen = []
    torch.set_default_device("tpu")
    thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device.type))
    thread.start()
    thread.join()
    assert seen == ["cpu"]  # as with any device


def test_meta_and_to_empty():
    with torch.device("meta"):
        model = torch.nn.Linear(3, 2)
    model.to_empty(device="tpu")
    assert model.weight.is_tpu and model(torch.ones(1, 3, device="tpu")).shape == (1, 2)
    assert torch.ones(2, device="tpu").to("meta").device.type == "meta"
    with pytest.raises(NotImplementedError):
        torch.ones(2, device="meta").to("tpu")


def test_deepcopy_of_modules_and_shared_storage():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, device="tpu"))
    twin = copy.deepcopy(model)
    twin[0].weight.data.zero_()
    assert model[0].weight.abs().sum().item() > 0 and twin[0].weight.is_tpu
    base = torch.arange(6.0, device="tpu")
    a, b = copy.deepcopy([base[:3], base])
    a.zero_()
    assert b.cpu().tolist() == [0, 0, 0, 3, 4, 5] and base.sum().item() == 15


def test_swap_and_module_to_with_subclasses():
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model = torch.nn.Linear(2, 2)
        weight = model.weight
        model.to("tpu")
        assert model.weight is weight and weight.is_tpu
        model.to("cpu")
        assert not model.weight.is_tpu
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
