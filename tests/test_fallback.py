"""Ops without a kernel: refused by default, on the CPU when allowed."""

import warnings

import pytest
import torch


library = torch.library.Library("tt_fallback_test", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")


def lacking():
    """An op that has a CPU kernel only, called on tpu tensors."""
    return torch.ops.tt_fallback_test.twice(torch.eye(3, device="tpu"))


def test_refused_by_default():
    with pytest.raises(NotImplementedError) as error:
        lacking()
    text = str(error.value)
    assert "tt_fallback_test::twice" in text and "Float[3, 3]" in text and "TORCH_TPU_FALLBACK" in text


def test_mode_counts_and_warns_once():
    torch.tpu.fallback_stats(reset=True)
    with torch.tpu.cpu_fallback_mode():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            first = lacking()
            lacking()
    assert first.is_tpu and first.cpu().sum() == 6
    assert sum("runs on the CPU" in str(w.message) for w in caught) <= 1
    assert sum(torch.tpu.fallback_stats().values()) >= 2
    with pytest.raises(NotImplementedError):
        lacking()


def test_environment(python):
    done = python(
        "import torch; lib = torch.library.Library('tt_t', 'DEF'); lib.define('f(Tensor x) -> Tensor'); "
        "lib.impl('f', lambda x: x + 1, 'CPU'); print(torch.ops.tt_t.f(torch.ones(2, device='tpu')).device)",
        TORCH_TPU_FALLBACK="1",
    )
    assert done.stdout.strip() == "tpu:0", done.stderr


def test_names_of_features_that_are_missing():
    import torch.tpu.profiler

    for call in (
        torch.tpu.distributed.topology_aware_mesh,
        torch.tpu.profiler.TpuProfilerConfig,
        torch.tpu._set_dump_on_cache_miss,
        torch_pallas().custom_jax_kernel,
        lambda: torch.tpu.eager_mode("defer_and_fuse"),
    ):
        with pytest.raises(NotImplementedError):
            call()


def torch_pallas():
    import torch_tpu

    return torch_tpu.pallas


def test_official_names_import():
    from torch_tpu._internal import execution_mode, pallas, sync
    from torch_tpu._internal.pallas import tpu_torch_pallas
    from torch_tpu._internal.utils import hardware

    assert execution_mode.EagerMode.DEFER_NEVER is execution_mode.eager_mode
    with execution_mode.set_eager_mode(execution_mode.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING):
        assert execution_mode.eager_mode is execution_mode.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING
        assert (torch.ones(2, device="tpu") + 1).cpu().tolist() == [2, 2]
    assert sync.is_materialized(torch.ones(1, device="tpu"))
    sync.synchronize()
    with pytest.raises(NotImplementedError):
        tpu_torch_pallas.lookup_custom_kernel("a", "b")
    with pytest.raises(NotImplementedError):
        pallas.JaxCallable()
    assert hardware.device_generation()
