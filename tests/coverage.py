"""One op of PyTorch's op_db on tpu against the CPU: what the coverage table and tests/test_ops.py stand on.

    python tests/coverage.py            reads "op-index dtype mode" lines from stdin, writes one JSON line each

A verdict is ``{"op", "dtype", "mode", "status", "samples", "traced", "reason"}`` with status

- ``pass``      every sample equals the CPU's, forward and (mode ``grad``) backward;
- ``missing``   NotImplementedError, the fallback being forbidden;
- ``wrong``     a value, dtype, shape or device differs;
- ``error``     another exception where the CPU has none;
- ``skip``      no sample that the CPU can run.

The driver (coverage_run.py) adds ``crash`` and ``hang``.
"""

import functools
import json
import sys
import warnings

import torch
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

SAMPLES = 3

# Values that no seed fixes, or that memory holds by chance: shape, dtype and device are compared.
UNINITIALISED = ("empty", "new_empty", "empty_like", "empty_strided", "empty_permuted", "new_empty_strided")

# Results that are defined up to a sign or a phase: what is compared instead (PyTorch's own tests do the same).
def _absolute(result):
    return tree_map(lambda t: t.abs() if isinstance(t, torch.Tensor) else t, result)


def _thin_svd(result):
    """The vectors beyond the smaller dimension are any basis."""
    if not isinstance(result, (tuple, list)):
        return _absolute(result)
    u, s, v = result
    k = s.shape[-1]
    v = v[..., :k] if v.shape[-1] != k and v.shape[-2] == v.shape[-1] else v
    return _absolute((u[..., :k], s, v))


def _thin_svd_h(result):
    if not isinstance(result, (tuple, list)):
        return _absolute(result)
    u, s, vh = result
    k = s.shape[-1]
    return _absolute((u[..., :k], s, vh[..., :k, :]))


def _eig(result):
    """Eigenvalues as a set; the vectors are checked by the gradient-free identity in test_linalg."""
    values = result[0] if isinstance(result, (tuple, list)) else result
    host = values.detach().cpu()
    order = torch.argsort(host.real * 1e3 + host.imag, dim=-1)
    return torch.gather(host, -1, order)


def _values(result):
    """Without the indices, where equal values leave a choice (integer samples)."""
    return result[0] if not result[0].dtype.is_floating_point else result


PROCESS = {
    "topk": _values,
    "sort": _values,
    "argsort": lambda result: result if result.numel() < 1000 else result.sum(),   # long samples of few values
    "kthvalue": _values,
    "svd": _thin_svd,
    "linalg.svd": _thin_svd_h,
    "svd_lowrank": _absolute,
    "pca_lowrank": _absolute,
    "linalg.eigh": _absolute,
    "linalg.eig": _eig,
    "linalg.eigvals": _eig,
}

# Default tolerances are torch.testing's; gradients sum in another order.
GRAD = {torch.float32: (1e-4, 1e-5), torch.float64: (1e-7, 1e-7), torch.complex64: (1e-4, 1e-5)}
FORWARD = {
    torch.float32: (1e-5, 1e-5), torch.complex64: (1e-5, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7), torch.bfloat16: (1.6e-2, 1e-5), torch.float16: (1e-3, 1e-5),
}


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def tolerance(op, dtype, table):
    """(rtol, atol): the table's, widened by the op's own toleranceOverride for values."""
    rtol, atol = table.get(dtype, (0, 0))
    if op.name.startswith("special.bessel_") and dtype == torch.float64:
        return 1e-5, 1e-6   # the CPU's are 1e-6 away from SciPy's, ours 1e-15
    for info in op.decorators or ():
        if getattr(info, "cls_name", None) not in (None, "TestCommon", "TestUnaryUfuncs", "TestBinaryUfuncs",
                                                   "TestReductions", "TestOperators"):
            continue
        for decorator in getattr(info, "decorators", ()) or (info,):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                rtol = max(rtol, decorator.d[dtype].rtol)
                atol = max(atol, decorator.d[dtype].atol)
    return rtol, atol


STATISTICS = ("native_layer_norm", "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update")

# Arguments that PyTorch itself wants on the CPU, whatever the device.
HOST_ARGUMENTS = ("tensor_split",)


def to_tpu(value, grad):
    def move(t):
        if not isinstance(t, torch.Tensor):
            return t
        moved = t.detach().to("tpu")
        if moved.stride() != t.stride() and t.numel():
            moved = _same_strides(t)
        return moved.requires_grad_(t.requires_grad) if grad and t.requires_grad else moved
    return _device_arguments(tree_map(move, value))


def _device_arguments(triple):
    """Factories are asked for the device by name."""
    if isinstance(triple, tuple) and len(triple) == 3 and isinstance(triple[2], dict) and "device" in triple[2]:
        return triple[0], triple[1], {**triple[2], "device": "tpu"}
    return triple


def _same_strides(t):
    """A tpu view with t's sizes and strides, over a copy of the memory that t spans."""
    t = t.detach()
    last = sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    span = torch.as_strided(t, (last + 1,), (1,), t.storage_offset())
    return torch.as_strided(span.to("tpu"), t.shape, t.stride())


def on_cpu(value, grad):
    def move(t):
        if not isinstance(t, torch.Tensor):
            return t
        alike = t.detach().clone()
        if alike.stride() != t.stride() and t.numel():
            last = sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
            span = torch.as_strided(t.detach(), (last + 1,), (1,), t.storage_offset()).clone()
            alike = torch.as_strided(span, t.shape, t.stride())
        return alike.requires_grad_(t.requires_grad) if grad and t.requires_grad else alike
    return tree_map(move, value)


class Wrong(Exception):
    """values: only numbers differ."""

    def __init__(self, text, values=False):
        super().__init__(text)
        self.values = values


WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128, torch.float16: torch.float64,
        torch.bfloat16: torch.float64, torch.complex32: torch.complex128}


def widened(value):
    def widen(t):
        if isinstance(t, torch.Tensor):
            wide = t.detach().to(WIDE.get(t.dtype, t.dtype))
            return wide.requires_grad_() if t.requires_grad else wide
        return WIDE.get(t, t) if isinstance(t, torch.dtype) else t
    return tree_map(widen, value)


def as_near(tpu, cpu, exact, rtol, atol):
    """Whether tpu is about as near to the float64 result as the CPU is (within twice its largest error)."""
    left, right, true = tree_flatten(tpu)[0], tree_flatten(cpu)[0], tree_flatten(exact)[0]
    if not len(left) == len(right) == len(true):
        return False
    for a, b, t in zip(left, right, true):
        if not isinstance(t, torch.Tensor) or not (t.dtype.is_floating_point or t.dtype.is_complex):
            continue
        a, b, t = a.detach().cpu(), b.detach().to(t.dtype), t.detach()
        rounded = a == t.to(a.dtype)   # what overflows the dtype is infinite
        a = a.to(t.dtype)
        off, theirs = (a - t).abs(), (b - t).abs()
        same = (a == t) | rounded | (torch.isnan(a.abs()) & torch.isnan(t.abs()))
        finite = theirs[torch.isfinite(theirs)]
        bound = 2 * (finite.max() if finite.numel() else 0) + atol + rtol * t.abs()
        if not bool((same | (off <= bound)).all()):
            return False
    return True


def compare(tpu, cpu, rtol, atol, values=True, what="result"):
    left, right = tree_flatten(tpu)[0], tree_flatten(cpu)[0]
    if len(left) != len(right):
        raise Wrong(f"{what}: {len(left)} values, CPU {len(right)}")
    for k, (a, b) in enumerate(zip(left, right)):
        if not isinstance(b, torch.Tensor):
            if isinstance(a, torch.Tensor):
                raise Wrong(f"{what} {k}: a tensor, CPU {type(b).__name__}")
            if values and a != b and not (isinstance(a, float) and abs(a - b) <= atol + rtol * abs(b)) \
                    and not (a != a and b != b) and not isinstance(b, (torch.device, torch.layout)):
                raise Wrong(f"{what} {k}: {a}, CPU {b}")
            continue
        if not isinstance(a, torch.Tensor):
            raise Wrong(f"{what} {k}: {type(a).__name__}, CPU a tensor")
        if a.dtype != b.dtype and what == "statistics" and a.dtype == torch.float32:
            a = a.to(b.dtype)   # means and deviations of 16-bit inputs stay in float32, as on CUDA
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Wrong(f"{what} {k}: {a.dtype} {list(a.shape)}, CPU {b.dtype} {list(b.shape)}")
        a = a.detach().cpu()
        if values:
            floating = b.dtype.is_floating_point or b.dtype.is_complex
            try:
                # A float result of integers has its own dtype's tolerance.
                wider = FORWARD.get(b.dtype, (0, 0)) if floating else (0, 0)
                torch.testing.assert_close(a, b.detach(), rtol=max(rtol, wider[0]) if floating else 0,
                                           atol=max(atol, wider[1]) if floating else 0, equal_nan=True)
            except AssertionError as error:
                text = f"{what} {k} {b.dtype} {list(b.shape)}: " + " ".join(str(error).split())[:300]
                raise Wrong(text, values=True)


@functools.cache
def cotangent(shape, dtype):
    generator = torch.Generator().manual_seed(7)
    narrow = {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(dtype, dtype)
    return torch.randn(shape, dtype=narrow, generator=generator).to(dtype)


def gradients(result, inputs, process):
    flat = [t for t in tree_flatten(process(result))[0]
            if isinstance(t, torch.Tensor) and t.requires_grad and (t.dtype.is_floating_point or t.dtype.is_complex)]
    leaves = [t for t in tree_flatten(inputs)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
    if not flat or not leaves:
        return None
    seeds = [cotangent(tuple(t.shape), t.dtype).to(t.device) for t in flat]
    return torch.autograd.grad(flat, leaves, seeds, allow_unused=True)


def call(op, triple):
    value, args, kwargs = triple
    torch.manual_seed(1234)
    return op(value, *args, **kwargs)


def is_random(op, triple, first):
    """Whether another seed gives other values (the CPU draws; ours are different words)."""
    if op.name in UNINITIALISED or op.name.split(".")[-1] in UNINITIALISED:
        return True
    seed = torch.manual_seed
    try:
        small = sum(t.numel() for t in tree_flatten(first)[0] if isinstance(t, torch.Tensor)) < 16
        for other in (57, 1001, 77777, 31) if small else (57,):
            torch.manual_seed = lambda value, other=other: seed(value + other)   # some ops of op_db seed themselves
            compare(call(op, on_cpu(triple, False)), first, 1e-6, 1e-6)
        return False
    except Wrong:
        return True
    finally:
        torch.manual_seed = seed


def samples(op, dtype, grad, count=SAMPLES, spread=False):
    torch.manual_seed(0)
    every = op.sample_inputs("cpu", dtype, requires_grad=grad)
    if spread:
        every = list(every)
        picks = sorted({round(k * (len(every) - 1) / max(count - 1, 1)) for k in range(count)}) if every else []
        return [every[k] for k in picks]
    chosen = []
    for sample in every:
        chosen.append(sample)
        if len(chosen) == count:
            break
    return chosen


def _overwrite(target, value):
    """A non-contiguous tensor of value's dtype and shape, full of other numbers."""
    out = torch.empty(tuple(reversed(value.shape)), dtype=value.dtype, device=target).permute(*reversed(range(value.dim())))
    return out.fill_(1) if value.numel() else out


def judge_form(op, dtype, mode, spread, count):
    """The in-place form, or out= into a transposed tensor: against the CPU's own; also what they return."""
    verdict = {"op": name_of(op), "dtype": str(dtype).split(".")[-1], "mode": mode, "status": "skip", "samples": 0,
               "traced": {}, "reason": ""}
    if (mode == "inplace" and op.inplace_variant is None) or (mode == "out" and not op.supports_out):
        return verdict
    try:
        chosen = samples(op, dtype, False, count, spread)
    except Exception:
        return verdict
    for k, sample in enumerate(chosen):
        triple = (sample.input, sample.args, sample.kwargs)

        def form(triple, device, first):
            value, args, kwargs = triple
            torch.manual_seed(1234)
            if mode == "inplace":
                result = op.inplace_variant(value, *args, **kwargs)
                return value, result is value
            outs = tree_map(lambda t: _overwrite(device, t), first)
            result = op.op(value, *args, **kwargs, out=outs)
            same = [a is b for a, b in zip(tree_flatten(tuple(result) if not isinstance(result, torch.Tensor) else result)[0],
                                           tree_flatten(outs)[0])]
            strides = [torch.tensor(t.stride()).to(t.device) for t in tree_flatten(outs)[0]]
            return outs, same, strides

        try:
            first = op(*on_cpu(triple, False)[:1], *on_cpu(triple, False)[1], **on_cpu(triple, False)[2])
            first = tree_map(lambda t: t, tuple(first) if not isinstance(first, torch.Tensor) else first)
            if is_random(op, triple, first):
                continue
            cpu = form(on_cpu(triple, False), "cpu", first)
            if mode == "out":   # some kernels of the CPU mistake a transposed out for a dense one
                compare(cpu[0], first, 1e-4, 1e-4)
        except Exception:
            continue
        try:
            tpu = form(to_tpu(triple, False), "tpu", first)
            process = PROCESS.get(op.name, lambda r: r)
            if mode == "out":
                tpu, cpu = (process(tpu[0]), *tpu[1:]), (process(cpu[0]), *cpu[1:])
            compare(tpu, cpu, *tolerance(op, dtype, FORWARD))
            verdict["samples"] += 1
            verdict["status"] = "pass"
        except Wrong as error:
            verdict["status"], verdict["reason"] = "wrong", f"sample {k} {describe(triple)}: {error}"
            break
        except NotImplementedError as error:
            verdict["status"], verdict["reason"] = "missing", f"sample {k} {describe(triple)}: {error}"[:400]
            break
        except Exception as error:
            verdict["status"] = "error"
            verdict["reason"] = f"sample {k} {describe(triple)}: {type(error).__name__}: {error}"[:600]
            break
    return verdict


def judge(op, dtype, mode="grad", spread=False, count=SAMPLES):
    if mode in ("inplace", "out"):
        return judge_form(op, dtype, mode, spread, count)
    grad = mode == "grad" and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    verdict = {"op": name_of(op), "dtype": str(dtype).split(".")[-1], "mode": mode, "status": "skip", "samples": 0,
               "traced": {}, "reason": ""}
    torch.tpu.trace_stats(reset=True)
    where = ""
    try:
        chosen = samples(op, dtype, grad, count, spread)
    except Exception as error:
        verdict["reason"] = f"no samples: {type(error).__name__}: {error}"[:200]
        return verdict
    process_result = PROCESS.get(op.name, lambda r: r)
    for k, sample in enumerate(chosen):
        triple = (sample.input, sample.args, sample.kwargs)
        try:
            cpu_triple = on_cpu(triple, grad)
            cpu = call(op, cpu_triple)
            expected = tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, cpu)
            random = is_random(op, triple, expected)
            cpu_grads = None
            if grad and not random:
                cpu_grads = gradients(cpu, cpu_triple, sample.output_process_fn_grad)
        except Exception:
            continue   # the CPU cannot
        try:
            where = f"sample {k}"
            tpu_triple = to_tpu(triple, grad)
            if op.name in HOST_ARGUMENTS:
                tpu_triple = (tpu_triple[0], triple[1], triple[2])
            tpu = call(op, tpu_triple)
            for t in tree_flatten(tpu)[0]:
                if isinstance(t, torch.Tensor) and t.device.type != "tpu" and op.name != "to":   # asks for the CPU
                    raise Wrong(f"a result lies on {t.device}")
            def referee(error, tpu, cpu, backward, table):
                """Float64 decides where float32 results differ."""
                if not error.values or dtype not in WIDE:
                    raise error
                try:
                    wide = widened(triple)
                    exact = call(op, wide)
                    if backward:
                        exact = gradients(exact, wide, sample.output_process_fn_grad)
                    else:
                        exact = process_result(exact)
                except Exception:
                    raise error
                if not as_near(tpu, cpu, exact, *tolerance(op, dtype, table)):
                    raise error

            ours, theirs = process_result(tpu), process_result(expected)
            try:
                compare(ours, theirs, *tolerance(op, dtype, FORWARD), values=not random,
                        what="statistics" if op.name in STATISTICS else "result")
            except Wrong as error:
                referee(error, ours, theirs, False, FORWARD)
            if cpu_grads is not None:
                where = f"sample {k} backward"
                tpu_grads = gradients(tpu, tpu_triple, sample.output_process_fn_grad)
                try:
                    compare(tpu_grads, cpu_grads, *tolerance(op, dtype, GRAD), what="gradient")
                except Wrong as error:
                    referee(error, tpu_grads, cpu_grads, True, GRAD)
            torch.tpu.synchronize()
            verdict["samples"] += 1
            verdict["status"] = "pass"
        except Wrong as error:
            verdict["status"], verdict["reason"] = "wrong", f"{where} {describe(triple)}: {error}"
            break
        except NotImplementedError as error:
            verdict["status"], verdict["reason"] = "missing", f"{where} {describe(triple)}: {error}"[:400]
            break
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            verdict["status"], verdict["reason"] = "error", f"{where} {describe(triple)}: {text}"[:600]
            break
    verdict["traced"] = torch.tpu.trace_stats(reset=True)
    return verdict


def describe(triple):
    def one(t):
        if isinstance(t, torch.Tensor):
            contiguous = "" if t.is_contiguous() else f" strides {list(t.stride())}"
            return f"{str(t.dtype).split('.')[-1]}{list(t.shape)}{contiguous}"
        return t
    value, args, kwargs = tree_map(one, triple)
    text = f"({value}, {', '.join(map(str, args))}" + "".join(f", {k}={v}" for k, v in kwargs.items()) + ")"
    return text[:240]


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    out = sys.stdout
    sys.stdout = sys.stderr
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        index, dtype, mode, spread, count = line.split()
        op, dtype = op_db[int(index)], getattr(torch, dtype)
        if mode == "edges":
            import coverage_edges
            verdict = coverage_edges.judge(op, dtype, int(count))
        else:
            verdict = judge(op, dtype, mode, spread == "1", int(count))
        print(json.dumps(verdict), file=out, flush=True)


if __name__ == "__main__":
    main()
