"""Custom kernels written in JAX."""

from torch_tpu_c._missing import feature, feature_class

from . import tpu_torch_pallas  # noqa: F401

pallas = feature("torch_tpu._internal.pallas.pallas", "running Pallas kernels")
jax_op = feature("torch_tpu._internal.pallas.jax_op", "running Pallas kernels")
JaxCallable = feature_class("torch_tpu._internal.pallas.JaxCallable", "running Pallas kernels")
