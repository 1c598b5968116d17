"""save, load, pickle, deepcopy, multiprocessing queues, DLPack."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch


def roundtrip(thing, **options):
    buffer = io.BytesIO()
    torch.save(thing, buffer, **options)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("zipped", [True, False])
def test_save_load(zipped, check):
    x = torch.arange(12.0).reshape(3, 4)
    t = x.tpu()
    buffer = roundtrip({"a": t, "row": t[1], "n": 3}, _use_new_zipfile_serialization=zipped)
    loaded = torch.load(buffer)
    assert loaded["a"].device == t.device
    check(loaded["a"], x)
    check(loaded["row"], x[1])
    loaded["a"][1, 0] = 50
    assert loaded["row"][0].item() == 50   # still one storage
    buffer.seek(0)
    assert torch.equal(torch.load(buffer, map_location="cpu")["a"], x)


def test_map_location_to_tpu(check):
    x = torch.arange(4.0)
    for where in ("tpu", "tpu:0", torch.device("tpu", 0), {"cpu": "tpu:0"}):
        check(torch.load(roundtrip(x), map_location=where), x)


def test_pickle_and_deepcopy(check):
    t = torch.arange(4, device="tpu")
    check(pickle.loads(pickle.dumps(t)), t.cpu())
    c = copy.deepcopy(t)
    c.add_(1)
    check(t, torch.arange(4))
    p = torch.nn.Parameter(torch.ones(2, device="tpu"))
    assert isinstance(copy.deepcopy(p), torch.nn.Parameter)


def test_state_dict(check):
    a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).tpu()
    b.load_state_dict(a.state_dict())
    check(b.weight.detach(), a.weight.detach())
    a.load_state_dict(torch.load(roundtrip(b.state_dict()), map_location="cpu"))


def test_printing():
    t = torch.tensor([1.5, 2.0, float("nan")], device="tpu")
    assert str(t) == "tensor([1.5000, 2.0000,    nan], device='tpu:0')"
    assert "tpu:0" in repr(torch.ones(300, 300, device="tpu"))
    assert str(torch.tensor(True, device="tpu")) == "tensor(True, device='tpu:0')"


def test_dlpack(check):
    t = torch.arange(6.0, device="tpu").reshape(2, 3)[:, ::2]
    np.testing.assert_array_equal(np.from_dlpack(t), t.cpu().numpy())
    x = torch.from_dlpack(t)
    assert x.device.type == "cpu"
    x.add_(1)
    assert t.cpu()[0, 0] == 0   # a copy
    with pytest.raises(BufferError):
        t.__dlpack__(copy=False)


def test_numpy_is_refused():
    with pytest.raises(TypeError, match="tpu:0 device type tensor to numpy|can't convert"):
        torch.ones(2, device="tpu").numpy()


QUEUE = """
import torch
import torch.multiprocessing as mp

def work(queue, back):
    t = queue.get()
    assert t.device == torch.device("tpu", 0), t.device
    back.put(t * 2)
    back.get_nowait if False else None
    queue.get()

if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue, back = context.Queue(), context.Queue()
    process = context.Process(target=work, args=(queue, back))
    process.start()
    queue.put(torch.arange(4.0, device="tpu"))
    result = back.get(timeout=100)
    queue.put(None)
    process.join(60)
    assert process.exitcode == 0
    assert result.device.type == "tpu" and result.cpu().tolist() == [0, 2, 4, 6]
"""


def test_multiprocessing_queue(tmp_path):
    import subprocess
    import sys

    script = tmp_path / "queue_script.py"
    script.write_text(QUEUE)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
