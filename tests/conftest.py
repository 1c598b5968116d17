import fnmatch
import os
import pathlib
import subprocess
import sys
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # where libtpu is installed, jax would look for a TPU


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than a few seconds; left out of check-fast")


def foreign_skips():
    """(pattern, reason) of each line of foreign.skips."""
    for line in (pathlib.Path(__file__).resolve().parent / "foreign.skips").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            yield tuple(line.split(": ", 1))


def pytest_collection_modifyitems(config, items):
    if not os.environ.get("TT_FOREIGN"):   # set by foreign.py
        return
    chosen = config.option.keyword or any("::" in word for word in config.args)
    files = {item.nodeid.split("::")[0] for item in items}
    for pattern, reason in foreign_skips():
        matches = [item for item in items if fnmatch.fnmatch(item.nodeid, pattern.replace("[", "[[]"))]
        if not matches and pattern.split("::")[0] in files and not chosen:
            raise pytest.UsageError(f"foreign.skips: no test is named {pattern}")
        for item in matches:
            item.add_marker(pytest.mark.skip(reason=reason))
    if os.environ.get("TT_FOREIGN_PART"):
        turn, parts = map(int, os.environ["TT_FOREIGN_PART"].split("/"))
        items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % parts == turn]


def run_python(code: str, timeout: float = 120, **env) -> subprocess.CompletedProcess:
    """Runs code in a fresh interpreter with changed environment variables (None removes one)."""
    environment = dict(os.environ)
    for name, value in env.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, env=environment
    )


@pytest.fixture
def python():
    return run_python


@pytest.fixture(autouse=True)
def _clean_state():
    yield
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.use_deterministic_algorithms(False)
        torch.set_default_device(None)


def same(tpu, cpu, **tolerance):
    """A tensor (or tree of them) on tpu equals its CPU twin: device, dtype, shape and values."""
    import torch

    if isinstance(cpu, (tuple, list)):
        assert len(tpu) == len(cpu)
        for left, right in zip(tpu, cpu):
            same(left, right, **tolerance)
        return
    if not isinstance(cpu, torch.Tensor):
        assert tpu == cpu
        return
    assert tpu.device.type == "tpu"
    torch.testing.assert_close(tpu.cpu(), cpu, **tolerance)


@pytest.fixture
def check():
    return same
