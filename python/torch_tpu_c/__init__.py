"""PyTorch's ``tpu`` device over PJRT: everything real behind the thin ``torch_tpu`` package.

Importing this package loads nothing: ``torch`` calls :func:`torch_tpu_c._autoload.autoload` through its entry point,
``import torch_tpu`` registers explicitly.
"""

__version__ = "0.1.0"
