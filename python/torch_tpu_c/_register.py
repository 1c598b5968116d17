"""Makes ``tpu`` a device of this torch: names, module, libraries, methods, import hooks."""

from __future__ import annotations

import sys


def register(torch) -> None:
    from . import _core, _hooks, _locate, tail
    from . import tpu as module

    torch.utils.rename_privateuse1_backend("tpu")
    torch._register_device_module("tpu", module)
    for name in ("profiler", "distributed"):
        sys.modules[f"torch.tpu.{name}"] = getattr(module, name)
    _core.load()
    torch.ops.loaded_libraries.add(_core.path("libtorch_tpu_shim.so"))
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    # torch's default for this key is half, per thread; _hooks sees to other threads.
    torch.set_autocast_dtype("tpu", torch.bfloat16)
    _hooks.install(torch)
    tail.install()
    _locate.install(torch)
    module.mode.from_environment()
