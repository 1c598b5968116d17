"""Every StableHLO operation and dtype through our runtime and vtpu, against XLA:CPU (G1)."""
import pytest

from programs.catalogue import catalogue
from programs.run import compare, run_vtpu, run_xla

CASES = list(catalogue())


def test_catalogue_names_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert len(names) > 500


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program(case):
    compare(run_vtpu(case.text, case.inputs), run_xla(case.text, case.inputs), case.rtol, case.atol, case.name)
