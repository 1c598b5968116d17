"""The notebook of examples/ runs from top to bottom, in a process of its own."""
import json
import pathlib
import subprocess
import sys

NOTEBOOK = pathlib.Path(__file__).resolve().parent.parent / "examples" / "tour.ipynb"


def test_tour():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    done = subprocess.run([sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "virtual" in done.stdout
