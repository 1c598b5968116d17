"""``torch.tpu.profiler``; torch.profiler itself records device times through ProfilerActivity.PrivateUse1 (``.TPU``)."""

from .._missing import feature_class

TpuProfilerConfig = feature_class("torch.tpu.profiler.TpuProfilerConfig", "the xplane profile writer")
