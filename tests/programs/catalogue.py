"""StableHLO programs, one per operation and dtype, as text.

Arguments and results travel in dtypes that .npy files know; a program converts to the dtype under test and back, so
conversions are exercised as well. `catalogue()` yields Case objects.
"""
import dataclasses

import numpy as np

# dtype under test -> (StableHLO name, dtype it travels in, numpy dtype)
DTYPES = {
    "i1": ("i1", "i1", np.bool_), "i4": ("i4", "i8", np.int8), "ui4": ("ui4", "ui8", np.uint8),
    "i8": ("i8", "i8", np.int8), "i16": ("i16", "i16", np.int16), "i32": ("i32", "i32", np.int32), "i64": ("i64", "i64", np.int64),
    "ui8": ("ui8", "ui8", np.uint8), "ui16": ("ui16", "ui16", np.uint16), "ui32": ("ui32", "ui32", np.uint32), "ui64": ("ui64", "ui64", np.uint64),
    "f16": ("f16", "f32", np.float32), "bf16": ("bf16", "f32", np.float32), "f32": ("f32", "f32", np.float32), "f64": ("f64", "f64", np.float64),
    "f8E4M3FN": ("f8E4M3FN", "f32", np.float32), "f8E5M2": ("f8E5M2", "f32", np.float32),
    "c64": ("complex<f32>", "complex<f32>", np.complex64), "c128": ("complex<f64>", "complex<f64>", np.complex128),
}
FLOATS = ["f16", "bf16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["ui8", "ui16", "ui32", "ui64"]
INTS = SIGNED + UNSIGNED
NUMBERS = INTS + FLOATS + COMPLEX
REALS = INTS + FLOATS
ALL = ["i1"] + NUMBERS
# (rtol, atol): PyTorch's OpInfo tolerances by precision
TOLERANCE = {"f16": (1e-3, 1e-3), "bf16": (1.6e-2, 1e-2), "f32": (1.3e-6, 1e-5), "f64": (1e-7, 1e-7), "c64": (1.3e-6, 1e-5),
             "c128": (1e-7, 1e-7), "f8E4M3FN": (0.13, 1e-2), "f8E5M2": (0.26, 1e-2)}


@dataclasses.dataclass
class Case:
    name: str
    text: str
    inputs: list
    rtol: float = 0.0
    atol: float = 0.0


def tensor(dtype, shape):
    return "tensor<" + "".join(f"{d}x" for d in shape) + dtype + ">"


def values(rng, dtype, shape, low=-3.0, high=3.0):
    kind = DTYPES[dtype][2]
    if kind == np.bool_:
        return rng.random(shape) < 0.5
    if np.issubdtype(kind, np.complexfloating):
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(kind)
    if np.issubdtype(kind, np.integer):
        lowest = 0 if np.issubdtype(kind, np.unsignedinteger) else int(np.floor(low))
        return rng.integers(max(lowest, 0) if low >= 0 else lowest, int(np.ceil(high)) + 4, shape).astype(kind)
    return rng.uniform(low, high, shape).astype(kind)


class Program:
    """Collects arguments and lines; operands are `%a0`, `%a1`, ... in the dtype under test."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.inputs, self.arguments, self.lines, self.results = [], [], [], []

    def argument(self, dtype, shape, low=-3.0, high=3.0, data=None):
        index = len(self.inputs)
        name, travel, kind = DTYPES[dtype]
        array = values(self.rng, dtype, shape, low, high) if data is None else np.asarray(data, kind)
        self.inputs.append(array)
        self.arguments.append(f"%in{index}: {tensor(travel, shape)}")
        if travel == name:
            return f"%in{index}"
        self.lines.append(f"%a{index} = stablehlo.convert %in{index} : ({tensor(travel, shape)}) -> {tensor(name, shape)}")
        return f"%a{index}"

    def line(self, text):
        self.lines.append(text)

    def result(self, value, dtype, shape):
        name, travel, _ = DTYPES[dtype]
        if travel != name:
            fresh = f"%out{len(self.results)}"
            self.lines.append(f"{fresh} = stablehlo.convert {value} : ({tensor(name, shape)}) -> {tensor(travel, shape)}")
            value = fresh
        self.results.append((value, tensor(travel, shape)))

    def case(self, name, rtol=0.0, atol=0.0):
        types = ", ".join(t for _, t in self.results)
        text = f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{\n  "
        text += "\n  ".join(self.lines)
        text += f"\n  return {', '.join(v for v, _ in self.results)} : {types}\n}}\n"
        return Case(name, text, self.inputs, rtol, atol)


def tolerance(dtype, scale=1.0):
    rtol, atol = TOLERANCE.get(dtype, (0.0, 0.0))
    return {"rtol": rtol * scale, "atol": atol * scale}


def name_of(dtype):
    return DTYPES[dtype][0]


SHAPE = (5, 7)

UNARY = {  # op: (dtypes, low, high, scale of the tolerance)
    "abs": (SIGNED + FLOATS, -3, 3, 1), "negate": (SIGNED + UNSIGNED + FLOATS + COMPLEX, -3, 3, 1), "sign": (SIGNED + FLOATS, -3, 3, 1),
    "not": (["i1"] + INTS, -3, 3, 1), "popcnt": (INTS, -3, 100, 1), "count_leading_zeros": (INTS, -3, 100, 1),
    "ceil": (FLOATS, -3, 3, 1), "floor": (FLOATS, -3, 3, 1), "round_nearest_afz": (FLOATS, -3, 3, 1), "round_nearest_even": (FLOATS, -3, 3, 1),
    "cbrt": (FLOATS, -9, 9, 4), "sqrt": (FLOATS + COMPLEX, 0, 9, 4), "rsqrt": (FLOATS + COMPLEX, 0.1, 9, 8),
    "exponential": (FLOATS + COMPLEX, -5, 5, 8), "exponential_minus_one": (FLOATS + COMPLEX, -3, 3, 8),
    "log": (FLOATS + COMPLEX, 0.1, 9, 8), "log_plus_one": (FLOATS + COMPLEX, -0.9, 5, 8), "logistic": (FLOATS + COMPLEX, -2, 2, 8),
    "sine": (FLOATS + COMPLEX, -3, 3, 8), "cosine": (FLOATS + COMPLEX, -3, 3, 8), "tan": (FLOATS + COMPLEX, -1.2, 1.2, 16), "tanh": (FLOATS + COMPLEX, -3, 3, 16),
}
CHLO_UNARY = {
    "acos": (-0.99, 0.99), "acosh": (1.1, 5), "asin": (-0.99, 0.99), "asinh": (-3, 3), "atan": (-3, 3), "atanh": (-0.95, 0.95), "cosh": (-3, 3),
    "sinh": (-3, 3), "erf": (-3, 3), "erfc": (-3, 3), "erf_inv": (-0.95, 0.95), "lgamma": (0.1, 9), "digamma": (0.1, 9), "bessel_i1e": (-3, 3),
    "tan": (-1.2, 1.2), "square": (-3, 3),
}
BINARY = {
    "add": (NUMBERS, 1), "subtract": (NUMBERS, 1), "multiply": (NUMBERS, 1), "divide": (NUMBERS, 8), "remainder": (REALS, 1), "maximum": (REALS, 1),
    "minimum": (REALS, 1), "power": (FLOATS, 32), "atan2": (FLOATS, 8), "and": (["i1"] + INTS, 1), "or": (["i1"] + INTS, 1), "xor": (["i1"] + INTS, 1),
    "shift_left": (INTS, 1), "shift_right_logical": (INTS, 1), "shift_right_arithmetic": (INTS, 1),
}


def elementwise():
    for op, (dtypes, low, high, scale) in UNARY.items():
        for dtype in dtypes:
            p = Program(1)
            a = p.argument(dtype, SHAPE, low, high)
            p.line(f"%r = stablehlo.{op} {a} : {tensor(name_of(dtype), SHAPE)}")
            p.result("%r", dtype, SHAPE)
            yield p.case(f"{op}-{dtype}", **tolerance(dtype, scale))
    for op, (low, high) in CHLO_UNARY.items():
        for dtype in FLOATS:
            p = Program(2)
            a = p.argument(dtype, SHAPE, low, high)
            t = tensor(name_of(dtype), SHAPE)
            p.line(f"%r = chlo.{op} {a} : {t} -> {t}")
            p.result("%r", dtype, SHAPE)
            yield p.case(f"chlo.{op}-{dtype}", **tolerance(dtype, 64))
    for op, (dtypes, scale) in BINARY.items():
        for dtype in dtypes:
            p = Program(3)
            a = p.argument(dtype, SHAPE, 0.2 if op == "power" else -3, 4)
            low, high = (0, 3) if op.startswith("shift") else (1, 4) if op in ("divide", "remainder") else (-3, 3)
            b = p.argument(dtype, SHAPE, low, high)
            p.line(f"%r = stablehlo.{op} {a}, {b} : {tensor(name_of(dtype), SHAPE)}")
            p.result("%r", dtype, SHAPE)
            yield p.case(f"{op}-{dtype}", **tolerance(dtype, scale))
    for dtype in ALL:
        t, bools = tensor(name_of(dtype), SHAPE), tensor("i1", SHAPE)
        kind = "FLOAT" if dtype in FLOATS + COMPLEX else "UNSIGNED" if dtype in UNSIGNED + ["i1"] else "SIGNED"
        p = Program(4)
        a, b = p.argument(dtype, SHAPE, -1, 1), p.argument(dtype, SHAPE, -1, 1)
        for direction in ["EQ", "NE"] + ([] if dtype in COMPLEX else ["LT", "LE", "GT", "GE"]):
            p.line(f"%{direction} = stablehlo.compare {direction}, {a}, {b}, {kind} : ({t}, {t}) -> {bools}")
            p.result(f"%{direction}", "i1", SHAPE)
        p.line(f"%s = stablehlo.select %NE, {a}, {b} : {bools}, {t}")
        p.result("%s", dtype, SHAPE)
        yield p.case(f"compare_select-{dtype}")
    for dtype in REALS:
        p = Program(5)
        t = tensor(name_of(dtype), SHAPE)
        lo, a, hi = p.argument(dtype, SHAPE, 0, 1), p.argument(dtype, SHAPE, -3, 4), p.argument(dtype, SHAPE, 2, 3)
        p.line(f"%r = stablehlo.clamp {lo}, {a}, {hi} : {t}")
        p.result("%r", dtype, SHAPE)
        yield p.case(f"clamp-{dtype}")
    for dtype in FLOATS:
        p = Program(6)
        a = p.argument(dtype, (6,), data=[1.0, np.nan, np.inf, -np.inf, -0.0, 3.5])
        t = tensor(name_of(dtype), (6,))
        p.line(f"%f = stablehlo.is_finite {a} : ({t}) -> tensor<6xi1>")
        p.line(f"%m = stablehlo.maximum {a}, {a} : {t}")
        p.result("%f", "i1", (6,))
        p.result("%m", dtype, (6,))
        for op in ["is_inf", "is_pos_inf", "is_neg_inf"]:
            p.line(f"%{op} = chlo.{op} {a} : {t} -> tensor<6xi1>")
            p.result(f"%{op}", "i1", (6,))
        yield p.case(f"is_finite-{dtype}")
        p = Program(7)
        a = p.argument(dtype, SHAPE, -300, 300)
        p.line(f"%r = stablehlo.reduce_precision {a}, format = e5m2 : {tensor(name_of(dtype), SHAPE)}")
        p.result("%r", dtype, SHAPE)
        yield p.case(f"reduce_precision-{dtype}")
    for part, whole in [("f32", "c64"), ("f64", "c128")]:
        p = Program(8)
        a, b = p.argument(part, SHAPE), p.argument(part, SHAPE)
        t, c = tensor(name_of(part), SHAPE), tensor(name_of(whole), SHAPE)
        p.line(f"%c = stablehlo.complex {a}, {b} : {c}")
        for op in ["real", "imag", "abs"]:
            p.line(f"%{op} = stablehlo.{op} %c : ({c}) -> {t}")
            p.result(f"%{op}", part, SHAPE)
        p.result("%c", whole, SHAPE)
        yield p.case(f"complex-{whole}", **tolerance(part, 4))


def conversions():
    targets = ["i1"] + INTS + FLOATS + ["f8E4M3FN", "f8E5M2"]
    for source in targets:
        for target in targets:
            p = Program(9)
            a = p.argument(source, SHAPE, -20 if target in SIGNED + FLOATS and source not in ("i1",) else 0, 20)
            p.line(f"%r = stablehlo.convert {a} : ({tensor(name_of(source), SHAPE)}) -> {tensor(name_of(target), SHAPE)}")
            p.result("%r", target, SHAPE)
            yield p.case(f"convert-{source}-{target}")
    for source, target in [("f32", "i32"), ("i64", "f64"), ("f64", "ui64"), ("ui16", "i16")]:
        p = Program(10)
        a = p.argument(source, SHAPE)
        p.line(f"%r = stablehlo.bitcast_convert {a} : ({tensor(name_of(source), SHAPE)}) -> {tensor(name_of(target), SHAPE)}")
        p.result("%r", target, SHAPE)
        yield p.case(f"bitcast-{source}-{target}")


def movement():
    for dtype in ALL:
        n = name_of(dtype)
        p = Program(11)
        a = p.argument(dtype, (3, 4, 5))
        b = p.argument(dtype, (3, 2, 5))
        zero = p.argument(dtype, ())
        i = p.argument("i32", (), data=2)
        j = p.argument("i32", (), data=-7)
        k = p.argument("i32", (), data=100)
        def t(*shape):
            return tensor(n, shape)
        p.line(f"%0 = stablehlo.transpose {a}, dims = [2, 0, 1] : ({t(3, 4, 5)}) -> {t(5, 3, 4)}")
        p.line(f"%1 = stablehlo.reshape {a} : ({t(3, 4, 5)}) -> {t(6, 10)}")
        p.line(f"%2 = stablehlo.slice {a} [1:3, 0:4:3, 2:5:2] : ({t(3, 4, 5)}) -> {t(2, 2, 2)}")
        p.line(f"%3 = stablehlo.reverse {a}, dims = [0, 2] : {t(3, 4, 5)}")
        p.line(f"%4 = stablehlo.concatenate {a}, {b}, {a}, dim = 1 : ({t(3, 4, 5)}, {t(3, 2, 5)}, {t(3, 4, 5)}) -> {t(3, 10, 5)}")
        p.line(f"%5 = stablehlo.pad {a}, {zero}, low = [1, -1, 0], high = [0, 2, -2], interior = [2, 0, 1] : ({t(3, 4, 5)}, {t()}) -> {t(8, 5, 7)}")
        p.line(f"%6 = stablehlo.broadcast_in_dim {b}, dims = [0, 2, 3] : ({t(3, 2, 5)}) -> {t(3, 4, 2, 5)}")
        p.line(f"%7 = stablehlo.dynamic_slice {a}, {i}, {j}, {k}, sizes = [2, 2, 3] : ({t(3, 4, 5)}, tensor<i32>, tensor<i32>, tensor<i32>) -> {t(2, 2, 3)}")
        p.line(f"%8 = stablehlo.dynamic_update_slice {a}, {b}, {j}, {i}, {k} : ({t(3, 4, 5)}, {t(3, 2, 5)}, tensor<i32>, tensor<i32>, tensor<i32>) -> {t(3, 4, 5)}")
        for index, shape in enumerate([(5, 3, 4), (6, 10), (2, 2, 2), (3, 4, 5), (3, 10, 5), (8, 5, 7), (3, 4, 2, 5), (2, 2, 3), (3, 4, 5)]):
            p.result(f"%{index}", dtype, shape)
        yield p.case(f"movement-{dtype}")
        if dtype == "i1":
            continue
        p = Program(12)
        p.line(f"%0 = stablehlo.iota dim = 1 : {t(3, 4)}")
        p.result("%0", dtype, (3, 4))
        p.argument("i32", (1,))
        yield p.case(f"iota-{dtype}")


def region(op, n):
    return f"({{\n^bb0(%x: tensor<{n}>, %y: tensor<{n}>):\n  %z = stablehlo.{op} %x, %y : tensor<{n}>\n  stablehlo.return %z : tensor<{n}>\n}})"


IDENTITY = {"add": 0, "multiply": 1}


def reductions():
    for op in ["add", "multiply", "maximum", "minimum"]:
        for dtype in REALS + (COMPLEX if op in IDENTITY else []):
            n = name_of(dtype)
            p = Program(13)
            a = p.argument(dtype, (4, 6, 3), 0.5, 2)
            init = p.argument(dtype, (), data=IDENTITY.get(op, 1))
            for index, dims in enumerate([[0], [1], [2], [0, 2], [0, 1, 2]]):
                shape = tuple(d for i, d in enumerate((4, 6, 3)) if i not in dims)
                p.line(f"%{index} = stablehlo.reduce({a} init: {init}) applies stablehlo.{op} across dimensions = {dims} : ({tensor(n, (4, 6, 3))}, {tensor(n, ())}) -> {tensor(n, shape)}")
                p.result(f"%{index}", dtype, shape)
            yield p.case(f"reduce_{op}-{dtype}", **tolerance(dtype, 8))
            if dtype in COMPLEX:
                continue
            p = Program(14)
            a = p.argument(dtype, (2, 9, 8), 0.5, 2)
            init = p.argument(dtype, (), data=IDENTITY.get(op, 1))
            p.line(f'%0 = "stablehlo.reduce_window"({a}, {init}) <{{padding = dense<[[0, 0], [1, 2], [0, 1]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 2>, '
                   f"window_strides = array<i64: 1, 2, 1>, window_dilations = array<i64: 1, 2, 1>}}> {region(op, n)} : ({tensor(n, (2, 9, 8))}, {tensor(n, ())}) -> {tensor(n, (2, 4, 8))}")
            p.result("%0", dtype, (2, 4, 8))
            yield p.case(f"reduce_window_{op}-{dtype}", **tolerance(dtype, 4))
    for op in ["and", "or"]:
        for dtype in ["i1", "i32", "ui8"]:
            n = name_of(dtype)
            p = Program(15)
            a = p.argument(dtype, (4, 6))
            init = p.argument(dtype, (), data=1 if op == "and" and dtype == "i1" else -1 if op == "and" and dtype == "i32" else 255 if op == "and" else 0)
            p.line(f"%0 = stablehlo.reduce({a} init: {init}) applies stablehlo.{op} across dimensions = [1] : ({tensor(n, (4, 6))}, {tensor(n, ())}) -> {tensor(n, (4,))}")
            p.result("%0", dtype, (4,))
            yield p.case(f"reduce_{op}-{dtype}")
    for dtype in FLOATS + ["i32"]:
        n = name_of(dtype)
        p = Program(16)
        a, s = p.argument(dtype, (1, 6, 6, 2)), p.argument(dtype, (1, 3, 3, 2))
        init = p.argument(dtype, (), data=0)
        kind = "SIGNED" if dtype == "i32" else "FLOAT"
        p.line(f'%0 = "stablehlo.select_and_scatter"({a}, {s}, {init}) <{{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}}> '
               f"({{\n^bb0(%x: tensor<{n}>, %y: tensor<{n}>):\n  %z = stablehlo.compare GE, %x, %y, {kind} : (tensor<{n}>, tensor<{n}>) -> tensor<i1>\n  stablehlo.return %z : tensor<i1>\n}}, "
               f"{region('add', n)[1:-1]}) : ({tensor(n, (1, 6, 6, 2))}, {tensor(n, (1, 3, 3, 2))}, {tensor(n, ())}) -> {tensor(n, (1, 6, 6, 2))}")
        p.result("%0", dtype, (1, 6, 6, 2))
        yield p.case(f"select_and_scatter-{dtype}", **tolerance(dtype))
        p = Program(17)
        a = p.argument(dtype, (5, 9))
        t = tensor(n, (5, 9))
        p.line(f"%i = stablehlo.iota dim = 1 : tensor<5x9xi32>")
        p.line(f'%0:2 = "stablehlo.sort"({a}, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{\n^bb0(%x: tensor<{n}>, %y: tensor<{n}>, %p: tensor<i32>, %q: tensor<i32>):\n'
               f"  %z = stablehlo.compare GT, %x, %y, {kind} : (tensor<{n}>, tensor<{n}>) -> tensor<i1>\n  stablehlo.return %z : tensor<i1>\n}}) : ({t}, tensor<5x9xi32>) -> ({t}, tensor<5x9xi32>)")
        p.result("%0#0", dtype, (5, 9))
        p.result("%0#1", "i32", (5, 9))
        yield p.case(f"sort-{dtype}")


def products():
    for dtype in INTS + FLOATS + COMPLEX:
        n = name_of(dtype)
        p = Program(18)
        a, b = p.argument(dtype, (3, 5, 7)), p.argument(dtype, (3, 7, 4))
        p.line(f"%0 = stablehlo.dot_general {a}, {b}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({tensor(n, (3, 5, 7))}, {tensor(n, (3, 7, 4))}) -> {tensor(n, (3, 5, 4))}")
        p.line(f"%1 = stablehlo.dot_general {a}, {b}, contracting_dims = [2, 0] x [1, 0] : ({tensor(n, (3, 5, 7))}, {tensor(n, (3, 7, 4))}) -> {tensor(n, (5, 4))}")
        p.line(f"%2 = stablehlo.dot_general {a}, {a}, contracting_dims = [1] x [1] : ({tensor(n, (3, 5, 7))}, {tensor(n, (3, 5, 7))}) -> {tensor(n, (3, 7, 3, 7))}")
        for index, shape in enumerate([(3, 5, 4), (5, 4), (3, 7, 3, 7)]):
            p.result(f"%{index}", dtype, shape)
        yield p.case(f"dot_general-{dtype}", **tolerance(dtype, 8))
    for narrow, wide in [("i8", "i32"), ("bf16", "f32"), ("f16", "f32")]:
        p = Program(19)
        a, b = p.argument(narrow, (9, 33)), p.argument(narrow, (33, 17))
        p.line(f"%0 = stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : ({tensor(narrow, (9, 33))}, {tensor(narrow, (33, 17))}) -> {tensor(wide, (9, 17))}")
        p.result("%0", wide, (9, 17))
        yield p.case(f"dot_general-{narrow}-{wide}", rtol=1e-4, atol=1e-4)
    for m, k, n in [(1, 64, 128), (64, 64, 64), (129, 65, 33), (7, 200, 1), (0, 4, 5), (4, 0, 5)]:
        p = Program(20)
        a, b = p.argument("f32", (m, k), -1, 1), p.argument("f32", (k, n), -1, 1)
        p.line(f"%0 = stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : ({tensor('f32', (m, k))}, {tensor('f32', (k, n))}) -> {tensor('f32', (m, n))}")
        p.result("%0", "f32", (m, n))
        yield p.case(f"dot_general-{m}x{k}x{n}", rtol=1e-5, atol=1e-5)
    for dtype in FLOATS + ["i32", "c64"]:
        n = name_of(dtype)
        p = Program(21)
        x, w, g = p.argument(dtype, (2, 9, 8, 4)), p.argument(dtype, (3, 2, 2, 6)), p.argument(dtype, (3, 3, 4, 5))
        p.line(f"%0 = stablehlo.convolution({x}, {w}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [false, true]}} "
               f"{{batch_group_count = 1 : i64, feature_group_count = 2 : i64}} : ({tensor(n, (2, 9, 8, 4))}, {tensor(n, (3, 2, 2, 6))}) -> {tensor(n, (2, 4, 16, 6))}")
        p.line(f"%1 = stablehlo.convolution({x}, {g}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {{stride = [1, 1], pad = [[1, 1], [1, 1]]}} "
               f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({tensor(n, (2, 9, 8, 4))}, {tensor(n, (3, 3, 4, 5))}) -> {tensor(n, (2, 5, 9, 8))}")
        p.result("%0", dtype, (2, 4, 16, 6))
        p.result("%1", dtype, (2, 5, 9, 8))
        yield p.case(f"convolution-{dtype}", **tolerance(dtype, 32))


def fused():
    """Products and convolutions with what follows them, and results that share a loop."""
    for dtype, m, n, k in [("f32", 70, 600, 40), ("f32", 530, 520, 400), ("bf16", 70, 600, 40), ("f64", 33, 65, 129), ("f16", 40, 30, 20), ("f32", 3, 700, 64)]:
        p, t, w = Program(31), DTYPES[dtype][0], tensor(DTYPES[dtype][0], (m, n))
        x, y = p.argument(dtype, (m, k), -0.5, 0.5), p.argument(dtype, (n, k), -0.5, 0.5)
        bias, rest = p.argument(dtype, (n,)), p.argument(dtype, (m, n))
        p.line(f"%0 = stablehlo.dot_general {x}, {y}, contracting_dims = [1] x [1] : ({tensor(t, (m, k))}, {tensor(t, (n, k))}) -> {w}")
        p.line(f"%1 = stablehlo.broadcast_in_dim {bias}, dims = [1] : ({tensor(t, (n,))}) -> {w}")
        p.line(f"%2 = stablehlo.add %0, %1 : {w}\n  %3 = stablehlo.tanh %2 : {w}\n  %4 = stablehlo.multiply %2, %3 : {w}")
        p.line(f"%5 = stablehlo.add %4, {rest} : {w}\n  %6 = stablehlo.convert %5 : ({w}) -> {tensor('f32', (m, n))}")
        p.result("%2", dtype, (m, n))
        p.result("%6", "f32", (m, n))
        yield p.case(f"linear-activation-residual-{dtype}-{m}x{k}x{n}", **tolerance(dtype, 8))
    for order, out in [("b, f, 0, 1", (2, 24, 19, 19)), ("b, 0, 1, f", (2, 19, 19, 24))]:
        p = Program(32)
        shape = (2, 8, 21, 21) if order == "b, f, 0, 1" else (2, 21, 21, 8)
        x, y, bias = p.argument("f32", shape), p.argument("f32", (24, 8, 3, 3)), p.argument("f32", (24,))
        w = tensor("f32", out)
        p.line(f"%0 = stablehlo.convolution({x}, {y}) dim_numbers = [{order}]x[o, i, 0, 1]->[{order}], window = {{stride = [1, 1]}} "
               f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({tensor('f32', shape)}, {tensor('f32', (24, 8, 3, 3))}) -> {w}")
        p.line(f"%1 = stablehlo.broadcast_in_dim {bias}, dims = [{out.index(24)}] : ({tensor('f32', (24,))}) -> {w}")
        p.line(f"%2 = stablehlo.add %0, %1 : {w}\n  %3 = stablehlo.logistic %2 : {w}\n  %4 = stablehlo.multiply %2, %3 : {w}")
        p.result("%4", "f32", out)
        yield p.case(f"convolution-bias-silu-{out[1]}", rtol=1e-5, atol=1e-4)
    p, w = Program(33), tensor("f32", (50, 70))
    x, y = p.argument("f32", (50, 70)), p.argument("f32", (50, 70))
    p.line(f"%0 = stablehlo.sine {x} : {w}\n  %1 = stablehlo.cosine {x} : {w}\n  %2 = stablehlo.multiply %0, {y} : {w}")
    p.line(f"%3 = stablehlo.transpose %1, dims = [1, 0] : ({w}) -> {tensor('f32', (70, 50))}")
    p.line(f"%4 = stablehlo.reshape {y} : ({w}) -> {tensor('f32', (3500,))}\n  %5 = stablehlo.reshape %2 : ({w}) -> {tensor('f32', (3500,))}")
    p.line(f"%6 = stablehlo.subtract %4, %5 : {tensor('f32', (3500,))}")
    for name, out in [("%0", (50, 70)), ("%1", (50, 70)), ("%2", (50, 70)), ("%3", (70, 50)), ("%6", (3500,))]:
        p.result(name, "f32", out)
    yield p.case("results-of-one-loop", **tolerance("f32"))


def indexing():
    for dtype in ALL:
        n = name_of(dtype)
        p = Program(22)
        a = p.argument(dtype, (6, 5))
        i = p.argument("i32", (4, 1), data=[[3], [0], [99], [-5]])
        u = p.argument(dtype, (4, 5))
        p.line(f'%0 = "stablehlo.gather"({a}, {i}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, '
               f"indices_are_sorted = false, slice_sizes = array<i64: 1, 5>}}> : ({tensor(n, (6, 5))}, tensor<4x1xi32>, ) -> {tensor(n, (4, 5))}".replace(", )", ")"))
        p.result("%0", dtype, (4, 5))
        op = "or" if dtype == "i1" else "add"
        p.line(f'%1 = "stablehlo.scatter"({a}, {i}, {u}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], '
               f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}}> {region(op, n)} : ({tensor(n, (6, 5))}, tensor<4x1xi32>, {tensor(n, (4, 5))}) -> {tensor(n, (6, 5))}")
        p.result("%1", dtype, (6, 5))
        yield p.case(f"gather_scatter-{dtype}", **tolerance(dtype))


def linear_algebra():
    for dtype in ["f32", "f64", "c64", "c128"]:
        n = name_of(dtype)
        rng = np.random.default_rng(23)
        kind = DTYPES[dtype][2]
        m = rng.standard_normal((2, 5, 5)).astype(kind)
        if dtype in COMPLEX:
            m = (m + 1j * rng.standard_normal((2, 5, 5))).astype(kind)
        spd = m @ np.conj(np.swapaxes(m, 1, 2)) + 5 * np.eye(5, dtype=kind)
        p = Program(23)
        a = p.argument(dtype, (2, 5, 5), data=spd)
        b = p.argument(dtype, (2, 5, 3))
        t = tensor(n, (2, 5, 5))
        p.line(f"%0 = stablehlo.cholesky {a}, lower = true : {t}")
        p.line(f'%1 = "stablehlo.triangular_solve"(%0, {b}) <{{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}> : ({t}, {tensor(n, (2, 5, 3))}) -> {tensor(n, (2, 5, 3))}')
        p.result("%1", dtype, (2, 5, 3))
        yield p.case(f"cholesky_solve-{dtype}", **tolerance(dtype, 64))
    for kind, dtype, length, source, target in [("FFT", "c64", 12, (3, 12), (3, 12)), ("IFFT", "c64", 7, (3, 7), (3, 7)), ("RFFT", "f32", 10, (3, 10), (3, 6)),
                                                ("FFT", "c128", 16, (2, 16), (2, 16)), ("RFFT", "f64", 9, (2, 9), (2, 5))]:
        out = {"f32": "c64", "f64": "c128"}.get(dtype, dtype)
        p = Program(24)
        a = p.argument(dtype, source)
        p.line(f"%0 = stablehlo.fft {a}, type = {kind}, length = [{length}] : ({tensor(name_of(dtype), source)}) -> {tensor(name_of(out), target)}")
        p.result("%0", out, target)
        yield p.case(f"fft-{kind}-{dtype}-{length}", **tolerance(out, 64))


def control():
    p = Program(25)
    a = p.argument("f32", (4,))
    limit = p.argument("i32", (), data=5)
    p.line("%c = stablehlo.constant dense<0> : tensor<i32>\n  %one = stablehlo.constant dense<1> : tensor<i32>")
    p.line(f"%0:2 = stablehlo.while(%i = %c, %v = {a}) : tensor<i32>, tensor<4xf32>\n  cond {{\n    %t = stablehlo.compare LT, %i, {limit}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %t : tensor<i1>\n"
           "  } do {\n    %n = stablehlo.add %i, %one : tensor<i32>\n    %w = stablehlo.add %v, %v : tensor<4xf32>\n    stablehlo.return %n, %w : tensor<i32>, tensor<4xf32>\n  }")
    p.line(f'%1 = "stablehlo.case"(%0#0) ({{\n    stablehlo.return {a} : tensor<4xf32>\n  }}, {{\n    %q = stablehlo.negate %0#1 : tensor<4xf32>\n    stablehlo.return %q : tensor<4xf32>\n  }}) : (tensor<i32>) -> tensor<4xf32>')
    p.line(f"%t2 = stablehlo.compare GT, %0#0, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>")
    p.line(f'%2 = "stablehlo.if"(%t2) ({{\n    stablehlo.return %1 : tensor<4xf32>\n  }}, {{\n    stablehlo.return {a} : tensor<4xf32>\n  }}) : (tensor<i1>) -> tensor<4xf32>')
    p.result("%0#0", "i32", ())
    p.result("%2", "f32", (4,))
    yield p.case("control")


def catalogue():
    for family in [elementwise, conversions, movement, reductions, products, fused, indexing, linear_algebra, control]:
        yield from family()
