"""Which plugin is chosen and why, on machines that are folders: tt-doctor, torch.tpu and torch's autoload agree."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "build/release", *sorted(ROOT.glob("build/*"))]
BUILD = next((f for f in FOLDERS if (f / "tools/tt-doctor").is_file() and (f / "libvtpu.so").is_file()), None)

# PCI device ids as in jax 0.10.2's hardware utilities (checked against that package below)
IDS = {"v3": "0x0027", "v4": "0x005e", "v5e": "0x0063", "v5p": "0x0062", "v6e": "0x006f", "tpu7x": "0x0076"}


def clean():
    """Without what would change the choice; importing jax, for one, sets TPU_LIBRARY_PATH."""
    prefixes = ("TORCH_TPU_", "TPU_", "CLOUD_TPU_", "PJRT_")
    return {name: None for name in os.environ if name.startswith(prefixes) or name == "VIRTUAL_ENV"}


def machine(root, generation=None, chips=0, extra=()):
    """A file system with Google's network card and so many TPU chips on the bus."""
    rows = [("0x8086", "0x1237"), ("0x1ae0", "0x0042"), *extra, *[("0x1ae0", IDS.get(generation))] * chips]
    for slot, (vendor, device) in enumerate(rows):
        folder = root / f"sys/bus/pci/devices/0000:00:{slot:02x}.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(vendor + "\n")
        (folder / "device").write_text(device + "\n")
    nodes = root / "dev/vfio"
    nodes.mkdir(parents=True)
    for node in ["vfio", *map(str, range(chips))]:
        (nodes / node).touch()
    return str(root)


def install_libtpu(root, data=b"not a library"):
    library = pathlib.Path(root) / "usr/lib/libtpu.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(data)
    return str(library)


def doctor(*arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in clean()}
    return subprocess.run([str(BUILD / "tools/tt-doctor"), *arguments], capture_output=True, text=True, timeout=60,
                          env={**kept, **environment})


CHOICE = "import torch, torch_tpu, json, dataclasses; print(json.dumps(dataclasses.asdict(torch.tpu.plugin_choice())))"


def test_the_ids_are_jax_s():
    utilities = pytest.importorskip("jax._src.hardware_utils")
    theirs = {version.name: number for number, version in utilities._TPU_PCI_DEVICE_IDS.items()}
    assert {name: theirs[name] for name in IDS} == IDS and utilities._GOOGLE_PCI_VENDOR_ID == "0x1ae0"


@pytest.mark.skipif(BUILD is None, reason="tt-doctor is not built")
@pytest.mark.parametrize("generation, chips, devices, environment, process", [
    ("v5e", 4, 4, {}, "0 of 1"),
    ("v6e", 8, 8, {}, "0 of 1"),
    ("v5p", 4, 4, {}, "0 of 1"),
    ("tpu7x", 4, 8, {}, "0 of 1"),
    ("v5e", 4, 4, {"TPU_WORKER_HOSTNAMES": "a,b,c,d", "TPU_WORKER_ID": "2"}, "2 of 4"),
    ("tpu7x", 4, 2, {"TPU_VISIBLE_CHIPS": "3", "TPU_PROCESS_BOUNDS": "2,2,1", "CLOUD_TPU_TASK_ID": "3",
                     "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1"}, "3 of 4"),
])
def test_doctor_tells_the_hardware(tmp_path, generation, chips, devices, environment, process):
    root = machine(tmp_path, generation, chips)
    library = install_libtpu(root)
    done = doctor("--no-plugin", TORCH_TPU_SYSFS_ROOT=root, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{chips} x {generation} on the PCI bus (first 0000:00:02.0), {chips} device nodes" in done.stdout
    assert f"{devices} devices; process {process}" in done.stdout
    assert f"plugin:           {library} ({chips} x {generation} on the PCI bus" in done.stdout
    for name, value in environment.items():
        assert f"{name}={value}" in done.stdout


@pytest.mark.skipif(BUILD is None, reason="tt-doctor is not built")
def test_doctor_tells_problems(tmp_path):
    root = machine(tmp_path, "v5e", 4)
    none = doctor(TORCH_TPU_SYSFS_ROOT=root)
    assert none.returncode == 1 and "libtpu is not installed" in none.stdout and "libvtpu" not in none.stdout
    library = install_libtpu(root)
    broken = doctor(TORCH_TPU_SYSFS_ROOT=root)
    assert broken.returncode == 1 and f"cannot load the PJRT plugin '{library}'" in broken.stdout
    wrong = doctor("--no-plugin", TORCH_TPU_SYSFS_ROOT=root, TPU_VISIBLE_CHIPS="4")
    assert wrong.returncode == 1 and "chip 4 is not there: the machine has 4" in wrong.stdout
    asked = doctor(TORCH_TPU_SYSFS_ROOT=root, TORCH_TPU_PLUGIN="vtpu")
    assert asked.returncode == 0 and "(TORCH_TPU_PLUGIN=vtpu)" in asked.stdout and "(virtual, CPU)" in asked.stdout


@pytest.mark.skipif(BUILD is None, reason="tt-doctor is not built")
def test_gpu_machine_with_vfio(tmp_path):
    root = machine(tmp_path, extra=[("0x10de", "0x2330")] * 2)
    for node in ("17", "18"):
        (tmp_path / "dev/vfio" / node).touch()
    install_libtpu(root)
    done = doctor(TORCH_TPU_SYSFS_ROOT=root)
    assert done.returncode == 0, done.stdout
    assert "none on the PCI bus" in done.stdout and "(no TPU hardware: the embedded virtual TPU)" in done.stdout


def choice(python, code=CHOICE, **environment):
    import json

    done = python(code, **{**clean(), **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_precedence(python, tmp_path):
    root = machine(tmp_path, "v6e", 4)
    library = install_libtpu(root)
    environment = {"TORCH_TPU_SYSFS_ROOT": root}
    steps = [
        ({}, "hardware", library),
        ({"PJRT_NAMES_AND_LIBRARY_PATHS": "cuda:/c.so,tpu:/b/libtpu.so"}, "PJRT_NAMES_AND_LIBRARY_PATHS", "/b/libtpu.so"),
        ({"TORCH_TPU_PLUGIN": "/a/plugin.so"}, "TORCH_TPU_PLUGIN", "/a/plugin.so"),
    ]
    for added, source, path in steps:
        environment.update(added)
        got = choice(python, **environment)
        assert (got["source"], got["plugin"], got["problem"]) == (source, path, "")
        assert (got["generation"], got["chips"], got["devices"]) == ("v6e", 4, 4)
    selected = CHOICE.replace("print", "torch.tpu.select_plugin('/d.so'); print", 1)
    got = choice(python, selected, **environment)
    assert (got["source"], got["plugin"]) == ("select_plugin", "/d.so")


def test_no_hardware_is_the_embedded_plugin(python, tmp_path):
    got = choice(python, TORCH_TPU_SYSFS_ROOT=machine(tmp_path))
    assert got["source"] == "embedded" and got["plugin"].endswith("/libvtpu.so") and got["chips"] == 0


USE = """
import torch
try:
    torch.ones(1, device="tpu")
except RuntimeError as error:
    print(error)
else:
    raise SystemExit("no error")
"""


def test_broken_libtpu_is_an_error_and_never_vtpu(python, tmp_path):
    root = machine(tmp_path, "v5e", 4)
    done = python(USE, **{**clean(), "TORCH_TPU_SYSFS_ROOT": root})
    assert done.returncode == 0, done.stderr
    assert "a TPU is present (4 x v5e" in done.stdout and "libtpu is not installed" in done.stdout
    library = install_libtpu(root)
    done = python(USE, **{**clean(), "TORCH_TPU_SYSFS_ROOT": root})
    assert done.returncode == 0, done.stderr
    assert "the TPU of this machine (4 x v5e" in done.stdout and library in done.stdout
    done = python(USE, **{**clean(), "TORCH_TPU_SYSFS_ROOT": root, "TPU_VISIBLE_CHIPS": "0,9"})
    assert done.returncode == 0 and "TPU_VISIBLE_CHIPS=0,9: chip 9 is not there" in done.stdout


# torch.accelerator of a machine with another accelerator, without one at hand
HIJACK = """
import torch
torch.accelerator.is_available = lambda: True
from torch_tpu_c import _autoload
_autoload.autoload()
print(_autoload.registered())
"""


@pytest.mark.parametrize("generation, chips, registers", [(None, 0, False), ("v5e", 4, True), ("tpu7x", 1, True)])
def test_autoload_takes_no_other_accelerator_s_place(python, tmp_path, generation, chips, registers):
    root = machine(tmp_path, generation, chips, extra=[("0x10de", "0x2330")])
    (tmp_path / "dev/vfio/40").touch()
    done = python(HIJACK, **{**clean(), "TORCH_TPU_SYSFS_ROOT": root, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(registers)
