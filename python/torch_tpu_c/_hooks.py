"""What torch has no registration for: patches of torch itself, each small and with its reason."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import sys
import warnings

_pending: dict = {}


class _Finder(importlib.abc.MetaPathFinder):
    """Runs a function once after a module's first import."""

    def find_spec(self, name, path=None, target=None):
        if name not in _pending:
            return None
        action = _pending.pop(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            action(module)

        spec.loader.exec_module = exec_module
        return spec


def after_import(name: str, action) -> None:
    if name in sys.modules:
        action(sys.modules[name])
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _pending[name] = action


_kept: list = []   # what autograd's threads may hold when Python ends: never dropped by them


class _Token:
    pass


def _quiesce_autograd() -> None:
    """A thread of autograd that wants the GIL while Python ends aborts the process: one that still starts, or that drops
    the graph of a backward which has returned. Each takes its work in order; so one backward a device, without a
    program, and its graph dropped too, says that the thread is idle. It never needs the GIL again then."""
    from . import _core

    if not _core.core().tt_is_initialized() or not _has_autograd_threads():
        return
    import time
    import weakref

    import torch

    token = _Token()
    alive = weakref.ref(token)
    # A backward copies the thread's stash, and drops it with its graph.
    torch._C._stash_obj_in_tls("torch_tpu.exit", token)
    with torch.enable_grad():
        for device in range(torch.tpu.device_count()):
            x = torch.empty(1, device=f"tpu:{device}", requires_grad=True)
            y = x.view(1, 1)
            ones = torch.empty(1, 1, device=f"tpu:{device}")
            _kept.extend((x, y, ones, torch.autograd.grad(y, x, ones)))
    torch._C._stash_obj_in_tls("torch_tpu.exit", None)
    del token
    end = time.monotonic() + 5
    while alive() is not None and time.monotonic() < end:
        time.sleep(0.0005)   # without the GIL, which is what the thread may wait for


def _has_autograd_threads() -> bool:
    import glob

    for path in glob.glob("/proc/self/task/*/comm"):
        try:
            with open(path) as file:
                if file.read().startswith("pt_autograd"):
                    return True
        except OSError:   # the thread has ended meanwhile
            continue
    return False


def install(torch) -> None:
    atexit.register(_quiesce_autograd)
    after_import("torch._dynamo.device_interface", _dynamo_interface)
    after_import("torch._inductor.compile_fx", _inductor_refusal)
    after_import("torch._prims.rng_prims", _checkpoint_rng)
    after_import("torch.nn.attention.flex_attention", _flex_attention)
    after_import("torch._subclasses.fake_impls", _fake_attention)
    _autocast_dtype(torch)
    _module_conversion(torch)
    _multiprocessing(torch)
    _dlpack(torch)


def _dynamo_interface(module) -> None:
    """torch's built-in TpuInterface refuses float64, complex and half; ours replaces it after torch's own start."""
    start = module.init_device_reg

    def init_device_reg():
        start()
        from . import dynamo

        dynamo.register(module)

    module.init_device_reg = init_device_reg
    if module._device_initialized:
        from . import dynamo

        dynamo.register(module)


def _inductor_refusal(module) -> None:
    import functools

    import torch

    compile_fx = module.compile_fx

    def is_tpu(value) -> bool:
        device = value if isinstance(value, torch.device) else getattr(value, "device", None)
        return getattr(device, "type", None) == "tpu" or (isinstance(value, str) and value.split(":")[0] == "tpu")

    def has_tpu(model) -> bool:
        """Without inputs of the device: tensors that the graph makes or holds there."""
        for node in getattr(getattr(model, "graph", None), "nodes", ()):
            made = (node.meta.get("example_value"), node.meta.get("val"), *node.args, *node.kwargs.values())
            if any(map(is_tpu, made)):
                return True
        return isinstance(model, torch.nn.Module) and any(map(is_tpu, (*model.parameters(), *model.buffers())))

    @functools.wraps(compile_fx)
    def checked(model, example_inputs, *args, **kwargs):
        if any(map(is_tpu, example_inputs)) or has_tpu(model):
            raise RuntimeError('Inductor does not compile for tpu tensors; use torch.compile(..., backend="tpu")')
        return compile_fx(model, example_inputs, *args, **kwargs)

    module.compile_fx = checked


def _fake_attention(module) -> None:
    """torch's shape rules of the overrideable fused attention: its results there lie as the query does, in ours densely,
    and the sums of float64 are float64."""
    import torch

    aten = torch.ops.aten

    def dense(like, shape=None, dtype=None):
        return like.new_empty(like.shape if shape is None else shape, dtype=dtype)

    @module.register_op_impl(aten._scaled_dot_product_fused_attention_overrideable.default)
    def forward(mode, func, query, key, value, attn_bias=None, *args, **kwargs):
        if query.device.type != "tpu" or query.dim() != 4:
            return NotImplemented
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        nothing = dense(query, (), torch.int64)
        return (
            dense(query, (*query.shape[:-1], value.shape[-1])), dense(query, query.shape[:-1], wide), None, None,
            query.shape[-2], key.shape[-2], nothing, nothing, None,
        )

    @module.register_op_impl(aten._scaled_dot_product_fused_attention_overrideable_backward.default)
    def backward(mode, func, grad_out, query, key, value, attn_bias, mask, *args, **kwargs):
        if query.device.type != "tpu":
            return NotImplemented
        return tuple(
            dense(x) if wanted and x is not None else None
            for x, wanted in zip((query, key, value, attn_bias), mask)
        )


def _flex_attention(module) -> None:
    """torch admits a closed list of devices; its formulas run on any."""
    check = module._validate_device

    def _validate_device(query, key, value):
        if query.device.type != "tpu":
            check(query, key, value)

    module._validate_device = _validate_device


def _module_conversion(torch) -> None:
    """Module.to() between tpu and another device keeps its Parameter objects.

    torch exchanges the data of a parameter where both tensors are of devices that it knows, and else makes a new
    Parameter: tied weights would come apart, and an optimizer made before would go on with the old ones.
    """
    Module, Parameter = torch.nn.Module, torch.nn.Parameter
    apply = Module._apply

    def _apply(self, fn, recurse=True):
        if getattr(fn, "keeps_parameters", False):   # within the outermost call
            return apply(self, fn, recurse)

        def convert(tensor):
            found = fn(tensor)
            kinds = {tensor.device.type, getattr(getattr(found, "device", None), "type", None)}
            if type(tensor) is not Parameter or type(found) not in (torch.Tensor, Parameter) or len(kinds) < 2 or "tpu" not in kinds:
                return found
            grad, tensor.grad = tensor.grad, None
            try:
                torch.utils.swap_tensors(tensor, Parameter(found, tensor.requires_grad))
            except RuntimeError as error:   # somebody else holds the tensor's inside, as a graph of autograd does
                tensor.grad = grad
                warnings.warn(
                    "Module.to: a parameter is in use elsewhere and becomes a new Parameter; weights tied to it come "
                    f"apart, optimizers keep the old one ({error})", stacklevel=4)
                return found
            tensor.grad = None if grad is None else fn(grad)
            return tensor

        convert.keeps_parameters = True
        return apply(self, convert, recurse)

    _apply.__doc__ = apply.__doc__
    Module._apply = _apply


def _checkpoint_rng(module) -> None:
    """Recomputation with random ops: torch's higher-order ops know a closed list of devices."""
    import torch
    from torch._C import DispatchKey

    save, run = module.run_and_save_rng_state, module.run_with_rng_state
    save_others = save.py_kernels[DispatchKey.BackendSelect]
    run_others = run.py_kernels[DispatchKey.BackendSelect]

    def save_tpu(op, *args, **kwargs):
        return torch.tpu.get_rng_state(), op(*args, **kwargs)

    def run_tpu(rng_state, op, *args, **kwargs):
        before = torch.tpu.get_rng_state()
        torch.tpu.set_rng_state(rng_state.cpu())
        try:
            return op(*args, **kwargs)
        finally:
            torch.tpu.set_rng_state(before)

    def save_select(op, *args, **kwargs):
        chosen = save_tpu if module.get_device(args, kwargs) == "tpu" else save_others
        return chosen(op, *args, **kwargs)

    def run_select(rng_state, op, *args, **kwargs):
        chosen = run_tpu if module.get_device(args, kwargs) == "tpu" else run_others
        return chosen(rng_state, op, *args, **kwargs)

    for op, direct, select in ((save, save_tpu, save_select), (run, run_tpu, run_select)):
        op.py_kernels[DispatchKey.PrivateUse1] = direct
        op.py_kernels[DispatchKey.BackendSelect] = select
        op._dispatch_cache.clear()
    # The fake and proxy kernels hold the old selection in their closures.
    for op, select in ((save, save_select), (run, run_select)):
        for kernel in list(op.python_key_table.values()) + list(op.py_kernels.values()):
            function = getattr(kernel, "__wrapped__", kernel)
            closure = getattr(function, "__closure__", None) or ()
            names = getattr(getattr(function, "__code__", None), "co_freevars", ())
            for name, cell in zip(names, closure):
                if name == "impl_backend_select":
                    cell.cell_contents = select


def _autocast_dtype(torch) -> None:
    """The autocast dtype is per thread in torch and half by default; bfloat16 is the device's, on every thread."""
    import threading

    from torch.amp import autocast_mode

    seen = threading.local()
    seen.done = True   # this thread: set by the registration
    init = autocast_mode.autocast.__init__

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if device_type == "tpu" and not getattr(seen, "done", False):
            seen.done = True
            torch.set_autocast_dtype("tpu", torch.bfloat16)
        init(self, device_type, dtype, enabled, cache_enabled)

    __init__.__doc__ = init.__doc__
    autocast_mode.autocast.__init__ = __init__


def rebuild_tensor(data, device, requires_grad, kind):
    import torch

    tensor = data.to(f"tpu:{device}")
    if kind is not torch.Tensor:
        tensor = kind(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad) if tensor.is_leaf else tensor


def _multiprocessing(torch) -> None:
    """A tpu tensor in a multiprocessing queue arrives as a copy on the same device index."""
    from multiprocessing.reduction import ForkingPickler

    from torch.multiprocessing import reductions

    before = reductions.reduce_tensor

    def reduce_tensor(tensor):
        if tensor.device.type != "tpu":
            return before(tensor)
        if tensor.requires_grad and not tensor.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue)."
            )
        kind = torch.nn.Parameter if isinstance(tensor, torch.nn.Parameter) else torch.Tensor
        return rebuild_tensor, (tensor.detach().cpu(), tensor.device.index, tensor.requires_grad, kind)

    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.parameter.Parameter, reduce_tensor)


def _dlpack(torch) -> None:
    """Export copies to the CPU; a zero-copy export is refused (design D2)."""
    export, where = torch.Tensor.__dlpack__, torch.Tensor.__dlpack_device__

    def __dlpack__(self, *args, **kwargs):
        if self.device.type != "tpu":
            return export(self, *args, **kwargs)
        if kwargs.get("copy") is False:
            raise BufferError("tpu: memory of the device cannot be shared through DLPack without a copy")
        device = kwargs.get("dl_device")
        if device is not None and int(device[0]) != 1:
            raise BufferError("tpu: DLPack export goes to the CPU only (dl_device=(1, 0))")
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        return export(self.cpu())

    def __dlpack_device__(self):
        if self.device.type != "tpu":
            return where(self)
        return (torch.utils.dlpack.DLDeviceType.kDLCPU, 0)

    torch.Tensor.__dlpack__ = __dlpack__
    torch.Tensor.__dlpack_device__ = __dlpack_device__

    capsule = torch.utils.dlpack.to_dlpack

    def to_dlpack(tensor):
        return capsule(tensor.cpu() if tensor.device.type == "tpu" else tensor)

    to_dlpack.__doc__ = capsule.__doc__
    torch.to_dlpack = torch.utils.dlpack.to_dlpack = to_dlpack
