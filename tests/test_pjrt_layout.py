"""Our PJRT header against an independent copy of the layout (pypjrt, generated from the published header)."""
import ctypes
import pathlib
import re
import shutil
import subprocess

import pytest

abi = pytest.importorskip("pypjrt._abi.pjrt_0_114", reason="pypjrt (independent PJRT layouts) is not installed")
ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = (ROOT / "src/pjrt/pjrt_c_api.h").read_text()
SLOTS = re.findall(r"^PJRT_SLOT\((\w+), ", (ROOT / "src/pjrt/pjrt_slots.def").read_text(), re.M)


def our_structs():
    """name -> field names, read from the header's text (unnamed unions give their members)."""
    structs = {}
    for name, body in re.findall(r"^typedef struct (PJRT_\w+) \{\n(.*?)^\} \1;", HEADER, re.M | re.S):
        fields = []
        for line in body.splitlines():
            line = line.split("//")[0].rstrip()
            if line.strip() == "PJRT_ARGS_HEAD;":
                fields += ["struct_size", "extension_start"]
                continue
            pointer = re.search(r"\(\*(\w+)\)\(", line)
            plain = re.search(r"(\w+);$", line)
            if pointer:
                fields.append(pointer.group(1))
            elif plain and not line.strip().startswith(("}", "#", "union")):
                fields.append(plain.group(1))
        structs[name] = fields
    del structs["PJRT_Api"]
    return structs


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """(struct, field) -> (offset, size), struct -> size, enumerator -> value: what the compiler says."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("layout")
    lines = ['#include "pjrt/pjrt_c_api.h"', "#include <stdio.h>", "int main(void) {"]
    for name, fields in our_structs().items():
        lines.append(f'printf("S {name} %zu\\n", sizeof({name}));')
        for field in fields:
            lines.append(f'printf("F {name} {field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));')
    for enumerator in re.findall(r"^  (PJRT_\w+) = ", HEADER, re.M):
        lines.append(f'printf("E {enumerator} %d\\n", (int){enumerator});')
    for slot in SLOTS:
        lines.append(f'printf("A {slot} %zu\\n", offsetof(PJRT_Api, {slot}));')
    lines.append('printf("S PJRT_Api %zu\\n", sizeof(PJRT_Api)); return 0; }')
    (folder / "layout.c").write_text("\n".join(lines))
    subprocess.run([compiler, "-std=c11", f"-I{ROOT / 'src'}", str(folder / "layout.c"), "-o", str(folder / "layout")],
                   check=True)
    out = subprocess.run([str(folder / "layout")], check=True, capture_output=True, text=True).stdout
    result = {}
    for line in out.splitlines():
        kind, *rest = line.split()
        result[(kind, *[r for r in rest if not r.isdigit()])] = [int(r) for r in rest if r.isdigit()]
    return result


def test_table_is_exactly_0_104(measured):
    assert re.search(r"#define PJRT_API_MINOR 104\b", HEADER)
    assert measured[("S", "PJRT_Api")] == [1120]
    assert len(SLOTS) == 135 and len(set(SLOTS)) == 135


def test_slot_numbers(measured):
    for number, slot in enumerate(SLOTS):
        assert abi.SLOT["PJRT_" + slot] == number
        assert measured[("A", slot)] == [abi.VTABLE_OFFSET + 8 * number]


def test_every_slot_has_its_struct():
    assert {f"PJRT_{slot}_Args" for slot in SLOTS} <= set(our_structs())


def test_offsets(measured):
    checked = 0
    for name, fields in our_structs().items():
        theirs = getattr(abi, name)
        names = [f[0] for f in theirs._fields_ if not f[0].startswith("_")]
        for field in fields:
            descriptor = getattr(theirs, field, None)
            assert descriptor is not None, f"{name}.{field} is not in the independent copy"
            # A member of an unnamed union is reached with its place inside the union only.
            base = 0
            if field not in [f[0] for f in theirs._fields_]:
                union = next(f for f in theirs._fields_ if f[0] in theirs._anonymous_ and hasattr(f[1], field))
                base = 0 if descriptor.offset else getattr(theirs, union[0]).offset
            offset, size = measured[("F", name, field)]
            assert (offset, size) == (base + descriptor.offset, descriptor.size), f"{name}.{field}"
            checked += 1
        # Fields are append-only: ours are the first of theirs, and none in between is left out.
        ours = [f for f in fields if f in names]
        assert ours == names[:len(ours)], name
        if len(ours) == len(names):
            assert measured[("S", name)] == [ctypes.sizeof(theirs)], name
    assert checked > 550


def test_enumerators(measured):
    checked = 0
    for key, value in measured.items():
        if key[0] == "E" and key[1] != "PJRT_Extension_Type_TtVtpu":
            assert getattr(abi, key[1]) == value[0], key[1]
            checked += 1
    assert checked >= 85
