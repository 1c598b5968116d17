"""StableHLO text against jaxlib's parser and printer, both ways: what jaxlib prints is read and printed by us, and jaxlib reads
that back as an equal module. Equality is that of jaxlib's generic print, which names every attribute and type."""
import ctypes
import importlib.metadata
import os
import pathlib
import re
import subprocess

import pytest

from programs.catalogue import catalogue
from programs.dialect import NO_ORACLE, REFUSED, SYNONYMS, DTYPES, programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TT_BUILD", ROOT / "build" / "release"))
PROGRAMS = list(programs())
LOCATIONS = 1


@pytest.fixture(scope="module")
def shim():
    path = BUILD / "tests" / "text" / "libtext_shim.so"
    if not path.exists():
        pytest.skip(f"{path} is not built (ninja text_shim)")
    library = ctypes.CDLL(str(path))
    library.text_round_trip.restype = ctypes.c_void_p
    library.text_round_trip.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.POINTER(ctypes.c_int)]
    library.text_free.argtypes = [ctypes.c_void_p]
    return library


@pytest.fixture(scope="module")
def context():
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, stablehlo
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    with context:
        yield context


def ours(shim, text, flags=0):
    """(code, printed program or message)"""
    code = ctypes.c_int()
    data = text.encode("utf-8", "surrogateescape")
    pointer = shim.text_round_trip(data, len(data), flags, ctypes.byref(code))
    try:
        return code.value, ctypes.string_at(pointer).decode("utf-8", "surrogateescape")
    finally:
        shim.text_free(pointer)


def parse(text):
    from jaxlib.mlir import ir
    return ir.Module.parse(text)


def generic(module, locations=False):
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
    return text.replace(', sym_visibility = "public"', "")   # what a function is that says nothing


def forms(module):
    yield "pretty", str(module)
    yield "generic", generic(module)
    yield "located", module.operation.get_asm(enable_debug_info=True)
    yield "generic, located", generic(module, True)


def round_trip(shim, text, synonyms=()):
    for form, printed in forms(parse(text)):
        expected = generic(parse(printed))   # pretty forms leave defaults out
        for name in synonyms:
            expected = expected.replace(f'"{name}"', f'"{SYNONYMS[name]}"')
        code, again = ours(shim, printed)
        assert code == 0, f"{form}: {again}\n{printed}"
        assert generic(parse(again)) == expected, f"{form}\n{printed}\n{again}"


def test_every_operation_is_covered():
    import jaxlib.mlir.dialects._chlo_ops_gen as chlo
    import jaxlib.mlir.dialects._stablehlo_ops_gen as stablehlo
    known = {value.OPERATION_NAME for module in (chlo, stablehlo) for value in vars(module).values()
             if isinstance(value, type) and hasattr(value, "OPERATION_NAME")}
    covered = {name for name, _, _ in PROGRAMS} | {"stablehlo.return"}   # return ends every region
    assert known == covered | REFUSED
    assert not covered & REFUSED


@pytest.mark.parametrize("name, number, text", [p for p in PROGRAMS if p[0] not in NO_ORACLE], ids=lambda value: "text" if "\n" in str(value) else str(value))
def test_operation(shim, context, name, number, text):
    round_trip(shim, text, [name] if name in SYNONYMS else ())


@pytest.mark.parametrize("name, number, text", [p for p in PROGRAMS if p[0] in NO_ORACLE], ids=lambda value: "text" if "\n" in str(value) else str(value))
def test_operation_without_oracle_is_stable(shim, name, number, text):
    code, once = ours(shim, text)
    assert code == 0, once
    assert ours(shim, once) == (0, once)


def as_xla_reads(text, folder):
    """The quantising op as XLA's parser has read and MLIR prints it: XLA's CPU plugin names it when it refuses it."""
    (folder / "program.mlir").write_text(text)
    plugin = next(str(f.locate()) for f in importlib.metadata.files("lammps-jax-pjrt-cpu") if str(f).endswith(".so"))
    done = subprocess.run([str(BUILD / "tools" / "tt-run"), "--plugin", plugin, str(folder / "program.mlir"), "--random", "1"],
                          capture_output=True, text=True, timeout=300)
    assert "'stablehlo.uniform_quantize' op can't be translated to XLA HLO" in done.stderr, done.stderr
    return re.search(r"see current operation: (%\d+ = .*)", done.stderr)[1]


QUANTISED = sorted({q for name, _, text in PROGRAMS if name in NO_ORACLE for q in re.findall(r"!quant\.uniform<.*?(?:<.*?>.*?)?>", text)})


@pytest.mark.parametrize("quantised", QUANTISED)
def test_quantised_type_as_xla_reads_it(shim, quantised, tmp_path):
    """jaxlib has no quantised types; XLA has: it cannot compile them, but parses both ops and says what it has read."""
    try:
        importlib.metadata.version("lammps-jax-pjrt-cpu")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("no CPU plugin of XLA (package lammps-jax-pjrt-cpu)")
    text = f"""func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  %q = "stablehlo.uniform_quantize"(%a) : (tensor<2x3xf32>) -> tensor<2x3x{quantised}>
  %d = "stablehlo.uniform_dequantize"(%q) : (tensor<2x3x{quantised}>) -> tensor<2x3xf32>
  return %d : tensor<2x3xf32>
}}"""
    code, printed = ours(shim, text)
    assert code == 0, printed
    read = as_xla_reads(text, tmp_path)
    assert read == as_xla_reads(printed, tmp_path) and "!quant.uniform" in read
    number = re.search(r"\d\.\d+e[+-]\d+", quantised)[0]
    assert as_xla_reads(text.replace(number, "3.75e-01"), tmp_path) != read   # the comparison sees a scale


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_operation(shim, name):
    code, message = ours(shim, f'func.func @main(%a: tensor<f32>) {{\n  %0 = "{name}"(%a) : (tensor<f32>) -> tensor<f32>\n  return\n}}')
    assert code != 0 and message == f"2:8: unknown operation '{name}'"


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype(shim, context, dtype):
    round_trip(shim, f"func.func @main(%a: tensor<2x{dtype}>, %b: tensor<?x3x{dtype}, #stablehlo.bounds<5, ?>>) -> tensor<2x{dtype}> {{ return %a : tensor<2x{dtype}> }}")


MODULES = {
    "attributes": 'module @name attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32, x.other = [1 : i8, -5 : i64, 2.5 : f32, 3.0, true, false, unit, "s\\22\\00\\FF", @a::@b, {}, {"odd name" = 1 : index}, '
                  'dense<1> : tensor<2xi32>, array<i64: 1, 2>, array<i1: true>, array<f32: 1.5>, array<i8: -1>, array<i32>, tensor<2xf32>, f32, i1, tuple<tensor<f32>>, () -> (), (tensor<f32>) -> tensor<f32>, '
                  'affine_map<(d0, d1) -> (d1)>, #stablehlo<precision HIGH>, #stablehlo<fft_type RFFT>, loc(unknown)]} { func.func @main() { return } }',
    "arguments": 'func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}, %arg1: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<2xf32> {jax.result_info = "r[\'x\']"}, tensor<2xf32>) '
                 'attributes {k = 1 : i64} { return %arg1, %arg0 : tensor<2xf32>, tensor<2xf32> }',
    "calls": 'func.func @main(%a: tensor<f32>) -> tensor<f32> {\n%0 = call @f(%a) : (tensor<f32>) -> tensor<f32>\n%1:2 = func.call @"odd name"(%0) {k = 1 : i32} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\nreturn %1#1 : tensor<f32>\n}\n'
             'func.func private @f(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }\nfunc.func public @"odd name"(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) { return %a, %a : tensor<f32>, tensor<f32> }',
    "nothing": "func.func @main() { return }",
    "tokens": "func.func @main(%t: !stablehlo.token) -> !stablehlo.token { return %t : !stablehlo.token }",
    "bounds": "func.func @main(%a: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %b: tensor<?xf32, #stablehlo.type_extensions<bounds = [3]>>) { return }",
    "names": "func.func @main(%a-b: tensor<f32>, %0: tensor<f32>, %$x.y_z: tensor<f32>) { return }",
    "locations": 'func.func @main(%a: tensor<f32> loc("a")) -> tensor<f32> {\n%0 = stablehlo.add %a, %a : tensor<f32> loc(fused<"m">["f.py":1:2, callsite("g"("h.py":3:4 to 5:6) at "i.py":7:8)])\nreturn %0 : tensor<f32> loc(unknown)\n} loc("j")',
    "comments": "// one\nfunc.func @main(%a: tensor<f32> /" + "/ two\n) { // three\nreturn }",
}


@pytest.mark.parametrize("name", MODULES)
def test_module(shim, context, name):
    round_trip(shim, MODULES[name])


@pytest.mark.parametrize("case", [case for i, case in enumerate(catalogue()) if i % 4 == 0 or "custom" in case.name], ids=lambda case: case.name)
def test_catalogue(shim, context, case):
    round_trip(shim, case.text)
    code, printed = ours(shim, case.text)   # ours first: our own pretty form is jaxlib's
    assert code == 0, printed
    assert generic(parse(printed)) == generic(parse(case.text))


def test_locations_survive(shim, context):
    text = 'func.func @main(%a: tensor<f32>) -> tensor<f32> {\n%0 = stablehlo.add %a, %a : tensor<f32> loc("layer"("f.py":3:7))\nreturn %0 : tensor<f32>\n}'
    code, printed = ours(shim, text, LOCATIONS)
    assert code == 0, printed
    module = parse(printed)
    main = next(iter(module.body.operations))
    add = next(iter(main.regions[0].blocks[0].operations))
    assert str(add.location) == 'loc("layer"("f.py":3:7))'
