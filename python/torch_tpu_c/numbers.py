"""Numbers of a symbolic graph: those that decide its shapes, and those that are only data.

A number (SymInt, SymFloat) is an argument of the graph or computed from arguments. It is *structural* if a program must
know it when it is built: it is part of some tensor's sizes, or stands where the op wants a constant. Every value of a
structural number is a program of its own. All others are *data*: parameters of one program, computed at each call.
"""

from __future__ import annotations

import operator

import torch

from . import graph as core_graph

# Values of Scalar arguments that fold into programs (lower.h): some ops mean something else by them.
_SPECIAL = frozenset((-2, -1, -0.5, 0, 0.5, 1, 2, 3))
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)

CHECKS = frozenset(
    (
        torch.ops.aten._assert_scalar.default,
        torch.ops.aten.sym_constrain_range.default,
        torch.ops.aten.sym_constrain_range_for_size.default,
    )
)
_RANGES = {
    torch.ops.aten.arange.start: ("start", "end"),
    torch.ops.aten.arange.start_step: ("start", "end", "step"),
}


def op_name(op) -> str:
    """Name in the core's table: "add.Tensor", "relu"."""
    name = op._schema.name.removeprefix("aten::")
    return f"{name}.{op._schema.overload_name}" if op._schema.overload_name else name


def is_number(node) -> bool:
    """A number that is not a constant of the trace."""
    return isinstance(node, torch.fx.Node) and isinstance(node.meta.get("val"), _SYMBOLS)


def free_symbols(fake) -> set:
    """Symbols in the sizes, strides and offset of a traced tensor."""
    found: set = set()
    if isinstance(fake, torch.Tensor) and fake.layout == torch.strided:
        for number in (*fake.shape, *fake.stride(), fake.storage_offset()):
            if isinstance(number, torch.SymInt):
                found |= number.node.expr.free_symbols
    return found


def moving_range(node) -> bool:
    """An arange of whole numbers whose length is known though its ends are not."""
    names = _RANGES.get(node.target)
    fake = node.meta.get("val")
    if names is None or not isinstance(fake, torch.Tensor) or isinstance(fake.shape[0], torch.SymInt):
        return False
    if fake.dtype not in (torch.int64, torch.int32, torch.float32, torch.float64):
        return False
    step = node.args[2] if len(node.args) > 2 else 1
    ends = node.args[: len(names)]
    return type(step) is int and all(
        type(end) is int or (is_number(end) and isinstance(end.meta["val"], torch.SymInt)) for end in ends
    )


def arguments(node):
    """(schema argument, position, value) of a call of an op."""
    for position, argument in enumerate(node.target._schema.arguments):
        if position < len(node.args):
            yield argument, position, node.args[position]
        elif argument.name in node.kwargs:
            yield argument, position, node.kwargs[argument.name]


def holds(value, node) -> bool:
    if isinstance(value, (list, tuple)):
        return any(holds(item, node) for item in value)
    return value is node


def _limits(fake) -> tuple:
    """What torch accepts as a Scalar for a tensor of that dtype."""
    if not isinstance(fake, torch.Tensor):
        return (1, 0)
    if fake.dtype.is_complex:
        fake = torch.empty((), dtype=fake.dtype.to_real(), device="meta")
    info = torch.finfo(fake.dtype) if fake.dtype.is_floating_point else None
    if info is None and fake.dtype is not torch.bool:
        info = torch.iinfo(fake.dtype)
    return (info.min, info.max) if info is not None else (0, 1)


class Numbers:
    """What a graph does with its numbers. ``special``: ops that the walk does itself, which want constants."""

    def __init__(self, module, special):
        self.nodes = list(module.graph.nodes)
        self.special = special
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.structural = self._structural()
        self.known: set = set()
        for node in self.nodes:
            if is_number(node) and self._is_known(node):
                self.known.add(node)
        data = [node for node in self.nodes if is_number(node) and node not in self.known]
        self.computed = self._needed(data)
        if self.computed is None:   # a size that only the walk knows goes into a data number
            self.known.update(data)
            self.structural.update(data)
            self.computed, data = [], []
        self.checks = [
            node for node in self.nodes
            if node.op == "call_function" and node.target in CHECKS and any(item in data for item in node.all_input_nodes)
        ]
        used = [node for node in data if any(self._is_op(user) for user in node.users)]
        floats = [node for node in used if isinstance(node.meta["val"], torch.SymFloat)]
        self.ints = [node for node in used if node not in floats]
        self.floats = floats
        self.places = [place for node in used for place in self._places(node)]
        self.any = bool(data)

    # ---- analysis ---------------------------------------------------------------------------------
    def _is_op(self, node) -> bool:
        return (
            node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)
            and node.target not in CHECKS and not is_number(node)
        )

    def _structural(self) -> set:
        shapes: set = set()
        for node in self.nodes:
            for fake in torch.utils._pytree.tree_leaves(node.meta.get("val")):
                shapes |= free_symbols(fake)
        found: set = set()
        for node in reversed(self.nodes):
            if not is_number(node):
                continue
            expression = getattr(node.meta["val"].node, "expr", None)
            if node.op == "placeholder" and (expression is None or expression.free_symbols & shapes):
                found.add(node)
            for user in node.users:
                if user in found and is_number(user):
                    found.add(node)
                elif self._is_op(user) and not self._may_be_data(user, node):
                    found.add(node)
                elif not self._is_op(user) and not is_number(user) and user.op != "output" and user.target not in CHECKS:
                    found.add(node)
        return found

    def _may_be_data(self, user, node) -> bool:
        if isinstance(node.meta["val"], torch.SymBool):
            return False
        if user.target in _RANGES:
            return moving_range(user)
        if user.target in self.special:
            return False
        op = core_graph.find(op_name(user.target))
        if op is None:
            return False
        allowed = core_graph.value_arguments(op)
        for argument, position, value in arguments(user):
            if not holds(value, node):
                continue
            if value is not node or not (str(argument.type) == "Tensor" or allowed >> position & 1):
                return False
        return True

    def _is_known(self, node) -> bool:
        if node in self.structural:
            return True
        if node.op == "placeholder":
            return False
        return all(not is_number(item) or item in self.known for item in node.all_input_nodes)

    def _needed(self, data):
        """Computed numbers that data numbers need, in order; None if one needs a tensor of the graph's inside."""
        needed: set = set()
        for node in reversed(self.nodes):
            if node.op == "placeholder" or not (node in data or node in needed):
                continue
            if not is_number(node):
                return None
            needed.add(node)
            needed.update(node.all_input_nodes)
        return [node for node in self.nodes if node in needed and node.op != "placeholder"]

    def _places(self, node):
        """Scalar arguments that a data number is."""
        for user in node.users:
            if not self._is_op(user) or user.target in _RANGES:
                continue
            for argument, _, value in arguments(user):
                if value is node and str(argument.type) != "Tensor":
                    yield user, argument.name, node, *_limits(user.meta.get("val"))

    # ---- calls ------------------------------------------------------------------------------------
    def evaluate(self, args) -> dict:
        """Values of all data numbers of a call; runs the checks on them."""
        found = dict(zip(self.placeholders, args))
        for node in self.computed:
            found[node] = call_host(node, found)
        for node in self.checks:
            call_host(node, found)
        return found

    def folded(self, found: dict) -> tuple:
        """Part of the key: values of Scalar places that are constants after all."""
        return tuple(
            found[node] if found[node] in _SPECIAL or not low <= found[node] <= high else None
            for _, _, node, low, high in self.places
        )


def call_host(node, found: dict):
    """A call on numbers alone."""

    def read(value):
        return found[value] if isinstance(value, torch.fx.Node) else value

    args = [read(value) for value in node.args]
    if node.target is operator.getitem:
        return args[0][args[1]]
    return node.target(*args, **{name: read(value) for name, value in node.kwargs.items()})
