"""The Dynamo backend as an object."""

from torch_tpu_c import compile as _compile


class TpuBackend:
    """``torch.compile(f, backend=TpuBackend(debug=True))``; debug prints nothing, it keeps graphs' StableHLO text."""

    def __init__(self, debug: bool = False, **options):
        self.debug = debug
        self.options = options

    def __call__(self, module, example_inputs, **kwargs):
        return _compile.tpu_backend(module, example_inputs, options={"keep_text": self.debug, **self.options})
