"""Memory figures and running out of memory."""

import gc

import pytest
import torch


def test_allocated_follows_tensors():
    gc.collect()
    before = torch.tpu.memory_allocated()
    t = torch.ones(1 << 18, device="tpu")
    assert torch.tpu.memory_allocated() - before == 1 << 20
    assert torch.accelerator.memory_allocated() == torch.tpu.memory_allocated()
    torch.tpu.reset_peak_memory_stats()
    u = t + 1
    assert torch.tpu.max_memory_allocated() - before >= 2 << 20
    del t, u
    gc.collect()
    assert torch.tpu.memory_allocated() == before


def test_figures():
    stats = torch.tpu.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.tpu.memory_allocated()
    free, total = torch.tpu.mem_get_info()
    assert 0 < free <= total == torch.tpu.get_device_properties().total_memory
    torch.tpu.empty_cache()
    assert torch.tpu.memory_reserved() <= total
    assert "allocated" in torch.tpu.memory_summary()
    assert torch.tpu.memory_snapshot()[0]["device"] == 0


def test_out_of_memory_is_an_error():
    total = torch.tpu.get_device_properties().total_memory
    keep = torch.ones(1000, device="tpu")
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(total + 1, dtype=torch.uint8, device="tpu")
    assert (keep + 1).cpu().sum() == 2000


def test_counters():
    before = torch.tpu.transfer_stats()
    torch.ones(1000).tpu().cpu()
    after = torch.tpu.transfer_stats()
    assert after["bytes_to_device"] - before["bytes_to_device"] == 4000
    assert after["bytes_to_host"] - before["bytes_to_host"] == 4000
    x = torch.ones(7, 9, device="tpu")
    for _ in range(3):
        x + x
    stats = torch.tpu.compile_stats()
    assert {"hits", "misses", "plans"} <= set(stats) and stats["hits"] > 0
    assert isinstance(torch.tpu.compile_reasons(), list)


def test_forbid_recompiles():
    x = torch.ones(3, 5, device="tpu")
    x * 3
    with torch.tpu.forbid_recompiles():
        x * 3
        with pytest.raises(RuntimeError):
            torch.ones(3, 11, 2, device="cpu").tpu().atan2(torch.ones(3, 11, 2).tpu())


def test_pinned_memory(check):
    x = torch.arange(10.0)
    p = x.pin_memory()
    assert p.is_pinned() and not x.is_pinned()
    check(p.to("tpu", non_blocking=True), x)
    torch.accelerator.empty_host_cache()
    back = torch.empty(10, pin_memory=True)
    back.copy_(x.tpu(), non_blocking=True)
    torch.tpu.synchronize()
    assert torch.equal(back, x)
    with pytest.raises(RuntimeError, match="pinned"):
        torch.empty(2, device="tpu", pin_memory=True)


def test_deterministic_fill():
    torch.use_deterministic_algorithms(True)
    assert torch.empty(3, device="tpu").cpu().isnan().all()
    assert (torch.empty(3, device="tpu", dtype=torch.int32).cpu() == 2**31 - 1).all()
