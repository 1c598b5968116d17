"""``torch.tpu.distributed``."""

from .._missing import feature

topology_aware_mesh = feature("torch.tpu.distributed.topology_aware_mesh", "distributed execution")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return feature(f"torch.tpu.distributed.{name}", "distributed execution")
