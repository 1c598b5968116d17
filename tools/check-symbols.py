"""Exported symbols of the shared libraries equal the checked-in lists (tools/symbols/*.txt).

check-symbols.py BUILD          compare
check-symbols.py BUILD --write  write the lists anew (review the diff)
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ["libvtpu.so", "libtorch_tpu_core.so"]


def exported(path):
    out = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
    return sorted(line.split()[-1].split("@")[0] for line in out.splitlines() if line.split()[-2] in "TDBRVW")


def main():
    build = pathlib.Path(sys.argv[1])
    bad = 0
    for name in LIBRARIES:
        found = exported(build / name)
        listing = HERE / "symbols" / (name + ".txt")
        if "--write" in sys.argv:
            listing.parent.mkdir(exist_ok=True)
            listing.write_text("\n".join(found) + "\n")
            continue
        wanted = listing.read_text().split()
        for symbol in sorted(set(found) - set(wanted)):
            print(f"{name}: exports {symbol}, which {listing.relative_to(HERE.parent)} does not list")
            bad += 1
        for symbol in sorted(set(wanted) - set(found)):
            print(f"{name}: does not export {symbol}")
            bad += 1
    print(f"exported symbols: {len(LIBRARIES)} libraries, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
