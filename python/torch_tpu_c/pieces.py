"""Graphs with nodes that no program can hold: cut there.

    piece (one program a binding) ─ eager node ─ piece ─ eager node ─ ...

Eager nodes are ops whose result sizes or numbers depend on data (nonzero, item), other libraries' ops and higher-order
ops; they run as they would without a compiler, and the next piece is compiled for the sizes that came out. Numbers are
computed on the host between the pieces. Random ops keep their order, so that seeds give eager's words.
"""

from __future__ import annotations

import operator

import torch

from . import graph as core_graph
from . import numbers

# Higher-order ops that only call their graphs: these are compiled.
_CALLERS = ("cond", "while_loop", "invoke_subgraph", "map_impl", "scan")


def attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _indices(node) -> list:
    return [item for item in node.args[1] if isinstance(item, torch.fx.Node)] if len(node.args) > 1 else []


def mask_and_value(node):
    """(mask, value) of `x[mask] = value` with one value: a selection, which a program can hold; else None."""
    indices = _indices(node)
    accumulate = len(node.args) > 3 and node.args[3]
    if len(node.args) < 3 or accumulate or len(indices) != 1 or node.args[1][0] is not indices[0]:
        return None
    mask, value = indices[0].meta.get("val"), node.args[2].meta.get("val")
    one = isinstance(value, torch.Tensor) and not numbers.free_symbols(value) and value.numel() == 1
    return (indices[0], node.args[2]) if one and mask.dtype in (torch.bool, torch.uint8) else None


_INDEXED = frozenset(
    getattr(torch.ops.aten, name) for name in ("index", "_unsafe_index", "index_put", "_unsafe_index_put")
)


def _has_positions_in_masks(node) -> bool:
    """An index by masks: how many positions they name depends on data."""
    if node.target.overloadpacket not in _INDEXED:
        return False
    masks = [item for item in _indices(node) if item.meta["val"].dtype in (torch.bool, torch.uint8)]
    return bool(masks) and mask_and_value(node) is None


def device_of(node):
    """Device of a node's tensor; None without one, and for a 0-dimensional one on the CPU, which any program takes."""
    for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
        if isinstance(value, torch.Tensor):
            return None if value.device.type == "cpu" and value.dim() == 0 else value.device
    return None


def _leaves_the_device(node) -> bool:
    """A copy from one device to another, or work on the CPU."""
    where = device_of(node)
    if where is None:
        return False
    return where.type == "cpu" or any(device_of(item) not in (None, where) for item in node.all_input_nodes)


def is_eager(node, walked) -> bool:
    """A node that no program can hold. ``walked``: ops that the walk does itself."""
    if node.op in ("call_module", "call_method"):
        return True
    if node.op != "call_function":
        return False
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        return True
    if not isinstance(target, torch._ops.OpOverload) or target in numbers.CHECKS:
        return False
    if target.namespace not in ("aten", "prims") or node.meta.get("unbacked_bindings") or _leaves_the_device(node):
        return True
    if target is torch.ops.aten._local_scalar_dense.default or _has_positions_in_masks(node):
        return True
    op = core_graph.find(numbers.op_name(target))
    if op is None and target not in walked and not numbers.is_number(node):
        # Written by torch in other ops: these run natively.
        return any(
            torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), key)
            for key in ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
        )
    return op is not None and core_graph.is_sized(op)


def cuts(module, walked) -> bool:
    devices: set = set()
    for node in module.graph.nodes:
        if is_eager(node, walked):
            return True
        if node.op == "call_function":
            devices.add(device_of(node))
    return len(devices - {None}) > 1


def _is_random(node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in node.target.tags


class _Piece:
    """Consecutive nodes of a program, on one device."""

    def __init__(self, device):
        self.device = device
        self.nodes: list = []
        self.run = None
        self.inputs: list = []
        self.outputs: list = []

    def finish(self, module, compile_piece) -> None:
        inside = set(self.nodes)
        graph, copies = torch.fx.Graph(), {}
        used = {item: None for node in self.nodes for item in node.all_input_nodes if item not in inside}
        constants = [item for item in used if item.op == "get_attr"]
        self.inputs = [item for item in used if item.op != "get_attr"]
        self.outputs = [node for node in self.nodes if any(user not in inside for user in node.users)]
        for item in self.inputs:
            copies[item] = graph.placeholder(item.name)
            copies[item].meta = dict(item.meta)
        for node in [*constants, *self.nodes]:
            copies[node] = graph.node_copy(node, copies.__getitem__)
        graph.output(tuple(copies[node] for node in self.outputs))
        self.run = compile_piece(torch.fx.GraphModule(module, graph))


class Pieces:
    def __init__(self, module, walked, compile_piece):
        self.module = module
        self.walked = walked
        self.placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.output = next(node for node in reversed(module.graph.nodes) if node.op == "output")
        self.steps: list = []   # pieces, and nodes that run on their own
        self.graphs: dict = {}   # get_attr node of a graph -> what runs it
        self._split(compile_piece)
        self.compiled = []
        for step in self.steps:
            if isinstance(step, _Piece):
                step.finish(module, compile_piece)
                self.compiled.append(step.run)
        self.compiled += [run for run in self.graphs.values() if hasattr(run, "texts")]
        self._last_uses()

    def _split(self, compile_piece) -> None:
        open_piece = None   # its values are not there yet for other nodes
        eager_values: set = set()
        home: dict = {}   # node of a program -> its piece
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "output"):
                continue
            if node.op == "get_attr":
                value = attribute(self.module, node.target)
                if isinstance(value, torch.nn.Module):
                    self.graphs[node] = self._callable(node, value, compile_piece)
                continue
            if node.target is operator.getitem and node.args[0] in home:
                home[node] = home[node.args[0]]   # a program returns tensors, not lists of them
                home[node].nodes.append(node)
                continue
            picks = node.target is operator.getitem and node.args[0] in eager_values
            eager = is_eager(node, self.walked)
            alone = picks or eager or numbers.is_number(node) or node.target in numbers.CHECKS
            if not alone:
                if open_piece is not None and device_of(node) not in (None, open_piece.device):
                    open_piece = None
                if open_piece is None:
                    open_piece = _Piece(device_of(node))
                    self.steps.append(open_piece)
                open_piece.nodes.append(node)
                home[node] = open_piece
                continue
            if eager or picks:
                eager_values.add(node)
            if open_piece is not None:
                waits = any(item in open_piece.nodes for item in node.all_input_nodes)
                shuffles = eager and any(map(_is_random, open_piece.nodes)) and (
                    _is_random(node) or not isinstance(node.target, torch._ops.OpOverload)
                    or node.target.namespace not in ("aten", "prims"))
                if waits or shuffles:
                    open_piece = None
            if open_piece is None:
                self.steps.append(node)
            else:
                self.steps.insert(self.steps.index(open_piece), node)

    def _callable(self, node, graph, compile_piece):
        callers = [user for user in node.users if isinstance(user.target, torch._ops.HigherOrderOperator)]
        if not isinstance(graph, torch.fx.GraphModule) or any(user.target.name() not in _CALLERS for user in callers):
            return graph
        compiled = compile_piece(graph)
        output = next(node for node in reversed(graph.graph.nodes) if node.op == "output").args[0]
        is_one = not isinstance(output, (tuple, list))

        def run(*args):
            found = compiled(list(args))
            return found[0] if is_one else tuple(found)

        run.texts = compiled.texts
        return run

    def _last_uses(self) -> None:
        """What may be dropped after each step."""
        self.drops: list = []
        kept = set(self.output.all_input_nodes)
        for step in reversed(self.steps):
            piece = isinstance(step, _Piece)
            touched = {*step.inputs, *step.outputs} if piece else {*step.all_input_nodes, step}
            self.drops.append([node for node in touched if node not in kept and node.op != "get_attr"])
            kept |= touched
        self.drops.reverse()

    def __call__(self, args):
        env = dict(zip(self.placeholders, args))
        del args

        def read(node):
            if node in env:
                return env[node]
            return self.graphs[node] if node in self.graphs else attribute(self.module, node.target)

        for step, drops in zip(self.steps, self.drops):
            if isinstance(step, _Piece):
                env.update(zip(step.outputs, step.run([env[node] for node in step.inputs])))
            else:
                env[step] = self._run(step, read)
            for node in drops:
                env.pop(node, None)
        found = torch.fx.node.map_arg(self.output.args[0], read)
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def _run(self, node, read):
        args = torch.fx.node.map_arg(node.args, read)
        kwargs = torch.fx.node.map_arg(node.kwargs, read)
        if node.op == "call_module":
            return attribute(self.module, node.target)(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **kwargs)
        return node.target(*args, **kwargs)
