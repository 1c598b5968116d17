"""Compiles StableHLO ahead of time by libtpu, without a TPU: one JSON line a program.

    python tests/tpu/aot.py v5e:1x1          reads paths of .mlir files from stdin, one a line

libtpu aborts or hangs on some programs, so this runs as a child process (see gate.py). The client is ctypes
over the independent PJRT layouts of the package pypjrt: neither our header nor our runtime takes part.
"""

import ctypes
import importlib.util
import json
import os
import sys
import time

ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-1",
    "TPU_MIN_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
# CompileOptionsProto { 3: { 4: num_replicas = 1, 5: num_partitions = 1 } }
OPTIONS = bytes([0x1A, 0x04, 0x20, 0x01, 0x28, 0x01])
CODES = {
    1: "CANCELLED",
    2: "UNKNOWN",
    3: "INVALID_ARGUMENT",
    5: "NOT_FOUND",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
}


def libtpu_path():
    """Path of the installed libtpu.so, or None."""
    spec = importlib.util.find_spec("libtpu")
    path = os.path.join(os.path.dirname(spec.origin), "libtpu.so") if spec and spec.origin else ""
    return path if os.path.exists(path) else None


class PjrtError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{CODES.get(code, code)}: {message}")
        self.code, self.message = CODES.get(code, str(code)), message


class Compiler:
    def __init__(self, topology):
        from pypjrt._abi import pjrt_0_114 as abi

        os.environ.update(ENVIRONMENT)
        self.abi = abi
        library = ctypes.CDLL(libtpu_path(), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        library.GetPjrtApi.restype = ctypes.c_void_p
        self.base = library.GetPjrtApi()
        self.call("PJRT_Plugin_Initialize", "PJRT_Plugin_Initialize_Args")
        name = topology.encode()
        self.topology = self.call(
            "PJRT_TopologyDescription_Create",
            "PJRT_TopologyDescription_Create_Args",
            topology_name=ctypes.cast(ctypes.c_char_p(name), ctypes.c_void_p),
            topology_name_size=len(name),
        ).topology

    def slot(self, name):
        address = ctypes.c_void_p.from_address(self.base + getattr(self.abi.PJRT_Api, name).offset).value
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)

    def call(self, name, struct, **fields):
        args = getattr(self.abi, struct)()
        args.struct_size = getattr(self.abi, struct + "_STRUCT_SIZE", ctypes.sizeof(args))
        for key, value in fields.items():
            setattr(args, key, value)
        error = self.slot(name)(ctypes.addressof(args))
        if error:
            raise self.take(error)
        return args

    def take(self, error):
        args = self.abi.PJRT_Error_GetCode_Args()
        args.struct_size, args.error = ctypes.sizeof(args), error
        self.slot("PJRT_Error_GetCode")(ctypes.addressof(args))
        text = self.abi.PJRT_Error_Message_Args()
        text.struct_size, text.error = ctypes.sizeof(text), error
        self.slot("PJRT_Error_Message")(ctypes.addressof(text))
        message = ctypes.string_at(text.message, text.message_size).decode(errors="replace")
        destroy = self.abi.PJRT_Error_Destroy_Args()
        destroy.struct_size, destroy.error = ctypes.sizeof(destroy), error
        self.slot("PJRT_Error_Destroy")(ctypes.addressof(destroy))
        return PjrtError(args.code, message)

    def compile(self, text):
        """Report of one program; PjrtError where libtpu refuses it."""
        code, form = ctypes.create_string_buffer(text, len(text)), ctypes.create_string_buffer(b"mlir", 4)
        options = ctypes.create_string_buffer(OPTIONS, len(OPTIONS))
        program = self.abi.PJRT_Program()
        program.struct_size = ctypes.sizeof(program)
        program.code, program.code_size = ctypes.addressof(code), len(text)
        program.format, program.format_size = ctypes.addressof(form), 4
        began = time.monotonic()
        executable = self.call(
            "PJRT_Compile",
            "PJRT_Compile_Args",
            topology=self.topology,
            program=ctypes.cast(ctypes.addressof(program), type_of(self.abi.PJRT_Compile_Args, "program")),
            compile_options=ctypes.cast(
                ctypes.addressof(options), type_of(self.abi.PJRT_Compile_Args, "compile_options")
            ),
            compile_options_size=len(OPTIONS),
        ).executable
        seconds = time.monotonic() - began
        try:
            report = self.report(executable, b"tf.aliasing_output" in text)
        finally:
            self.call("PJRT_Executable_Destroy", "PJRT_Executable_Destroy_Args", executable=executable)
        return {"seconds": round(seconds, 3), **report}

    def report(self, executable, aliases):
        stats = self.call(
            "PJRT_Executable_GetCompiledMemoryStats",
            "PJRT_Executable_GetCompiledMemoryStats_Args",
            executable=executable,
        )
        report = {
            "code": stats.generated_code_size_in_bytes,
            "arguments": stats.argument_size_in_bytes,
            "outputs": stats.output_size_in_bytes,
            "temporaries": stats.temp_size_in_bytes,
            "alias_bytes": stats.alias_size_in_bytes,
            "peak": stats.peak_memory_in_bytes,
        }
        cost = self.call(
            "PJRT_Executable_GetCostAnalysis", "PJRT_Executable_GetCostAnalysis_Args", executable=executable
        )
        for i in range(cost.num_properties):
            value = self.abi.PJRT_NamedValue.from_address(
                address_of(cost.properties) + i * ctypes.sizeof(self.abi.PJRT_NamedValue)
            )
            name = ctypes.string_at(value.name, value.name_size).decode()
            if name in ("flops", "bytes accessed") and value.type == self.abi.PJRT_NamedValue_kFloat:
                raw = ctypes.addressof(value) + self.abi.PJRT_NamedValue._anon5.offset  # the union of values
                report["flops" if name == "flops" else "bytes"] = ctypes.c_float.from_address(raw).value
        if aliases:
            report["aliased"] = self.aliased(executable)
        return report

    def aliased(self, executable):
        """Numbers of the parameters in the compiled module's table of aliases."""
        program = self.abi.PJRT_Program()
        program.struct_size = ctypes.sizeof(program)
        pointer = ctypes.cast(
            ctypes.addressof(program), type_of(self.abi.PJRT_Executable_OptimizedProgram_Args, "program")
        )
        for _ in range(2):  # size, then bytes
            self.call(
                "PJRT_Executable_OptimizedProgram",
                "PJRT_Executable_OptimizedProgram_Args",
                executable=executable,
                program=pointer,
            )
            if not address_of(program.code):
                code = ctypes.create_string_buffer(program.code_size)
                program.code = ctypes.addressof(code)
        module = fields(code.raw[: program.code_size])[1][0]
        found = set()
        for table in fields(module).get(8, []):  # HloModuleProto.input_output_alias
            for entry in fields(table).get(1, []):  # entries
                found.add(fields(entry).get(2, [0])[0])  # parameter_number
        return sorted(found)


def type_of(struct, name):
    return dict(struct._fields_)[name]


def address_of(pointer):
    return ctypes.cast(pointer, ctypes.c_void_p).value if pointer else None


def fields(data):
    """field number -> values of one protobuf message, nested messages as bytes."""
    result, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 2:
            size = varint()
            value, at = data[at : at + size], at + size
        else:
            size = 8 if key & 7 == 1 else 4
            value, at = data[at : at + size], at + size
        result.setdefault(key >> 3, []).append(value)
    return result


def main():
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libtpu prints is no answer
    compiler = Compiler(sys.argv[1])
    for line in sys.stdin:
        path = line.strip()
        with open(path, "rb") as file:
            text = file.read()
        try:
            answer = {"status": "compiles", **compiler.compile(text)}
        except PjrtError as error:
            answer = {"status": "refused", "reason": f"{error.code}: {error.message[:600]}"}
        out.write(json.dumps({"path": path, **answer}) + "\n")


if __name__ == "__main__":
    main()
