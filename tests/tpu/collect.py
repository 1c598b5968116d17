"""Collects the programs that the stack makes for a TPU, by running it behind tests/tpu/recorder.c.

    python tests/tpu/collect.py OUT.json --kind "TPU v5 lite" --programs DIR --recorder recorder.so
    options: --dtypes float32,... --samples N --part 0/2 --ops NAME,NAME --key KEY
             --what ops,own,models,training,growing

Each op of op_db runs on the tpu device, forward and backward; every ATen call that reaches the backend is a
record: the table's entry, dtype, variant, the programs compiled for it (DIR/<hash>.mlir), or our refusal.
Entries that only whole graphs use become graphs of one call. Then samples.py for what op_db does not reach,
the models, and the cases of tests/growing.py at a length whose programs are rounded up.

The work is a list of units. What the first of them left stands in OUT.begun every SAVED seconds; a process that
gets the same key goes on from there.
"""

import argparse
import collections
import contextlib
import ctypes
import hashlib
import json
import operator
import os
import pathlib
import shutil
import sys
import tempfile
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
# Samples of an op that are tried until its entries have their programs: the first are often empty tensors.
TRIES = 12
SAVED = 20
GRAPH_ONLY = 4  # TT_ATEN_GRAPH_ONLY
GRADIENTS = ("float32", "bfloat16", "complex64")


class EntryInfo(ctypes.Structure):
    _fields_ = [
        ("functional", ctypes.c_char_p),
        ("out", ctypes.c_char_p),
        ("inplace", ctypes.c_char_p),
        ("flags", ctypes.c_uint32),
    ]


def entry_names(core):
    core.tt_aten_count.restype = ctypes.c_size_t
    core.tt_aten_info.restype = ctypes.POINTER(EntryInfo)
    core.tt_aten_info.argtypes = [ctypes.c_size_t]
    result = []
    for i in range(core.tt_aten_count()):
        info = core.tt_aten_info(i).contents
        names = [t.decode() for t in (info.functional, info.out, info.inplace)]
        result.append(
            {
                "name": next(n for n in names if n),
                "functional": names[0],
                "out": names[1],
                "inplace": names[2],
                "flags": info.flags,
            }
        )
    return result


class Collector:
    def __init__(self, options):
        self.options = options
        self.scratch = tempfile.mkdtemp()
        os.environ.update(
            TORCH_TPU_PLUGIN=options.recorder, TT_RECORDER_KIND=options.kind, TT_RECORDER_DIR=self.scratch
        )
        import torch
        import torch_tpu  # noqa: F401 (registers the device)
        from torch_tpu_c import _core

        self.torch = torch
        os.environ.setdefault("TT_RECORDER_BASE", _core.path("libvtpu.so"))
        self.core = ctypes.CDLL(_core.path("libtorch_tpu_core.so"))
        self.take_text = _core.take_text
        self.core.tt_compile_reasons.restype = ctypes.c_void_p
        self.core.tt_compile_reasons.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self.core.tt_aten_find.restype = ctypes.c_size_t
        self.core.tt_aten_find.argtypes = [ctypes.c_char_p]
        self.names = entry_names(self.core)
        torch.zeros(1, device="tpu")
        self.recorder = ctypes.CDLL(options.recorder)
        self.stats = torch.tpu.compile_stats
        self.records, self.notes = [], collections.Counter()
        # Records with programs by entry, dtype and variant, and those that a run of one sample has of them.
        self.counts, self.firsts = collections.Counter(), collections.Counter()
        self.dtype, self.where = "", ""

    def wants(self, entry, variant):
        return self.counts[entry, self.dtype, variant] < self.options.samples

    def note(self, error):
        self.notes[
            f"{self.where} {self.dtype}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        ] += 1

    def find(self, name):
        number = self.core.tt_aten_find(name.removeprefix("aten::").encode())
        return None if number >= len(self.names) else number

    def take(self, begin):
        """Hashes of the programs recorded since `begin`; the text moves to the folder of programs."""
        result = []
        for number in range(begin, self.recorder.tt_recorder_count()):
            path = pathlib.Path(self.scratch) / f"{number}.mlir"
            text = path.read_bytes()
            path.unlink()
            name = hashlib.sha256(text).hexdigest()[:16]
            target = pathlib.Path(self.options.programs) / f"{name}.mlir"
            if not target.exists():
                part = target.with_suffix(f".{os.getpid()}")
                part.write_bytes(text)
                part.rename(target)
            result.append(name)
        return result

    def compiled_ops(self):
        """Entries that the engine built programs for since the caches were cleared."""
        text = self.take_text(lambda out: self.core.tt_compile_reasons(64, out))
        found = (self.find(line.split(": ")[0]) for line in text.splitlines())
        return {entry for entry in found if entry is not None}

    def record(self, entry, variant, call, reads_base=None, written_bytes=0, first=None):
        """Runs call(); one record of what was compiled for it or why we refuse it. Raises what call raised.

        `reads_base` (in-place calls): asks whether the result depends on what the target held before; only
        then must its parameter be donated. `written_bytes` (steps): of the tensors that the call updates.
        `first`: whether a run of one sample records the call too; by default, as its counts of the entry say.

        Kernels of ours that torch's own op calls get a record each; `entry` is None for such an op."""
        if first is None:
            first = not self.firsts[entry, self.dtype, variant]
        self.core.tt_compile_cache_clear()
        begin = self.recorder.tt_recorder_count()
        refused, done = None, False
        try:
            result = call()
            done = True
            return result
        except NotImplementedError as error:
            refused = reason_of(error)
            raise
        finally:
            self.torch.tpu.synchronize()
            programs = self.take(begin)
            others = (
                {e for e in self.compiled_ops() if e != entry and self.wants(e, "functional")}
                if programs
                else set()
            )
            reads = reads_base() if done and programs and reads_base else None
            for each in ({entry} - {None} if programs or refused else set()) | others:
                is_first = first and (each == entry or not self.firsts[each, self.dtype, "functional"])
                self.counts[each, self.dtype, variant] += bool(programs)
                self.firsts[each, self.dtype, variant] += is_first and bool(programs)
                self.records.append(
                    {
                        "entry": each if isinstance(each, str) else self.names[each]["name"],
                        "dtype": self.dtype,
                        "variant": variant,
                        "where": self.where,
                        "first": is_first,
                        "programs": programs,
                        "refused": refused if each == entry else None,
                        "reads_base": reads if each == entry else None,
                        "written_bytes": written_bytes if each == entry else 0,
                    }
                )

    def record_growing(self, name, variant, call):
        """Runs call() with the compiled programs and what is known to grow; one record, with the programs that
        were rounded up."""
        begin, rounded = self.recorder.tt_recorder_count(), self.stats()["rounded"]
        refused = None
        try:
            call()
        except NotImplementedError as error:
            refused = reason_of(error)
        self.torch.tpu.synchronize()
        programs, rounded = self.take(begin), self.stats()["rounded"] - rounded
        if not programs and not refused:
            return
        record = {"entry": f"growing {name}", "dtype": self.dtype, "variant": variant, "where": self.where}
        record |= {"programs": programs, "refused": refused, "rounded": rounded, "reads_base": None}
        self.records.append(record | {"written_bytes": 0, "first": True})

    # ---- what was done, for a process that goes on ----
    def save(self, path, done):
        state = {"key": self.options.key, "done": done, "entries": self.names, "records": self.records}
        state |= {"notes": self.notes, "counts": [[*name, n] for name, n in self.counts.items()]}
        state |= {"firsts": [[*name, n] for name, n in self.firsts.items()]}
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(state))
        part.rename(path)

    def load(self, path):
        """The number of units that are done: those of a file with the same key, else 0."""
        try:
            state = json.loads(path.read_text())
        except (OSError, ValueError):
            return 0
        if state["key"] != self.options.key or not self.options.key:
            return 0
        self.records, self.notes = state["records"], collections.Counter(state["notes"])
        self.counts.update({tuple(name): n for *name, n in state["counts"]})
        self.firsts.update({tuple(name): n for *name, n in state["firsts"]})
        return state["done"]


def another_content(torch, tensor):
    """A tensor like this one with other elements, in the same storage layout."""
    if tensor.dtype == torch.bool:
        return ~tensor
    return tensor * 0.5 + 1 if tensor.is_floating_point() or tensor.is_complex() else tensor + 1


def base_is_read(collector, form, args, kwargs):
    """Whether an in-place call's results depend on what its target held: two calls, other contents."""
    import torch
    from torch.utils._pytree import tree_flatten

    found, many = [], isinstance(args[0], (list, tuple))
    state = torch.tpu.get_rng_state()
    for change in (False, True):
        first = list(args[0]) if many else [args[0]]
        first = [another_content(torch, t.detach()) if change else t.detach().clone() for t in first]
        torch.tpu.set_rng_state(state)
        try:
            form(first if many else first[0], *args[1:], **kwargs)
        except Exception as error:  # a content that the op refuses: then it reads it
            collector.note(error)
            return True
        found.append([t.cpu() for t in tree_flatten(first)[0]])
    return not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(*found))


def reason_of(error):
    """Our error without the op's description and the advice."""
    text = " ".join(str(error).split()).split(". TORCH_TPU_FALLBACK")[0]
    head, _, tail = text.rpartition("): ")
    return (tail or text)[:200]


def one_call_graph(collector, entry, func, args, kwargs):
    """A graph of one call, as torch.compile builds it: for entries that eager never uses."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._pytree import tree_flatten, tree_unflatten
    from torch_tpu_c import compile as backend

    leaves, spec = tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[i].detach() for i in places]

    def call(*inputs):
        filled = list(leaves)
        for place, value in zip(places, inputs):
            filled[place] = value
        a, k = tree_unflatten(filled, spec)
        return func(*a, **k)

    module = make_fx(call, tracing_mode="fake")(*tensors)
    with torch.no_grad():
        compiled = backend.compile_graph(module, tensors, options={})
        collector.record(
            entry,
            "graph",
            lambda: (
                compiled(list(tensors)) if getattr(compiled, "_boxed_call", False) else compiled(*tensors)
            ),
        )


def single_node_graph(collector, entry, func, args, kwargs):
    """A graph of one node: for entries that tracing takes apart, and that a caller's own graph may hold."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._pytree import tree_map
    from torch_tpu_c import compile as backend

    graph, tensors, fake = torch.fx.Graph(), [], FakeTensorMode(allow_non_fake_inputs=True)

    def placed(value):
        if not isinstance(value, torch.Tensor):
            return value
        node = graph.placeholder(f"x{len(tensors)}")
        node.meta["val"] = fake.from_tensor(value)
        tensors.append(value)
        return node

    inputs = tree_map(placed, (args, kwargs))
    node = graph.call_function(func, *inputs)
    fakes = tree_map(lambda n: n.meta["val"] if isinstance(n, torch.fx.Node) else n, inputs)
    with fake:
        node.meta["val"] = func(*fakes[0], **fakes[1])
    value, results = node.meta["val"], [node]
    if isinstance(value, (list, tuple)):
        results = []
        for i, part in enumerate(value):
            item = graph.call_function(operator.getitem, (node, i))
            item.meta["val"] = part
            results.append(item)
    graph.output(tuple(results))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    with torch.no_grad():
        compiled = backend.compile_graph(module, tensors, options={})
        collector.record(entry, "graph", lambda: compiled(list(tensors)))


def make_mode(collector):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Mode(TorchDispatchMode):
        busy = False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = func.name().removeprefix("aten::")
            entry = collector.find(name)
            tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
            on_tpu = (
                any(t.device.type == "tpu" for t in tensors)
                if tensors
                else str(kwargs.get("device", "cpu")).startswith("tpu")
            )
            if self.busy or not on_tpu:
                return func(*args, **kwargs)
            self.busy = True
            try:
                return self.visit(entry, name, func, args, kwargs)
            finally:
                self.busy = False

        def visit(self, entry, name, func, args, kwargs):
            if entry is None:  # torch's own, above kernels of ours
                before = collector.counts[name, collector.dtype]
                if before >= collector.options.samples:
                    return func(*args, **kwargs)
                collector.counts[name, collector.dtype] += 1
                return collector.record(
                    None, "functional", lambda: func(*args, **kwargs), first=before == 0
                )
            row = collector.names[entry]
            if row["flags"] & GRAPH_ONLY:
                if collector.wants(entry, "graph"):
                    self.attempt(lambda: one_call_graph(collector, entry, func, args, kwargs))
                return func(*args, **kwargs)
            variant = "inplace" if name == row["inplace"] else "functional"
            if variant == "functional" and row["inplace"] and collector.wants(entry, "inplace"):
                self.attempt(lambda: self.in_place(entry, row["inplace"], args, kwargs))
            if not collector.wants(entry, variant):
                return func(*args, **kwargs)
            reads = None
            if variant == "inplace" and args and isinstance(args[0], (torch.Tensor, list, tuple)):
                many = isinstance(args[0], (list, tuple))
                before = [t.detach().clone() for t in args[0]] if many else args[0].detach().clone()

                def reads():
                    return base_is_read(collector, func, (before, *args[1:]), kwargs)

            return collector.record(entry, variant, lambda: func(*args, **kwargs), reads)

        def attempt(self, call):
            try:
                call()
            except (
                Exception
            ) as error:  # dtypes or sizes that the form does not take; refusals are in the record
                collector.note(error)

        def in_place(self, entry, name, args, kwargs):
            packet, _, overload = name.partition(".")
            form = getattr(getattr(torch.ops.aten, packet), overload or "default")
            first = [t.clone() for t in args[0]] if isinstance(args[0], (list, tuple)) else args[0].clone()
            again = [t.clone() for t in first] if isinstance(first, list) else first.clone()
            collector.record(
                entry,
                "inplace",
                lambda: form(first, *args[1:], **kwargs),
                lambda: base_is_read(collector, form, (again, *args[1:]), kwargs),
            )

    return Mode()


def run_sample(collector, mode, call, inputs, gradient):
    """call() under the mode, and its gradient by `inputs`."""
    import torch
    from torch.utils._pytree import tree_flatten

    try:
        with mode:
            out = call()
            if gradient:
                outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
                leaves = [
                    t
                    for t in tree_flatten(inputs)[0]
                    if isinstance(t, torch.Tensor) and t.requires_grad and t.is_leaf
                ]
                if outs and leaves:
                    torch.autograd.grad(outs, leaves, [torch.ones_like(o) for o in outs], allow_unused=True)
    except Exception as error:
        collector.note(error)


def run_op(collector, mode, info, dtypes):
    import itertools

    import torch

    import coverage

    for dtype_name in dtypes:
        dtype = getattr(torch, dtype_name)
        if dtype not in info.supported_dtypes("cpu"):
            continue
        collector.dtype, collector.where = dtype_name, coverage.name_of(info)
        gradient = (
            dtype_name in GRADIENTS
            and info.supports_autograd
            and dtype in info.supported_backward_dtypes("cpu")
        )
        torch.manual_seed(0)
        try:
            samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=gradient), TRIES))
        except Exception:
            continue  # no sample of that dtype on the CPU
        for sample in samples:
            try:
                triple = coverage.to_tpu((sample.input, sample.args, sample.kwargs), gradient)
            except Exception as error:
                collector.note(error)
                continue
            run_sample(collector, mode, lambda: info(triple[0], *triple[1], **triple[2]), triple, gradient)


def op_units(collector, dtypes, part, parts, names):
    from torch.testing._internal.common_methods_invocations import op_db

    mode = make_mode(collector)
    for index, info in enumerate(op_db):
        if index % parts == part and (not names or info.name in names):
            yield lambda info=info: run_op(collector, mode, info, dtypes)


def run_own(collector, dtype_name):
    import torch

    import samples

    mode = make_mode(collector)
    for name, make in samples.cases(torch, getattr(torch, dtype_name)).items():
        collector.dtype, collector.where = dtype_name, name
        try:
            call, inputs = make()
        except Exception as error:
            collector.note(error)
            continue
        run_sample(collector, mode, call, inputs, any(getattr(t, "requires_grad", False) for t in inputs))


def overload(torch, name):
    import torch._inductor.inductor_prims  # noqa: F401 (defines one of them)

    space, _, rest = name.rpartition("::")
    packet, _, form = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space or "aten"), packet), form or "default")


def run_direct(collector, dtype_name):
    """The entries that other calls do not reach: called as they are, or as a graph of one node."""
    import torch

    import samples

    mode = make_mode(collector)
    collector.dtype = dtype_name
    for name, (args, kwargs) in samples.direct(torch, getattr(torch, dtype_name)).items():
        entry, collector.where = collector.find(name), name
        func = overload(torch, name)
        try:
            with torch.no_grad():
                if collector.names[entry]["flags"] & GRAPH_ONLY:
                    single_node_graph(collector, entry, func, args, kwargs)
                else:
                    with mode:
                        func(*args, **kwargs)
        except Exception as error:
            collector.note(error)


def run_model(collector, name, build, make_input, training):
    """The whole graphs of torch.compile for one of tests/models.py."""
    import torch

    collector.dtype, collector.where = "float32", name
    torch._dynamo.reset()
    model = build().to("tpu")
    data = make_input(torch.Generator().manual_seed(0)).to("tpu")
    try:
        compiled = torch.compile(model.train() if training else model.eval(), backend="tpu")
        if training:
            collector.record(
                f"model {name}, training", "graph", lambda: compiled(data).float().square().mean().backward()
            )
        else:
            with torch.no_grad():
                collector.record(f"model {name}", "graph", lambda: compiled(data))
    except Exception as error:
        collector.note(error)


def run_step(collector, name, make):
    collector.dtype, collector.where = "float32", name
    step, written = make()
    collector.record(f"optimizer {name}", "step", step, written_bytes=written)


def model_units(collector, training):
    import torch

    import models
    import samples

    for name, (build, make_input) in models.catalogue().items():
        yield lambda a=(name, build, make_input): run_model(collector, *a, training)
    for name, make in samples.optimizers(torch).items() if not training else ():
        yield lambda a=(name, make): run_step(collector, *a)


def run_growing(collector, name, dtype_name):
    """A case at lengths that make known what grows, then at one behind the next power of two."""
    import torch

    import growing
    import samples

    shape, kind, function = growing.RULES[name]
    collector.dtype = dtype_name
    for dim in [d for d, size in enumerate(shape) if size == growing.N]:
        collector.where = f"dimension {dim}"
        collector.core.tt_compile_cache_clear()
        for n in (*samples.GROWING_LENGTHS, samples.GROWN):
            sizes = [4 if size == growing.N else size for size in shape]
            x = growing.grown(sizes, dim, n, kind).to(getattr(torch, dtype_name))
            try:
                x = growing.on_device(x, dim)
                run = lambda: growing.call(function, x, n)  # noqa: E731
                if n == samples.GROWN:
                    collector.record_growing(name, "functional", run)
                else:
                    run()
            except Exception as error:
                collector.note(error)


def run_decode(collector, kind):
    """Steps of a small language model whose caches grow, from the first token on."""
    import torch

    import growing

    collector.dtype, collector.where = "float32", kind
    ids = torch.randint(0, growing.WORDS, (1, 10), generator=torch.Generator().manual_seed(1))
    collector.core.tt_compile_cache_clear()
    with contextlib.suppress(Exception):
        collector.record_growing(f"decode, {kind}", "step", lambda: growing.steps("tpu", ids, kind))


def growing_units(collector, dtypes, many):
    import growing
    import samples

    for kind in growing.DECODES if many else samples.GROWING_DECODES:
        yield lambda kind=kind: run_decode(collector, kind)
    for name, (_, kind, _) in growing.RULES.items():
        if not many and name not in samples.GROWING_SHORT:
            continue
        own = {"int": ["int64"], "index": ["int64"], "bool": ["bool"]}.get(kind, ["float32", "bfloat16"])
        for dtype in own:
            if dtype in dtypes or dtype == "bool":
                yield lambda a=(name, dtype): run_growing(collector, *a)


def exact(collector, unit):
    """Without rounding: samples that happen to grow would give other programs than the same calls alone."""

    def run():
        with collector.torch.tpu.rounding(False):
            unit()

    return run


def units(collector, options):
    import samples

    part, parts = map(int, options.part.split("/"))
    what, dtypes = options.what.split(","), options.dtypes.split(",")
    if "ops" in what:
        names = [n for n in options.ops.split(",") if n]
        yield from (exact(collector, unit) for unit in op_units(collector, dtypes, part, parts, names))
    for dtype in [d for d in dtypes if d in samples.DTYPES and "own" in what and part == 0]:
        yield exact(collector, lambda dtype=dtype: run_own(collector, dtype))
        yield exact(collector, lambda dtype=dtype: run_direct(collector, dtype))
    if part == parts - 1:
        if "models" in what:
            yield from model_units(collector, False)
        if "training" in what:
            yield from model_units(collector, True)
    if "growing" in what and part == 0:
        yield from growing_units(collector, dtypes, "training" in what)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--kind", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--recorder", required=True)
    parser.add_argument(
        "--dtypes", default="float32,bfloat16,int32,int64,float16,complex64,float64,complex128"
    )
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--ops", default="")
    parser.add_argument("--what", default="ops,own,models")
    parser.add_argument("--key", default="", help="of what the programs depend on; none: begins anew")
    options = parser.parse_args()
    options.recorder = str(pathlib.Path(options.recorder).resolve())
    pathlib.Path(options.programs).mkdir(parents=True, exist_ok=True)
    out = pathlib.Path(options.out)
    begun = out.with_suffix(".begun")
    with contextlib.suppress(OSError, ValueError):
        if options.key and json.loads(out.read_text())["key"] == options.key:
            return
    warnings.simplefilter("ignore")
    collector = Collector(options)
    done, saved, count = collector.load(begun), time.monotonic(), 0
    for count, unit in enumerate(units(collector, options), 1):
        if count <= done:
            continue
        collector.torch.manual_seed(0)
        unit()
        if time.monotonic() - saved > SAVED:
            collector.save(begun, count)
            saved = time.monotonic()
    collector.save(out, count)
    begun.unlink(missing_ok=True)
    shutil.rmtree(collector.scratch)  # programs of copies between calls


if __name__ == "__main__":
    main()
