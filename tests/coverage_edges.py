"""One op of op_db on tpu against the CPU beyond op_db's samples: what tests/coverage_run.py --mode edges runs.

Calls are op_db's samples with one thing changed: layouts (gaps, transposed memory, expanded, channels_last),
sizes (0-d, every dimension 0 or 1), values (nan, infinities, -0.0, denormals, the dtype's extremes), the dtype of
one argument, integer and floating arguments (huge, negative, nan), out= (other shape, other dtype), and op_db's
error inputs. A finding is a value, dtype or shape that differs, another type of exception, or an exception (or
none) where the CPU has none (one). What the CPU does not implement may work here.
"""

import math
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import coverage

DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bfloat16, torch.float16,
          torch.float32, torch.float64, torch.complex64)
INTEGERS = (-1, 0, 1, -1000, 1000, 2**40, -(2**40), 2**63 - 1, -(2**63))
FLOATS = (math.nan, math.inf, -math.inf, -0.0, 1e300, -1.5)
MOST_ELEMENTS = 5000


def special_values(t):
    """Values of t's shape that go round the special ones of its dtype."""
    if t.dtype == torch.bool:
        return t
    if t.dtype.is_floating_point:
        info = torch.finfo(t.dtype)
        few = [math.nan, math.inf, -math.inf, -0.0, 0.0, info.tiny / 4, -info.tiny / 4, info.max, -info.max, 1, -1, 0.5]
        few = torch.tensor(few, dtype=torch.float64).to(t.dtype)
    elif t.dtype.is_complex:
        parts = [(a, b) for a in (math.nan, math.inf, -0.0, 1.0) for b in (math.inf, 0.0, -1.0)]
        few = torch.tensor([complex(a, b) for a, b in parts], dtype=t.dtype)
    else:
        info = torch.iinfo(t.dtype)
        few = torch.tensor([info.min, info.max, 0, 1, info.max - 1, info.min + 1, 2, 7], dtype=t.dtype)
    places = torch.arange(t.numel()).reshape(t.shape) % few.numel()
    return few[places]


def gaps(t):
    wide = torch.stack([t, t], -1) if t.dim() else torch.stack([t, t])
    return wide[..., 1]


def with_strides(t, kind):
    t = t.detach()
    if kind == "gaps":
        return gaps(t)
    if kind == "transposed":
        return t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else t
    if kind == "expanded":
        return t.narrow(0, 0, 1).expand_as(t) if t.dim() and t.shape[0] > 1 else t
    if kind == "channels_last":
        return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t
    return t


def tensors_of(triple):
    return [t for t in tree_flatten(triple)[0] if isinstance(t, torch.Tensor)]


def replaced(triple, change, which=None):
    """triple with change(t) for its tensors (number `which` alone)."""
    seen = -1

    def one(t):
        nonlocal seen
        if not isinstance(t, torch.Tensor):
            return t
        seen += 1
        return change(t) if which is None or seen == which else t
    return tree_map(one, triple)


def mutations(op, triple):
    """(what, triple) pairs, at most a few dozen."""
    tensors = tensors_of(triple)
    if any(t.numel() > MOST_ELEMENTS or t.layout != torch.strided for t in tensors):
        return
    for kind in ("gaps", "transposed", "expanded", "channels_last"):
        if kind != "channels_last" or any(t.dim() == 4 for t in tensors):
            yield kind, replaced(triple, lambda t: with_strides(t, kind))
    sizes = {n for t in tensors[:1] for n in t.shape if n > 1}
    for size in sorted(sizes)[:3]:
        for new in (0, 1):
            def cut(t):
                for d in range(t.dim()):
                    if t.shape[d] == size:
                        t = t.narrow(d, 0, new)
                return t
            yield f"size {size} to {new}", replaced(triple, cut)
    if tensors and tensors[0].dim():
        for d in range(min(tensors[0].dim(), 3)):
            yield f"first[{d}] empty", replaced(triple, lambda t: t.narrow(d, 0, 0), 0)
    for which in range(min(len(tensors), 3)):
        if tensors[which].numel():
            yield f"0-d {which}", replaced(triple, lambda t: t.reshape(-1)[0].clone(), which)
        for dtype in DTYPES:
            if dtype != tensors[which].dtype:
                yield f"{which} {str(dtype).split('.')[-1]}", replaced(triple, lambda t: t.detach().to(dtype), which)
        yield f"special {which}", replaced(triple, special_values, which)
    if len(tensors) > 1:
        yield "special", replaced(triple, special_values)
    flat, spec = tree_flatten(triple)
    numbers = [i for i, v in enumerate(flat) if isinstance(v, (int, float)) and not isinstance(v, bool)]
    for i in numbers[:6]:
        for value in INTEGERS if isinstance(flat[i], int) else FLOATS:
            yield f"argument {i} = {value}", tree_unflatten(flat[:i] + [value] + flat[i + 1:], spec)


def outs_of(op, triple, expected):
    """(what, function device -> out) pairs."""
    if not op.supports_out or not isinstance(expected, torch.Tensor):
        return
    shape, dtype = list(expected.shape), expected.dtype
    yield "out empty", lambda device: torch.empty(0, dtype=dtype, device=device)
    yield "out larger", lambda device: torch.zeros([2, *shape], dtype=dtype, device=device)
    for other in (torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64):
        if other != dtype:
            name = str(other).split(".")[-1]
            yield f"out {name}", lambda device, other=other: torch.zeros(shape, dtype=other, device=device)


def outcome(run):
    """("value", result, warnings) or ("raised", exception, warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run()
            torch.tpu.synchronize()
            return "value", result, caught
        except Exception as error:
            return "raised", error, caught


def alike(text):
    return " ".join(str(text).split())[:160]


def differs(op, dtype, triple, cpu, tpu, referee=True):
    """None, or (kind, text)."""
    if cpu[0] == "raised" and isinstance(cpu[1], NotImplementedError):
        return None   # more may work here
    if cpu[0] == "raised" and tpu[0] == "raised":
        if not isinstance(tpu[1], type(cpu[1])):
            texts = [f"{type(e).__name__}: {alike(e)}" for e in (tpu[1], cpu[1])]
            return "exception", " | CPU ".join(texts)
        return None
    if cpu[0] == "raised":
        return "accepted", f"CPU {type(cpu[1]).__name__}: {alike(cpu[1])}"
    if tpu[0] == "raised":
        kind = "missing" if isinstance(tpu[1], NotImplementedError) else "refused"
        return kind, f"{type(tpu[1]).__name__}: {alike(tpu[1])}"
    process = coverage.PROCESS.get(op.name, lambda r: r)
    dtypes = {t.dtype for t in tensors_of(triple)} | {t.dtype for t in tensors_of(cpu[1])}
    rtol, atol = coverage.tolerance(op, dtype, coverage.FORWARD)
    for d in dtypes:
        other = coverage.FORWARD.get(d, (0, 0))
        rtol, atol = max(rtol, other[0]), max(atol, other[1])
    try:
        ours, theirs = process(tpu[1]), process(cpu[1])
        coverage.compare(ours, theirs, rtol, atol, what="statistics" if op.name in coverage.STATISTICS else "result")
    except coverage.Wrong as error:
        if error.values and referee:
            try:
                exact = process(coverage.call(op, coverage.widened(triple)))
                if coverage.as_near(ours, theirs, exact, rtol, atol):
                    return None
            except Exception:
                pass
        return ("values" if error.values else "shape"), alike(error)
    except RuntimeError as error:   # too large to compare, or a dtype that the device has not
        return "result", alike(error)
    if len([w for w in cpu[2] if issubclass(w.category, UserWarning)]) and not tpu[2]:
        return "warning", f"CPU warns: {alike(cpu[2][0].message)}"
    return None


def judge(op, dtype, count):
    verdict = {"op": coverage.name_of(op), "dtype": str(dtype).split(".")[-1], "mode": "edges", "status": "skip",
               "samples": 0, "traced": {}, "reason": "", "findings": []}
    if op.name in coverage.UNINITIALISED or "random" in op.name:
        return verdict

    def found(what, triple, difference):
        verdict["findings"].append([difference[0], f"{what} {coverage.describe(triple)}", difference[1]])

    def both(what, triple, run_cpu, run_tpu):
        print(coverage.name_of(op), what, coverage.describe(triple), flush=True)   # to stderr: what a crash was at
        cpu = outcome(run_cpu)
        tpu = outcome(run_tpu)
        difference = differs(op, dtype, triple, cpu, tpu, referee=not what.startswith("out "))
        verdict["samples"] += 1
        if difference:
            found(what, triple, difference)
        return cpu

    try:
        chosen = list(coverage.samples(op, dtype, False, count, True))
    except Exception:
        return verdict
    for sample in chosen:
        triple = (sample.input, sample.args, sample.kwargs)
        try:
            expected = coverage.call(op, coverage.on_cpu(triple, False))
            if coverage.is_random(op, triple, expected):
                continue
        except Exception:
            continue
        for what, changed in mutations(op, triple):
            both(what, changed, lambda: coverage.call(op, coverage.on_cpu(changed, False)),
                 lambda: coverage.call(op, coverage.to_tpu(changed, False)))
        for what, make in outs_of(op, triple, expected):
            def call_out(triple, device):
                value, args, kwargs = triple
                out = make(device)
                op.op(value, *args, **kwargs, out=out)
                return out
            both(what, triple, lambda: call_out(coverage.on_cpu(triple, False), "cpu"),
                 lambda: call_out(coverage.to_tpu(triple, False), "tpu"))
    if op.error_inputs_func is not None and dtype == torch.float32:
        try:
            errors = list(op.error_inputs("cpu"))
        except Exception:
            errors = []
        for error in errors:
            sample = error.sample_input
            triple = (sample.input, sample.args, sample.kwargs)
            if any(t.layout != torch.strided or t.device.type != "cpu" for t in tensors_of(triple)):
                continue
            both("error input", triple, lambda: coverage.call(op, coverage.on_cpu(triple, False)),
                 lambda: coverage.call(op, coverage.to_tpu(triple, False)))
    verdict["status"] = "wrong" if verdict["findings"] else "pass"
    verdict["reason"] = " ;; ".join(f"[{k}] {w}: {t}" for k, w, t in verdict["findings"][:3])[:900]
    return verdict
