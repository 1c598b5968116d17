"""Names that exist for programs written against the official package, but whose feature is not there yet."""

from __future__ import annotations


def feature(name: str, what: str):
    """A callable that raises NotImplementedError when it is called."""

    def missing(*args, **kwargs):
        raise NotImplementedError(f"{name}: {what} is not implemented yet")

    missing.__name__ = name.rsplit(".", 1)[-1]
    missing.__qualname__ = missing.__name__
    missing.__doc__ = f"Not implemented yet: {what}."
    return missing


def feature_class(name: str, what: str):
    """A class that raises NotImplementedError when it is constructed."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"{name}: {what} is not implemented yet")

    return type(name.rsplit(".", 1)[-1], (), {"__init__": __init__, "__doc__": f"Not implemented yet: {what}."})
