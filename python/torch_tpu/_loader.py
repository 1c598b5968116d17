"""``load()``: registers the device with torch; raises RuntimeError with the reason if it cannot."""


def load() -> None:
    from torch_tpu_c import _autoload

    _autoload.register()
