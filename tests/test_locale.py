"""Numbers in programs and messages are the same where the host program's locale writes a decimal comma."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TT_BUILD", ROOT / "build" / "release"))

COMMA = """LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
"""

CHILD = r'''
import ctypes, locale, sys
locale.setlocale(locale.LC_ALL, "comma_XX")
assert locale.localeconv()["decimal_point"] == ","
libc = ctypes.CDLL(None)
text = ctypes.create_string_buffer(32)
libc.snprintf(text, 32, b"%.2f", ctypes.c_double(2.5))
assert text.value == b"2,50", text.value     # the locale is really in force
'''

ROUND_TRIP = CHILD + r'''
shim = ctypes.CDLL(sys.argv[1])
shim.text_round_trip.restype = ctypes.c_void_p
shim.text_round_trip.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.POINTER(ctypes.c_int)]
program = b"""func.func @main(%a: tensor<2x!quant.uniform<i8:f32, 0.75:3>>, %x: tensor<2xf32>) -> tensor<2xf64> {
  %w = stablehlo.constant dense<[1.5, -0.625]> : tensor<2xf64>
  %y = "stablehlo.custom_call"(%x) <{call_target_name = "f", backend_config = {e = 1.25 : f64}, api_version = 4 : i32}>
    : (tensor<2xf32>) -> tensor<2xf64>
  %z = stablehlo.add %w, %y : tensor<2xf64>
  return %z : tensor<2xf64>
}"""
code = ctypes.c_int()
out = ctypes.string_at(shim.text_round_trip(program, len(program), 0, ctypes.byref(code)))
assert code.value == 0, out
for number in (b"7.50000000000000000e-01:3", b"1.50000000000000000e+00", b"-6.25000000000000000e-01", b"1.25000000000000000e+00"):
    assert number in out, (number, out)
out2 = ctypes.string_at(shim.text_round_trip(out, len(out), 0, ctypes.byref(code)))
assert code.value == 0 and out2 == out, out2
print("same")
'''

DEVICE = CHILD + r'''
import torch
import torch_tpu
y = torch.compile(lambda x: x * 2.5 + 0.75, backend="tpu")(torch.arange(3.0, device="tpu"))
assert y.tolist() == [0.75, 3.25, 5.75]
messages = []
for device in ("cpu", "tpu"):
    try:
        torch.empty(3, device=device).uniform_(1.5, 0.25)
    except RuntimeError as error:
        messages.append(str(error))
assert len(messages) == 2 and "from=1.5 > to=0.25" in messages[0] and "from=1.5 > to=0.25" in messages[1], messages
print("same")
'''


@pytest.fixture(scope="module")
def comma(tmp_path_factory):
    """Environment with a locale comma_XX."""
    if not shutil.which("localedef"):
        pytest.skip("no localedef to make a locale with")
    folder = tmp_path_factory.mktemp("locale")
    (folder / "comma.src").write_text(COMMA)
    done = subprocess.run(["localedef", "-c", "-i", folder / "comma.src", folder / "comma_XX"], capture_output=True, text=True)
    if not (folder / "comma_XX" / "LC_NUMERIC").exists():
        pytest.skip(f"localedef makes no locale here (character maps of the package locales?): {done.stderr[-200:]}")
    return {**os.environ, "LOCPATH": str(folder)}


def run(code, environment, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "same" in done.stdout, done.stdout + done.stderr


def test_program_text(comma):
    path = BUILD / "tests" / "text" / "libtext_shim.so"
    if not path.exists():
        pytest.skip(f"{path} is not built (ninja text_shim)")
    run(ROUND_TRIP, comma, str(path))


def test_device(comma):
    run(DEVICE, comma)
