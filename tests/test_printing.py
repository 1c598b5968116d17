"""repr and str of tensors: the CPU's text with the device in it."""

import pytest
import torch

CASES = {
    "floats": lambda: torch.tensor([1.5, -2.25, 3e-7, 1e9]),
    "ints": lambda: torch.arange(12).reshape(3, 4),
    "bools": lambda: torch.tensor([True, False]),
    "complex": lambda: torch.tensor([1 + 2j, -3.5j]),
    "conj": lambda: torch.tensor([1 + 2j, -3.5j]).conj(),
    "negative bit": lambda: torch.tensor([1 + 2j]).conj().imag,
    "bfloat16": lambda: torch.tensor([1.5, 2.0], dtype=torch.bfloat16),
    "float16": lambda: torch.tensor([1.5, float("inf")], dtype=torch.float16),
    "double": lambda: torch.tensor([1 / 3], dtype=torch.float64),
    "uint8": lambda: torch.arange(3, dtype=torch.uint8),
    "nan": lambda: torch.tensor([float("nan"), 1.0, float("-inf")]),
    "all nan": lambda: torch.tensor([float("nan")] * 3),
    "0-d": lambda: torch.tensor(3.0),
    "empty": lambda: torch.empty(0),
    "empty 2-d": lambda: torch.empty(0, 3),
    "long": lambda: torch.arange(5000.0),
    "wide": lambda: torch.ones(40, 60),
    "deep": lambda: torch.arange(48.0).reshape(2, 3, 2, 4),
    "strided": lambda: torch.arange(24.0).reshape(4, 6)[::2, 1::2],
    "expanded": lambda: torch.ones(1).expand(3, 2),
    "requires grad": lambda: torch.ones(2, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_text_is_the_cpus(name):
    cpu = CASES[name]()
    tpu = (
        torch.nn.Parameter(cpu.detach().tpu())
        if name == "parameter"
        else cpu.detach().tpu().requires_grad_(cpu.requires_grad)
    )
    plain = " ".join(repr(cpu).split())
    text = " ".join(repr(tpu).split())
    assert "device='tpu:0'" in text
    assert text.replace(", device='tpu:0'", "").replace("device='tpu:0', ", "") == plain


def test_grad_fn():
    x = torch.ones(2, device="tpu", requires_grad=True)
    assert "grad_fn=<MulBackward0>" in repr(x * 2)


def test_options():
    torch.set_printoptions(precision=2, sci_mode=True)
    try:
        assert "1.50e+00" in repr(torch.tensor([1.5], device="tpu"))
    finally:
        torch.set_printoptions(profile="default")


def test_format_and_tolist():
    t = torch.tensor(2.5, device="tpu")
    assert f"{t:.3f}" == "2.500" and f"{t}" == "2.5" and str(torch.device("tpu:0")) == "tpu:0"
    assert torch.arange(4, device="tpu").reshape(2, 2).tolist() == [[0, 1], [2, 3]]
    assert repr(torch.device("tpu")) == "device(type='tpu')"


def test_storage_generator_module_and_dtype_text():
    assert "tpu:0" in repr(torch.ones(2, device="tpu").untyped_storage())
    assert "tpu" in repr(torch.Generator("tpu").device)
    assert "tpu" in repr(torch.tpu.current_stream())
    assert repr(torch.nn.Linear(2, 3, device="tpu")) == repr(torch.nn.Linear(2, 3))
    assert torch.ones(1, device="tpu").type() == "torch.tpu.FloatTensor"


def test_printing_does_not_change_the_tensor():
    t = torch.rand(50, 50, device="tpu")
    before, version = t.cpu(), t._version
    repr(t)
    assert t.cpu().equal(before) and t._version == version


def test_zero_sized_meta_and_fake():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        assert "FakeTensor" in repr(torch.ones(2, device="tpu")) and "tpu" in repr(
            torch.ones(2, device="tpu")
        )
