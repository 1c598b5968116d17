"""``torch.compile(backend="tpu")``: AOTAutograd graphs become one program each.

    FX graph (symbolic) ─ one walk per binding of its symbols ─> core graph ─> executable

A graph is walked at its first call and at the first call of each new binding; the walk is an interpretation in which
tensors are values of the core's graph and everything else is a Python number, or a run-time parameter where a number is
only data (numbers.py). What AOTAutograd makes functional stays functional: mutations and aliases are its business. At
ops whose result sizes depend on data, other libraries' ops and higher-order ops the graph is cut (pieces.py).
"""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import re

import torch

from . import graph as core_graph
from . import numbers, pieces
from .dtypes import FROM_CORE, TO_CORE

_numbers = itertools.count()

MAX_LOWERED = 16   # results of one op (lower.h)
PLANS = 128   # bindings of one graph that are kept, the last used ones
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def tpu_backend(module: torch.fx.GraphModule, example_inputs, *, options=None, mode=None):
    """The Dynamo backend.

    ``options``: ``keep_text`` keeps each program's StableHLO text on the compiled function. ``mode``: torch's names are
    accepted and change nothing: they say how long Inductor may search and whether it records CUDA graphs.
    """
    from torch._dynamo.backends.common import aot_autograd

    options = dict(options or {})
    unknown = set(options) - {"keep_text"}
    if unknown:
        raise ValueError(f'torch.compile(backend="tpu"): unknown options {sorted(unknown)}; known: keep_text')
    if mode is not None and mode not in _MODES:
        raise ValueError(f'torch.compile(backend="tpu"): unknown mode {mode!r}; known: {", ".join(_MODES)}')
    compiler = functools.partial(compile_graph, options=options)
    return aot_autograd(fw_compiler=compiler, bw_compiler=compiler, inference_compiler=compiler, decompositions=decompositions())(
        module, example_inputs
    )


@functools.cache
def decompositions() -> dict:
    """PyTorch's decompositions of every op that the core's table does not have."""
    from torch._decomp import decomposition_table

    return {
        op: function
        for op, function in decomposition_table.items()
        if isinstance(op, torch._ops.OpOverload) and op not in _BUILT_IN and core_graph.find(numbers.op_name(op)) is None
    }


class Unsupported(NotImplementedError):
    pass


def compile_graph(module: torch.fx.GraphModule, example_inputs, options=None):
    """Compiles one functional graph; the result takes its arguments in a list (boxed convention)."""
    compiled = _Compiled(module, options or {})

    def run(args):
        return compiled(args)

    run._boxed_call = True
    run.compiled = compiled
    return run


class _Compiled:
    def __init__(self, module, options):
        self.module = module
        self.options = options
        self.name = f"graph{next(_numbers)}"
        self.plans: collections.OrderedDict = collections.OrderedDict()
        self.pieces = None
        if pieces.cuts(module, _BUILT_IN):
            self.pieces = pieces.Pieces(module, _BUILT_IN, functools.partial(_Compiled, options=options))
            return
        self.numbers = numbers.Numbers(module, _SPECIAL)
        self.placeholders = self.numbers.placeholders
        # Numbers, and tensors with a symbol in their sizes that no number says (pieces of graphs).
        self.symbols, self.shapes = [], []
        said: set = set()
        for index, node in enumerate(self.placeholders):
            value = node.meta.get("val")
            if numbers.is_number(node):
                said |= value.node.expr.free_symbols
            if not isinstance(value, torch.Tensor) and (not numbers.is_number(node) or node in self.numbers.known):
                self.symbols.append(index)
        for index, node in enumerate(self.placeholders):
            if numbers.free_symbols(node.meta.get("val")) - said:
                self.shapes.append(index)

    def __call__(self, args):
        if self.pieces is not None:
            return self.pieces(args)
        key = tuple(args[index] for index in self.symbols)
        found, folded = None, ()
        if self.shapes:
            key += tuple(args[index].shape for index in self.shapes)
        if self.numbers.any:
            found = self.numbers.evaluate(args)
            folded = self.numbers.folded(found)
            key += folded
        try:
            plan = self.plans.get(key)
        except TypeError:   # an argument that is no number (an opaque object): op by op
            return torch.fx.Interpreter(self.module).run(*args)
        if plan is None:
            plan = self.plans[key] = _Walk(self, args, found, folded).plan
            if len(self.plans) > PLANS:
                self.plans.popitem(last=False)
        elif len(self.plans) > 1:
            try:
                self.plans.move_to_end(key)
            except KeyError:   # another thread has just dropped it
                pass
        return plan.run(args, found)

    def texts(self) -> list:
        """StableHLO text of each binding's program (option keep_text)."""
        if self.pieces is not None:
            return [text for piece in self.pieces.compiled for text in piece.texts()]
        return [plan.executable.text for plan in self.plans.values() if plan.executable is not None]


class _Plan:
    """How a call's arguments become the program's, and its outputs the call's."""

    __slots__ = ("executable", "inputs", "constants", "device", "outputs", "ints", "floats")

    def run(self, args, numbers=None):
        if self.executable is None:
            made = ()
        else:
            inputs = [args[index] for index in self.inputs]
            if self.constants:
                inputs += self.constants
            ints = [numbers[node] for node in self.ints] if self.ints else []
            floats = [float(numbers[node]) for node in self.floats] if self.floats else []
            made = torch.ops.tpu_c.graph_run.default(
                self.executable.handle, inputs, ints, floats, self.device, self.executable.outputs
            )
        return [step(args, made, numbers) for step in self.outputs]


class _Output:
    """One result of the call: an argument, a number, a result of the program or a view (sizes, strides, offset) of one."""

    __slots__ = ("reads_args", "index", "order", "cpu", "constant", "number", "view")

    def __init__(self, *, argument=None, made=None, order=None, cpu=False, constant=None, number=None, view=None):
        self.reads_args = argument is not None
        self.index = argument if argument is not None else made
        self.order, self.cpu, self.constant, self.number, self.view = order, cpu, constant, number, view

    def viewed(self, view):
        return _Output(made=self.index, order=self.order, cpu=self.cpu, view=view)

    def __call__(self, args, made, numbers):
        if self.index is None:
            return self.constant if self.number is None else numbers[self.number]
        if self.reads_args:
            return args[self.index]
        tensor = made[self.index]
        if self.order is not None:
            tensor = tensor.permute(self.order)
        if self.view is not None:
            tensor = torch.as_strided(tensor, *self.view)
        return tensor.cpu() if self.cpu else tensor


class _Walk:
    def __init__(self, compiled: _Compiled, args, found, folded):
        self.compiled = compiled
        self.numbers = compiled.numbers
        self.module = compiled.module
        self.env: dict = {}
        self.binding: dict = {}
        self.device = _device(self.module, args)
        self.graph = core_graph.Graph(self.device, compiled.name)
        self.plan = _Plan()
        self.plan.inputs, self.plan.constants, self.plan.outputs = [], [], []
        self.plan.device = self.device
        self.plan.executable = None
        self.plan.ints, self.plan.floats = self.numbers.ints, self.numbers.floats
        for node in self.plan.ints:
            self.env[node] = self.graph.scalar(TO_CORE[torch.int64])
        for node in self.plan.floats:
            self.env[node] = self.graph.scalar(TO_CORE[torch.float64])
        self.folded = {(user, name): value for (user, name, *_), value in zip(self.numbers.places, folded) if value is not None}
        if found is not None:
            self.binding.update((node.meta["val"].node.expr, value) for node, value in found.items() if numbers.is_number(node))
        position = 0
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, args[position], position)
                position += 1
            elif node.op == "get_attr":
                # FX keeps placeholders first: constants are passed behind the arguments.
                value = pieces.attribute(self.module, node.target)
                self.env[node] = self._input(value, None)
                self.plan.constants.append(value)
            elif node.op == "output":
                self._outputs(node)
            else:
                self.env[node] = self._call(node)
        if self.graph.outputs:
            self.plan.executable = self.graph.compile(bool(compiled.options.get("keep_text")))

    def _input(self, tensor, index):
        number = TO_CORE.get(tensor.dtype)
        if number is None:
            raise Unsupported(f'torch.compile(backend="tpu"): dtype {tensor.dtype} of an input is not supported')
        return self.graph.input(number, tuple(tensor.shape), index)

    def _placeholder(self, node, value, index):
        if isinstance(value, torch.Tensor):
            self.env[node] = self._input(value, index)
            self.plan.inputs.append(index)
            for symbol, size in zip(node.meta["val"].shape, value.shape):
                if isinstance(symbol, torch.SymInt):
                    self.binding.setdefault(symbol.node.expr, size)
            return
        if numbers.is_number(node):
            self.binding[node.meta["val"].node.expr] = value
            if node not in self.numbers.known:
                return
        self.env[node] = value

    # ---- nodes ------------------------------------------------------------------------------------
    def _read(self, value):
        if isinstance(value, torch.fx.Node):
            return self.env[value]
        if isinstance(value, (list, tuple)):
            return [self._read(item) for item in value]
        return value

    def _call(self, node):
        target = node.target
        if node in self.env or (numbers.is_number(node) and node not in self.numbers.known) or node in self.numbers.checks:
            return self.env.get(node)   # a number that is data, or a check on one
        args = [self._read(value) for value in node.args]
        kwargs = {name: self._read(value) for name, value in node.kwargs.items()}
        if target is operator.getitem:
            return args[0][args[1]]
        if not isinstance(target, torch._ops.OpOverload):
            if any(isinstance(value, core_graph.Value) for value in [*args, *kwargs.values()]):
                raise Unsupported(self._where(node, f"{target} on tensors"))
            return target(*args, **kwargs)
        special = _SPECIAL.get(target)
        if special is not None:
            return special(self, node, args, kwargs)
        op = core_graph.find(numbers.op_name(target))
        if op is None:
            raise Unsupported(self._where(node, f"{target._schema.name}.{target._schema.overload_name or 'default'} has no kernel"))
        return self.lower(node, op, target._schema, args, kwargs)

    def lower(self, node, op, schema, args, kwargs):
        file, line = _user_line(node)
        self.graph.location(file, line, node.name)
        encoded = []
        for position, argument in enumerate(schema.arguments):
            if position < len(args):
                value = args[position]
            elif argument.name in kwargs:
                value = kwargs[argument.name]
            else:
                value = argument.default_value
            encoded.append(self._encode(node, argument, value))
        try:
            results = self.graph.call(op, encoded)
        except NotImplementedError as error:
            raise Unsupported(self._where(node, str(error))) from None
        except (RuntimeError, IndexError) as error:
            if file:
                error.args = (f"{error}\n(in a graph compiled for tpu, from {file}:{line})",)
            raise
        returns = schema.returns
        if len(returns) == 1 and not isinstance(returns[0].type, torch.ListType):
            return results[0] if results else None
        return results

    def _encode(self, node, argument, value):
        graph = self.graph
        kind = argument.real_type if hasattr(argument, "real_type") else argument.type
        if isinstance(kind, torch.OptionalType):
            kind = kind.getElementType()
        text = str(kind)
        if isinstance(value, core_graph.Value) and text != "Tensor" and not isinstance(kind, torch.ListType):
            constant = self.folded.get((node, argument.name))
            return graph.tensor(value) if constant is None else graph.number(constant)
        if isinstance(kind, torch.ListType):
            if value is None:
                return core_graph.Arg(kind=core_graph.NONE)
            values = value if isinstance(value, (list, tuple)) else [value]
            element = str(kind.getElementType()).removeprefix("Optional[").removesuffix("]")
            if "Tensor" in element:
                return graph.tensors([self._as_tensor(item) for item in values])
            if element in ("int", "SymInt"):
                return graph.ints([int(item) for item in values])
            if element == "float":
                return graph.floats([float(item) for item in values])
            if element == "bool":
                return graph.bools([bool(item) for item in values])
            return graph.scalars(list(values))
        if text == "Tensor":
            return graph.tensor(self._as_tensor(value))
        if text == "ScalarType" and type(value) is int:   # a schema's default
            value = _SCALAR_TYPES[value]
        if isinstance(value, torch.dtype):
            number = TO_CORE.get(value)
            if number is None:
                raise Unsupported(self._where(node, f"dtype {value}"))
            return graph.dtype(number)
        if text == "Generator":
            return core_graph.Arg(kind=core_graph.GENERATOR)
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return core_graph.Arg(kind=core_graph.IGNORED)
        if value is None:
            ignored = argument.name in ("layout", "device", "pin_memory", "memory_format")
            return core_graph.Arg(kind=core_graph.IGNORED if ignored else core_graph.NONE)
        if argument.name == "pin_memory":
            return core_graph.Arg(kind=core_graph.IGNORED)
        if isinstance(value, str):
            return graph.string(value)
        if text == "bool":
            return graph.number(bool(value), core_graph.BOOL)
        if text in ("int", "SymInt"):
            return graph.number(int(value), core_graph.INT)
        if text in ("float", "SymFloat"):
            return graph.number(float(value), core_graph.FLOAT)
        if isinstance(value, (bool, int, float, complex)):
            return graph.number(value)
        raise Unsupported(self._where(node, f"argument {argument.name} of type {text}"))

    @staticmethod
    def _as_tensor(value):
        if value is None or isinstance(value, core_graph.Value):
            return value
        return core_graph.HostScalar(value)

    def _where(self, node, what: str) -> str:
        file, line = _user_line(node)
        place = f" (from {file}:{line})" if file else ""
        return f'torch.compile(backend="tpu"): {what}{place}'

    # ---- results ----------------------------------------------------------------------------------
    def _outputs(self, node):
        values = node.args[0]   # the outermost graph's is a list; one of a higher-order op may be a tensor alone
        items = values if isinstance(values, (list, tuple)) else [values]
        made: dict = {}
        bases = self._bases(items)
        for item in items:
            if numbers.is_number(item) and item not in self.numbers.known:
                self.plan.outputs.append(_Output(number=item))
                continue
            value = self._read(item)
            if not isinstance(value, core_graph.Value):
                self.plan.outputs.append(_Output(constant=value))
            elif value.input_index is not None and item.op == "placeholder":
                self.plan.outputs.append(_Output(argument=value.input_index))
            elif item in bases:
                base, view = bases[item]
                self.plan.outputs.append(self._made(base, made).viewed(view))
            else:
                self.plan.outputs.append(self._made(item, made))

    def _made(self, item, made):
        """The program's result for a node; each node is one result."""
        if item in made:
            return made[item]
        value, fake = self.env[item], item.meta.get("val")
        fake_dtype = TO_CORE.get(fake.dtype) if isinstance(fake, torch.Tensor) else value.dtype
        if fake_dtype is not None and fake_dtype != value.dtype:
            raise AssertionError(
                self._where(item, f"{item.target} gives {FROM_CORE.get(value.dtype)}, torch expects {fake.dtype}")
            )
        order = self._order(fake, value)
        inverse = None
        if order is not None:
            op = core_graph.find("permute")
            if op is not None:
                value = self.graph.call(op, [self.graph.tensor(value), self.graph.ints(order)])[0]
                inverse = [order.index(dim) for dim in range(len(order))]
        cpu = isinstance(fake, torch.Tensor) and fake.device.type == "cpu"
        made[item] = _Output(made=self.graph.output(value), order=inverse, cpu=cpu)
        return made[item]

    def _bases(self, items) -> dict:
        """Outputs that share memory with others, as node -> (node of the memory's first owner, view of it)."""
        shared: dict = {}
        for item in {item: None for item in items if isinstance(item, torch.fx.Node)}:
            storage = _storage(item)
            if storage is not None and item.op == "call_function" and isinstance(self.env[item], core_graph.Value):
                shared.setdefault(storage, []).append(item)
        shared = {storage: nodes for storage, nodes in shared.items() if len(nodes) > 1}
        found: dict = {}
        for owner in self.module.graph.nodes if shared else ():
            if owner.op == "placeholder":   # views of an argument: AOTAutograd makes them anew from it
                shared.pop(_storage(owner), None)
            nodes = shared.get(_storage(owner))
            if nodes is None or owner.op != "call_function" or not isinstance(self.env.get(owner), core_graph.Value):
                continue
            del shared[_storage(owner)]
            whole = owner.meta["val"]
            if not self._is_dense(whole):
                continue
            for node in nodes:
                fake = node.meta["val"]
                view = [
                    [self._integer(size) for size in fake.shape],
                    [self._integer(stride) for stride in fake.stride()],
                    self._integer(fake.storage_offset()),
                ]
                if fake.dtype == whole.dtype and None not in (*view[0], *view[1], view[2]):
                    found[node] = (owner, view)
        return found

    def _is_dense(self, fake) -> bool:
        """The tensor starts its memory and fills it without gaps."""
        sizes, strides = ([self._integer(n) for n in numbers] for numbers in (fake.shape, fake.stride()))
        if None in sizes or None in strides or 0 in sizes or self._integer(fake.storage_offset()) != 0:
            return False
        expected = 1
        for stride, size in sorted((stride, size) for stride, size in zip(strides, sizes) if size != 1):
            if stride != expected:
                return False
            expected *= size
        return True

    def _order(self, fake, value):
        """Dimensions from outermost to innermost in memory, if that is not their own order."""
        if not isinstance(fake, torch.Tensor) or len(value.sizes) < 2:
            return None
        strides = [self._integer(stride) for stride in fake.stride()]
        if None in strides or 0 in value.sizes:
            return None
        dims = [dim for dim in range(len(strides)) if value.sizes[dim] != 1]
        if any(strides[a] < strides[b] for a, b in zip(dims, dims[1:])):
            order = sorted(range(len(strides)), key=lambda dim: (-strides[dim], dim))
            expected = 1
            for dim in reversed(order):   # dense only: no gaps, no overlap
                if value.sizes[dim] != 1 and strides[dim] != expected:
                    return None
                expected *= value.sizes[dim]
            return order
        return None

    def _integer(self, value):
        if not isinstance(value, torch.SymInt):
            return int(value)
        try:
            return int(value.node.expr.xreplace(self.binding))
        except (TypeError, AttributeError):
            return None


def _storage(node):
    """Identity of the memory behind a node's tensor, as AOTAutograd traced it; None if it has none."""
    fake = node.meta.get("val")
    if not isinstance(fake, torch.Tensor) or fake.layout != torch.strided:
        return None
    return fake.untyped_storage()._cdata


def _device(module, args) -> int:
    """Where a graph of one device computes."""
    for node in module.graph.nodes:
        where = pieces.device_of(node) if node.op == "call_function" else None
        if where is not None and where.type == "tpu" and where.index is not None:
            return where.index
    for value in args:
        if isinstance(value, torch.Tensor) and value.device.type == "tpu":
            return value.device.index
    return torch.accelerator.current_device_index()


# torch's ScalarType numbers of dtypes that schemas have as defaults.
_SCALAR_TYPES = {4: torch.int64, 6: torch.float32, 7: torch.float64, 11: torch.bool}

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def _user_line(node) -> tuple:
    """File and line of the user's code that a node comes from; ("", 0) if unknown."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    return (found[-1][0], int(found[-1][1])) if found else ("", 0)


# ---- nodes that are no ops of the table ------------------------------------------------------------
def _same(walk, node, args, kwargs):
    value = args[0]
    # A new node: an output that is a copy of an argument must not be the argument itself.
    return core_graph.Value(value.id, value.dtype, value.sizes)


def _nothing(walk, node, args, kwargs):
    return None


def _size(walk, node, args, kwargs):
    return args[0].sizes[args[1]] if len(args) > 1 else list(args[0].sizes)


def _numel(walk, node, args, kwargs):
    total = 1
    for size in args[0].sizes:
        total *= size
    return total


def _stride(walk, node, args, kwargs):
    return walk._integer(node.args[0].meta["val"].stride(args[1]))


def _offset(walk, node, args, kwargs):
    return walk._integer(node.args[0].meta["val"].storage_offset())


def _convert(walk, node, value, dtype):
    if dtype is None or TO_CORE.get(dtype) == value.dtype:
        return core_graph.Value(value.id, value.dtype, value.sizes)
    op = core_graph.find("_to_copy")
    if op is None:
        raise Unsupported(walk._where(node, "aten::_to_copy has no kernel"))
    return walk.lower(node, op, torch.ops.aten._to_copy.default._schema, [value], {"dtype": dtype})


def _to_copy(walk, node, args, kwargs):
    return _convert(walk, node, args[0], kwargs.get("dtype"))


def _convert_element_type(walk, node, args, kwargs):
    return _convert(walk, node, args[0], args[1])


def _empty(walk, node, args, kwargs):
    """Uninitialised memory is zero."""
    fake = node.meta["val"]
    sizes = [walk._integer(size) for size in fake.shape]
    if None in sizes:
        raise Unsupported(walk._where(node, f"{node.target} of sizes {tuple(fake.shape)}"))
    return walk.lower(
        node, core_graph.find("full"), torch.ops.aten.full.default._schema, [sizes, 0], {"dtype": fake.dtype}
    )


def _true_divide(walk, node, args, kwargs):
    return walk.lower(node, core_graph.find("div.Tensor"), torch.ops.aten.div.Tensor._schema, args, kwargs)


def _index_put(walk, node, args, kwargs):
    """`x[mask] = value` with one value is a selection."""
    aten = torch.ops.aten
    if pieces.mask_and_value(node) is None:
        return walk.lower(node, core_graph.find("index_put"), node.target._schema, args, kwargs)
    target, (mask, *_), value = args[:3]
    view, schema = core_graph.find("view"), aten.view.default._schema
    if len(mask.sizes) < len(target.sizes):
        ones = [1] * (len(target.sizes) - len(mask.sizes))
        mask = walk.lower(node, view, schema, [mask, [*mask.sizes, *ones]], {})
    mask = _convert(walk, node, mask, torch.bool)
    if value.sizes:
        value = walk.lower(node, view, schema, [value, []], {})
    return walk.lower(node, core_graph.find("where.self"), aten.where.self._schema, [mask, value, target], {})


def _slices(walk, node, source, dim, sizes):
    """Consecutive pieces of a dimension, however many."""
    schema, op = torch.ops.aten.slice.Tensor._schema, core_graph.find("slice.Tensor")
    ends = list(itertools.accumulate(sizes))
    return [walk.lower(node, op, schema, [source, dim, end - size, end, 1], {}) for size, end in zip(sizes, ends)]


def _split(walk, node, args, kwargs):
    source, size, dim = (*args, kwargs.get("dim", 0))[:3]
    total = source.sizes[dim]
    if not isinstance(size, (list, tuple)):
        size = [min(size, total - start) for start in range(0, total, size)] if size and total else [total]
    if len(size) <= MAX_LOWERED:
        return walk.lower(node, core_graph.find(numbers.op_name(node.target)), node.target._schema, args, kwargs)
    return _slices(walk, node, source, dim, size)


def _unbind(walk, node, args, kwargs):
    source, dim = (*args, kwargs.get("dim", 0))[:2]
    if source.sizes[dim] <= MAX_LOWERED:
        return walk.lower(node, core_graph.find("unbind.int"), node.target._schema, args, kwargs)
    schema, op = torch.ops.aten.squeeze.dim._schema, core_graph.find("squeeze.dim")
    return [walk.lower(node, op, schema, [part, dim], {}) for part in _slices(walk, node, source, dim, [1] * source.sizes[dim])]


def _check_scalar(walk, node, args, kwargs):
    return node.target(*args, **kwargs)


def _range(walk, node, args, kwargs):
    """arange; with ends that are data, the range from 0 moved to its start."""
    op, schema = core_graph.find(numbers.op_name(node.target)), node.target._schema
    if not any(isinstance(value, core_graph.Value) for value in args):
        return walk.lower(node, op, schema, args, kwargs)
    aten, fake = torch.ops.aten, node.meta["val"]
    step = args[2] if len(args) > 2 else 1
    base = walk.lower(
        node, core_graph.find("arange"), aten.arange.default._schema, [fake.shape[0]], {"dtype": torch.int64}
    )
    moved = walk.lower(node, core_graph.find("mul.Tensor"), aten.mul.Tensor._schema, [base, step], {})
    moved = walk.lower(node, core_graph.find("add.Tensor"), aten.add.Tensor._schema, [moved, args[0]], {})
    return _convert(walk, node, moved, fake.dtype)


def _special_table() -> dict:
    aten, prims = torch.ops.aten, torch.ops.prims
    table = {
        aten.sym_size.int: _size,
        aten.sym_size.default: _size,
        aten.sym_numel.default: _numel,
        aten.sym_stride.int: _stride,
        aten.sym_storage_offset.default: _offset,
        aten.detach.default: _same,
        aten.alias.default: _same,
        aten.clone.default: _same,
        aten.contiguous.default: _same,
        aten.lift_fresh.default: _same,
        aten.lift_fresh_copy.default: _same,
        aten._to_copy.default: _to_copy,
        prims.convert_element_type.default: _convert_element_type,
        prims.device_put.default: _same,
        aten._assert_scalar.default: _check_scalar,
        aten.true_divide.Tensor: _true_divide,
        aten.split.Tensor: _split,
        aten.split_with_sizes.default: _split,
        aten.split.sizes: _split,
        aten.unbind.int: _unbind,
        aten.index_put.default: _index_put,
        aten.arange.start: _range,
        aten.arange.start_step: _range,
        aten._assert_tensor_metadata.default: _nothing,
        aten.sym_constrain_range.default: _nothing,   # torch has checked the value where it was made
        aten.sym_constrain_range_for_size.default: _nothing,
        aten.empty.memory_format: _empty,
        aten.empty_like.default: _empty,
        aten.empty_strided.default: _empty,
        aten.new_empty.default: _empty,
        aten.new_empty_strided.default: _empty,
        aten.empty_permuted.default: _empty,
    }
    return table


_SPECIAL = _special_table()
_BUILT_IN = set(_SPECIAL)
