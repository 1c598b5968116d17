"""Custom kernels written in JAX."""

from torch_tpu_c._missing import feature

custom_jax_kernel = feature("torch_tpu.pallas.custom_jax_kernel", "running Pallas kernels")
