"""Builds the C driver once from the newest static libraries under build/ (or takes TT_LOWER_DRIVER)."""

import glob
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)


@pytest.fixture(scope="session")
def lower(tmp_path_factory):
    pytest.importorskip("jax", reason="runs lowerings by jaxlib")
    import lowering

    path = os.environ.get("TT_LOWER_DRIVER")
    if not path:
        libraries = glob.glob(os.path.join(ROOT, "build", "*", "libtt_lower.a"))
        if not libraries:
            pytest.skip("no libtt_lower.a under build/: build the target tt_lower first")
        folder = os.path.dirname(max(libraries, key=os.path.getmtime))
        path = str(tmp_path_factory.mktemp("driver") / "lower_driver.so")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", path, f"{HERE}/lower_driver.c",
             f"{folder}/libtt_lower.a", f"{folder}/libtt_ir.a", f"{folder}/libtt_base.a", "-lpthread", "-lm"],
            check=True,
        )
        os.environ["TT_LOWER_DRIVER"] = path
    return lowering.Lowering(lowering.load_driver(path))
