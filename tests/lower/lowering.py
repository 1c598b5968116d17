"""Runs one op's lowering through XLA's CPU backend and compares it with PyTorch on the CPU.

The C driver (lower_driver.c) gives StableHLO text; jaxlib compiles and runs it, so neither the virtual TPU nor the
eager engine takes part.
"""

import ctypes
import os

import numpy as np
import torch

NAMES = {
    torch.bool: "i1", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "ui8",
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
    torch.complex64: "complex<f32>", torch.complex128: "complex<f64>", torch.uint16: "ui16", torch.uint32: "ui32",
    torch.uint64: "ui64",
}
DTYPES = {name: dtype for dtype, name in NAMES.items()}

# Ops that run a program for their sizes first.
SIZED = {"nonzero", "masked_select", "_unique2", "_unique", "unique_dim", "unique_dim_consecutive", "unique_consecutive",
         "bincount", "repeat_interleave.Tensor"}


class LoweringError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class Unknown(Exception):
    """The table has no such op."""


def load_driver(path=None):
    library = ctypes.CDLL(path or os.environ["TT_LOWER_DRIVER"])
    library.tt_driver_lower.restype = ctypes.c_void_p
    library.tt_driver_lower.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    library.tt_driver_free.argtypes = [ctypes.c_void_p]
    return library


def dims(sizes):
    return ",".join(str(int(n)) for n in sizes) or "-"


def describe(value, schema_type, tensors):
    """Words of one argument; its tensors are appended to `tensors`."""
    if isinstance(value, torch.Tensor):
        value = value.resolve_conj().resolve_neg()
        tensors.append(value)
        return f"T {NAMES[value.dtype]} {dims(value.shape)}"
    if value is None:
        return "N"
    if isinstance(value, torch.dtype):
        return f"D {NAMES[value]}"
    if isinstance(value, (torch.device, torch.layout, torch.memory_format, torch.Generator)):
        return "G"
    if isinstance(value, str):
        return f"S {value}"
    if isinstance(value, bool):
        return f"B {int(value)}"
    if isinstance(value, int):
        return f"F {value}" if schema_type == "float" else f"I {value}"
    if isinstance(value, float):
        return f"F {value!r}"
    if isinstance(value, complex):
        return f"C {value.real!r} {value.imag!r}"
    if isinstance(value, (list, tuple)):
        if schema_type.startswith("List[Tensor") or schema_type.startswith("List[Optional[Tensor"):
            return " ".join([f"L {len(value)}"] + [describe(v, "Tensor", tensors) for v in value])
        if "float" in schema_type:
            return "FS " + (",".join(repr(float(v)) for v in value) or "-")
        if "bool" in schema_type:
            return "BS " + (",".join(str(int(v)) for v in value) or "-")
        return "IS " + (",".join(str(int(v)) for v in value) or "-")
    raise TypeError(f"cannot describe {type(value)}")


def bind(op, args, kwargs):
    """(value, type) pairs in schema order."""
    result, rest = [], list(args)
    for argument in op._schema.arguments:
        if rest and not argument.kwarg_only:
            value = rest.pop(0)
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        else:
            value = argument.default_value
        kind = str(argument.type)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and ("List[int]" in kind):
            value = [value]
        if argument.name == "dtype" and isinstance(value, int):
            value = torch.int64
        result.append((value, kind))
    return result


class Lowering:
    def __init__(self, driver):
        self.driver = driver
        self._compiled = {}

    def text(self, words, expand=True, checks=False, elide=False):
        pointer = self.driver.tt_driver_lower(words.encode(), int(expand), int(checks), int(elide))
        answer = ctypes.string_at(pointer).decode()
        self.driver.tt_driver_free(pointer)
        if answer.startswith("error"):
            _, code, message = answer.split(" ", 2)
            if message == "no such op":
                raise Unknown(words.split(" ")[0])
            raise LoweringError(code, message)
        _, kinds, scalars, text = answer.split("\n", 3)
        return kinds.split(), scalars, text

    def words(self, op, args, kwargs, variant=0, out_dtypes=(), parameters=False, target=None):
        tensors, numbers, parts = [], {}, [op.name().removeprefix("aten::"), str(variant)]
        for i, (value, kind) in enumerate(bind(op, args, kwargs)):
            parts.append(describe(value, kind, tensors))
            numbers[i] = value
        parts += [f"O {NAMES[d]}" for d in out_dtypes]
        if parameters:
            parts.append("P")
        if target:
            parts.append(f"A {target}")
        return " ".join(parts), tensors, numbers

    def execute(self, text, arrays):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # jax would look for a TPU where libtpu is installed
        import jax
        from jax._src import xla_bridge
        from jax._src.lib import xla_client

        jax.config.update("jax_enable_x64", True)
        backend = xla_bridge.get_backend("cpu")
        loaded = self._compiled.get(text)
        if loaded is None:
            devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
            loaded = backend.compile_and_load(text, devices, xla_client.CompileOptions())
            self._compiled[text] = loaded
        device = backend.local_devices()[0]
        buffers = [jax.device_put(a, device) for a in arrays]
        outs = loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [np.asarray(b[0]) for b in outs]

    def run(self, op, args, kwargs=None, parameters=False, target=None):
        """Results (tensors) of the functional form, and the kinds ("r", "n", "w1.0").

        target: a name of ir/target.h whose program is run (by XLA:CPU all the same); None: that of vtpu."""
        words, tensors, numbers = self.words(op, args, kwargs or {}, parameters=parameters, target=target)
        arrays = [to_numpy(t) for t in tensors]
        if words.split(" ")[0] in SIZED:
            _, _, text = self.text(words)
            sizes = self.execute(text, arrays)[0]
            words += f" Z {dims(sizes)}"
        kinds, scalars, text = self.text(words)
        for entry in scalars.split(";"):
            if entry:
                arg, dtype = entry.split(" ")
                arrays.append(to_numpy(torch.tensor(numbers[int(arg)], dtype=DTYPES[dtype])))
        return [from_numpy(a) for a in self.execute(text, arrays)], kinds


def to_numpy(t):
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    if t.dtype == torch.bfloat16:
        import ml_dtypes

        return t.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return t.numpy()


def from_numpy(a):
    a = np.ascontiguousarray(a).reshape(a.shape)
    if a.dtype.name == "bfloat16":
        return torch.from_numpy(a.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(a.copy())
