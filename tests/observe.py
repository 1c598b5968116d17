"""Watching a block of code from outside: no fallback, no traced op, no aten CPU kernel on real tensors."""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def _is_big_cpu(x):
    return isinstance(x, torch.Tensor) and x.device.type == "cpu" and x.dim() > 0


# What the program itself does with CPU tensors: making inputs, reading results.
TRANSFERS = {"aten._to_copy", "aten.copy_", "aten._copy_from", "aten.to", "aten.detach", "aten.alias", "aten.view", "aten.clone", "aten.lift_fresh"}


class CpuLog(TorchDispatchMode):
    """Names of aten ops that ran with CPU tensors of more than 0 dimensions and no tpu tensor."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = str(func._schema.name).replace("::", ".")
        leaves = torch.utils._pytree.tree_leaves((args, kwargs, out))
        if any(_is_big_cpu(x) for x in leaves) and name not in TRANSFERS:
            self.seen[name] = self.seen.get(name, 0) + 1
        return out


def _difference(before, after):
    return {k: after[k] - before.get(k, 0) for k in after if after[k] != before.get(k, 0)}


@contextlib.contextmanager
def native_only(log_ops=True):
    """Fails if anything in the block fell back to the CPU or was traced through Python.

    Dynamo does not compile under a dispatch mode: blocks that call compiled functions pass log_ops=False.
    """
    fallback, traced = dict(torch.tpu.fallback_stats()), dict(torch.tpu.trace_stats())
    log = CpuLog()
    with log if log_ops else contextlib.nullcontext():
        yield log
    assert not _difference(fallback, torch.tpu.fallback_stats()), f"fell back: {_difference(fallback, torch.tpu.fallback_stats())}"
    assert not _difference(traced, torch.tpu.trace_stats()), f"traced: {_difference(traced, torch.tpu.trace_stats())}"
    assert not log.seen, f"aten ops on CPU tensors: {log.seen}"


@contextlib.contextmanager
def transfers():
    """Yields a dict that holds the block's bytes_to_device and bytes_to_host afterwards."""
    before = dict(torch.tpu.transfer_stats())
    out = {}
    yield out
    after = torch.tpu.transfer_stats()
    out.update({k: after[k] - before[k] for k in after})
