"""The include graph: which layer may include which (ARCHITECTURE.md, "Allowed edges"). Exit 1 on a forbidden edge."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = {
    "src/base": {"include"},
    "src/pjrt": set(),
    "src/ir": {"src/base", "include"},
    "src/lower": {"src/base", "src/ir", "include"},
    "src/runtime": {"src/base", "src/pjrt", "src/ir"},
    "src/cache": {"src/base"},
    "src/program": {"src/base", "src/ir", "src/lower", "src/runtime", "src/cache"},
    "src/eager": {"src/base", "src/ir", "src/lower", "src/runtime", "src/cache", "src/program", "include"},
    "src/graph": {"src/base", "src/ir", "src/lower", "src/runtime", "src/cache", "src/program", "src/eager", "include"},
    "vtpu": {"src/base", "src/ir", "src/pjrt", "include"},
    "tools": {"src/base", "src/ir", "src/runtime", "include"},
    "torch": {"include"},
    "include": set(),
}


def layer_of(path):
    relative = path.relative_to(ROOT).as_posix()
    for layer in sorted(ALLOWED, key=len, reverse=True):
        if relative.startswith(layer + "/"):
            return layer
    return None


def resolve(including, name):
    for base in (including.parent, ROOT / "include", ROOT / "src", ROOT / "vtpu", ROOT / "torch"):
        if (base / name).is_file():
            return (base / name).resolve()
    return None


def main():
    bad = 0
    files = [p for layer in ALLOWED for p in (ROOT / layer).rglob("*") if p.suffix in {".c", ".h", ".cpp", ".def", ".inc"}]
    for path in sorted(set(files)):
        layer = layer_of(path)
        is_test = path.name.endswith("_test.c")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = resolve(path, match.group(1))
            if target is None or ROOT not in target.parents:
                continue
            other = layer_of(target)
            if other in (None, layer) or other in ALLOWED[layer] or is_test and other == "vtpu" and layer == "src/runtime":
                continue
            print(f"{path.relative_to(ROOT)}:{number}: {layer} may not include {other} ({match.group(1)})")
            bad += 1
    print(f"include graph: {len(set(files))} files, {bad} forbidden edges")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
