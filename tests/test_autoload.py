"""Registration through torch's entry point: silent, never raises, no hijack; reasons come with the first use."""

SEED = """
import torch
device = torch.device("tpu")
x = torch.randn((4, 4), device=device)
y = torch.ones((4, 4), device=device)
result = torch.matmul(x, y).cpu()
print(f"Executed on device: {x.device}")
print(f"Result shape on CPU: {result.shape}, sum: {result.sum():.4f}")
"""


def test_seed_program(python):
    done = python(SEED)
    assert done.returncode == 0, done.stderr
    assert "Executed on device: tpu:0" in done.stdout
    assert "torch.Size([4, 4])" in done.stdout


def test_import_is_silent_and_opens_nothing(python):
    done = python("import torch; assert torch.tpu is not None; assert not torch.tpu.is_initialized()")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_autoload_can_be_switched_off(python):
    done = python("import torch; assert not hasattr(torch, 'tpu')", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0, done.stderr


def test_explicit_import_registers(python):
    done = python("import torch, torch_tpu; print(torch.ones(2, device='tpu').sum().item())", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout.strip() == "2.0", done.stderr


def test_missing_library_keeps_torch_usable(python, tmp_path):
    code = """
import torch
assert torch.ones(2).sum() == 2
for use in (lambda: torch.ones(2, device="tpu"), lambda: torch.tpu.get_device_name()):
    try:
        use()
    except Exception as error:
        assert "not found" in str(error), error
    else:
        raise SystemExit("no error")
try:
    import torch_tpu
except RuntimeError as error:
    assert "libvtpu.so" in str(error)
else:
    raise SystemExit("no error")
"""
    done = python(code, TORCH_TPU_LIBRARY_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_torch_version(python):
    code = """
import torch
torch.__version__ = "2.9.1"
from torch_tpu_c import _autoload
_autoload.autoload()
assert "2.9.1" in _autoload.reason()
try:
    _autoload.register()
except RuntimeError as error:
    assert "2.13" in str(error)
else:
    raise SystemExit("no error")
"""
    done = python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0, done.stderr


def test_second_privateuse1_backend(python):
    code = """
import torch
torch.utils.rename_privateuse1_backend("other")
from torch_tpu_c import _autoload
_autoload.autoload()
assert "other" in _autoload.reason()
"""
    done = python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0, done.stderr


def test_plugin_that_does_not_exist(python):
    code = """
import torch
try:
    torch.ones(1, device="tpu")
except RuntimeError as error:
    print(error)
"""
    done = python(code, TORCH_TPU_PLUGIN="/nowhere/libnothing.so")
    assert done.returncode == 0, done.stderr
    assert "/nowhere/libnothing.so" in done.stdout


def test_unwritable_home(python):
    done = python("import torch; print(torch.ones(2, device='tpu').sum().item())", HOME="/proc/nowhere")
    assert done.stdout.strip() == "2.0", done.stderr
