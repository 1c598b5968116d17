"""The name under which other packages import the tpu device. Importing it registers the device, or says why not."""

from torch_tpu_c import __version__  # noqa: F401

from . import _loader

_loader.load()

from . import api, pallas  # noqa: E402, F401
