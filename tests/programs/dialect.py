"""Every StableHLO and CHLO operation in MLIR's generic form, with attributes of every kind that it takes.

`PROGRAMS` maps an operation to a list of (arguments, lines): `arguments` is the signature of the function, `lines` the
operations, the last of which is the one under test unless it returns nothing. `REFUSED` are operations that our IR does not hold.
"""

F = "tensor<2x3xf32>"
UNARY = """abs cbrt ceil cosine count_leading_zeros exponential exponential_minus_one floor imag is_finite log log_plus_one logistic
negate not popcnt real round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh""".split()
BINARY = """add and atan2 divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic shift_right_logical
subtract xor""".split()
CHLO_UNARY = """acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma
sinh square tan""".split()
CHLO_BINARY = "next_after polygamma zeta".split()
INTEGER = {"and", "or", "xor", "not", "popcnt", "count_leading_zeros", "shift_left", "shift_right_arithmetic", "shift_right_logical"}
# operations with #stablehlo.result_accuracy
ACCURACY = "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh".split()

# jaxlib 0.10.2 has them, our IR does not: implicit broadcasts are made explicit before a program is sent, the others are
# deprecated or stand for programs that nothing here makes.
REFUSED = {
    "chlo.broadcast_" + name for name in """add and atan2 compare complex divide maximum minimum multiply next_after or polygamma power
    remainder select shift_left shift_right_arithmetic shift_right_logical subtract xor zeta""".split()
} | {"chlo._asin_acos_kernel", "chlo.constant", "chlo.constant_like", "chlo.mulhi", "chlo.scan", "stablehlo.async_done", "stablehlo.cross-replica-sum",
     "stablehlo.async_start", "stablehlo.real_dynamic_slice", "stablehlo.unary_einsum"}
# jaxlib's bindings do not register the quantised types, so they cannot judge these two; XLA's CPU plugin
# does (test_quantised_type_as_xla_reads_it).
NO_ORACLE = {"stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"}
# create_token is a synonym of after_all without operands, and is written as that
SYNONYMS = {"stablehlo.create_token": "stablehlo.after_all"}

REDUCER = """({{
^bb0(%p: tensor<{0}>, %q: tensor<{0}>):
  %s = "stablehlo.add"(%p, %q) : (tensor<{0}>, tensor<{0}>) -> tensor<{0}>
  "stablehlo.return"(%s) : (tensor<{0}>) -> ()
}})"""
ADD = REDUCER.format("f32")
COMPARATOR = """({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %s = "stablehlo.compare"(%p, %q) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
  "stablehlo.return"(%s) : (tensor<i1>) -> ()
})"""
TWO = "%a: tensor<2x3xf32>, %b: tensor<2x3xf32>"
ONE = "%a: tensor<2x3xf32>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>"
GROUPS = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"


def op(name, operands, attributes, types, result, regions="", extra="", results=1):
    left = "" if results == 0 else "%r = " if results == 1 else f"%r:{results} = "
    props = f" <{{{attributes}}}>" if attributes else ""
    return f'{left}"{name}"({operands}){props}{" " + regions if regions else ""}{" " + extra if extra else ""} : ({types}) -> {result}'


def _programs():
    for name in UNARY:
        types = "tensor<4xi32>" if name in INTEGER else "tensor<4xcomplex<f32>>" if name in ("real", "imag") else "tensor<4xf32>"
        result = "tensor<4xi1>" if name == "is_finite" else "tensor<4xf32>" if name in ("real", "imag") else types
        yield "stablehlo." + name, f"%a: {types}", op("stablehlo." + name, "%a", "", types, result)
        if name in ACCURACY:
            for accuracy in ("atol = 1.000000e-05, rtol = 0.000000e+00, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>",
                             "mode = #stablehlo.result_accuracy_mode<HIGHEST>"):
                yield "stablehlo." + name, f"%a: {types}", op("stablehlo." + name, "%a", f"result_accuracy = #stablehlo.result_accuracy<{accuracy}>", types, result)
    for name in BINARY:
        types = "tensor<4xi32>" if name in INTEGER else "tensor<4xf32>"
        yield "stablehlo." + name, f"%a: {types}, %b: {types}", op("stablehlo." + name, "%a, %b", "", f"{types}, {types}", types)
        yield "stablehlo." + name, f"%a: {types}, %b: {types}", op("stablehlo." + name, "%a, %b", "", f"{types}, {types}", types, extra='{mhlo.note = "x", other = [1, 2.5, true, unit, @s, {k = array<i64: 1>}]}')
    for name in CHLO_UNARY:
        result = "tensor<4xi1>" if name.startswith("is_") else "tensor<4xf32>"
        yield "chlo." + name, "%a: tensor<4xf32>", op("chlo." + name, "%a", "", "tensor<4xf32>", result)
    for name in CHLO_BINARY:
        yield "chlo." + name, "%a: tensor<4xf32>, %b: tensor<4xf32>", op("chlo." + name, "%a, %b", "", "tensor<4xf32>, tensor<4xf32>", "tensor<4xf32>")
    yield "chlo.top_k", "%a: tensor<4x8xf32>", op("chlo.top_k", "%a", "k = 3 : i64", "tensor<4x8xf32>", "(tensor<4x3xf32>, tensor<4x3xi32>)", results=2)
    yield ("chlo.ragged_dot", "%a: tensor<19x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi64>",
           op("chlo.ragged_dot", "%a, %b, %g", "precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], "
              "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>", "tensor<19x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>", "tensor<19x7xf32>"))
    yield "stablehlo.after_all", "%a: !stablehlo.token, %b: !stablehlo.token", op("stablehlo.after_all", "%a, %b", "", "!stablehlo.token, !stablehlo.token", "!stablehlo.token")
    yield "stablehlo.after_all", "", op("stablehlo.after_all", "", "", "", "!stablehlo.token")
    yield "stablehlo.create_token", "", op("stablehlo.create_token", "", "", "", "!stablehlo.token")
    for more in ("", ", " + CHANNEL, ", " + CHANNEL + ", use_global_device_ids"):
        yield "stablehlo.all_gather", ONE, op("stablehlo.all_gather", "%a", "all_gather_dim = 1 : i64, " + GROUPS + more, F, "tensor<2x6xf32>")
        yield "stablehlo.all_reduce", ONE, op("stablehlo.all_reduce", "%a", GROUPS + more, F, F, ADD)
        yield "stablehlo.reduce_scatter", "%a: tensor<2x4xf32>", op("stablehlo.reduce_scatter", "%a", GROUPS + ", scatter_dimension = 1 : i64" + more, "tensor<2x4xf32>", "tensor<2x2xf32>", ADD)
    yield "stablehlo.all_gather", TWO, op("stablehlo.all_gather", "%a, %b", "all_gather_dim = 1 : i64, " + GROUPS, f"{F}, {F}", "(tensor<2x6xf32>, tensor<2x6xf32>)", results=2)
    yield "stablehlo.all_reduce", TWO, op("stablehlo.all_reduce", "%a, %b", GROUPS, f"{F}, {F}", f"({F}, {F})", ADD, results=2)
    for more in ("", ", " + CHANNEL):
        yield ("stablehlo.all_to_all", "%a: tensor<2x4xf32>", op("stablehlo.all_to_all", "%a", "concat_dimension = 0 : i64, " + GROUPS + ", split_count = 2 : i64, split_dimension = 1 : i64" + more,
                                                                "tensor<2x4xf32>", "tensor<4x2xf32>"))
        yield "stablehlo.collective_broadcast", ONE, op("stablehlo.collective_broadcast", "%a", GROUPS + more, F, F)
        yield "stablehlo.collective_permute", ONE, op("stablehlo.collective_permute", "%a", "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>" + more, F, F)
    norm = "%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x3x4xf32>"
    x, c = "tensor<2x3x4xf32>", "tensor<3xf32>"
    epsilon = "epsilon = 1.000000e-03 : f32, feature_index = 1 : i64"
    yield "stablehlo.batch_norm_training", norm, op("stablehlo.batch_norm_training", "%x, %s, %o", epsilon, f"{x}, {c}, {c}", f"({x}, {c}, {c})", results=3)
    yield "stablehlo.batch_norm_inference", norm, op("stablehlo.batch_norm_inference", "%x, %s, %o, %m, %v", epsilon, f"{x}, {c}, {c}, {c}, {c}", x)
    yield "stablehlo.batch_norm_grad", norm, op("stablehlo.batch_norm_grad", "%x, %s, %m, %v, %g", epsilon, f"{x}, {c}, {c}, {c}, {x}", f"({x}, {c}, {c})", results=3)
    for source, result in (("2x3xf32", "2x3xi32"), ("2x4xf32", "2x4x2xf16"), ("2x4x2xf16", "2x4xf32"), ("2x2xcomplex<f32>", "2xcomplex<f64>")):
        yield "stablehlo.bitcast_convert", f"%a: tensor<{source}>", op("stablehlo.bitcast_convert", "%a", "", f"tensor<{source}>", f"tensor<{result}>")
    yield "stablehlo.broadcast", ONE, op("stablehlo.broadcast", "%a", "broadcast_sizes = array<i64: 4, 5>", F, "tensor<4x5x2x3xf32>")
    yield "stablehlo.broadcast_in_dim", ONE, op("stablehlo.broadcast_in_dim", "%a", "broadcast_dimensions = array<i64: 2, 0>", F, "tensor<3x4x2xf32>")
    yield "stablehlo.broadcast_in_dim", "%a: tensor<f32>", op("stablehlo.broadcast_in_dim", "%a", "broadcast_dimensions = array<i64>", "tensor<f32>", "tensor<4xf32>")
    branch = '{ "stablehlo.return"(%a) : (tensor<2x3xf32>) -> () }'
    yield "stablehlo.case", "%i: tensor<i32>, " + ONE, op("stablehlo.case", "%i", "", "tensor<i32>", F, f"({branch}, {branch}, {branch})")
    yield "stablehlo.if", "%i: tensor<i1>, " + ONE, op("stablehlo.if", "%i", "", "tensor<i1>", F, f"({branch}, {branch})")
    for lower in ("false", "true"):
        yield "stablehlo.cholesky", "%a: tensor<2x3x3xf32>", op("stablehlo.cholesky", "%a", f"lower = {lower}", "tensor<2x3x3xf32>", "tensor<2x3x3xf32>")
        for transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
            yield ("stablehlo.triangular_solve", "%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>",
                   op("stablehlo.triangular_solve", "%a, %b", f"left_side = true, lower = {lower}, transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = {lower}", "tensor<2x3x3xf32>, tensor<2x3x4xf32>", "tensor<2x3x4xf32>"))
    yield "stablehlo.clamp", "%l: tensor<f32>, %u: tensor<f32>, " + ONE, op("stablehlo.clamp", "%l, %a, %u", "", f"tensor<f32>, {F}, tensor<f32>", F)
    yield "stablehlo.clamp", TWO, op("stablehlo.clamp", "%a, %b, %a", "", f"{F}, {F}, {F}", F)
    for direction in "EQ NE GE GT LE LT".split():
        yield "stablehlo.compare", TWO, op("stablehlo.compare", "%a, %b", f"comparison_direction = #stablehlo<comparison_direction {direction}>", f"{F}, {F}", "tensor<2x3xi1>")
    for kind, dtype in (("FLOAT", "f32"), ("TOTALORDER", "f32"), ("SIGNED", "i32"), ("UNSIGNED", "ui32")):
        t = f"tensor<3x{dtype}>"
        yield ("stablehlo.compare", f"%a: {t}, %b: {t}", op("stablehlo.compare", "%a, %b", f"compare_type = #stablehlo<comparison_type {kind}>, comparison_direction = #stablehlo<comparison_direction LT>", f"{t}, {t}", "tensor<3xi1>"))
    yield "stablehlo.complex", TWO, op("stablehlo.complex", "%a, %b", "", f"{F}, {F}", "tensor<2x3xcomplex<f32>>")
    function = 'func.func private @body(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n  return %x : tensor<2x3xf32>\n}\n'
    yield ("stablehlo.composite", ONE, op("stablehlo.composite", "%a", 'composite_attributes = {n = 3 : i64, s = "t", t = dense<[1, 2]> : tensor<2xi64>}, decomposition = @body, name = "my.op", version = 2 : i32', F, F), function)
    yield "stablehlo.composite", ONE, op("stablehlo.composite", "%a", 'decomposition = @body, name = "my.op"', F, F), function
    yield "stablehlo.concatenate", TWO, op("stablehlo.concatenate", "%a, %b, %a", "dimension = 1 : i64", f"{F}, {F}, {F}", "tensor<2x9xf32>")
    for value in CONSTANTS:
        yield "stablehlo.constant", "", op("stablehlo.constant", "", f"value = {value}", "", value.split(" : ", 1)[1])
    for left, right in (("f32", "i8"), ("i1", "f64"), ("f32", "bf16"), ("f32", "f8E4M3FN"), ("i4", "ui2"), ("complex<f32>", "complex<f64>"), ("f8E8M0FNU", "f4E2M1FN")):
        yield "stablehlo.convert", f"%a: tensor<4x{left}>", op("stablehlo.convert", "%a", "", f"tensor<4x{left}>", f"tensor<4x{right}>")
    yield from _windows()
    yield from _indexing()
    yield from _system()
    for precision in ("", "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]", "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"):
        yield "stablehlo.dot", "%a: tensor<2x3xf32>, %b: tensor<3x4xf32>", op("stablehlo.dot", "%a, %b", precision, "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>")
        for dims in ("lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]", "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]"):
            result = "tensor<5x2x4xf32>" if "batching" in dims else "tensor<5x2x5x4xf32>"
            yield ("stablehlo.dot_general", "%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>",
                   op("stablehlo.dot_general", "%a, %b", f"dot_dimension_numbers = #stablehlo.dot<{dims}>" + (", " + precision if precision else ""), "tensor<5x2x3xf32>, tensor<5x3x4xf32>", result))
    algorithm = ("algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, "
                 "allow_imprecise_accumulation = false>")
    yield ("stablehlo.dot_general", "%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
           op("stablehlo.dot_general", "%a, %b", f"{algorithm}, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]",
              "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>"))
    yield "stablehlo.einsum", "%a: tensor<2x3xf32>, %b: tensor<3x4xf32>", op("stablehlo.einsum", "%a, %b", 'einsum_config = "ij,jk->ik"', "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>")
    for kind, source, result in (("FFT", "4x8xcomplex<f32>", "4x8xcomplex<f32>"), ("IFFT", "4x8xcomplex<f64>", "4x8xcomplex<f64>"), ("RFFT", "4x8xf32", "4x5xcomplex<f32>"), ("IRFFT", "4x5xcomplex<f32>", "4x8xf32")):
        yield "stablehlo.fft", f"%a: tensor<{source}>", op("stablehlo.fft", "%a", f"fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type {kind}>", f"tensor<{source}>", f"tensor<{result}>")
    yield "stablehlo.iota", "", op("stablehlo.iota", "", "iota_dimension = 1 : i64", "", "tensor<2x3xui8>")
    yield "stablehlo.dynamic_iota", "%n: tensor<2xi64>", op("stablehlo.dynamic_iota", "%n", "iota_dimension = 1 : i64", "tensor<2xi64>", "tensor<?x?xf32>")
    yield ("stablehlo.map", TWO, op("stablehlo.map", "%a, %b", "dimensions = array<i64: 0, 1>", f"{F}, {F}", F, ADD))
    for operands in ("%a", "%a, %b"):
        types = ", ".join([F] * len(operands.split(",")))
        yield "stablehlo.optimization_barrier", TWO, op("stablehlo.optimization_barrier", operands, "", types, types if operands == "%a" else f"({types})", results=len(operands.split(",")))
    yield "stablehlo.optimization_barrier", "%t: !stablehlo.token", op("stablehlo.optimization_barrier", "%t", "", "!stablehlo.token", "!stablehlo.token")
    yield "stablehlo.pad", ONE + ", %z: tensor<f32>", op("stablehlo.pad", "%a, %z", "edge_padding_high = array<i64: 2, -1>, edge_padding_low = array<i64: 0, 1>, interior_padding = array<i64: 1, 0>", f"{F}, tensor<f32>", "tensor<5x3xf32>")
    yield ("stablehlo.dynamic_pad", ONE + ", %z: tensor<f32>, %n: tensor<2xi32>", op("stablehlo.dynamic_pad", "%a, %z, %n, %n, %n", "", f"{F}, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>", "tensor<?x?xf32>"))
    yield "stablehlo.partition_id", "", op("stablehlo.partition_id", "", "", "", "tensor<ui32>")
    yield "stablehlo.replica_id", "", op("stablehlo.replica_id", "", "", "", "tensor<ui32>")
    yield "stablehlo.reduce_precision", ONE, op("stablehlo.reduce_precision", "%a", "exponent_bits = 5 : i32, mantissa_bits = 10 : i32", F, F)
    yield "stablehlo.reshape", ONE, op("stablehlo.reshape", "%a", "", F, "tensor<3x2x1xf32>")
    yield "stablehlo.dynamic_reshape", ONE + ", %n: tensor<2xi64>", op("stablehlo.dynamic_reshape", "%a, %n", "", f"{F}, tensor<2xi64>", "tensor<?x?xf32>")
    yield ("stablehlo.dynamic_broadcast_in_dim", ONE + ", %n: tensor<3xi64>", op("stablehlo.dynamic_broadcast_in_dim", "%a, %n", "broadcast_dimensions = array<i64: 1, 2>", f"{F}, tensor<3xi64>", "tensor<?x2x3xf32>"))
    yield ("stablehlo.dynamic_broadcast_in_dim", ONE + ", %n: tensor<3xi64>", op("stablehlo.dynamic_broadcast_in_dim", "%a, %n", "broadcast_dimensions = array<i64: 1, 2>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>",
                                                                               f"{F}, tensor<3xi64>", "tensor<?x2x3xf32>"))
    yield "stablehlo.reverse", ONE, op("stablehlo.reverse", "%a", "dimensions = array<i64: 1, 0>", F, F)
    for distribution in ("UNIFORM", "NORMAL"):
        yield "stablehlo.rng", "%l: tensor<f32>, %n: tensor<2xi64>", op("stablehlo.rng", "%l, %l, %n", f"rng_distribution = #stablehlo<rng_distribution {distribution}>", "tensor<f32>, tensor<f32>, tensor<2xi64>", F)
    for algorithm in ("DEFAULT", "PHILOX", "THREE_FRY"):
        yield "stablehlo.rng_bit_generator", "%s: tensor<2xui64>", op("stablehlo.rng_bit_generator", "%s", f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>", "tensor<2xui64>", "(tensor<2xui64>, tensor<4xui32>)", results=2)
    yield "stablehlo.select", TWO + ", %p: tensor<2x3xi1>", op("stablehlo.select", "%p, %a, %b", "", f"tensor<2x3xi1>, {F}, {F}", F)
    yield "stablehlo.select", TWO + ", %p: tensor<i1>", op("stablehlo.select", "%p, %a, %b", "", f"tensor<i1>, {F}, {F}", F)
    yield "stablehlo.sort", ONE, op("stablehlo.sort", "%a", "dimension = 1 : i64, is_stable = true", F, F, COMPARATOR)
    yield "stablehlo.sort", ONE, op("stablehlo.sort", "%a", "", F, F, COMPARATOR)
    yield "stablehlo.transpose", ONE, op("stablehlo.transpose", "%a", "permutation = array<i64: 1, 0>", F, "tensor<3x2xf32>")
    yield "stablehlo.tuple", ONE + ", %t: !stablehlo.token", op("stablehlo.tuple", "%a, %t", "", f"{F}, !stablehlo.token", f"tuple<{F}, !stablehlo.token>")
    yield "stablehlo.tuple", "", op("stablehlo.tuple", "", "", "", "tuple<>")
    yield "stablehlo.get_tuple_element", f"%t: tuple<{F}, tuple<tensor<i32>>>", op("stablehlo.get_tuple_element", "%t", "index = 1 : i32", f"tuple<{F}, tuple<tensor<i32>>>", "tuple<tensor<i32>>")
    for quantised in ("!quant.uniform<i8:f32, 5.000000e-01:3>", "!quant.uniform<u8:f32, 2.500000e-01>", "!quant.uniform<i8<-127:127>:f32, 1.000000e-01:-5>", "!quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01:1, 5.000000e-01:-2}>", "!quant.uniform<i4:f32, 1.000000e+00>"):
        yield "stablehlo.uniform_quantize", ONE, op("stablehlo.uniform_quantize", "%a", "", F, f"tensor<2x3x{quantised}>")
        yield "stablehlo.uniform_dequantize", f"%a: tensor<2x3x{quantised}>", op("stablehlo.uniform_dequantize", "%a", "", f"tensor<2x3x{quantised}>", F)
    loop = """({
^bb0(%i: tensor<i32>, %x: tensor<2x3xf32>):
  %p = "stablehlo.compare"(%i, %i) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.return"(%p) : (tensor<i1>) -> ()
}, {
^bb0(%i: tensor<i32>, %x: tensor<2x3xf32>):
  %y = "stablehlo.add"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  "stablehlo.return"(%i, %y) : (tensor<i32>, tensor<2x3xf32>) -> ()
})"""
    yield "stablehlo.while", "%n: tensor<i32>, " + ONE, op("stablehlo.while", "%n, %a", "", f"tensor<i32>, {F}", f"(tensor<i32>, {F})", loop, results=2)
    yield "stablehlo.while", "%n: tensor<i32>, " + ONE, op("stablehlo.while", "%n, %a", "", f"tensor<i32>, {F}", f"(tensor<i32>, {F})", loop, '{mhlo.trips = 3 : i64}', results=2)


CONSTANTS = [
    "dense<1.500000e+00> : tensor<f32>", "dense<[1.000000e+00, -2.500000e+00, 0x7F800000, 0xFF800000, 0x7FC00000, -0.000000e+00, 1.40129846E-45]> : tensor<7xf32>", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", "dense<true> : tensor<4xi1>",
    "dense<[true, false, true]> : tensor<3xi1>", "dense<> : tensor<0xf32>", "dense<> : tensor<2x0xi8>", "dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>", "dense<[(1.000000e+00,0x7FF0000000000000), (0.000000e+00,-0.000000e+00)]> : tensor<2xcomplex<f64>>",
    "dense<-9223372036854775808> : tensor<i64>", "dense<18446744073709551615> : tensor<ui64>", "dense<[-8, 7]> : tensor<2xi4>", "dense<[0, 3]> : tensor<2xui2>", "dense<[1.000000e+00, 4.480000e+02]> : tensor<2xf8E4M3FN>", "dense<1.000000e+00> : tensor<bf16>",
    "dense<0x7E00> : tensor<f16>", "dense<[5.000000e-01, 6.000000e+00]> : tensor<2xf4E2M1FN>", 'dense<"0x00000000000020400000404000008040000080BF">  : tensor<5xf32>'.replace("  :", " :"), "dense<1> : tensor<100000xi8>", "dense<3.1415926535897931> : tensor<f64>", "dense<1.17549435E-38> : tensor<f32>",
    "dense<1.000000e+20> : tensor<f32>", "dense<1.000000e+01> : tensor<f8E8M0FNU>".replace("1.000000e+01", "8.000000e+00"),
]
DTYPES = "i1 i2 i4 i8 i16 i32 i64 ui2 ui4 ui8 ui16 ui32 ui64 f16 f32 f64 bf16 f8E5M2 f8E4M3FN f8E4M3B11FNUZ f8E5M2FNUZ f8E4M3FNUZ f8E4M3 f8E3M4 f8E8M0FNU f4E2M1FN complex<f32> complex<f64>".split()


def _windows():
    window = "window_strides = array<i64: 2>, padding = dense<[[1, 2]]> : tensor<1x2xi64>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 2>"
    numbers = "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"
    image, kernel = "tensor<2x4x9xf32>", "tensor<6x4x3xf32>"
    arguments = f"%a: {image}, %b: {kernel}"
    yield "stablehlo.convolution", arguments, op("stablehlo.convolution", "%a, %b", f"batch_group_count = 1 : i64, {numbers}, feature_group_count = 1 : i64, {window}", f"{image}, {kernel}", "tensor<2x6x4xf32>")
    yield ("stablehlo.convolution", arguments, op("stablehlo.convolution", "%a, %b", f"batch_group_count = 1 : i64, {numbers}, feature_group_count = 1 : i64, {window}, window_reversal = array<i1: true>, "
                                                 "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]", f"{image}, {kernel}", "tensor<2x6x4xf32>"))
    yield "stablehlo.convolution", arguments, op("stablehlo.convolution", "%a, %b", f"batch_group_count = 1 : i64, {numbers}, feature_group_count = 1 : i64", f"{image}, {kernel}", "tensor<2x6x7xf32>")
    yield ("stablehlo.convolution", "%a: tensor<4x9x10x2xf32>, %b: tensor<3x2x2x6xf32>",
           op("stablehlo.convolution", "%a, %b", "batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, "
              "lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>", "tensor<4x9x10x2xf32>, tensor<3x2x2x6xf32>", "tensor<2x7x9x6xf32>"))
    yield ("stablehlo.convolution", "%a: tensor<2x9x4xf32>, %b: tensor<3x2x6xf32>", op("stablehlo.convolution", "%a, %b", "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[f, 0, b]>, feature_group_count = 2 : i64", "tensor<2x9x4xf32>, tensor<3x2x6xf32>", "tensor<6x7x2xf32>"))
    yield ("stablehlo.dynamic_conv", arguments + ", %p: tensor<1x2xi32>", op("stablehlo.dynamic_conv", "%a, %b, %p", f"batch_group_count = 1 : i64, {numbers}, feature_group_count = 1 : i64, window_strides = array<i64: 2>", f"{image}, {kernel}, tensor<1x2xi32>", "tensor<2x6x?xf32>"))
    init = "%a: tensor<4x6xf32>, %z: tensor<f32>"
    yield "stablehlo.reduce", init, op("stablehlo.reduce", "%a, %z", "dimensions = array<i64: 1>", "tensor<4x6xf32>, tensor<f32>", "tensor<4xf32>", ADD)
    yield "stablehlo.reduce", init, op("stablehlo.reduce", "%a, %z", "dimensions = array<i64>", "tensor<4x6xf32>, tensor<f32>", "tensor<4x6xf32>", ADD)
    yield "stablehlo.reduce", init, op("stablehlo.reduce", "%a, %z", "dimensions = array<i64: 0, 1>", "tensor<4x6xf32>, tensor<f32>", "tensor<f32>", ADD, '{mhlo.note = 1 : i32}')
    wide = """({
^bb0(%p: tensor<f32>, %i: tensor<i32>, %q: tensor<f32>, %j: tensor<i32>):
  %s = "stablehlo.subtract"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t = "stablehlo.maximum"(%i, %j) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  "stablehlo.return"(%s, %t) : (tensor<f32>, tensor<i32>) -> ()
})"""
    yield ("stablehlo.reduce", "%a: tensor<4x6xf32>, %b: tensor<4x6xi32>, %z: tensor<f32>, %y: tensor<i32>",
           op("stablehlo.reduce", "%a, %b, %z, %y", "dimensions = array<i64: 1>", "tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>", "(tensor<4xf32>, tensor<4xi32>)", wide, results=2))
    for more in ("", ", window_strides = array<i64: 2, 1>", ", base_dilations = array<i64: 1, 2>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, window_dilations = array<i64: 2, 1>, window_strides = array<i64: 1, 3>"):
        result = {"": "3x5", ", window_strides = array<i64: 2, 1>": "2x5"}.get(more, "4x4")
        yield "stablehlo.reduce_window", init, op("stablehlo.reduce_window", "%a, %z", "window_dimensions = array<i64: 2, 2>" + more, "tensor<4x6xf32>, tensor<f32>", f"tensor<{result}xf32>", ADD)
    ge = COMPARATOR.replace("LT", "GE").replace("TOTALORDER", "FLOAT").removesuffix(")")
    for more in ("window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>", "padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>"):
        yield ("stablehlo.select_and_scatter", init + ", %u: tensor<2x3xf32>", op("stablehlo.select_and_scatter", "%a, %u, %z", more, "tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>", "tensor<4x6xf32>", ge + ", " + ADD.removeprefix("(")))


def _indexing():
    yield "stablehlo.slice", ONE, op("stablehlo.slice", "%a", "limit_indices = array<i64: 2, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 2>", F, "tensor<2x1xf32>")
    yield "stablehlo.slice", "%a: tensor<f32>", op("stablehlo.slice", "%a", "limit_indices = array<i64>, start_indices = array<i64>, strides = array<i64>", "tensor<f32>", "tensor<f32>")
    yield "stablehlo.dynamic_slice", ONE + ", %i: tensor<i32>", op("stablehlo.dynamic_slice", "%a, %i, %i", "slice_sizes = array<i64: 1, 2>", f"{F}, tensor<i32>, tensor<i32>", "tensor<1x2xf32>")
    yield "stablehlo.dynamic_update_slice", ONE + ", %i: tensor<i32>, %u: tensor<1x2xf32>", op("stablehlo.dynamic_update_slice", "%a, %u, %i, %i", "", f"{F}, tensor<1x2xf32>, tensor<i32>, tensor<i32>", F)
    for more in ("", ", indices_are_sorted = true"):
        yield ("stablehlo.gather", "%a: tensor<5x3xf32>, %i: tensor<4x1xi32>",
               op("stablehlo.gather", "%a, %i", "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>" + more, "tensor<5x3xf32>, tensor<4x1xi32>", "tensor<4x3xf32>"))
    yield ("stablehlo.gather", "%a: tensor<2x5x3xf32>, %i: tensor<2x4x1xi64>",
           op("stablehlo.gather", "%a, %i", "dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>",
              "tensor<2x5x3xf32>, tensor<2x4x1xi64>", "tensor<2x4x3xf32>"))
    yield ("stablehlo.dynamic_gather", "%a: tensor<5x3xf32>, %i: tensor<4x1xi32>, %n: tensor<2xi32>",
           op("stablehlo.dynamic_gather", "%a, %i, %n", "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false", "tensor<5x3xf32>, tensor<4x1xi32>, tensor<2xi32>", "tensor<4x?xf32>"))
    numbers = "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    for more in ("", ", indices_are_sorted = true, unique_indices = true"):
        yield ("stablehlo.scatter", "%a: tensor<5x3xf32>, %i: tensor<4x1xi32>, %u: tensor<4x3xf32>", op("stablehlo.scatter", "%a, %i, %u", numbers + more, "tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>", "tensor<5x3xf32>", ADD))
    yield ("stablehlo.scatter", "%a: tensor<2x5x3xf32>, %i: tensor<2x4x1xi32>, %u: tensor<2x4x3xf32>",
           op("stablehlo.scatter", "%a, %i, %u", "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>",
              "tensor<2x5x3xf32>, tensor<2x4x1xi32>, tensor<2x4x3xf32>", "tensor<2x5x3xf32>", ADD))
    yield "stablehlo.get_dimension_size", ONE, op("stablehlo.get_dimension_size", "%a", "dimension = 1 : i64", F, "tensor<i32>")
    yield "stablehlo.set_dimension_size", ONE + ", %n: tensor<i32>", op("stablehlo.set_dimension_size", "%a, %n", "dimension = 1 : i64", f"{F}, tensor<i32>", "tensor<2x?xf32, #stablehlo.bounds<?, 3>>")
    yield "stablehlo.torch_index_select", "%a: tensor<5x3xf32>, %i: tensor<4xi32>", op("stablehlo.torch_index_select", "%a, %i", "batch_dims = 0 : i64, dim = 0 : i64", "tensor<5x3xf32>, tensor<4xi32>", "tensor<4x3xf32>")


def _system():
    token = "%t: !stablehlo.token"
    yield "stablehlo.custom_call", ONE, op("stablehlo.custom_call", "%a", 'call_target_name = "x"', F, F)
    yield "stablehlo.custom_call", ONE, op("stablehlo.custom_call", "%a", 'api_version = 2 : i32, backend_config = "a\\"b\\0A\\FF", call_target_name = "x.y-z", has_side_effect = true', F, f"({F}, {F})", results=2)
    yield ("stablehlo.custom_call", TWO, op("stablehlo.custom_call", "%a, %b", 'api_version = 4 : i32, backend_config = {n = 1 : i64, s = "t", f = 1.5 : f32, l = [1 : i32, 2 : i32]}, call_target_name = "x", '
                                           'operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], '
                                           'output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]', f"{F}, {F}", F))
    yield "stablehlo.custom_call", ONE, op("stablehlo.custom_call", "%a", 'call_target_name = "x", called_computations = [@body]', F, F, extra='{mhlo.sharding = "{replicated}", mhlo.frontend_attributes = {a = "b"}}'), 'func.func private @body(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n  return %x : tensor<2x3xf32>\n}\n'
    yield "stablehlo.infeed", token, op("stablehlo.infeed", "%t", 'infeed_config = "c", layout = [[0, 1], [0]]', "!stablehlo.token", "(tensor<2x3xf32>, tensor<4xi32>, !stablehlo.token)", results=3)
    yield "stablehlo.outfeed", token + ", " + ONE, op("stablehlo.outfeed", "%a, %t", 'outfeed_config = "c"', f"{F}, !stablehlo.token", "!stablehlo.token")
    for host, kind in (("true", 2), ("false", 1)):
        channel = f"channel_handle = #stablehlo.channel_handle<handle = 3, type = {kind}>, is_host_transfer = {host}"
        pairs = "" if host == "true" else ", source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"
        yield "stablehlo.send", token + ", " + ONE, op("stablehlo.send", "%a, %t", channel.replace("type = 2", "type = 2") + pairs, f"{F}, !stablehlo.token", "!stablehlo.token")
        yield "stablehlo.recv", token, op("stablehlo.recv", "%t", channel.replace("type = 2", "type = 3") + pairs, "!stablehlo.token", f"({F}, !stablehlo.token)", results=2)


def programs():
    """(operation, number, text) of every program."""
    counts = {}
    for entry in _programs():
        name, arguments, line = entry[:3]
        number = counts[name] = counts.get(name, -1) + 1
        yield name, number, f"func.func @main({arguments}) {{\n{line}\nreturn\n}}\n" + "".join(entry[3:])
