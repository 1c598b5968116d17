"""Programs as jax 0.10.2 prints them, through our reader, runtime and vtpu, against XLA:CPU (G1)."""
import pytest

from programs.jax_functions import FUNCTIONS, TOLERANCE, UNORDERED, lowered
from programs.run import _cpu, compare, run_vtpu, run_xla


def test_enough_functions():
    assert len(FUNCTIONS) >= 30


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_jax_program(name):
    _cpu()
    text, inputs = lowered(name)
    actual = run_vtpu(text, inputs)
    if name not in UNORDERED:
        compare(actual, run_xla(text, inputs), *TOLERANCE.get(name, (2e-5, 1e-5)), name)
