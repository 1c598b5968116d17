"""Errors name the user's line: in debug mode and with TORCH_TPU_LOCATIONS=1, never otherwise."""

import re
import textwrap

import pytest
import torch

from test_async_copies import foreign_plugin

HEAD = """
import sys, torch
def report(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, str(error).replace("\\n", " "))
"""


def run(python, tmp_path, body, **env):
    """Runs a program from a file; answers its output and the number of the line marked HERE."""
    file = tmp_path / "program.py"
    file.write_text(HEAD + textwrap.dedent(body))
    marked = [i + 1 for i, line in enumerate(file.read_text().splitlines()) if line.rstrip().endswith("# HERE")]
    done = python(f"import runpy; runpy.run_path({str(file)!r})", **env)
    assert done.returncode == 0, done.stderr
    return done.stdout, [f"({file}:{line})" for line in marked]


FORWARD = """
x = torch.ones(4, dtype=torch.int64, device="tpu")
def divide(v):
    return v // 0   # HERE
report(lambda: divide(x))
"""


@pytest.mark.parametrize("env", [{"TORCH_TPU_LOCATIONS": "1"}, {"TPU_LAUNCH_BLOCKING": "1"}, {"TORCH_TPU_DEBUG": "1"}])
def test_forward(python, tmp_path, env):
    text, (here,) = run(python, tmp_path, FORWARD, **env)
    assert here in text and "tensor<4xi64>" in text


def test_off_by_default(python, tmp_path):
    text, (here,) = run(python, tmp_path, FORWARD, TORCH_TPU_LOCATIONS=None)
    assert "program.py" not in text and "ZeroDivisionError" in text


def test_debug_mode_as_a_context():
    x = torch.ones(3, 4, device="tpu")
    for mode, named in (("debug", True), ("strict", False)):
        with torch.tpu.eager_mode(mode), pytest.raises(Exception) as error:
            x.index_select(0, torch.tensor([7], device="tpu"))
        assert (re.search(r"test_locations\.py:\d+", str(error.value)) is not None) == named, str(error.value)


def test_innermost_line_outside_torch(python, tmp_path):
    """Modules, functional wrappers and decorators of torch are passed over."""
    text, (here,) = run(python, tmp_path, """
        class Inner(torch.nn.Module):
            def forward(self, v):
                return torch.nn.functional.embedding(v, torch.ones(3, 2, device="tpu"))   # HERE
        model = torch.nn.Sequential(torch.nn.Identity(), Inner())
        report(lambda: torch.no_grad()(model)(torch.tensor([5], device="tpu")))
    """, TORCH_TPU_LOCATIONS="1")
    assert here in text


BACKWARD = """
x = torch.ones(3, device="tpu", requires_grad=True)
i = torch.tensor([0, 1], device="tpu")
def forward(v):
    return v.index_select(0, i)   # HERE
y = forward(x)
y.grad_fn   # the index is broken after the forward: backward finds it
with torch.no_grad():
    i.data.add_(10)
def train():
    y.sum().backward()   # HERE
report(train)
"""


@pytest.mark.parametrize("devices", ["v6e:1x1", "v6e:2x1"])
def test_backward_names_its_call(python, tmp_path, devices):
    text, (forward, backward) = run(python, tmp_path, BACKWARD, TORCH_TPU_LOCATIONS="1", TORCH_TPU_VIRTUAL=devices)
    assert "IndexError" in text and backward in text, text


def test_backward_names_the_forward_with_anomaly_detection(python, tmp_path):
    text, (forward, backward) = run(
        python, tmp_path, "torch.autograd.set_detect_anomaly(True, check_nan=False)\n" + BACKWARD, TORCH_TPU_LOCATIONS="1"
    )
    assert forward in text, text


def test_function_of_the_user_in_backward(python, tmp_path):
    text, (here,) = run(python, tmp_path, """
        class Odd(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                return v * 2
            @staticmethod
            def backward(ctx, g):
                return g.index_select(0, torch.tensor([9], device="tpu"))   # HERE
        x = torch.ones(3, device="tpu", requires_grad=True)
        report(lambda: Odd.apply(x).sum().backward())
    """, TORCH_TPU_LOCATIONS="1")
    assert here in text, text


def test_missing_op(python, tmp_path):
    text, (here,) = run(python, tmp_path, """
        def broken(v):
            return torch.histc(v.cpu().tpu(), bins=4) if False else torch._standard_gamma(v)   # HERE
        report(lambda: broken(torch.ones(3, device="tpu")))
    """, TORCH_TPU_LOCATIONS="1")
    if "NotImplementedError" in text:
        assert here in text, text


def test_compiled_graph(python, tmp_path):
    text, (here,) = run(python, tmp_path, """
        @torch.compile(backend="tpu")
        def f(v, i):
            return v.index_select(0, i) + 1
        x = torch.ones(3, device="tpu")
        print(f(x, torch.tensor([0, 1], device="tpu")).tolist())
        def call():
            f(x, torch.tensor([0, 9], device="tpu"))   # HERE
        report(call)
    """, TORCH_TPU_LOCATIONS="1")
    assert "IndexError" in text and "program.py:" in text, text


def test_threads_have_their_own_lines(python, tmp_path):
    text, lines = run(python, tmp_path, """
        import threading
        x = torch.ones(3, device="tpu")
        def a():
            x.index_select(0, torch.tensor([7], device="tpu"))   # HERE
        def b():
            x.index_select(0, torch.tensor([8], device="tpu"))   # HERE
        for f in (a, b):
            thread = threading.Thread(target=report, args=(f,))
            thread.start(); thread.join()
    """, TORCH_TPU_LOCATIONS="1")
    first, second = text.splitlines()
    assert lines[0] in first and lines[1] in second


@pytest.mark.skipif(foreign_plugin() is None, reason="package lammps-jax-pjrt-cpu is not installed")
@pytest.mark.parametrize("read", ["y.cpu()", "y.to('cpu', non_blocking=True)"])
def test_late_errors_name_the_op(python, tmp_path, read):
    """On a plugin that works behind our back an error comes with a later wait: op, shapes, dtypes and line are the op's."""
    text, (here,) = run(python, tmp_path, f"""
        from torch_tpu_c import _core
        x = torch.ones(2, 3, device="tpu")
        def add(v):
            return torch.add(v, v, alpha=3)   # HERE
        y = add(x)
        y = y.view(3, 2)
        torch.tpu.synchronize()
        def wait():
            _core.core().tt_fault_arm_plugin_call(1)   # the plugin's answer to the reading is an error
            {read}
        report(wait)
    """, TORCH_TPU_LOCATIONS="1", TORCH_TPU_PLUGIN=foreign_plugin())
    assert "aten::add.Tensor(tensor<2x3xf32>, tensor<2x3xf32>, a number)" in text and here in text, text
