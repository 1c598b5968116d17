"""Streams and events."""

import torch


def test_stream_context():
    s = torch.tpu.Stream()
    assert isinstance(s, torch.Stream) and isinstance(s, torch.tpu.Stream)
    assert s != torch.tpu.default_stream()
    assert torch.tpu.current_stream() == torch.tpu.default_stream()
    with torch.tpu.stream(s):
        assert torch.tpu.current_stream() == s
        x = torch.ones(4, device="tpu") + 1
    assert torch.tpu.current_stream() == torch.tpu.default_stream()
    torch.tpu.current_stream().wait_stream(s)
    s.synchronize()
    assert s.query()
    assert x.cpu().tolist() == [2] * 4
    with s:
        assert torch.accelerator.current_stream() == s


def test_events():
    begin, end = torch.tpu.Event(enable_timing=True), torch.tpu.Event(enable_timing=True)
    begin.record()
    x = torch.ones(256, 256, device="tpu")
    for _ in range(10):
        x = x @ x * 0.001
    end.record()
    end.synchronize()
    assert begin.query() and end.query()
    assert 0 < begin.elapsed_time(end) < 60000
    s = torch.tpu.Stream()
    s.wait_event(end)
    end.wait(s)
    x.record_stream(s)


def test_unrecorded_event():
    event = torch.tpu.Event()
    assert event.query()
    event.synchronize()


def test_producer_and_consumer_streams():
    s = torch.tpu.Stream()
    x = torch.zeros(1000, device="tpu")
    for i in range(20):
        with torch.tpu.stream(s):
            x.add_(1)
            event = s.record_event()
        torch.tpu.current_stream().wait_event(event)
        x.add_(1)
        s.wait_stream(torch.tpu.current_stream())
    assert (x.cpu() == 40).all()
