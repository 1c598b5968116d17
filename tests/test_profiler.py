"""torch.profiler: host ops and device activities in one trace."""

import json

import torch
from torch.profiler import ProfilerActivity, profile


def test_chrome_trace(tmp_path):
    x = torch.ones(64, 64, device="tpu")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        for _ in range(3):
            y = x @ x
        y.cpu()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    names = [event.get("name", "") for event in events]
    assert any("aten::mm" in name or "aten::matmul" in name for name in names)
    device = [event for event in events if event.get("cat") == "kernel"]
    assert device, "no device activities"
    assert all(event["dur"] >= 0 for event in device)
    assert ProfilerActivity.TPU == ProfilerActivity.PrivateUse1
