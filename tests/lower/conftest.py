"""Builds the C driver once from the static libraries of build/release or TT_BUILD (or takes TT_LOWER_DRIVER)."""

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
        folder = os.environ.get("TT_BUILD", os.path.join(ROOT, "build", "release"))
        if not os.path.exists(os.path.join(folder, "libtt_lower.a")):
            pytest.skip(f"no libtt_lower.a in {folder}: build the target tt_lower first")
        path = str(tmp_path_factory.mktemp("driver") / "lower_driver.so")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", path, f"{HERE}/lower_driver.c",
             f"{folder}/libtt_lower.a", f"{folder}/libtt_ir.a", f"{folder}/libtt_base.a", "-lpthread", "-lm"],
            check=True,
        )
        os.environ["TT_LOWER_DRIVER"] = path
    return lowering.Lowering(lowering.load_driver(path))
