"""Deterministic mode: repeatable results, filled uninitialised memory."""

import pytest
import torch


def twice(program):
    """Runs a program twice from the same seed; results must have the same bits."""
    results = []
    for _ in range(2):
        torch.manual_seed(11)
        results.append([t.detach().cpu() for t in program()])
    for left, right in zip(*results):
        assert left.equal(right)


def test_scatter_add_and_index_add_repeat():
    index = torch.randint(0, 7, (5000,)).tpu()
    source = torch.randn(5000).tpu()

    def program():
        zeros = torch.zeros(7, device="tpu")
        return [
            zeros.scatter_add(0, index, source),
            zeros.index_add(0, index, source),
            torch.bincount(index, source, 7),
            zeros.index_put((index,), source, accumulate=True),
            torch.nn.functional.embedding(index, source[:7, None]),
        ]

    twice(program)
    torch.use_deterministic_algorithms(True)
    twice(program)


def test_training_step_repeats():
    def program():
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Dropout(0.3),
            torch.nn.Linear(36, 5),
        ).tpu()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        x, y = torch.randn(6, 1, 8, 8, device="tpu"), torch.randint(0, 5, (6,), device="tpu")
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        return list(model.parameters())

    twice(program)
    torch.use_deterministic_algorithms(True)
    twice(program)


def test_switch():
    assert not torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.is_deterministic_algorithms_warn_only_enabled()


@pytest.mark.parametrize(
    "dtype,expected",
    [
        (torch.float32, "nan"),
        (torch.int32, 2**31 - 1),
        (torch.uint8, 255),
        (torch.bool, True),
        (torch.complex64, "nan"),
        (torch.bfloat16, "nan"),
        (torch.int64, 2**63 - 1),
    ],
)
def test_uninitialised_memory_is_filled(dtype, expected):
    torch.use_deterministic_algorithms(True)
    cpu, tpu = torch.empty(3, dtype=dtype), torch.empty(3, dtype=dtype, device="tpu").cpu()
    assert (
        torch.equal(torch.isnan(cpu), torch.isnan(tpu))
        if expected == "nan"
        else tpu.tolist() == [expected] * 3 == cpu.tolist()
    )
    strided = torch.empty_strided((2, 2), (1, 2), dtype=dtype, device="tpu").cpu()
    assert torch.isnan(strided).all() if expected == "nan" else (strided == expected).all()
    grown = torch.zeros(2, dtype=dtype, device="tpu").resize_(5).cpu()
    assert (grown[:2] == 0).all() and (
        torch.isnan(grown[2:]).all() if expected == "nan" else (grown[2:] == expected).all()
    )


def test_fill_can_be_turned_off():
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        assert torch.empty(3, device="tpu").cpu().isfinite().all()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True


def test_index_put_of_repeated_indices_is_the_last_one():
    torch.use_deterministic_algorithms(True)
    x = torch.zeros(3, device="tpu")
    x[torch.tensor([1, 1, 1], device="tpu")] = torch.tensor([5.0, 6.0, 7.0], device="tpu")
    assert x.cpu().tolist() == [0, 7, 0]


def test_results_do_not_depend_on_where_memory_lies():
    x = torch.randn(1001)
    with torch.tpu.rounding(False):   # a sum over a rounded size may have another order (other plugins, after other sizes)
        a, b = x.tpu(), torch.cat([torch.zeros(3), x]).tpu()[3:]
        assert a.sum().item() == b.sum().item() and a.exp().cpu().equal(b.exp().cpu())
        assert a.softmax(0).cpu().equal(b.softmax(0).cpu())
