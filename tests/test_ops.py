"""PyTorch's op_db on tpu against the CPU, float32, forward and backward, the fallback forbidden.

check-fast runs a fixed sixth of the ops; ``-m slow`` all of them. An op equals the CPU or raises NotImplementedError
(listed in docs/coverage.md); a wrong value, another exception, a crash or a hang fails.
"""

import collections
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def sweep(first, step):
    import coverage_run
    import torch
    from coverage import name_of, op_db

    tasks = [
        (index, name_of(op), "float32", "grad", False, 3)
        for index, op in enumerate(op_db)
        if op.supports_dtype(torch.float32, "cpu")
    ][first::step]
    verdicts = list(coverage_run.run(tasks, 2, 60, progress=False))
    assert len(verdicts) == len(tasks)
    faults = [f"{v['status']} {v['op']}: {v['reason']}" for v in verdicts if v["status"] in coverage_run.BAD]
    counts = collections.Counter(v["status"] for v in verdicts)
    print(dict(counts), "missing:", sorted(v["op"] for v in verdicts if v["status"] == "missing"))
    assert not faults, "\n".join(faults)
    return counts


def test_a_sixth_of_the_ops():
    counts = sweep(0, 6)
    assert counts["pass"] >= 0.9 * (sum(counts.values()) - counts["skip"])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1, 6))
def test_the_others(first):
    counts = sweep(first, 6)
    assert counts["pass"] >= 0.9 * (sum(counts.values()) - counts["skip"])
