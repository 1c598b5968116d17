"""What PyTorch's Inductor calls for the code that it generates for tpu."""

from torch_tpu_c._missing import feature

_WHAT = 'Inductor code for tpu (use torch.compile(..., backend="tpu"))'
lookup_custom_kernel = feature("torch_tpu._internal.pallas.tpu_torch_pallas.lookup_custom_kernel", _WHAT)
register_custom_kernel = feature("torch_tpu._internal.pallas.tpu_torch_pallas.register_custom_kernel", _WHAT)
call_custom_kernel = feature("torch_tpu._internal.pallas.tpu_torch_pallas.call_custom_kernel", _WHAT)
