"""DLPack: export copies to the CPU, import copies; zero-copy is refused (nothing aliases device memory)."""

import numpy as np
import pytest
import torch

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_export_is_a_copy_on_the_cpu(dtype):
    x = (torch.arange(6) % 2).to(dtype)
    t = x.tpu()
    result = torch.from_dlpack(t)
    assert result.device.type == "cpu" and result.dtype == dtype and result.equal(x)
    result.zero_()
    assert t.cpu().equal(x)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != torch.bfloat16])
def test_numpy_reads_and_tpu_reads_numpy(dtype):
    x = (torch.arange(6) % 2).to(dtype)
    array = np.from_dlpack(x.tpu())
    np.testing.assert_array_equal(array, x.numpy())
    array = x.numpy().copy()
    t = torch.from_dlpack(array).tpu()
    array[:] = 0
    assert t.is_tpu and t.cpu().equal(x)


def test_import_to_the_device():
    array = np.arange(4.0, dtype=np.float32)
    t = torch.from_dlpack(array, device="tpu", copy=True)
    assert t.is_tpu and t.cpu().tolist() == [0, 1, 2, 3]
    array[0] = 9
    assert t.cpu()[0] == 0


@pytest.mark.parametrize("name", ["strided", "transposed", "offset", "0-d", "empty", "expanded"])
def test_views(name):
    base = torch.arange(24.0).reshape(4, 6)
    view = {
        "strided": lambda x: x[::2, 1::2],
        "transposed": lambda x: x.t(),
        "offset": lambda x: x[2:, 3:],
        "0-d": lambda x: x[1, 1],
        "empty": lambda x: x[4:],
        "expanded": lambda x: x[:1].expand(3, 6),
    }[name]
    result = torch.from_dlpack(view(base.tpu()))
    assert result.equal(view(base)) and result.shape == view(base).shape


def test_protocol():
    t = torch.ones(3, device="tpu")
    assert t.__dlpack_device__() == (1, 0)  # kDLCPU: what __dlpack__ gives
    with pytest.raises(BufferError):
        t.__dlpack__(copy=False)
    assert torch.from_dlpack(torch.utils.dlpack.to_dlpack(t)).equal(torch.ones(3))


def test_what_autograd_and_conj_forbid():
    with pytest.raises((BufferError, RuntimeError), match="grad"):
        torch.ones(2, device="tpu", requires_grad=True).__dlpack__()
    with pytest.raises((BufferError, RuntimeError), match="conj"):
        torch.ones(2, dtype=torch.complex64, device="tpu").conj().__dlpack__()


def test_jax_reads_and_gives():
    jax = pytest.importorskip("jax")
    t = torch.arange(4.0, device="tpu")
    j = jax.numpy.from_dlpack(t)
    assert j.tolist() == [0, 1, 2, 3]
    back = torch.from_dlpack(j + 1).tpu()
    assert back.is_tpu and back.cpu().tolist() == [1, 2, 3, 4]


def test_array_interfaces_are_refused():
    t = torch.ones(2, device="tpu")
    for convert in (lambda: t.numpy(), lambda: np.asarray(t), lambda: memoryview(t)):
        with pytest.raises((TypeError, RuntimeError)):
            convert()
    assert np.asarray(t.cpu()).sum() == 2
    assert not hasattr(t, "__cuda_array_interface__")
