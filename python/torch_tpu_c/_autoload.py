"""Registration of the device: from torch's entry point (silent, never raises) or from ``import torch_tpu``."""

from __future__ import annotations

import os
import sys

_state = {"registered": False, "reason": None}

_SUPPORTED = "2.13."


def reason() -> str | None:
    """Why the device is not registered; None if it is, or if nothing was tried."""
    return _state["reason"]


def registered() -> bool:
    return _state["registered"]


def _tpu_hardware() -> bool:
    """A TPU on the PCI bus, by the rule that chooses the plugin. Opens none."""
    import ctypes

    from . import _core

    if _core.missing() is not None:   # its own reason comes later
        return False
    found = _core.Discovery()
    status = _core.core().tt_discover(ctypes.byref(found))
    if status:   # a TPU that cannot be used is one all the same: the first use says what is wrong
        _core.core().tt_status_free(status)
    return found.chips > 0


def _asked() -> bool:
    """The fixture root of tests asks for nothing."""
    return any(name.startswith("TORCH_TPU_") and name != "TORCH_TPU_SYSFS_ROOT" for name in os.environ)


def _wanted(torch) -> bool:
    """No hijack: a registered device becomes torch.accelerator's."""
    if _asked() or _tpu_hardware():
        return True
    try:
        return not torch.accelerator.is_available()
    except Exception:
        return True


def _door_is_ours() -> bool:
    """Whether the importable ``torch_tpu`` is the one beside this package."""
    import importlib.machinery

    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.isfile(os.path.join(here, "torch_tpu", "_loader.py")):
        first = importlib.machinery.PathFinder.find_spec("torch_tpu")
        return first is None or first.origin is None or os.path.realpath(first.origin).startswith(os.path.realpath(here))
    return importlib.machinery.PathFinder.find_spec("torch_tpu") is None


class _Unavailable:
    """Stands as torch.tpu when the device cannot load: its first use says why."""

    def __init__(self, text):
        self.__dict__["_reason"] = text
        self.__dict__["__name__"] = "torch.tpu"

    def _raise(self):
        raise RuntimeError(f"the tpu device is not available: {self._reason}")

    def _lazy_init(self):
        self._raise()

    def is_available(self):
        return False

    def device_count(self):
        return 0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._raise()


def _problem(torch) -> str | None:
    version = torch.__version__
    if not version.startswith(_SUPPORTED):
        return f"torch {version} is installed, this build of torch-tpu-c works with torch {_SUPPORTED}x"
    if not _door_is_ours():
        return (
            "the installed torch_tpu package belongs to another distribution; uninstall torch-tpu or torch-tpu-c, "
            "both serve the name tpu"
        )
    name = torch._C._get_privateuse1_backend_name()
    if name != "privateuseone":
        return f"another backend has taken torch's PrivateUse1 device: {name}"
    from . import _core

    return _core.missing()


def _claim(torch, text: str) -> None:
    """Where nobody else has the name, let the first use of ``tpu`` raise the reason."""
    if torch._C._get_privateuse1_backend_name() != "privateuseone" or hasattr(torch, "tpu"):
        return
    torch.utils.rename_privateuse1_backend("tpu")
    module = _Unavailable(text)
    torch.tpu = module
    sys.modules["torch.tpu"] = module


def register() -> None:
    """Registers the device; raises RuntimeError with the reason if it cannot."""
    if _state["registered"]:
        return
    import torch

    if _state["registered"]:   # by torch's own autoload, within that import
        return
    if _state["reason"] is None or not hasattr(torch, "tpu"):
        _state["reason"] = _problem(torch)
    if _state["reason"] is not None:
        raise RuntimeError(f"torch_tpu: the tpu device is not available: {_state['reason']}")
    try:
        from . import _register

        _register.register(torch)
    except Exception as error:
        _state["reason"] = f"{type(error).__name__}: {error}"
        raise
    _state["registered"] = True


def autoload() -> None:
    """torch's entry point: never raises, prints nothing, opens no plugin."""
    try:
        import torch

        if _state["registered"] or not _wanted(torch):
            return
        text = _problem(torch)
        if text is not None:
            _state["reason"] = text
            _claim(torch, text)
            return
        register()
    except Exception as error:
        if _state["reason"] is None:
            _state["reason"] = f"{type(error).__name__}: {error}"
