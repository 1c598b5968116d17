"""Sweeps op_db: every ATen call that its samples make on the CPU is lowered, run through XLA and compared.

    TT_LOWER_DRIVER=.../driver.so python tests/lower/sweep.py [--dtype float32] [--samples 3] [--only NAME,NAME] [--backward]

Prints one line a failing overload, and the overloads that the table does not hold.
"""

import argparse
import collections
import os
import sys
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

sys.path.insert(0, os.path.dirname(__file__))
import lowering  # noqa: E402

TOLERANCE = {
    torch.float32: (2e-5, 2e-5), torch.float64: (1e-7, 1e-7), torch.float16: (2e-3, 2e-3), torch.bfloat16: (1.6e-2, 1e-2),
    torch.complex64: (3e-5, 3e-5), torch.complex128: (1e-7, 1e-7),
}
RANDOM = ("uniform", "normal", "bernoulli", "dropout", "random", "exponential", "geometric", "cauchy", "log_normal", "randperm",
          "multinomial", "poisson", "binomial", "standard_gamma", "rand", "empty", "dirichlet", "new_empty", "rrelu", "fractional")
# Calls that only allocate, view or read back: not lowered by themselves.
IGNORED = ("_local_scalar_dense", "detach", "lift_fresh", "set_", "resize_", "is_same_size", "is_pinned", "_nested", "sparse",
           "quantize", "histogramdd", "_assert_async", "equal", "_has_")


class Recorder(TorchDispatchMode):
    def __init__(self, sweep):
        super().__init__()
        self.sweep = sweep

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.name().removeprefix("aten::")
        if any(name.startswith(p) or p in name for p in RANDOM + IGNORED):
            return func(*args, **kwargs)
        before = tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) and t.layout == torch.strided else t, (args, kwargs))
        result = func(*args, **kwargs)
        if all(t.layout == torch.strided for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)):
            self.sweep.check(func, name, before, args, result)
        return result


class Sweep:
    def __init__(self, options):
        self.options = options
        self.lowering = lowering.Lowering(lowering.load_driver())
        self.unknown = collections.Counter()
        self.failed = collections.defaultdict(list)
        self.passed = collections.Counter()
        self.seen = set()
        self.where = ""

    def check(self, func, name, before, args, result):
        if self.options.only and not any(o == name or o == name.split(".")[0] for o in self.options.only):
            return
        if any(isinstance(t, torch.Tensor) and t.numel() > 20000 for t in tree_flatten(before)[0]):
            return
        try:
            words, tensors, _ = self.lowering.words(func, *before, variant=2 if func._schema.name.endswith("_") else 0)
        except (TypeError, KeyError) as e:
            self.failed[name].append(f"{self.where}: cannot describe: {e}")
            return
        if words in self.seen or self.passed[name] >= self.options.limit or len(self.failed[name]) >= 4:
            return
        self.seen.add(words)
        try:
            if self.options.verify:
                self.lowering.text(words, expand=False, checks=True)
                self.passed[name] += 1
                return
            got, kinds = self.lowering.run(func, *before)
        except lowering.Unknown:
            self.unknown[name] += 1
            return
        except lowering.LoweringError as e:
            self.failed[name].append(f"{self.where}: {words}: {e}")
            return
        except Exception as e:  # XLA's refusal
            self.failed[name].append(f"{self.where}: {words}: {type(e).__name__} {str(e)[:400]}")
            return
        wanted = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
        problem = None
        for i, kind in enumerate(kinds):
            if kind == "n" or kind == "i":
                continue
            want = wanted[i] if kind == "r" and i < len(wanted) else None
            if kind.startswith("w"):
                arg, element = map(int, kind[1:].split("."))
                want = args[arg] if isinstance(args[arg], torch.Tensor) else args[arg][element]
            index = len([k for k in kinds[:i] if k not in "ni"])
            problem = problem or self.compare(got[index], want)
        if problem:
            self.failed[name].append(f"{self.where}: {words}: {problem}")
        else:
            self.passed[name] += 1

    def compare(self, got, want):
        if want is None:
            return "a result too many"
        if got.dtype != want.dtype and not getattr(self, "loose", False):
            return f"dtype {got.dtype}, expected {want.dtype}"
        if got.shape != want.shape:
            return f"shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        want = want.detach().resolve_conj().resolve_neg()
        rtol, atol = TOLERANCE.get(want.dtype, (0, 0))
        try:
            torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as e:
            return " ".join(str(e).split())[:220] + f" got {got.flatten()[:6].tolist()} want {want.flatten()[:6].tolist()}"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--limit", type=int, default=12, help="compared calls an overload")
    parser.add_argument("--only", default="")
    parser.add_argument("--ops", default="", help="OpInfo names")
    parser.add_argument("--verify", action="store_true", help="build and verify with checks only, run nothing")
    parser.add_argument("--backward", action="store_true")
    options = parser.parse_args()
    options.only = [o for o in options.only.split(",") if o]
    names = [o for o in options.ops.split(",") if o]
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    dtype = getattr(torch, options.dtype)
    sweep = Sweep(options)
    torch.manual_seed(0)
    for info in op_db:
        if names and info.name not in names:
            continue
        if dtype not in info.supported_dtypes("cpu"):
            continue
        sweep.where = info.full_name
        try:
            backward = options.backward and info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
            for i, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=backward)):
                if i >= options.samples:
                    break
                try:
                    with Recorder(sweep):
                        out = info(sample.input, *sample.args, **sample.kwargs)
                        if backward:
                            outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
                            if outs:
                                torch.autograd.grad(outs, [t for t in tree_flatten((sample.input, sample.args))[0] if isinstance(t, torch.Tensor) and t.requires_grad], [torch.ones_like(o) for o in outs], allow_unused=True)
                except Exception as e:
                    if "dispatch" in str(e):
                        print("sample", info.full_name, str(e)[:200])
        except Exception as e:
            print("samples", info.full_name, type(e).__name__, str(e)[:100])
    for name in sorted(sweep.failed):
        for line in sweep.failed[name][:2]:
            print(f"FAIL {name}: {line[:700]}")
    print(f"{sum(sweep.passed.values())} calls of {sum(1 for n in sweep.passed.values() if n)} overloads agree, "
          f"{sum(1 for v in sweep.failed.values() if v)} overloads fail")
    print("not in the table:", ", ".join(sorted(sweep.unknown)))


if __name__ == "__main__":
    main()
