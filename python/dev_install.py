"""Makes this checkout importable in the running Python, entry points included: no copy, no build.

    python python/dev_install.py [build folder]

Writes a .pth file and a dist-info folder into site-packages, and links the three libraries of the build folder
(default: build/release) into python/torch_tpu_c/lib. Run it again after choosing another build folder.
"""

import os
import sys
import sysconfig

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)


def main() -> None:
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build", "release"))
    libraries = os.path.join(here, "torch_tpu_c", "lib")
    os.makedirs(libraries, exist_ok=True)
    for name in ("libtorch_tpu_core.so", "libtorch_tpu_shim.so", "libvtpu.so"):
        link = os.path.join(libraries, name)
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.relpath(os.path.join(build, name), libraries), link)
    site = sysconfig.get_paths()["purelib"]
    with open(os.path.join(site, "torch_tpu_c.pth"), "w") as file:
        file.write(here + "\n")
    sys.path.insert(0, here)
    from torch_tpu_c import __version__

    info = os.path.join(site, f"torch_tpu_c-{__version__}.dist-info")
    os.makedirs(info, exist_ok=True)
    contents = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch-tpu-c\nVersion: {__version__}\n",
        "INSTALLER": "dev_install\n",
        "entry_points.txt": "[torch.backends]\ntpu = torch_tpu_c._autoload:autoload\n\n"
        "[torch_dynamo_backends]\ntpu = torch_tpu_c.compile:tpu_backend\n",
    }
    for name, text in contents.items():
        with open(os.path.join(info, name), "w") as file:
            file.write(text)
    base = os.path.basename(info)
    with open(os.path.join(info, "RECORD"), "w") as file:
        file.write("torch_tpu_c.pth,,\n" + "".join(f"{base}/{name},,\n" for name in [*contents, "RECORD"]))
    print(f"torch-tpu-c {__version__}: {here}, libraries of {build}")


if __name__ == "__main__":
    main()
