"""The fault-injecting plugin (tests/fake/fake.h) from Python, for programs that run with it as TORCH_TPU_PLUGIN."""
import ctypes
import os

SYNC, AFTER, ASYNC = 0, 1, 2
INTERNAL, UNIMPLEMENTED, ABORTED = 13, 12, 10
LIVE = ("errors", "events", "buffers", "executables", "loaded", "clients", "topologies")


class _Live(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in LIVE]


class _Control(ctypes.Structure):
    _fields_ = [
        ("slot_count", ctypes.c_size_t),
        ("slot_name", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_size_t)),
        ("calls", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_size_t)),
        ("is_asynchronous", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)),
        ("arm", ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, ctypes.c_char_p)),
        ("fired", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("disarm", ctypes.CFUNCTYPE(None)),
        ("set_delay", ctypes.CFUNCTYPE(None, ctypes.c_int64)),
        ("live", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Live))),
        ("table", ctypes.c_void_p),
    ]


class Fake:
    def __init__(self):
        library = ctypes.CDLL(os.environ["TORCH_TPU_PLUGIN"])
        library.tt_fake_control.restype = ctypes.POINTER(_Control)
        self.control = library.tt_fake_control().contents
        self.slots = [self.control.slot_name(i).decode() for i in range(self.control.slot_count)]

    def calls(self):
        return [self.control.calls(i) for i in range(len(self.slots))]

    def is_asynchronous(self, slot):
        return bool(self.control.is_asynchronous(self.slots.index(slot)))

    def arm(self, slot, nth=1, kind=SYNC, code=INTERNAL, message="boom"):
        self.control.arm(self.slots.index(slot), nth, kind, code, message.encode())

    def fired(self):
        return bool(self.control.fired())

    def disarm(self):
        self.control.disarm()

    def set_delay(self, seconds):
        self.control.set_delay(int(seconds * 1e9))

    def live(self):
        raw = _Live()
        self.control.live(ctypes.byref(raw))
        return {name: getattr(raw, name) for name in LIVE}
