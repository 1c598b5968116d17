"""Products that a TPU lacks, rewritten (src/ir/legalise_product.c): run by XLA's CPU backend and compared
with the plain program through XLA and, where it has the form, with PyTorch."""

import ctypes
import random

import numpy as np
import pytest
import torch


def legalise(lower, text, target="v5e", passes=0, emulate=False):
    function = lower.driver.tt_driver_legalise
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    pointer = function(text.encode(), target.encode(), passes, int(emulate))
    answer = ctypes.string_at(pointer).decode()
    lower.driver.tt_driver_free(pointer)
    kind, _, rest = answer.partition("\n")
    assert kind == "ok", answer
    return rest


def tensor(shape, dtype="i64"):
    return "tensor<" + "".join(f"{n}x" for n in shape) + dtype + ">"


def values(rng, shape, dtype):
    """The whole range of the type: products wrap."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def compare(lower, text, arrays):
    legal = legalise(lower, text)
    assert "dot_general" not in legal and "stablehlo.convolution" not in legal
    want, got = lower.execute(text, arrays), lower.execute(legal, arrays)
    np.testing.assert_array_equal(got[0], want[0])
    return got[0]


DOTS = [
    # x, y, lhs batch, rhs batch, lhs contracting, rhs contracting
    ((3, 4), (4, 5), [], [], [1], [0]),
    ((4, 3), (5, 4), [], [], [0], [1]),
    ((2, 3, 4), (2, 4, 5), [0], [0], [2], [1]),
    ((3, 2, 4), (4, 5, 2), [1], [2], [2], [0]),
    ((2, 3, 4), (3, 5, 4), [], [], [2, 1], [2, 0]),
    ((7,), (7,), [], [], [0], [0]),
    ((3,), (4,), [], [], [], []),
    ((2, 3), (2, 3), [0, 1], [0, 1], [], []),
    ((3, 0), (0, 5), [], [], [1], [0]),
    ((0, 3), (3, 5), [], [], [1], [0]),
    ((2, 3, 1, 4), (4, 3, 2), [0, 1], [2, 1], [3], [0]),
]


@pytest.mark.parametrize("case", range(len(DOTS)))
@pytest.mark.parametrize("kind", ["i64", "ui64"])
def test_dot(lower, case, kind):
    x, y, lb, rb, lc, rc = DOTS[case]
    dtype = np.int64 if kind == "i64" else np.uint64
    out = (
        [x[i] for i in lb]
        + [n for i, n in enumerate(x) if i not in lb + lc]
        + [n for i, n in enumerate(y) if i not in rb + rc]
    )
    types = [tensor(shape, kind) for shape in (x, y, out)]
    numbers = (
        f"lhs_batching_dimensions = {lb}, rhs_batching_dimensions = {rb}, "
        f"lhs_contracting_dimensions = {lc}, rhs_contracting_dimensions = {rc}"
    )
    text = (
        f"func.func @main(%x: {types[0]}, %y: {types[1]}) -> {types[2]} {{\n"
        f'%r = "stablehlo.dot_general"(%x, %y) <{{dot_dimension_numbers = #stablehlo.dot<{numbers}>}}> : '
        f"({types[0]}, {types[1]}) -> {types[2]}\nreturn %r : {types[2]}\n}}"
    )
    rng = np.random.default_rng(case)
    a, b = values(rng, x, dtype), values(rng, y, dtype)
    got = compare(lower, text, [a, b])
    letters = "abcdefgh"
    left = list(letters[: len(x)])
    right = list("stuvwxyz"[: len(y)])
    for i, j in list(zip(lb, rb)) + list(zip(lc, rc)):
        right[j] = left[i]
    result = (
        [left[i] for i in lb]
        + [c for i, c in enumerate(left) if i not in lb + lc]
        + [c for j, c in enumerate(right) if j not in rb + rc]
    )
    np.testing.assert_array_equal(
        got, np.einsum("".join(left) + "," + "".join(right) + "->" + "".join(result), a, b)
    )


def layout(generator, first, second, count):
    """Order of dimensions and its text: a permutation of first, second, 0 .. count - 1."""
    names = [first, second] + [str(i) for i in range(count)]
    generator.shuffle(names)
    return names


@pytest.mark.parametrize("seed", range(40))
def test_convolution(lower, seed):
    """Any convolution of StableHLO: layouts, strides, padding of both signs, dilations, reversal, groups."""
    g = random.Random(seed)
    count, groups = g.choice([1, 2, 2, 3]), g.choice([1, 1, 2, 3])
    by_batch = groups > 1 and g.random() < 0.4
    sizes = {
        "b": 2 * (groups if by_batch else 1),
        "f": 2 * (1 if by_batch else groups),
        "i": 2,
        "o": 2 * groups,
    }
    stride, lhs, rhs = ([g.randint(1, 2) for _ in range(count)] for _ in range(3))
    reverse = [g.random() < 0.3 for _ in range(count)]
    window = [g.randint(1, 3) for _ in range(count)]
    space = [g.randint(3, 5) for _ in range(count)]
    pads, out = [], []
    for i in range(count):
        low, high = g.randint(-1, 2), g.randint(-1, 2)
        total = (space[i] - 1) * lhs[i] + 1 + low + high
        spread = (window[i] - 1) * rhs[i] + 1
        if total < spread:
            high += spread - total
            total = spread
        pads.append((low, high))
        out.append((total - spread) // stride[i] + 1)
    orders = [layout(g, "b", "f", count), layout(g, "i", "o", count), layout(g, "b", "f", count)]
    extents = [
        [sizes.get(n) if n in sizes else space[int(n)] for n in orders[0]],
        [sizes.get(n) if n in sizes else window[int(n)] for n in orders[1]],
        [{"b": 2, "f": sizes["o"]}.get(n) if n in "bf" else out[int(n)] for n in orders[2]],
    ]
    x, w, r = (tensor(e) for e in extents)
    forms = ["x".join(f"[{', '.join(o)}]" for o in orders[:2]), f"[{', '.join(orders[2])}]"]
    text = (
        f"func.func @main(%x: {x}, %w: {w}) -> {r} {{\n%r = stablehlo.convolution(%x, %w) "
        f"dim_numbers = {forms[0]}->{forms[1]}, window = {{stride = {stride}, "
        f"pad = {[list(p) for p in pads]}, lhs_dilate = {lhs}, rhs_dilate = {rhs}, "
        f"reverse = {str(reverse).lower()}}} {{batch_group_count = {groups if by_batch else 1} : i64, "
        f"feature_group_count = {1 if by_batch else groups} : i64}} : ({x}, {w}) -> {r}\nreturn %r : {r}\n}}"
    )
    rng = np.random.default_rng(seed)
    compare(lower, text, [values(rng, extents[0], np.int64), values(rng, extents[1], np.int64)])


@pytest.mark.parametrize(
    "arguments",
    [
        dict(stride=1, padding=1),
        dict(stride=2, padding=0),
        dict(stride=1, padding=2, dilation=2),
        dict(groups=3, padding=1),
    ],
)
def test_convolution_of_torch(lower, arguments):
    g = torch.Generator().manual_seed(1)
    x = torch.randint(-(2**62), 2**62, (2, 6, 7, 5), generator=g)
    w = torch.randint(-(2**62), 2**62, (9, 6 // arguments.get("groups", 1), 3, 3), generator=g)
    pair = lambda name, default: [arguments.get(name, default)] * 2  # noqa: E731
    words, tensors, _ = lower.words(
        torch.ops.aten.convolution.default,
        [
            x,
            w,
            None,
            pair("stride", 1),
            pair("padding", 0),
            pair("dilation", 1),
            False,
            [0, 0],
            arguments.get("groups", 1),
        ],
        {},
    )
    _, _, text = lower.text(words.replace("convolution", "convolution_overrideable", 1))
    legal = legalise(lower, text)
    assert "stablehlo.convolution" not in legal
    got = lower.execute(legal, [t.numpy() for t in tensors])
    np.testing.assert_array_equal(got[0], torch.nn.functional.conv2d(x, w, **arguments).numpy())
