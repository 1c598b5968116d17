"""The core's graph calls (include/tt/graph.h) through ctypes: building only; running goes through torch.ops.tpu_c."""

from __future__ import annotations

import ctypes
import weakref

from . import _core

# tt_arg_kind_t
(NONE, TENSOR, TENSORS, BOOL, INT, FLOAT, COMPLEX, INTS, FLOATS, BOOLS, SCALARS, DTYPE, STRING, GENERATOR, IGNORED) = range(15)
# tt_result_kind_t
RESULT_NONE, RESULT_TENSOR, RESULT_INT, RESULT_WRITTEN = range(4)
MAX_RANK = 16
MAX_RESULTS = 512
ABSENT = ctypes.c_size_t(-1).value


class Scalar(ctypes.Structure):
    class Number(ctypes.Union):
        _fields_ = [("i", ctypes.c_int64), ("c", ctypes.c_double * 2)]

    _anonymous_ = ("number",)
    _fields_ = [("kind", ctypes.c_int), ("number", Number)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("storage", ctypes.c_void_p),
        ("host_scalar", ctypes.c_void_p),
        ("graph_value", ctypes.c_int32),
        ("dtype", ctypes.c_uint8),
        ("rank", ctypes.c_uint8),
        ("is_wrapped_number", ctypes.c_bool),
        ("is_defined", ctypes.c_bool),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_int64),
    ]


class Arg(ctypes.Structure):
    class Value(ctypes.Union):
        _fields_ = [
            ("tensor", Tensor),
            ("tensors", ctypes.POINTER(Tensor)),
            ("ints", ctypes.POINTER(ctypes.c_int64)),
            ("floats", ctypes.POINTER(ctypes.c_double)),
            ("bools", ctypes.POINTER(ctypes.c_bool)),
            ("scalars", ctypes.POINTER(Scalar)),
            ("scalar", Scalar),
            ("integer", ctypes.c_int64),
            ("text", ctypes.c_char_p),
            ("generator", ctypes.c_void_p),
        ]

    _anonymous_ = ("value",)
    _fields_ = [("kind", ctypes.c_int), ("count", ctypes.c_uint32), ("value", Value)]


class Result(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int),
        ("storage", ctypes.c_void_p),
        ("integer", ctypes.c_int64),
        ("dtype", ctypes.c_uint8),
        ("rank", ctypes.c_uint8),
        ("sizes", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("functional", ctypes.c_char_p), ("out", ctypes.c_char_p), ("inplace", ctypes.c_char_p), ("flags", ctypes.c_uint32),
    ]


SIZED = 1 << 3   # tt_aten_flags_t


def _lib():
    lib = _core.core()
    if not hasattr(lib, "_tt_graph_ready"):
        status, p, pointer = ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER
        u32, i32 = ctypes.c_uint32, ctypes.c_int32
        for name, result, arguments in (
            ("tt_graph_create", status, [ctypes.c_int, ctypes.c_char_p, pointer(p)]),
            ("tt_graph_release", None, [p]),
            ("tt_graph_input", status, [p, ctypes.c_int, ctypes.c_size_t, pointer(ctypes.c_int64), pointer(i32)]),
            ("tt_graph_scalar", status, [p, ctypes.c_int, pointer(i32)]),
            ("tt_graph_value_args", u32, [ctypes.c_size_t]),
            ("tt_aten_info", pointer(Info), [ctypes.c_size_t]),
            ("tt_graph_call", status, [p, ctypes.c_size_t, u32, pointer(Arg), pointer(Result), u32, pointer(u32)]),
            ("tt_graph_output", status, [p, i32]),
            ("tt_graph_location", None, [p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p]),
            ("tt_graph_text", status, [p, pointer(p)]),
            ("tt_graph_compile", status, [p, pointer(p)]),
            ("tt_graph_executable_release", None, [p]),
        ):
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        lib._tt_graph_ready = True
    return lib


def find(name: str) -> int | None:
    """Number of an op of the table by any of its names ("add.Tensor"), or None."""
    index = _core.core().tt_aten_find(name.encode())
    return None if index == ABSENT else index


def value_arguments(op: int) -> int:
    """Bit i: Scalar argument i may be a run-time number."""
    return _lib().tt_graph_value_args(op)


def is_sized(op: int) -> bool:
    """The sizes of its results depend on data."""
    return bool(_lib().tt_aten_info(op).contents.flags & SIZED)


class Value:
    """A tensor inside a graph."""

    __slots__ = ("id", "dtype", "sizes", "input_index")

    def __init__(self, number, dtype, sizes, input_index=None):
        self.id, self.dtype, self.sizes, self.input_index = number, dtype, tuple(sizes), input_index


class HostScalar:
    """A Python number in a tensor's place: weak in type promotion."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Executable:
    def __init__(self, handle: int, outputs: int, text: str | None):
        self.handle, self.outputs, self.text = handle, outputs, text
        weakref.finalize(self, _lib().tt_graph_executable_release, handle)


class Graph:
    """Builds one graph. Owned by one thread."""

    def __init__(self, device: int, name: str):
        self._lib = _lib()
        handle = ctypes.c_void_p()
        _core.check(self._lib.tt_graph_create(device, name.encode(), ctypes.byref(handle)))
        self._handle = handle
        self._keep: list = []
        self._results = (Result * MAX_RESULTS)()
        self.outputs = 0
        weakref.finalize(self, self._lib.tt_graph_release, handle)

    def input(self, dtype: int, sizes, input_index: int) -> Value:
        number = ctypes.c_int32()
        dims = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        _core.check(self._lib.tt_graph_input(self._handle, dtype, len(sizes), dims, ctypes.byref(number)))
        return Value(number.value, dtype, sizes, input_index)

    def scalar(self, dtype: int) -> Value:
        """A run-time number: S64 or F64; integers first."""
        number = ctypes.c_int32()
        _core.check(self._lib.tt_graph_scalar(self._handle, dtype, ctypes.byref(number)))
        return Value(number.value, dtype, ())

    def location(self, file: str, line: int, name: str) -> None:
        self._lib.tt_graph_location(self._handle, file.encode(), line, name.encode())

    def call(self, op: int, args, prefix: str = "") -> list:
        """Runs an op over encoded arguments; results are Values, ints or None."""
        array = (Arg * max(len(args), 1))(*args)
        count = ctypes.c_uint32()
        status = self._lib.tt_graph_call(
            self._handle, op, len(args), array, self._results, MAX_RESULTS, ctypes.byref(count)
        )
        self._keep.clear()
        _core.check(status, prefix)
        found = []
        for result in self._results[: count.value]:
            if result.kind == RESULT_TENSOR:
                found.append(Value(result.integer, result.dtype, result.sizes[: result.rank]))
            elif result.kind == RESULT_INT:
                found.append(result.integer)
            else:
                found.append(None)
        return found

    def output(self, value: Value) -> int:
        _core.check(self._lib.tt_graph_output(self._handle, value.id))
        self.outputs += 1
        return self.outputs - 1

    def text(self) -> str:
        return _core.take_text(lambda out: self._lib.tt_graph_text(self._handle, out))

    def compile(self, keep_text: bool = False) -> Executable:
        handle = ctypes.c_void_p()
        text = self.text() if keep_text else None
        _core.check(self._lib.tt_graph_compile(self._handle, ctypes.byref(handle)))
        return Executable(handle.value, self.outputs, text)

    # ---- arguments: what they point to lives until the next call ----------------------------------
    def _hold(self, thing):
        self._keep.append(thing)
        return thing

    def _tensor(self, value, out: Tensor) -> None:
        out.graph_value = -1
        if value is None:
            return
        out.is_defined = True
        if isinstance(value, HostScalar):
            number = value.value
            if isinstance(number, bool):
                data, out.dtype = ctypes.c_uint8(number), 1
            elif isinstance(number, int):
                data, out.dtype = ctypes.c_int64(number), 5
            elif isinstance(number, complex):
                data, out.dtype = (ctypes.c_double * 2)(number.real, number.imag), 15
            else:
                data, out.dtype = ctypes.c_double(number), 12
            out.host_scalar = ctypes.addressof(self._hold(data))
            out.is_wrapped_number = True
            return
        out.graph_value, out.dtype, out.rank = value.id, value.dtype, len(value.sizes)
        out.sizes = self._hold((ctypes.c_int64 * max(len(value.sizes), 1))(*value.sizes))

    def tensor(self, value) -> Arg:
        arg = Arg(kind=NONE if value is None else TENSOR)
        self._tensor(value, arg.tensor)
        return arg

    def tensors(self, values) -> Arg:
        array = self._hold((Tensor * max(len(values), 1))())
        for slot, value in zip(array, values):
            self._tensor(value, slot)
        return Arg(kind=TENSORS, count=len(values), value=Arg.Value(tensors=array))

    @staticmethod
    def number(value, kind=None) -> Arg:
        arg = Arg()
        Graph._number(value, arg.scalar, kind)
        arg.kind = arg.scalar.kind
        return arg

    @staticmethod
    def _number(value, out: Scalar, kind=None) -> None:
        if kind is None:
            kind = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else FLOAT
            if isinstance(value, complex):
                kind = COMPLEX
        out.kind = kind
        if kind in (BOOL, INT):
            out.i = int(value)
        elif kind == FLOAT:
            out.c[0] = float(value)
        else:
            out.c[0], out.c[1] = value.real, value.imag

    def ints(self, values) -> Arg:
        array = self._hold((ctypes.c_int64 * max(len(values), 1))(*values))
        return Arg(kind=INTS, count=len(values), value=Arg.Value(ints=array))

    def floats(self, values) -> Arg:
        array = self._hold((ctypes.c_double * max(len(values), 1))(*values))
        return Arg(kind=FLOATS, count=len(values), value=Arg.Value(floats=array))

    def bools(self, values) -> Arg:
        array = self._hold((ctypes.c_bool * max(len(values), 1))(*values))
        return Arg(kind=BOOLS, count=len(values), value=Arg.Value(bools=array))

    def scalars(self, values) -> Arg:
        array = self._hold((Scalar * max(len(values), 1))())
        for slot, value in zip(array, values):
            self._number(value, slot)
        return Arg(kind=SCALARS, count=len(values), value=Arg.Value(scalars=array))

    @staticmethod
    def dtype(number: int) -> Arg:
        return Arg(kind=DTYPE, value=Arg.Value(integer=number))

    def string(self, text: str) -> Arg:
        return Arg(kind=STRING, value=Arg.Value(text=self._hold(text.encode())))
