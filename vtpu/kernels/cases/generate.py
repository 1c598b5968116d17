"""Writes *.txt for cases_test.c: programs lowered by jax (or written by hand) with results from jax on the CPU or NumPy.

Run from anywhere: python generate.py [group ...]. Seeds are fixed, so files are stable for one jax version. Cases over 2 KB go
to large_*.txt, which is not committed.
"""
import os, sys, pathlib
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import numpy as np
import jax, jax.numpy as jnp
from jax import lax
import ml_dtypes
jax.config.update("jax_enable_x64", True)

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)
small = large = None
bf16, f16, f32, f64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64
i8, i32, i64, u8, u32, c64, c128 = np.int8, np.int32, np.int64, np.uint8, np.uint32, np.complex64, np.complex128

def data(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype == np.bool_: return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "i": return rng.integers(-7, 8, shape).astype(dtype)
    if dtype.kind == "u": return rng.integers(0, 9, shape).astype(dtype)
    if dtype.kind == "c": return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)

def tol(dtype):
    dtype = np.dtype(dtype)
    return {2: 2e-2 if dtype == bf16 else 2e-3, 4: 2e-5, 8: 1e-12 if dtype == f64 else 2e-5, 16: 1e-12, 1: 0}[dtype.itemsize]

def emit(name, text, args, results, rtol=None, atol=None):
    size = sum(np.asarray(a).nbytes for a in (*args, *results))
    out = small if size <= 2000 else large
    out.write(f"@@ {name}\n{text.strip()}\n")
    for a in args: out.write(f"@in {np.ascontiguousarray(a).tobytes().hex()}\n")
    for r in results:
        r = np.asarray(r)
        exact = r.dtype.kind in "biu"
        t = 0 if exact else tol(r.dtype) if rtol is None else rtol
        a = 0 if exact else t if atol is None else atol
        out.write(f"@out {t} {a} {np.ascontiguousarray(r).tobytes().hex()}\n")

def jit(name, fn, *args, rtol=None, atol=None, expect=None):
    """Lowers fn with jax; the expected values are jax's own unless given."""
    lowered = jax.jit(fn, keep_unused=True).lower(*args)
    results = expect if expect is not None else jax.tree_util.tree_leaves(jax.jit(fn)(*args))
    emit(name, lowered.as_text(), args, results, rtol, atol)

def mlir_type(a):
    a = np.asarray(a)
    names = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
             "uint32": "ui32", "uint64": "ui64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
             "complex64": "complex<f32>", "complex128": "complex<f64>"}
    return "tensor<" + "".join(f"{d}x" for d in a.shape) + names[a.dtype.name] + ">"

def hand(name, body, args, results, rtol=None, atol=None):
    """body: text with {0}, {1} for operand types and {r0}, {r1} for result types; %arg0.. in, ends with its return."""
    types = [mlir_type(a) for a in args]
    rtypes = {f"r{i}": mlir_type(r) for i, r in enumerate(results)}
    params = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(types))
    text = f"module {{\nfunc.func public @main({params}) -> ({', '.join(rtypes.values())}) {{\n"
    for i, t in enumerate(types): body = body.replace("{%d}" % i, t)
    for k, t in rtypes.items(): body = body.replace("{%s}" % k, t)
    emit(name, text + body + "\n}\n}", args, results, rtol, atol)

def move():
    for dt in (f32, bf16, np.bool_, c128, i8):
        n = np.dtype(dt).name
        jit(f"transpose_{n}", lambda x: lax.transpose(x, (2, 0, 1)), data((3, 5, 7), dt))
        jit(f"pad_{n}", lambda x: lax.pad(x, x[0, 0], ((-1, 2, 1), (3, -2, 0))), data((4, 5), dt))
        jit(f"concat_{n}", lambda x, y: lax.concatenate([x, y, x], 1), data((3, 2), dt), data((3, 5), dt))
        jit(f"rev_slice_{n}", lambda x: lax.rev(lax.slice(x, (1, 0, 2), (4, 5, 9), (2, 1, 3)), (0, 2)), data((5, 5, 9), dt))
        jit(f"broadcast_{n}", lambda x: lax.broadcast_in_dim(x, (2, 4, 3, 5), (1, 3)), data((1, 5), dt))
    jit("transpose_large", lambda x: lax.transpose(x, (0, 2, 1)), data((2, 130, 67), f32))
    jit("transpose_nhwc", lambda x: lax.transpose(x, (0, 3, 1, 2)), data((2, 5, 6, 33), f32))
    jit("transpose_back", lambda x: lax.transpose(x, (3, 2, 1, 0)), data((2, 3, 4, 5), f64))
    jit("pad_all_negative", lambda x: lax.pad(x, np.float32(9), ((-2, -2, 0), (0, 0, 0))), data((4, 3), f32))
    jit("pad_negative_interior", lambda x: lax.pad(x, np.float32(9), ((-2, -3, 2),)), data((5,), f32))
    jit("pad_zero_dim", lambda x: lax.pad(x, np.int32(3), ((2, 1, 0), (0, 0, 0))), data((0, 3), i32))
    jit("concat_zero", lambda x, y: lax.concatenate([x, y], 0), data((0, 3), f32), data((2, 3), f32))
    jit("slice_zero", lambda x: lax.slice(x, (1, 2), (1, 4)), data((3, 4), f32))
    for s in ((-3, 9), (1, 1), (2, -1)):
        jit(f"dynamic_slice_{s[0]}_{s[1]}", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), data((4, 5), f32), np.int32(s[0]), np.int32(s[1]))
        jit(f"dynamic_update_{s[0]}_{s[1]}", lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), data((4, 5), f32), data((2, 3), f32), np.int64(s[0]), np.int64(s[1]))
    for dt in (f32, i64, u8, bf16, c64):
        for d in (0, 1, 2): jit(f"iota_{np.dtype(dt).name}_{d}", lambda: lax.broadcasted_iota(dt, (3, 4, 5), d))
    jit("bitcast_f32_i32", lambda x: lax.bitcast_convert_type(x, np.int32), data((3, 4), f32))
    jit("bitcast_f64_u8", lambda x: lax.bitcast_convert_type(x, np.uint8), data((3,), f64))
    jit("bitcast_u8_f32", lambda x: lax.bitcast_convert_type(x, np.int32), data((3, 4), u8))
    jit("select_scalar", lambda p, x, y: lax.select(p, x, y), np.bool_(True), data((3, 4), f32), data((3, 4), f32))
    jit("select", lambda p, x, y: lax.select(p, x, y), data((3, 4), np.bool_), data((3, 4), bf16), data((3, 4), bf16))
    jit("clamp_scalar", lambda l, x, h: lax.clamp(l, x, h), np.float32(-.5), data((700,), f32), np.float32(.25))
    jit("clamp_ints", lambda l, x, h: lax.clamp(l, x, h), np.int32(-2), data((7, 3), i32), np.int32(3))
    for k in ("add", "max", "atan2"):
        jit(f"lanes_{k}", getattr(lax, k), data((5, 7), f32), data((5, 7), f32))
    x = data((3, 4), f32)
    hand("strided_read", '%0 = stablehlo.composite "tt.strided_read" %arg0 {composite_attributes = {sizes = array<i64: 3, 2>, strides = array<i64: 1, 5>, offset = 1 : i64}, decomposition = @d} : ({0}) -> {r0}\nreturn %0 : {r0}',
         [x], [np.lib.stride_tricks.as_strided(x.ravel()[1:], (3, 2), (4, 20))])
    w = data((2, 3), f32); y = x.copy().ravel()
    for i in range(2):
        for j in range(3): y[2 + i * 1 + j * 3] = w[i, j]
    hand("strided_write", '%0 = stablehlo.composite "tt.strided_write" %arg0, %arg1 {composite_attributes = {strides = array<i64: 1, 3>, offset = 2 : i64}, decomposition = @d} : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, w], [y.reshape(3, 4)])
    hand("strided_read_bytes", '%0 = stablehlo.composite "tt.strided_read" %arg0 {composite_attributes = {sizes = array<i64: 5>, strides = array<i64: 3>, offset = 2 : i64}, decomposition = @d} : ({0}) -> {r0}\nreturn %0 : {r0}', [x], [np.frombuffer(x.tobytes(), np.int16)[2:2 + 15:3]])
    hand("dynamic_pad", '%0 = stablehlo.dynamic_pad %arg0, %arg1, %arg2, %arg3, %arg4 : ({0}, {1}, {2}, {3}, {4}) -> {r0}\nreturn %0 : {r0}',
         [np.array([1, 2, 3], f32), f32(7), np.array([1], i64), np.array([-1], i64), np.array([1], i64)], [np.array([7, 1, 7, 2, 7], f32)])
    hand("dynamic_reshape", '%0 = stablehlo.dynamic_reshape %arg0, %arg1 : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, np.array([4, 3], i64)], [x.reshape(4, 3)])
    hand("dynamic_iota", '%0 = stablehlo.dynamic_iota %arg0, dim = 1 : ({0}) -> {r0}\nreturn %0 : {r0}', [np.array([2, 3], i64)], [np.tile(np.arange(3, dtype=i32), (2, 1))])
    hand("dynamic_broadcast", '%0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0, 2] : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, np.array([3, 2, 4], i64)], [np.broadcast_to(x[:, None], (3, 2, 4))])
    hand("broadcast_old", '%0 = "stablehlo.broadcast"(%arg0) <{broadcast_sizes = array<i64: 2>}> : ({0}) -> {r0}\nreturn %0 : {r0}', [x], [np.broadcast_to(x, (2, 3, 4))])
    q = np.clip(np.rint(x / .5) + 3, -128, 127).astype(i8)
    hand("quantize", '%0 = stablehlo.uniform_quantize %arg0 : ({0}) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>\n%1 = stablehlo.uniform_dequantize %0 : (tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>) -> {r0}\nreturn %1 : {r0}', [x], [((q.astype(f32) - 3) * .5).astype(f32)])
    hand("check_passes", 'stablehlo.custom_call @tt.check(%arg0) {code = 11 : i64, message = "bad {0}", has_side_effect = true} : ({0}) -> ()\nreturn %arg0 : {0}', [np.bool_(True)], [np.bool_(True)])
    x, i = data((4, 5, 3), f32), rng.integers(0, 5, (2, 3)).astype(i32)
    hand("torch_index_select", '%0 = "stablehlo.torch_index_select"(%arg0, %arg1) <{dim = 1 : i64, batch_dims = 0 : i64}> : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, i], [np.take(x, i, 1)])
    i = rng.integers(0, 5, (4, 2)).astype(i32)
    hand("torch_index_select_batch", '%0 = "stablehlo.torch_index_select"(%arg0, %arg1) <{dim = 1 : i64, batch_dims = 1 : i64}> : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, i], [np.take_along_axis(x, i[:, :, None].astype(i64), 1)])
    hand("get_dimension_size", '%0 = stablehlo.get_dimension_size %arg0, dim = 1 : ({0}) -> tensor<i32>\nreturn %0 : {r0}', [x], [np.int32(5)])
    hand("map", '%0 = "stablehlo.map"(%arg0, %arg1) <{dimensions = array<i64: 0, 1>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%1 = stablehlo.multiply %a, %b : tensor<f32>\n%2 = stablehlo.subtract %1, %a : tensor<f32>\nstablehlo.return %2 : tensor<f32>\n}) : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x[0], x[1]], [x[0] * x[1] - x[0]])

def index():
    for dt in (f32, bf16, i8, c128):
        n = np.dtype(dt).name
        x = data((11, 6), dt)
        i = np.array([3, 0, 10, 3, -1, 12, 7], i32)
        jit(f"rows_{n}", lambda x, i: jnp.take(x, i, axis=0, mode="clip"), x, i)
        jit(f"cols_{n}", lambda x, i: jnp.take(x, i, axis=1, mode="clip"), x, i % 6)
        jit(f"along_{n}", lambda x, i: jnp.take_along_axis(x, i, 1), x, rng.integers(0, 6, (11, 4)).astype(i64))
        jit(f"along0_{n}", lambda x, i: jnp.take_along_axis(x, i, 0), x, rng.integers(0, 11, (3, 6)).astype(i64))
        u = data((7, 6), dt)
        jit(f"row_set_{n}", lambda x, i, u: x.at[i].set(u, mode="drop"), x, np.array([3, 0, 10, 2, 55, 12, 7], i32), u)
        jit(f"row_add_{n}", lambda x, i, u: x.at[i].add(u, mode="drop"), x, np.array([3, 0, 3, 2, 55, 3, 7], i32), u)
        jit(f"col_add_{n}", lambda x, i, u: x.at[:, i].add(u, mode="drop"), x, np.array([3, 0, 3, 9, 2], i32), data((11, 5), dt))
        if n != "complex128":
            jit(f"row_max_{n}", lambda x, i, u: x.at[i].max(u, mode="drop"), x, np.array([3, 0, 3, 2, 55, 3, 7], i32), u)
            jit(f"elem_mul_{n}", lambda x, i, j, u: x.at[i, j].multiply(u, mode="drop"), x, np.array([3, 0, 3, 2, 11], i32), np.array([1, 5, 1, 6, 2], i32), data((5,), dt))
    x = data((5, 6, 7, 8), f32)
    jit("gather_points", lambda x, i, j: x[i, :, j], x, rng.integers(0, 5, (3, 2)).astype(i32), rng.integers(0, 7, (3, 2)).astype(i32))
    jit("gather_windows", lambda x, i: lax.gather(x, i, lax.GatherDimensionNumbers(offset_dims=(0, 2, 3), collapsed_slice_dims=(1,), start_index_map=(3, 0)), (2, 1, 7, 3), mode="clip"), x, np.array([[0, 0], [7, 2], [-3, 9], [5, 4], [2, 2]], i32))
    jit("gather_batching", lambda x, i: jax.vmap(lambda a, b: a[b])(x, i), x, rng.integers(0, 6, (5, 4)).astype(i32))
    jit("gather_vector_dim0", lambda x, i: lax.gather(x, i, lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0, 1, 2), start_index_map=(0, 1, 2)), (1, 1, 1, 8), mode="clip"), x, np.array([[0, 1, 2], [4, 9, 6], [2, -2, 0]], i32))
    jit("gather_empty", lambda x, i: x[i], x, np.zeros((0,), i32))
    jit("gather_big_rows", lambda x, i: x[i], data((300, 70), f32), rng.integers(0, 300, (900,)).astype(i32))
    jit("gather_unsigned", lambda x, i: jnp.take(x, i, axis=0, mode="clip"), x, np.array([3, 200], u8))
    jit("scatter_windows_overlap", lambda x, i, u: lax.scatter_add(x, i, u, lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)), mode="drop"), data((9,), f32), np.array([[0], [2], [1], [7], [-1], [6]], i32), data((6, 3), f32))
    jit("scatter_set_window", lambda x, i, u: lax.scatter(x, i, u, lax.ScatterDimensionNumbers(update_window_dims=(0, 1), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1)), mode="drop"), data((6, 5), f32), np.array([2, 1], i32), data((3, 4), f32))
    jit("scatter_batching", lambda x, i, u: jax.vmap(lambda a, b, c: a.at[b].add(c))(x, i, u), data((4, 6), f32), rng.integers(0, 6, (4, 9)).astype(i32), data((4, 9), f32))
    jit("scatter_min_elems", lambda x, i, u: x.at[i].min(u), data((50,), i32), rng.integers(0, 50, (200,)).astype(i32), data((200,), i32))
    jit("scatter_add_large", lambda x, i, u: x.at[i].add(u), data((100, 40), f64), rng.integers(0, 100, (1500,)).astype(i32), data((1500, 40), f64))
    jit("scatter_elems_large", lambda x, i, u: x.at[i].add(u), data((1000,), i64), rng.integers(0, 1000, (40000,)).astype(i32), data((40000,), i64))
    jit("scatter_empty", lambda x, i, u: x.at[i].add(u), data((5,), f32), np.zeros((0,), i32), data((0,), f32))
    x, i, u = data((6, 3), f32), np.array([[1], [4], [1], [0]], i32), data((4, 3), f32)
    y = x.copy()
    for k in range(4): y[i[k, 0]] = y[i[k, 0]] * np.float32(2) + u[k]
    region = '({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.constant dense<2.0> : tensor<f32>\n%1 = stablehlo.multiply %a, %c : tensor<f32>\n%2 = stablehlo.add %1, %b : tensor<f32>\nstablehlo.return %2 : tensor<f32>\n})'
    dims = '#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>'
    hand("scatter_region", '%0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = ' + dims + ', unique_indices = false}> ' + region + ' : ({0}, {1}, {2}) -> {r0}\nreturn %0 : {r0}', [x, i, u], [y])
    z, v = data((6, 3), i32), data((4, 3), i32)
    y2, y3 = x.copy(), z.copy()
    for k in range(4):
        for c in range(3):
            keep = y2[i[k, 0], c] >= u[k, c]
            if not keep: y2[i[k, 0], c], y3[i[k, 0], c] = u[k, c], v[k, c]
    region = '({\n^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):\n%p = stablehlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>\n%1 = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>\n%2 = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i32>\nstablehlo.return %1, %2 : tensor<f32>, tensor<i32>\n})'
    hand("scatter_two", '%0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = ' + dims + ', unique_indices = false}> ' + region + ' : ({0}, {1}, {2}, {3}, {4}) -> ({r0}, {r1})\nreturn %0#0, %0#1 : {r0}, {r1}', [x, z, i, u, v], [y2, y3])

def sort():
    for dt in (f32, f64, bf16, f16, i8, i32, i64, u32, np.bool_):
        n = np.dtype(dt).name
        for size in (1, 7, 40, 700, 1500):
            x = data((2, size), dt)
            if n not in ("bool",) and np.dtype(dt).kind not in "iu" and size > 5: x[0, 3], x[1, 1], x[0, 2], x[1, 4], x[1, 5] = np.nan, -np.nan, -0., 0., np.inf
            p = np.broadcast_to(np.arange(size, dtype=i64), x.shape).copy()
            jit(f"sort_{n}_{size}", lambda x, p: lax.sort((x, p), dimension=1, num_keys=1), x, p)
            if size in (7, 700) and n != "bool":
                jit(f"topk_{n}_{size}", lambda x: lax.top_k(x, 5), data((3, size), dt))
    for dt in (f32, i64, f64, bf16): jit(f"sort_long_{np.dtype(dt).name}", lambda x: jnp.argsort(x), (data((20000,), dt) * 1000).astype(dt))
    jit("sort_dim0", lambda x: lax.sort(x, dimension=0), data((33, 5), f32))
    jit("sort_two_keys", lambda x, y, z: lax.sort((x, y, z), dimension=1, num_keys=2), data((3, 45), i32), data((3, 45), f32), data((3, 45), i64))
    jit("sort_two_keys_long", lambda x, y: lax.sort((x, y), dimension=0, num_keys=2), data((300,), i8), data((300,), f32))
    jit("sort_zero", lambda x: lax.sort(x, dimension=1), data((3, 0), f32))
    jit("argsort_desc", lambda x: jnp.argsort(x, descending=True, stable=True), data((50,), i32))
    jit("topk_ties", lambda x: lax.top_k(x, 9), data((4, 100), i8))
    x = data((2, 600), f32); x[0, :300] = x[0, 300:]
    o = np.argsort(-x, 1, kind="stable").astype(i32)
    body = '%i = stablehlo.iota dim = 1 : {r1}\n%0:2 = "stablehlo.sort"(%arg0, %i) <{dimension = 1 : i64, is_stable = true}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):\n%p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %p : tensor<i1>\n}) : ({0}, {r1}) -> ({r0}, {r1})\nreturn %0#0, %0#1 : {r0}, {r1}'
    hand("sort_gt", body, [x], [np.take_along_axis(x, o.astype(i64), 1), o])
    for desc in (False, True):
        for dt in (f32, bf16, np.bool_):
            x = data((3, 41), dt)
            if dt is not np.bool_: x[0, 3], x[1, 1], x[0, 2], x[1, 4] = np.nan, -np.nan, -0., 0.
            n = mlir_type(np.zeros((), dt)); k = x.astype(f64); k = np.where(np.isnan(k), np.inf, k); k = -k if desc else k
            o = np.argsort(k, 1, kind="stable").astype(i64)
            cmp = "GT" if desc else "LT"; a, b = ("%a", "%b") if desc else ("%b", "%a")
            nan = f"%na = stablehlo.compare NE, {a}, {a} : ({n}, {n}) -> tensor<i1>\n%nb = stablehlo.compare NE, {b}, {b} : ({n}, {n}) -> tensor<i1>\n%nn = stablehlo.not %nb : tensor<i1>\n%an = stablehlo.and %na, %nn : tensor<i1>\n%p = stablehlo.or %q, %an : tensor<i1>\n"
            comp = f"%q = stablehlo.compare {cmp}, %a, %b : ({n}, {n}) -> tensor<i1>\n" + nan if dt is not np.bool_ else f"%u = stablehlo.convert %a : ({n}) -> tensor<ui8>\n%v = stablehlo.convert %b : ({n}) -> tensor<ui8>\n%p = stablehlo.compare {cmp}, %u, %v : (tensor<ui8>, tensor<ui8>) -> tensor<i1>\n"
            hand(f"sort_nan_aware_{desc}_{np.dtype(dt).name}", '%i = stablehlo.iota dim = 1 : {r1}\n%0:2 = "stablehlo.sort"(%arg0, %i) <{dimension = 1 : i64, is_stable = true}> ({\n^bb0(%a: ' + n + ', %b: ' + n + ', %c: tensor<i64>, %d: tensor<i64>):\n' + comp + 'stablehlo.return %p : tensor<i1>\n}) : ({0}, {r1}) -> ({r0}, {r1})\nreturn %0#0, %0#1 : {r0}, {r1}', [x], [np.take_along_axis(x, o, 1), o])
    x = data((2, 600), f32); x[0, :300] = x[0, 300:]
    o = np.argsort(-x, 1, kind="stable").astype(i32)
    general = body.replace('%p = stablehlo.compare GT, %a, %b', '%na = stablehlo.negate %a : tensor<f32>\n%nb = stablehlo.negate %b : tensor<f32>\n%p = stablehlo.compare LT, %na, %nb')
    hand("sort_general_stable", general, [x], [np.take_along_axis(x, o.astype(i64), 1), o])

def window():
    def rw(x, init, op, dims, strides, pad, bd=None, wd=None):
        return lax.reduce_window(x, init, op, dims, strides, pad, bd, wd)
    x = data((2, 3, 9, 10), f32)
    jit("maxpool", lambda x: rw(x, -np.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (0, 1))), x)
    jit("sumpool_dilated", lambda x: rw(x, 0., lax.add, (1, 2, 3, 2), (1, 1, 2, 3), ((0, 0), (1, 0), (2, 1), (0, 3)), (1, 2, 2, 3), (1, 1, 2, 3)), x)
    jit("sumpool_negative", lambda x: rw(x, 0., lax.add, (1, 1, 2, 2), (1, 1, 1, 1), ((0, 0), (0, 0), (-1, -2), (-2, 1))), x)
    jit("minpool_nhwc_i32", lambda x: rw(x, np.int32(99), lax.min, (1, 2, 2, 1), (1, 2, 1, 1), "SAME"), data((2, 5, 5, 4), i32))
    jit("sumpool_bf16", lambda x: rw(x, bf16(0), lax.add, (2, 2), (1, 1), "VALID"), data((6, 7), bf16))
    for dt in (f32, i32, bf16, f64, i64):
        for axis in (0, 1):
            for rev in (False, True):
                jit(f"cumsum_{np.dtype(dt).name}_{axis}_{rev}", lambda x: lax.cumsum(x, axis, reverse=rev), data((12, 17), dt), **({"atol": .2} if dt == bf16 else {"atol": 1e-5}))
    def window_sum(x, axis, rev):
        n = x.shape[axis]; d = [1] * x.ndim; d[axis] = n
        p = [(0, 0)] * x.ndim; p[axis] = (0, n - 1) if rev else (n - 1, 0)
        return lax.reduce_window(x, np.zeros((), x.dtype)[()], lax.add, d, [1] * x.ndim, p)
    for dt in (f32, i32, f64):
        for axis in (0, 1, 2): jit(f"window_scan_{np.dtype(dt).name}_{axis}", lambda x: window_sum(x, axis, axis == 1), data((9, 11, 12), dt), atol=1e-5)
    jit("cummax_window", lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 20), (1, 1), ((0, 0), (19, 0))), data((3, 20), f32))
    def pair(x, i):
        def f(a, b):
            p = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
            return lax.select(p, a[0], b[0]), lax.select(p, a[1], b[1])
        return lax.reduce_window((x, i), (np.float32(-np.inf), np.int32(2**31 - 1)), f, (1, 2, 3), (1, 1, 2), ((0, 0), (1, 0), (1, 1)))
    jit("window_argmax", pair, data((2, 5, 9), f32), np.arange(90, dtype=i32).reshape(2, 5, 9))
    def grad(x, s): return jax.vjp(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 0))), x)[1](s)[0]
    jit("select_and_scatter", grad, data((2, 2, 8, 9), f32), data((2, 2, 4, 4), f32))
    jit("select_and_scatter_f64", grad, data((1, 2, 8, 9), f64), data((1, 2, 4, 4), f64))
    for dt in (f32, f64, bf16, i32):
        n = np.dtype(dt).name
        x = data((3, 4, 5, 6), dt)
        for axes in ((0,), (3,), (1, 2), (0, 3), (0, 1, 2, 3), ()):
            a = "".join(map(str, axes))
            jit(f"reduce_sum_{n}_{a}", lambda x: lax.reduce(x, np.zeros((), dt)[()], lax.add, axes), x, **({"atol": .25} if dt == bf16 else {}))
            jit(f"reduce_max_{n}_{a}", lambda x: lax.reduce(x, np.array(-9, dt)[()], lax.max, axes), x)
    jit("reduce_prod", lambda x: lax.reduce(x, np.float32(1), lax.mul, (0,)), data((5, 7), f32))
    jit("reduce_and", lambda x: lax.reduce(x, np.bool_(True), lax.bitwise_and, (1,)), data((50, 2), np.bool_))
    jit("reduce_zero", lambda x: lax.reduce(x, np.float32(3), lax.add, (1,)), data((5, 0), f32))
    for shape, axes in (((60, 3), (1,)), ((5, 11, 2, 3), (2, 3)), ((4, 9, 5, 2), (1, 3)), ((70, 0), (1,))):
        jit(f"reduce_short_{'_'.join(map(str, shape))}", lambda x: lax.reduce(x, np.float32(1), lax.add, axes), data(shape, f32))
        jit(f"reduce_short_max_{'_'.join(map(str, shape))}", lambda x: lax.reduce(x, np.int64(-5), lax.max, axes), data(shape, i64))
        jit(f"reduce_short_bf16_{'_'.join(map(str, shape))}", lambda x: lax.reduce(x, bf16(1), lax.add, axes), data(shape, bf16), atol=.1)
    for dt in (f32, bf16, f64, i32, u8, i8):
        x = data((4, 37), dt)
        if np.dtype(dt).kind not in "iu": x[0, 5] = np.nan; x[1, :] = -np.inf; x[2, 7] = np.inf
        else: x[0, :] = np.iinfo(dt).min; x[1, :] = np.iinfo(dt).max
        for it in (i32, i64): jit(f"argmax_nan_{np.dtype(dt).name}_{np.dtype(it).name}", lambda x: (lax.argmax(x, 1, it), lax.argmin(x, 1, it)), x)
    jit("argmax_1d", lambda x: lax.argmax(x, 0, i32), data((300,), f32))
    x = data((3, 50), f32); x[:, 30] = x[:, 2] = 9
    last = '%i = stablehlo.iota dim = 1 : tensor<3x50xi64>\n%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n%m = stablehlo.constant dense<-1> : tensor<i64>\n%0:2 = stablehlo.reduce(%arg0 init: %z), (%i init: %m) across dimensions = [1] : ({0}, tensor<3x50xi64>, tensor<f32>, tensor<i64>) -> ({r0}, {r1})\nreducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i64>, %d: tensor<i64>) {\n%g = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>\n%e = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>\n%h = stablehlo.compare GT, %b, %d : (tensor<i64>, tensor<i64>) -> tensor<i1>\n%k = stablehlo.and %e, %h : tensor<i1>\n%p = stablehlo.or %g, %k : tensor<i1>\n%q = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>\n%r = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i64>\nstablehlo.return %q, %r : tensor<f32>, tensor<i64>\n}\nreturn %0#0, %0#1 : {r0}, {r1}'
    hand("argmax_last_is_general", last, [x], [x.max(1), 49 - np.argmax(x[:, ::-1], 1)])
    jit("argmin_short", lambda x: lax.argmin(x, 1, i32), data((50, 4), f32))
    jit("reduce_long", lambda x: lax.reduce(x, 0., lax.add, (0, 1)), data((300, 1001), f64))
    for axis in (0, 1, 2): jit(f"argmax_{axis}", lambda x: lax.argmax(x, axis, i32), data((5, 6, 700), i8))
    for axis in (0, 2): jit(f"argmin_f32_{axis}", lambda x: lax.argmin(x, axis, i64), data((5, 6, 300), f32))
    x, s, o, m, v, g = data((4, 3, 5), f32), data((3,), f32), data((3,), f32), data((3,), f32), np.abs(data((3,), f32)) + 1, data((4, 3, 5), f32)
    b = lambda t: t.reshape(1, 3, 1).astype(f64)
    X, G = x.astype(f64), g.astype(f64)
    mean, var = X.mean((0, 2)), X.var((0, 2))
    hand("bn_training", '%0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : ({0}, {1}, {2}) -> ({r0}, {r1}, {r2})\nreturn %0#0, %0#1, %0#2 : {r0}, {r1}, {r2}', [x, s, o],
         [((X - b(mean)) / np.sqrt(b(var) + .01) * b(s) + b(o)).astype(f32), mean.astype(f32), var.astype(f32)])
    hand("bn_inference", '%0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : ({0}, {1}, {2}, {3}, {4}) -> {r0}\nreturn %0 : {r0}', [x, s, o, m, v],
         [((X - b(m)) / np.sqrt(b(v) + .01) * b(s) + b(o)).astype(f32)])
    def bn(x, s, o):
        mu = jnp.mean(x, (0, 2), keepdims=True); va = jnp.var(x, (0, 2), keepdims=True)
        return (x - mu) / jnp.sqrt(va + .01) * s.reshape(1, 3, 1) + o.reshape(1, 3, 1)
    gx, gs, go = jax.vjp(bn, X, s.astype(f64), o.astype(f64))[1](G)
    hand("bn_grad", '%0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : ({0}, {1}, {2}, {3}, {4}) -> ({r0}, {r1}, {r2})\nreturn %0#0, %0#1, %0#2 : {r0}, {r1}, {r2}', [x, s, mean.astype(f32), var.astype(f32), g],
         [np.asarray(gx).astype(f32), np.asarray(gs).astype(f32), np.asarray(go).astype(f32)], atol=1e-4)

def dot():
    for dt in (f32, f64, bf16, f16, i8, i32, u8, i64, c64, c128, np.bool_):
        n = np.dtype(dt).name
        kw = {"atol": .2} if dt in (bf16,) else {"atol": 2e-2} if dt == f16 else {}
        jit(f"dot_{n}", lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))), data((13, 19), dt), data((19, 21), dt), **kw)
        jit(f"dot_batch_{n}", lambda x, y: lax.dot_general(x, y, (((1, 3), (3, 1)), ((2,), (0,)))), data((3, 2, 4, 5), dt), data((4, 5, 7, 2), dt), **kw)
    jit("dot_i8_i32", lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type=i32), data((5, 300), i8), data((6, 300), i8))
    jit("dot_bf16_f32", lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ())), preferred_element_type=f32), data((40, 5), bf16), data((40, 6), bf16), atol=1e-4)
    jit("dot_vector", lambda x, y: x @ y, data((40,), f32), data((40,), f32))
    jit("dot_outer", lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), data((4,), f32), data((3, 2), f32))
    jit("dot_zero_k", lambda x, y: x @ y, data((4, 0), f32), data((0, 3), f32))
    lhs, rhs, sizes = data((11, 3), f32), data((3, 3, 4), f32), np.array([4, 0, 5], i32)
    ref = np.zeros((11, 4), f32); ref[:4] = lhs[:4] @ rhs[0]; ref[4:9] = lhs[4:9] @ rhs[2]
    dn = lambda lc, rc, ragged, group: f"#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [{lc}], rhs_contracting_dimensions = [{rc}], lhs_ragged_dimensions = [{ragged}], rhs_group_dimensions = [{group}]>"
    hand("ragged_rows", '%0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = ' + dn(1, 1, 0, 0) + '}> : ({0}, {1}, {2}) -> {r0}\nreturn %0 : {r0}', [lhs, rhs, sizes], [ref])
    lhs, rhs = data((2, 11), f32), data((11, 4), f32)
    ref = np.stack([lhs[:, :4] @ rhs[:4], np.zeros((2, 4), f32), lhs[:, 4:9] @ rhs[4:9]])
    hand("ragged_contracting", '%0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = ' + dn(1, 0, 1, "") + '}> : ({0}, {1}, {2}) -> {r0}\nreturn %0 : {r0}', [lhs, rhs, sizes], [ref])
    x, y = data((4, 5), f32), data((5, 6), f32)
    hand("dot_plain", '%0 = stablehlo.dot %arg0, %arg1 : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, y], [x @ y])
    for cfg, a, b in (("ab,bc->ac", (3, 4), (4, 5)), ("abc,cab->cb", (2, 3, 4), (4, 2, 3)), ("aab,c->cb", (3, 3, 2), (4,))):
        for dt in (f32, c64, i8):
            x, y = data(a, dt), data(b, dt)
            hand(f"einsum_{cfg[:3]}_{np.dtype(dt).name}", '%0 = "stablehlo.einsum"(%arg0, %arg1) <{einsum_config = "' + cfg + '"}> : ({0}, {1}) -> {r0}\nreturn %0 : {r0}', [x, y], [np.einsum(cfg, x, y).astype(dt)])
    jit("dot_large", lambda x, y: x @ y, data((70, 600), f32), data((600, 300), f32), atol=1e-3)

def conv():
    def c(x, w, strides, pad, lhs=None, rhs=None, dn=None, fg=1, bg=1, pet=None):
        return lax.conv_general_dilated(x, w, strides, pad, lhs, rhs, dn, fg, bg, preferred_element_type=pet)
    for dt in (f32, f64, bf16, i32, c64):
        n = np.dtype(dt).name
        kw = {"atol": .3} if dt == bf16 else {"atol": 1e-4} if dt in (f32, c64) else {}
        jit(f"conv2d_{n}", lambda x, w: c(x, w, (2, 1), ((1, 1), (0, 2))), data((2, 3, 7, 8), dt), data((4, 3, 3, 2), dt), **kw)
    f = lambda *s: data(s, f32)
    jit("conv_dilated", lambda x, w: c(x, w, (2, 3), ((2, 1), (3, 0)), (2, 3), (1, 2)), f(2, 3, 5, 6), f(4, 3, 3, 2), atol=1e-4)
    jit("conv_negative_pad", lambda x, w: c(x, w, (1, 1), ((-1, 2), (1, -2))), f(2, 3, 6, 6), f(4, 3, 2, 2), atol=1e-4)
    jit("conv_groups", lambda x, w: c(x, w, (1, 1), "SAME", fg=2), f(2, 4, 5, 5), f(6, 2, 3, 3), atol=1e-4)
    jit("conv_depthwise", lambda x, w: c(x, w, (1, 1), "SAME", fg=4), f(2, 4, 5, 5), f(8, 1, 3, 3), atol=1e-4)
    jit("conv_batch_groups", lambda x, w: c(x, w, (1, 1), "VALID", bg=2), f(4, 3, 5, 5), f(6, 3, 2, 2), atol=1e-4)
    jit("conv_nhwc", lambda x, w: c(x, w, (1, 2), "SAME", dn=("NHWC", "HWIO", "NHWC")), f(2, 5, 6, 3), f(3, 3, 3, 4), atol=1e-4)
    jit("conv_1d", lambda x, w: c(x, w, (2,), ((2, 2),)), f(2, 3, 9), f(4, 3, 3), atol=1e-4)
    jit("conv_3d", lambda x, w: c(x, w, (1, 2, 1), ((1, 0), (0, 1), (1, 1))), f(1, 2, 4, 5, 6), f(3, 2, 2, 3, 2), atol=1e-4)
    jit("conv_0d", lambda x, w: c(x, w, (), ()), f(2, 3), f(4, 3), atol=1e-4)
    jit("conv_grad_w", lambda x, w, g: jax.vjp(lambda w: c(x, w, (2, 1), ((1, 1), (0, 2))), w)[1](g)[0], f(2, 3, 7, 8), f(4, 3, 3, 2), f(2, 4, 4, 9), atol=1e-4)
    jit("conv_grad_x", lambda x, w, g: jax.vjp(lambda x: c(x, w, (2, 1), ((1, 1), (0, 2))), x)[1](g)[0], f(2, 3, 7, 8), f(4, 3, 3, 2), f(2, 4, 4, 9), atol=1e-4)
    jit("conv_bf16_f32", lambda x, w: c(x, w, (1, 1), "SAME", pet=f32), data((1, 2, 4, 4), bf16), data((3, 2, 3, 3), bf16), atol=1e-4)
    jit("conv_zero", lambda x, w: c(x, w, (1, 1), ((0, 0), (0, 0))), f(0, 3, 4, 4), f(4, 3, 2, 2))

def fft():
    for n in (1, 2, 3, 4, 5, 7, 8, 12, 13, 30, 37, 64, 97, 100, 128, 210, 1009, 1024):
        for dt, r in ((c64, f32), (c128, f64)):
            if n > 128 and dt == c64: continue
            kw = {"rtol": 1e-12, "atol": 1e-11 * max(1, n)} if dt == c128 else {"rtol": 2e-5, "atol": 2e-5 * max(1, n) ** .5}
            x, y = data((2, n), dt), data((2, n), r)
            jit(f"fft_{n}_{np.dtype(dt).name}", lambda x: lax.fft(x, "FFT", (n,)), x, expect=[np.fft.fft(x.astype(c128)).astype(dt)], **kw)
            jit(f"ifft_{n}_{np.dtype(dt).name}", lambda x: lax.fft(x, "IFFT", (n,)), x, expect=[np.fft.ifft(x.astype(c128)).astype(dt)], **kw)
            jit(f"rfft_{n}_{np.dtype(dt).name}", lambda x: lax.fft(x, "RFFT", (n,)), y, expect=[np.fft.rfft(y.astype(f64)).astype(dt)], **kw)
            h = data((2, n // 2 + 1), dt)
            jit(f"irfft_{n}_{np.dtype(dt).name}", lambda x: lax.fft(x, "IRFFT", (n,)), h, expect=[np.fft.irfft(h.astype(c128), n).astype(r)], **kw)
    x, y = data((2, 4, 6, 5), c128), data((2, 4, 6, 5), f64)
    jit("fft3", lambda x: lax.fft(x, "FFT", (4, 6, 5)), x, expect=[np.fft.fftn(x, axes=(1, 2, 3))], atol=1e-11)
    jit("ifft2", lambda x: lax.fft(x, "IFFT", (6, 5)), x, expect=[np.fft.ifftn(x, axes=(2, 3))], atol=1e-11)
    jit("rfft3", lambda x: lax.fft(x, "RFFT", (4, 6, 5)), y, expect=[np.fft.rfftn(y, axes=(1, 2, 3))], atol=1e-11)
    h = np.fft.rfftn(y, axes=(1, 2, 3)); h = h + data(h.shape, c128) * .1
    jit("irfft3", lambda x: lax.fft(x, "IRFFT", (4, 6, 5)), h, expect=[np.fft.irfftn(h, (4, 6, 5), axes=(1, 2, 3))], atol=1e-11)
    jit("fft_zero", lambda x: lax.fft(x, "FFT", (4,)), data((0, 4), c64))

def linalg():
    def tt(shape, dt): return mlir_type(np.zeros(shape, dt))
    def dot(name, a, b, ta, tb, tr, ca, cb, batch):
        bs = "batching_dims = [%s] x [%s], " % ((", ".join(map(str, range(batch))),) * 2) if batch else ""
        return f"{name} = stablehlo.dot_general {a}, {b}, {bs}contracting_dims = [{ca}] x [{cb}] : ({ta}, {tb}) -> {tr}\n"
    def conj(name, a, t, dt):
        return f"{name} = chlo.conj {a} : {t} -> {t}\n" if np.dtype(dt).kind == "c" else f"{name} = stablehlo.negate {a} : {t}\n{name}m = stablehlo.negate {name} : {t}\n"
    def cn(name, dt): return name if np.dtype(dt).kind == "c" else name + "m"
    def real(dt): return np.dtype(dt).type(0).real.dtype
    for dt in (f32, f64, c64, c128):
        n_ = np.dtype(dt).name
        t = {"rtol": 1e-4, "atol": 1e-4} if dt in (f32, c64) else {"rtol": 1e-10, "atol": 1e-10}
        wide = c128 if np.dtype(dt).kind == "c" else f64
        for n in (1, 5, 17):
            a = data((2, n, n), dt); h = (a @ a.conj().transpose(0, 2, 1) + 2 * np.eye(n)).astype(dt)
            L = np.linalg.cholesky(h.astype(wide)).astype(dt)
            hand(f"cholesky_lower_{n_}_{n}", "%0 = stablehlo.cholesky %arg0, lower = true : {0}\nreturn %0 : {0}", [h], [L], **t)
            hand(f"cholesky_upper_{n_}_{n}", "%0 = stablehlo.cholesky %arg0, lower = false : {0}\nreturn %0 : {0}", [h], [L.conj().transpose(0, 2, 1)], **t)
            m = (np.tril(a) + 2 * n * np.eye(n)).astype(dt)
            for left in (True, False):
                for lower in (True, False):
                    for tr in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
                        for unit in (False, True):
                            if (n == 17 and unit) or (n != 5 and dt in (f64, c64)): continue
                            mm = m if lower else m.transpose(0, 2, 1)
                            full = mm + (np.triu(a, 1) if lower else np.tril(a, -1))   # the other triangle must not count
                            op = mm.astype(wide).copy()
                            if unit: op[:, range(n), range(n)] = 1
                            op = op.transpose(0, 2, 1) if tr != "NO_TRANSPOSE" else op
                            op = op.conj() if tr == "ADJOINT" else op
                            b = data((2, n, 3) if left else (2, 3, n), dt)
                            x = np.linalg.solve(op, b) if left else np.linalg.solve(op.transpose(0, 2, 1), b.transpose(0, 2, 1).astype(wide)).transpose(0, 2, 1)
                            big = dict(t) if not unit else {"rtol": t["rtol"] * 10, "atol": t["atol"] * float(np.abs(x).max() + 1)}
                            hand(f"triangular_{n_}_{n}_{left}_{lower}_{tr}_{unit}", '%0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = ' + str(left).lower() + ", lower = " + str(lower).lower() + f", transpose_a = #stablehlo<transpose {tr}>, unit_diagonal = " + str(unit).lower() + "}> : ({0}, {1}) -> {1}\nreturn %0 : {1}", [full.astype(dt), b], [x.astype(dt)], **big)
            w = np.linalg.eigvalsh(h.astype(wide))
            herm = (a + a.conj().transpose(0, 2, 1)).astype(dt)
            wh = np.linalg.eigvalsh(herm.astype(wide)).astype(real(dt))
            ta, tw = tt((2, n, n), dt), tt((2, n), real(dt))
            for lower in ("true", "false"):
                body = "%0:2 = stablehlo.custom_call @tt.eigh(%arg0) {lower = " + lower + "} : ({0}) -> ({r0}, {r1})\n"
                body += conj("%vc", "%0#1", ta, dt)
                if np.dtype(dt).kind == "c":
                    body += f"%z = stablehlo.constant dense<0.0> : {tw}\n%wc = stablehlo.complex %0#0, %z : {tt((2, n), dt)}\n"
                else: body += f"%wn = stablehlo.negate %0#0 : {tw}\n%wc = stablehlo.negate %wn : {tw}\n"
                body += f"%wb = stablehlo.broadcast_in_dim %wc, dims = [0, 2] : ({tt((2, n), dt)}) -> {ta}\n%vw = stablehlo.multiply %0#1, %wb : {ta}\n"
                body += dot("%back", "%vw", cn("%vc", dt), ta, ta, ta, 2, 2, 1) + dot("%one", "%0#1", cn("%vc", dt), ta, ta, ta, 1, 1, 1)
                tri = np.tril(herm) if lower == "true" else np.triu(herm)
                hand(f"eigh_{n_}_{n}_{lower}", body + "return %0#0, %back, %one : {r0}, {r1}, {r2}", [tri], [wh, herm, np.broadcast_to(np.eye(n, dtype=dt), herm.shape)], **t)
        for m, n in ((1, 1), (4, 4), (7, 3), (3, 7), (20, 13)):
            a = data((2, m, n), dt); k = min(m, n); ta = tt((2, m, n), dt)
            import scipy.linalg
            lus = [scipy.linalg.lu_factor(x.astype(wide)) for x in a]
            piv = np.stack([l[1] for l in lus]).astype(i32)
            perm = np.stack([np.arange(m) for _ in a])
            for b in range(2):
                for i in range(k): perm[b, [i, piv[b, i]]] = perm[b, [piv[b, i], i]]
            hand(f"lu_{n_}_{m}_{n}", "%0:3 = stablehlo.custom_call @tt.lu(%arg0) : ({0}) -> ({r0}, {r1}, {r2})\nreturn %0#0, %0#1, %0#2 : {r0}, {r1}, {r2}", [a], [np.stack([l[0] for l in lus]).astype(dt), piv, perm.astype(i32)], **t)
            for full in (False, True):
                c = m if full else k
                tq, tr = tt((2, m, c), dt), tt((2, c, n), dt)
                body = f"%0:2 = stablehlo.custom_call @tt.qr(%arg0) {{full_matrices = {str(full).lower()}}} : ({ta}) -> ({tq}, {tr})\n" + conj("%qc", "%0#0", tq, dt)
                body += dot("%back", "%0#0", "%0#1", tq, tr, ta, 2, 1, 1) + dot("%one", "%0#0", cn("%qc", dt), tq, tq, tt((2, c, c), dt), 1, 1, 1)
                R = np.stack([np.linalg.qr(x.astype(wide), "complete" if full else "reduced")[1] for x in a]).astype(dt)
                hand(f"qr_{n_}_{m}_{n}_{full}", body + "return %0#1, %back, %one : {r0}, {r1}, {r2}", [a], [R, a, np.broadcast_to(np.eye(c, dtype=dt), (2, c, c))], **t)
                r = n if full else k
                tu, tv, ts = tt((2, m, c), dt), tt((2, r, n), dt), tt((2, k), real(dt))
                for low in (False, True):
                    x = a if not low else np.concatenate([a[:1], np.zeros_like(a[:1])]) if k < 3 else (a[:, :, :2] @ a[:, :2, :]).astype(dt)
                    x = x if x.shape == a.shape else (data((2, m, 2), dt) @ data((2, 2, n), dt)).astype(dt)
                    body = f"%0:3 = stablehlo.custom_call @tt.svd(%arg0) {{full_matrices = {str(full).lower()}}} : ({ta}) -> ({tu}, {ts}, {tv})\n" + conj("%uc", "%0#0", tu, dt) + conj("%vc", "%0#2", tv, dt)
                    body += dot("%one", "%0#0", cn("%uc", dt), tu, tu, tt((2, c, c), dt), 1, 1, 1) + dot("%two", "%0#2", cn("%vc", dt), tv, tv, tt((2, r, r), dt), 2, 2, 1)
                    if np.dtype(dt).kind == "c": body += f"%z = stablehlo.constant dense<0.0> : {ts}\n%sc = stablehlo.complex %0#1, %z : {tt((2, k), dt)}\n"
                    else: body += f"%sn = stablehlo.negate %0#1 : {ts}\n%sc = stablehlo.negate %sn : {ts}\n"
                    tk, tkn = tt((2, m, k), dt), tt((2, k, n), dt)
                    body += f"%sb = stablehlo.broadcast_in_dim %sc, dims = [0, 2] : ({tt((2, k), dt)}) -> {tk}\n%uk = stablehlo.slice %0#0 [0:2, 0:{m}, 0:{k}] : ({tu}) -> {tk}\n%vk = stablehlo.slice %0#2 [0:2, 0:{k}, 0:{n}] : ({tv}) -> {tkn}\n%us = stablehlo.multiply %uk, %sb : {tk}\n"
                    body += dot("%back", "%us", "%vk", tk, tkn, ta, 2, 1, 1)
                    S = np.linalg.svd(x.astype(wide), compute_uv=False).astype(real(dt))
                    hand(f"svd_{n_}_{m}_{n}_{full}_{low}", body + "return %0#1, %back, %one, %two : {r0}, {r1}, {r2}, {r3}", [x], [S, x, np.broadcast_to(np.eye(c, dtype=dt), (2, c, c)), np.broadcast_to(np.eye(r, dtype=dt), (2, r, r))], **t)
        for n in (1, 2, 3, 8, 15):
            a = data((2, n, n), dt)
            if n == 3: a[1] = np.array([[1, 2, 0], [0, 3, 0], [0, 0, 1]])
            cd = c64 if dt in (f32, c64) else c128
            ta, tc, tw = tt((2, n, n), dt), tt((2, n, n), cd), tt((2, n), cd)
            body = f"%0:2 = stablehlo.custom_call @tt.eig(%arg0) : ({ta}) -> ({tw}, {tc})\n%ac = stablehlo.convert %arg0 : ({ta}) -> {tc}\n" if np.dtype(dt).kind != "c" else f"%0:2 = stablehlo.custom_call @tt.eig(%arg0) : ({ta}) -> ({tw}, {tc})\n%ac = stablehlo.add %arg0, %arg1 : {tc}\n"
            body += dot("%av", "%ac", "%0#1", tc, tc, tc, 2, 1, 1)
            body += f"%wb = stablehlo.broadcast_in_dim %0#0, dims = [0, 2] : ({tw}) -> {tc}\n%vw = stablehlo.multiply %0#1, %wb : {tc}\n%d = stablehlo.subtract %av, %vw : {tc}\n"
            body += "%w2 = stablehlo.multiply %0#0, %0#0 : " + tw + "\n%w3 = stablehlo.multiply %w2, %0#0 : " + tw + "\n"
            to = tt((n,), cd)
            body += f"%ones = stablehlo.constant dense<(1.0, 0.0)> : {to}\n"
            for i, w in enumerate(("%0#0", "%w2", "%w3")): body += f"%t{i} = stablehlo.dot_general {w}, %ones, contracting_dims = [1] x [0] : ({tw}, {to}) -> {tt((2,), cd)}\n"
            body += conj("%vc", "%0#1", tc, c64) + f"%sq = stablehlo.multiply %0#1, %vc : {tc}\n%nn = stablehlo.dot_general %sq, %ones, contracting_dims = [1] x [0] : ({tc}, {to}) -> {tw}\n"
            A = a.astype(c128)
            tr = [np.trace(A, axis1=1, axis2=2), np.trace(A @ A, axis1=1, axis2=2), np.trace(A @ A @ A, axis1=1, axis2=2)]
            tol_ = {"rtol": 1e-3, "atol": 2e-3} if dt in (f32, c64) else {"rtol": 1e-8, "atol": 1e-8}
            hand(f"eig_{n_}_{n}", body + "return %d, %t0, %t1, %t2, %nn : {r0}, {r1}, {r2}, {r3}, {r4}", [a] + ([np.zeros_like(a)] if np.dtype(dt).kind == "c" else []),
                 [np.zeros((2, n, n), cd)] + [x.astype(cd) for x in tr] + [np.ones((2, n), cd)], **tol_)
        jit(f"jax_qr_{n_}", lambda x: jnp.linalg.qr(x)[1], data((2, 6, 4), dt), **t)
    a = data((2, 5, 3), f64)
    hand("tpu_qr", "%0:2 = stablehlo.custom_call @Qr(%arg0) : ({0}) -> ({r0}, tensor<2x3xf64>)\n%1 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0#0, %0#1) : ({r0}, tensor<2x3xf64>) -> {r0}\nreturn %1 : {r0}", [a], [np.stack([np.linalg.qr(x)[0] for x in a])])
    h = data((4, 4), f64); h = h + h.T
    hand("tpu_eigh", '%0:2 = stablehlo.custom_call @Eigh(%arg0) {backend_config = "1,1,100,1e-6"} : ({0}) -> ({0}, {r0})\nreturn %0#1 : {r0}', [np.tril(h)], [np.linalg.eigvalsh(h)])
    bad = np.array([[1., 2.], [2., 1.]])
    hand("cholesky_info", "%0:2 = stablehlo.custom_call @tt.cholesky(%arg0) {lower = true} : ({0}) -> ({r0}, {r1})\nreturn %0#0, %0#1 : {r0}, {r1}", [bad], [np.array([[np.nan, 0], [np.nan, np.nan]]), np.int32(2)])

def random_programs():
    """Random attributes; run after a change with `generate.py random`."""
    def pick(*a): return a[rng.integers(len(a))]
    ints = lambda lo, hi, n: tuple(int(v) for v in rng.integers(lo, hi, n))
    for k in range(60):
        dt, r = pick(f32, i32, bf16, u8), int(rng.integers(1, 5))
        x = data(ints(1, 7, r), dt)
        perm = tuple(int(v) for v in rng.permutation(r))
        jit(f"transpose{k}", lambda x: lax.transpose(x, perm), x)
        cfg = []
        for d in x.shape:
            i = int(rng.integers(0, 3)); lo, hi = ints(-2, 4, 2)
            if d + max(0, d - 1) * i + lo + hi < 0: lo = hi = 0
            cfg.append((lo, hi, i))
        jit(f"pad{k}", lambda x: lax.pad(x, x.ravel()[0], cfg), x)
        sizes = [int(rng.integers(1, d + 1)) for d in x.shape]
        starts = [np.int32(v) for v in ints(-3, 8, r)]
        jit(f"dslice{k}", lambda x, *s: lax.dynamic_slice(x, s, sizes), x, *starts)
        jit(f"dupdate{k}", lambda x, u, *s: lax.dynamic_update_slice(x, u, s), x, data(sizes, dt), *starts)
    for k in range(60):
        r = int(rng.integers(1, 5)); shape = ints(1, 7, r); x = data(shape, pick(f32, i32, bf16, i8))
        n = int(rng.integers(0, r + 1)); mapped = tuple(int(v) for v in rng.permutation(r)[:n])
        collapsed = tuple(sorted(int(v) for v in rng.permutation(r)[:rng.integers(0, r + 1)]))
        sizes = tuple(1 if d in collapsed else int(rng.integers(1, shape[d] + 1)) for d in range(r))
        batch = ints(1, 5, int(rng.integers(0, 3)))
        idx = rng.integers(-2, 8, (*batch, n)).astype(pick(i32, i64))
        rank = len(batch) + r - len(collapsed)
        offset = tuple(sorted(int(v) for v in rng.permutation(rank)[:r - len(collapsed)]))
        dn = lax.GatherDimensionNumbers(offset_dims=offset, collapsed_slice_dims=collapsed, start_index_map=mapped)
        out = jax.eval_shape(lambda x, i: lax.gather(x, i, dn, sizes, mode="clip"), x, idx)
        jit(f"gather{k}", lambda x, i: lax.gather(x, i, dn, sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS), x, np.clip(idx, 0, np.array([shape[d] - sizes[d] for d in mapped], idx.dtype)) if n else idx)
        jit(f"gatherclip{k}", lambda x, i: lax.gather(x, i, dn, sizes, mode="clip"), x, idx)
        sdn = lax.ScatterDimensionNumbers(update_window_dims=offset, inserted_window_dims=collapsed, scatter_dims_to_operand_dims=mapped)
        u = data(out.shape, x.dtype)
        if n == 0: continue   # XLA:CPU applies only one update then
        for name, fn in (("add", lax.scatter_add), ("max", lax.scatter_max), ("mul", lax.scatter_mul)):
            jit(f"scatter{name}{k}", lambda x, i, u: fn(x, i, u, sdn, mode=lax.GatherScatterMode.FILL_OR_DROP), x, idx, u, **({"atol": .5, "rtol": .1} if x.dtype == bf16 else {"atol": 1e-4}))
    for k in range(60):
        r = int(rng.integers(1, 5)); x = data(ints(1, 8, r), pick(f32, i32))
        win, st, bd, wd = ints(1, 4, r), ints(1, 4, r), ints(1, 3, r), ints(1, 3, r)
        pad = [ints(-1, 3, 2) for _ in range(r)]
        try:
            f = lambda x: lax.reduce_window(x, np.zeros((), x.dtype)[()], lax.add, win, st, pad, bd, wd)
            if min(jax.eval_shape(f, x).shape) < 0: continue
            jit(f"window{k}", f, x, atol=1e-4)
        except Exception: pass
        axes = tuple(sorted(int(v) for v in rng.permutation(r)[:rng.integers(0, r + 1)]))
        jit(f"reduce{k}", lambda x: lax.reduce(x, np.zeros((), x.dtype)[()], lax.add, axes), x, atol=1e-4)
    for k in range(60):
        s = int(rng.integers(0, 4)); g = int(pick(1, 1, 2, 3)); bg = int(pick(1, 1, 2)) if g == 1 else 1
        x = data((bg * int(rng.integers(1, 3)), g * int(rng.integers(1, 3)), *ints(1, 7, s)), pick(f32, i32))
        w = data((g * bg * int(rng.integers(1, 3)), x.shape[1] // g, *ints(1, 4, s)), x.dtype)
        perms = [tuple(int(v) for v in rng.permutation(s + 2)) for _ in range(3)]
        dn = lax.ConvDimensionNumbers(*perms)
        inv = lambda a, p: np.ascontiguousarray(np.transpose(a, np.argsort(p)))
        st, ld, rd, pad = ints(1, 4, s), ints(1, 3, s), ints(1, 3, s), [ints(-1, 3, 2) for _ in range(s)]
        f = lambda x, w: lax.conv_general_dilated(x, w, st, pad, ld, rd, dn, g, bg)
        try: jit(f"conv{k}", f, inv(x, perms[0]), inv(w, perms[1]), atol=1e-3)
        except Exception: pass
    for k in range(40):
        nb, nc, nl, nr = ints(0, 3, 4)
        b, c, l, r = ints(1, 4, nb), ints(1, 5, nc), ints(1, 5, nl), ints(1, 5, nr)
        pl, pr = rng.permutation(nb + nc + nl), rng.permutation(nb + nc + nr)
        dt = pick(f32, i32, c64, f64)
        il, ir = np.argsort(pl), np.argsort(pr)
        x = data(tuple(np.array((*b, *c, *l), int)[pl]), dt); y = data(tuple(np.array((*b, *c, *r), int)[pr]), dt)
        t = lambda v: tuple(int(q) for q in v)
        jit(f"dot{k}", lambda x, y: lax.dot_general(x, y, ((t(il[nb:nb + nc]), t(ir[nb:nb + nc])), (t(il[:nb]), t(ir[:nb])))), x, y, atol=1e-4)

groups = dict(move=move, index=index, sort=sort, window=window, dot=dot, conv=conv, fft=fft, linalg=linalg)
if __name__ == "__main__":
    more = dict(random=random_programs)
    for name in sys.argv[1:] or groups:
        rng = np.random.default_rng(7)
        with open(HERE / f"{name}.txt", "w") as small, open(HERE / f"large_{name}.txt", "w") as large: {**groups, **more}[name]()
