"""torch.set_num_threads() and OMP_NUM_THREADS hold for the plugin's pool too, and change no bit of a result."""
import json

import pytest

# Counts the pool from outside: its threads are the tasks of this process that are named tt-pool. `ran` is the time
# that they have been on a CPU, once they sleep.
WORK = """
import hashlib, json, pathlib, time
import torch
import torch.nn.functional as F


def pool():
    found = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == "tt-pool":
            found[task.name] = (task / "schedstat").read_text().split()[0]
    return found


def settled():
    before = pool()
    while True:
        time.sleep(0.05)
        now = pool()
        if now == before:
            return now
        before = now


def digest(tensors):
    return hashlib.sha256(b"".join(t.detach().cpu().contiguous().numpy().tobytes() for t in tensors)).hexdigest()


torch.manual_seed(0)
A, W = torch.randn(700, 900), torch.randn(900, 900)
x, w = A.to("tpu"), W.to("tpu").requires_grad_()


def forward():
    return F.gelu(x @ w).softmax(-1)


def eager():
    with torch.no_grad():
        y = forward()
        return [y, y.sum(0), y.cumsum(1), y.t().contiguous(), torch.sort(y, -1)[0], (y * 3 + x).exp()]


def backward(y=None):
    y = forward() if y is None else y
    return list(torch.autograd.grad(y, w, torch.ones_like(y), retain_graph=True))
"""


def run(python, code, **env):
    done = python(WORK + code, timeout=300, TORCH_TPU_THREADS="2", **env)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_one_thread_from_the_start_starts_no_worker(python):
    code = "torch.set_num_threads(1); eager(); backward(); x.cpu(); print(json.dumps(pool()))"
    assert run(python, code) == {}


def test_omp_num_threads_starts_no_worker(python):
    code = "eager(); backward(); x.cpu(); print(json.dumps(pool()))"
    assert run(python, code, OMP_NUM_THREADS="1") == {}
    assert len(run(python, code, OMP_NUM_THREADS="2")) == 1


@pytest.mark.parametrize("what", ["eager", "backward", "compiled", "copies"])
def test_the_number_can_change_and_no_bit_does(python, what):
    code = f"""
def copies():
    return [A.to("tpu"), x.clone(), x.cpu(), x.t().cpu()]
def compiled(f=torch.compile(lambda a: F.gelu(a @ w).softmax(-1), backend="tpu")):
    y = f(x)
    return [y, *torch.autograd.grad(y, w, torch.ones_like(y))]
kept = forward()
def backward_alone():   # nothing but the device thread of autograd works between two changes
    return list(torch.autograd.grad(kept, w, seed, retain_graph=True))
seed = torch.ones_like(kept)
work = {{"eager": eager, "backward": backward_alone, "compiled": compiled, "copies": copies}}["{what}"]
torch.set_num_threads(2)
many = digest(work())
workers = len(pool())
torch.set_num_threads(1)
work()
before = settled()
one = digest(work())
after = settled()
torch.set_num_threads(2)
again = digest(work())
print(json.dumps([many, one, again, workers, before == after, settled() != after]))
"""
    many, one, again, workers, rested, woke = run(python, code)
    assert many == one == again
    assert workers == 1 and rested and woke


def test_the_number_is_of_the_calling_thread(python):
    code = """
import threading
torch.set_num_threads(2)
eager()
torch.set_num_threads(1)
before = settled()
def two():
    torch.set_num_threads(2)
    eager()
thread = threading.Thread(target=two)
thread.start()
thread.join()
between = settled()
eager()
print(json.dumps([before != between, between == settled()]))
"""
    assert run(python, code) == [True, True]
