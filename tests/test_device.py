"""Devices: names, indices, guards, properties, several in one process."""

import pytest
import torch


def test_names():
    assert torch.device("tpu").type == "tpu"
    assert torch.tpu.is_available() and torch.tpu.device_count() >= 1
    assert torch.accelerator.current_accelerator().type == "tpu"
    assert torch.tpu.get_device_name().startswith("TPU")
    assert torch.tpu.current_device() == 0
    assert torch.tpu.is_initialized()


def test_tensor_methods():
    t = torch.ones(2)
    assert not t.is_tpu
    assert t.tpu().is_tpu and t.tpu().cpu().equal(t)
    assert torch.nn.Linear(2, 2).tpu().weight.is_tpu


def test_properties():
    properties = torch.tpu.get_device_properties("tpu:0")
    assert properties.total_memory > 0 and properties.name == torch.tpu.get_device_name(0)
    assert torch.tpu.get_local_device_attributes()[0]["index"] == 0
    capability = torch.tpu.get_device_capability()
    assert torch.float32 in capability["supported_dtypes"]
    assert torch.tpu.is_bf16_supported()
    assert torch.tpu.is_dtype_supported(torch.float32)
    assert not torch.tpu.is_dtype_supported(torch.complex32)


def test_missing_device_is_an_error():
    count = torch.tpu.device_count()
    for make in (
        lambda: torch.ones(1, device=f"tpu:{count}"),
        lambda: torch.ones(1).to(f"tpu:{count}"),
        lambda: torch.empty(1, device=f"tpu:{count}"),
        lambda: torch.tpu.set_device(count),
        lambda: torch.tpu.get_device_properties(count),
        lambda: torch.Generator(f"tpu:{count}"),
    ):
        with pytest.raises((RuntimeError, IndexError), match=str(count)):
            make()


def test_mixed_devices_are_an_error():
    a, b = torch.ones(3, device="tpu"), torch.ones(3)
    for mix in (lambda: a + b, lambda: torch.mm(a[None], b[:, None]), lambda: torch.cat([a, b]), lambda: a.add_(b)):
        with pytest.raises(RuntimeError, match="same device"):
            mix()
    assert (a + torch.tensor(2.0)).cpu().tolist() == [3, 3, 3]   # 0-dim CPU tensors are numbers


FOUR = """
import torch
assert torch.tpu.device_count() == 4, torch.tpu.device_count()
a = torch.ones(3, device="tpu:1")
assert a.device.index == 1
with torch.tpu.device(2):
    b = torch.ones(3, device="tpu")
    assert b.device.index == 2 and torch.tpu.current_device() == 2
assert torch.tpu.current_device() == 0
try:
    a + b
except RuntimeError as error:
    assert "tpu:1" in str(error) and "tpu:2" in str(error), error
else:
    raise SystemExit("no error")
assert (a + b.to("tpu:1")).device.index == 1
c = a.to("tpu:3") * 3
assert c.cpu().tolist() == [3, 3, 3] and c.device.index == 3
torch.tpu.set_device(3)
assert torch.ones(1, device="tpu").device.index == 3
# autograd across devices
w = torch.ones(3, device="tpu:0", requires_grad=True)
((w * 2).to("tpu:1") * a).sum().backward()
assert w.grad.device.index == 0 and w.grad.cpu().tolist() == [2, 2, 2]
for i in range(4):
    torch.tpu.synchronize(i)
states = torch.tpu.get_rng_state_all()
assert len(states) == 4
"""


def test_four_virtual_devices(python):
    done = python(FOUR, TORCH_TPU_VIRTUAL="v6e:2x2")
    assert done.returncode == 0, done.stderr


def test_current_device_is_per_thread():
    import threading

    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.tpu.current_device()))
    thread.start()
    thread.join()
    assert seen == [0]


def test_default_device():
    torch.set_default_device("tpu")
    assert torch.ones(2).is_tpu and torch.arange(3).is_tpu
    with torch.device("cpu"):
        assert not torch.ones(2).is_tpu


def test_synchronize():
    x = torch.ones(8, device="tpu") * 3
    torch.tpu.synchronize()
    torch.accelerator.synchronize()
    assert x.cpu().sum() == 24
