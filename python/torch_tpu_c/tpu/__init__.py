"""``torch.tpu``: devices, streams, random numbers, memory, precision, counters and eager modes of the tpu device.

Importing this module opens no plugin; the first call that needs a device does.
"""

from __future__ import annotations

from .device import (  # noqa: F401
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_local_device_attributes,
    init,
    is_available,
    is_bf16_supported,
    is_dtype_supported,
    is_initialized,
    plugin_choice,
    select_plugin,
    set_device,
    synchronize,
)
from .device import _is_in_bad_fork, _lazy_init  # noqa: F401
from .stream import (  # noqa: F401
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from .random import (  # noqa: F401
    _get_generator,
    default_generators,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .memory import (  # noqa: F401
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
)
from .precision import Precision, precision  # noqa: F401
from .stats import (  # noqa: F401
    allocation_stats,
    compile_reasons,
    compile_stats,
    cpu_fallback_mode,
    fallback_stats,
    forbid_recompiles,
    trace_stats,
    transfer_stats,
)
from .stats import _clear_cache, _get_cache_stats, _set_cache_only, _set_dump_on_cache_miss  # noqa: F401
from .explain import Explanation, explain  # noqa: F401
from .mode import EagerMode, eager_mode, rounding  # noqa: F401
from . import amp, distributed, memory, profiler, random  # noqa: F401
from .amp import get_amp_supported_dtype  # noqa: F401


def __getattr__(name: str):
    # torch.utils.checkpoint saves the random state only of modules that say they are initialised.
    if name == "_initialized":
        return is_initialized()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
