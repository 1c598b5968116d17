"""The command-line tools of the wheel: ``tt-run``, ``tt-doctor`` and ``tt-compile`` become the programs that lie beside the libraries."""

from __future__ import annotations

import os
import sys


def _become(name: str) -> None:
    from . import _core

    for folder in _core.tool_directories():
        program = os.path.join(folder, name)
        if os.access(program, os.X_OK):
            os.execv(program, [name, *sys.argv[1:]])
    sys.exit(f"{name}: no such program in {', '.join(_core.tool_directories())}")


def tt_run() -> None:
    _become("tt-run")


def tt_doctor() -> None:
    _become("tt-doctor")


def tt_compile() -> None:
    _become("tt-compile")
