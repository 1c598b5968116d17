"""Generators: state layout, seeding, forks, offsets; the words are Philox4x32-10 by definition."""

import numpy as np
import pytest
import torch


def philox_words(seed: int, offset: int, count: int) -> np.ndarray:
    """Words offset .. offset + count by the published algorithm, in plain Python."""
    mask = 0xFFFFFFFF
    found = []
    for block in range(offset // 4, (offset + count + 3) // 4):
        counter = [block & mask, block >> 32, 0, 0]
        key = [seed & mask, seed >> 32]
        for _ in range(10):
            low, high = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = [(high >> 32) ^ counter[1] ^ key[0], high & mask, (low >> 32) ^ counter[3] ^ key[1], low & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        found += counter
    return np.array(found[: count], dtype=np.uint32)


def test_uniform_is_philox():
    generator = torch.Generator("tpu").manual_seed(0x123456789)
    values = torch.rand(13, device="tpu", generator=generator).cpu().numpy()
    expected = (philox_words(0x123456789, 0, 13) >> 8).astype(np.float32) * np.float32(2**-24)
    np.testing.assert_array_equal(values, expected)
    assert generator.get_offset() == 16
    values = torch.rand(3, device="tpu", generator=generator).cpu().numpy()
    expected = (philox_words(0x123456789, 16, 3) >> 8).astype(np.float32) * np.float32(2**-24)
    np.testing.assert_array_equal(values, expected)


def test_normal_is_box_muller():
    generator = torch.Generator("tpu").manual_seed(5)
    values = torch.randn(100000, device="tpu", generator=generator).cpu().double().numpy()
    assert abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02


def test_same_seed_same_values():
    for draw in (
        lambda: torch.randn(7, 3, device="tpu"),
        lambda: torch.rand(5, device="tpu", dtype=torch.float64),
        lambda: torch.randint(0, 1000, (9,), device="tpu"),
        lambda: torch.randperm(17, device="tpu"),
        lambda: torch.empty(9, device="tpu").bernoulli_(0.5),
        lambda: torch.nn.functional.dropout(torch.ones(50, device="tpu")),
        lambda: torch.multinomial(torch.ones(5, device="tpu"), 3),
        lambda: torch.empty(9, device="tpu").exponential_(),
    ):
        torch.manual_seed(3)
        first, second = draw().cpu(), draw().cpu()
        torch.manual_seed(3)
        assert torch.equal(draw().cpu(), first)
        assert not torch.equal(first, second)


def test_state_layout():
    generator = torch.Generator("tpu")
    generator.manual_seed(77)
    generator.set_offset(12)
    state = generator.get_state()
    assert state.dtype == torch.uint8 and state.device.type == "cpu" and state.numel() == 16
    assert state.numpy().view(np.uint64).tolist() == [77, 12]
    other = torch.Generator("tpu")
    other.set_state(state)
    assert other.initial_seed() == 77 and other.get_offset() == 12
    with pytest.raises(RuntimeError, match="multiple of 4"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="wrong size"):
        generator.set_state(torch.zeros(5, dtype=torch.uint8))


def test_module_functions():
    torch.tpu.manual_seed(11)
    assert torch.tpu.initial_seed() == 11
    state = torch.tpu.get_rng_state()
    first = torch.rand(4, device="tpu").cpu()
    torch.tpu.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="tpu").cpu(), first)
    torch.tpu.manual_seed_all(12)
    assert torch.tpu.default_generators[0].initial_seed() == 12
    assert len(torch.tpu.get_rng_state_all()) == len(torch.tpu.default_generators)
    torch.tpu.seed()
    assert torch.tpu.initial_seed() != 12


def test_fork_rng():
    torch.manual_seed(1)
    before = torch.tpu.get_rng_state()
    with torch.random.fork_rng(device_type="tpu"):
        torch.rand(3, device="tpu")
    assert torch.equal(torch.tpu.get_rng_state(), before)


def test_manual_seed_opens_no_plugin(python):
    done = python(
        "import torch; torch.manual_seed(4); assert not torch.tpu.is_initialized(); "
        "a = torch.rand(3, device='tpu').cpu(); torch.manual_seed(4); assert torch.equal(a, torch.rand(3, device='tpu').cpu())"
    )
    assert done.returncode == 0, done.stderr


def test_generator_of_another_device():
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, device="tpu", generator=torch.Generator("cpu"))


def test_graphsafe_state_is_shared():
    """As CUDA's generators: one draws from the other's counter until another state is set."""
    a, b = torch.Generator("tpu"), torch.Generator("tpu")
    a.manual_seed(3), b.manual_seed(3)
    expected = torch.rand(8, generator=b, device="tpu"), torch.rand(8, generator=b, device="tpu")
    other = torch.Generator("tpu")
    other.graphsafe_set_state(a.graphsafe_get_state())
    assert torch.rand(8, generator=a, device="tpu").equal(expected[0])
    assert torch.rand(8, generator=other, device="tpu").equal(expected[1])
    assert a.get_state().equal(other.get_state()) and a.get_offset() == b.get_offset()
    copy = a.clone_state()
    torch.rand(8, generator=copy, device="tpu")
    assert not a.get_state().equal(copy.get_state())
    with pytest.raises(RuntimeError, match="expected a generator of tpu"):
        a.graphsafe_set_state(torch.Generator())


def test_graphsafe_swap_of_the_default_generator():
    default = torch.tpu.default_generators[0]
    before = default.get_state()
    own = torch.Generator("tpu")
    own.manual_seed(11)
    kept = default.graphsafe_get_state()
    default.graphsafe_set_state(own)
    drawn = torch.rand(5, device="tpu")
    default.graphsafe_set_state(kept)
    again = torch.Generator("tpu")
    again.manual_seed(11)
    assert drawn.equal(torch.rand(5, device="tpu", generator=again)) and default.get_state().equal(before)
    assert own.get_offset() == again.get_offset()


BAD_NUMBERS = {   # neither folded into a program (-1, 0, 0.5, ...) nor allowed
    "uniform": lambda d: torch.empty(3, device=d).uniform_(1.5, 0.25),
    "uniform, nan": lambda d: torch.empty(3, device=d).uniform_(float("nan"), 1.25),
    "normal": lambda d: torch.empty(3, device=d).normal_(0.25, -1.25),
    "normal of a mean": lambda d: torch.normal(torch.ones(3, device=d), -1.25),
    "log_normal": lambda d: torch.empty(3, device=d).log_normal_(0.25, -0.25),
    "bernoulli": lambda d: torch.empty(3, device=d).bernoulli_(1.25),
    "exponential": lambda d: torch.empty(3, device=d).exponential_(-0.25),
    "geometric": lambda d: torch.empty(3, device=d).geometric_(1.25),
    "cauchy": lambda d: torch.empty(3, device=d).cauchy_(0.25, -0.25),
    "dropout": lambda d: torch.native_dropout(torch.ones(3, device=d), 1.25, True),
}


@pytest.mark.parametrize("name", BAD_NUMBERS)
def test_numbers_out_of_range_are_refused(name):
    """Numbers are inputs of one program, so each call checks its own: a good one first, so that the program is there."""
    with pytest.raises(RuntimeError):
        BAD_NUMBERS[name]("cpu")
    good = torch.empty(3, device="tpu")
    for call in (lambda: good.uniform_(0.25, 1.75), lambda: good.normal_(0.25, 1.75), lambda: good.log_normal_(0.25, 1.75),
                 lambda: good.bernoulli_(0.25), lambda: good.exponential_(1.75), lambda: good.geometric_(0.25),
                 lambda: good.cauchy_(0.25, 1.75), lambda: torch.native_dropout(good, 0.25, True)):
        call()
    before = good.clone()
    with pytest.raises(RuntimeError, match="expects|has to be|out of bounds"):
        BAD_NUMBERS[name]("tpu")
    assert torch.equal(good, before)
    assert torch.equal(torch.native_dropout(torch.ones(3, device="tpu"), 1.25, False)[0].cpu(), torch.ones(3))   # p is not used
