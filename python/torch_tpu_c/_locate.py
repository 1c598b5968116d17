"""Which line of the user's program an error is about: asked by the core when it words an error, never before.

Innermost frame outside torch and this package. Backward runs on threads of autograd, which have no frames of
the program: there it is the line of the forward if anomaly detection has kept it, else the call of backward.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading

_LOCATE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.POINTER(ctypes.c_int))
_FRAME = re.compile(r'File "(.+)", line (\d+)')
_internal: tuple = ()
_callback = None   # kept: the core has its address


def _is_users(file: str) -> bool:
    return not file.startswith(_internal) and not file.startswith(("<frozen ", "<eval_with_key>"))


def _users_line(frame):
    """The innermost line of the program, and whether it only waits for backward there."""
    through_backward = False
    while frame is not None:
        if _is_users(frame.f_code.co_filename):
            return (frame.f_code.co_filename, frame.f_lineno), through_backward
        through_backward |= frame.f_code.co_name == "_engine_run_backward"
        frame = frame.f_back
    return None, through_backward


def _forward_line():
    """What anomaly detection has noted for the node that runs on this thread."""
    import torch

    node = torch._C._current_autograd_node()
    if node is None:
        return None
    lines = node.metadata.get("traceback_")
    for text in reversed(lines or ()):
        found = _FRAME.search(text)
        if found and _is_users(found[1]):
            return found[1], int(found[2])
    return None


def _backward_call():
    """The line that waits for backward; if several threads do, it is not known which."""
    own = threading.get_ident()
    found = [_users_line(frame) for thread, frame in sys._current_frames().items() if thread != own]
    waiting = {line for line, through_backward in found if line and through_backward}
    return waiting.pop() if len(waiting) == 1 else None


def find():
    """(file, line) of the program for what this thread does, or None."""
    import torch

    line, through_backward = _users_line(sys._getframe(1))
    if line and not through_backward:
        return line
    if torch._C._current_graph_task_id() < 0:
        return line
    return _forward_line() or line or _backward_call()


def _locate(out_file, capacity, out_line):
    try:
        found = find()
        if found is None:
            return False
        file, line = found
        data = file.encode(errors="replace")[: capacity - 1] + b"\0"
        ctypes.memmove(out_file, data, len(data))
        out_line[0] = line
        return True
    except Exception:   # an error about an error would hide the first
        return False


def install(torch) -> None:
    global _internal, _callback
    from . import _core

    here = os.path.dirname(os.path.abspath(__file__))
    folders = (os.path.dirname(os.path.abspath(torch.__file__)), here, os.path.join(os.path.dirname(here), "torch_tpu"))
    _internal = tuple(folder + os.sep for folder in folders)
    _callback = _LOCATE(_locate)
    _core.core().tt_set_locate(ctypes.cast(_callback, ctypes.c_void_p))
