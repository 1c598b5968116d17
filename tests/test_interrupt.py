"""Ctrl-C, shutdown with work in flight, signals, multiprocessing queues."""

import os
import subprocess
import sys

import pytest
from forks import run_forked

LOOPS = {
    "small ops": "x = torch.ones(4, device='tpu')\nwhile True: x = x + 1",
    "products": "x = torch.ones(384, 384, device='tpu')\nwhile True: x = x @ x * 1e-3",
    "synchronize": "x = torch.ones(128, 128, device='tpu')\nwhile True:\n    x = x @ x * 1e-2\n    torch.tpu.synchronize()",
    "item": "x = torch.ones(64, device='tpu')\nwhile True: x.sum().item()",
    "training": """
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).tpu()
optimizer = torch.optim.AdamW(model.parameters())
while True:
    optimizer.zero_grad()
    model(torch.ones(16, 32, device='tpu')).sum().backward()
    optimizer.step()""",
    "new signatures": "n = 0\nwhile True:\n    n = n % 500 + 1\n    torch.ones(n, 2, device='tpu').sum(0)",
    "copies": "while True: torch.ones(1000).tpu().cpu()",
}


def interrupted(loop):
    first, again = loop.split("while True:")
    body = "\n    ".join(again.strip().replace("\n    ", "\n").splitlines())
    return f"""
import os, signal, threading
{first}
def step():
    global x, n
    {body}

step()   # what torch imports on first use is imported before the signal
for _ in range(2):
    try:
        threading.Timer(0.25, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        while True: step()
    except KeyboardInterrupt:
        assert torch.ones(2, device="tpu").sum().item() == 2
        assert torch.mm(torch.ones(3, 3, device="tpu"), torch.ones(3, 3, device="tpu")).sum().item() == 27
    else:
        raise SystemExit("no interrupt")
print("survived")
"""


@pytest.fixture(scope="module")
def interrupts():
    programs = {name: interrupted(loop) for name, loop in LOOPS.items()}
    programs["uncaught"] = """
import os, signal, threading
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
x = torch.ones(256, 256, device="tpu")
while True: x = x @ x * 1e-3
"""
    return run_forked(programs)


@pytest.mark.parametrize("name", LOOPS)
def test_keyboard_interrupt(name, interrupts):
    status, out, error = interrupts[name]
    assert (status, out.strip()) == (0, "survived"), (status, error[-2000:])


def test_uncaught_interrupt_ends_the_process_as_usual(interrupts):
    status, _, error = interrupts["uncaught"]
    assert status == -2 and "KeyboardInterrupt" in error, (status, error[-500:])


EXITS = {
    "pending products": "x = torch.ones(512, 512, device='tpu')\nfor _ in range(10): x = x @ x * 1e-3",
    "pending copy": "x = torch.ones(1 << 20).pin_memory().to('tpu', non_blocking=True)\ny = (x + 1).to('cpu', non_blocking=True)",
    "backward": "x = torch.ones(256, 256, device='tpu', requires_grad=True)\n((x @ x) @ x).sum().backward()",
    "streams": "s = torch.tpu.Stream()\nwith torch.tpu.stream(s):\n    x = torch.ones(256, 256, device='tpu') @ torch.ones(256, 256, device='tpu')\ne = s.record_event()",
    "globals and cycles": "class A: pass\na = A(); a.self = a; a.t = torch.ones(9, device='tpu')\nimport builtins; builtins.kept = torch.ones(3, device='tpu')",
    "generator": "g = torch.Generator('tpu').manual_seed(3)\nx = torch.rand(4, device='tpu', generator=g)",
    "os exit in a thread": "import threading\nx = torch.ones(4, device='tpu')\nthreading.Thread(target=lambda: x.add_(1)).start()",
    "only a seed": "torch.manual_seed(3)",
    "never used": "",
    "dataloader left open": """
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(64)), num_workers=2, pin_memory=True)
batches = iter(loader)
x = next(batches)[0].tpu()""",
    "profiler": "from torch.profiler import profile\nwith profile():\n    x = torch.ones(3, device='tpu') + 1",
}


@pytest.fixture(scope="module")
def exits():
    programs = {name: code + "\nprint('end')" for name, code in EXITS.items()}
    work = "x = torch.ones(64, 64, device='tpu') @ torch.ones(64, 64, device='tpu')\n"
    for end in CODES:
        programs[end] = work + end
    return run_forked(programs)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXITS)
def test_exit_with_work_in_flight(name, exits):
    status, out, error = exits[name]
    assert (status, out.strip()) == (0, "end"), (status, out, error[-1500:])


CODES = {"raise ValueError('mine')": 1, "raise SystemExit(7)": 7, "import os; os._exit(5)": 5}


@pytest.mark.slow
@pytest.mark.parametrize("end", CODES)
def test_exit_codes(end, exits):
    assert exits[end][0] == CODES[end], exits[end]


QUEUE = """
import torch
import torch.multiprocessing as mp

def work(queue, back):
    t, view, parameter, mixed = queue.get()
    assert t.device == torch.device("tpu", 2) and view.device.index == 1, (t.device, view.device)
    assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad and parameter.device.index == 3
    assert view.tolist() == [[1.0, 3.0], [7.0, 9.0]] and mixed["cpu"].device.type == "cpu" and mixed["tpu"].device.index == 0
    t.add_(5)          # a copy: the sender's tensor stays
    back.put(t * 2)
    queue.get()

if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue, back = context.Queue(), context.Queue()
    process = context.Process(target=work, args=(queue, back))
    process.start()
    t = torch.arange(4.0, device="tpu:2")
    view = torch.arange(12.0, device="tpu:1").reshape(2, 6)[:, 1:5:2]
    parameter = torch.nn.Parameter(torch.ones(2, device="tpu:3"))
    queue.put((t, view, parameter, {"cpu": torch.ones(1), "tpu": torch.ones(1, device="tpu:0")}))
    result = back.get(timeout=100)
    assert result.device == torch.device("tpu", 2) and result.cpu().tolist() == [10, 12, 14, 16], result
    assert t.cpu().tolist() == [0, 1, 2, 3]
    queue.put(None)
    process.join(60)
    assert process.exitcode == 0
    try:
        queue.put(t * torch.ones(4, device="tpu:2", requires_grad=True))
        queue.get(timeout=3)
    except Exception:
        pass           # tensors with a history are refused, as everywhere
    print("done", flush=True)
    import os
    os._exit(0)
"""


def test_multiprocessing_queue(tmp_path):
    script = tmp_path / "queue_script.py"
    script.write_text(QUEUE)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=180,
        env=dict(os.environ, TORCH_TPU_VIRTUAL="v6e:2x2"),
    )
    assert done.returncode == 0 and "done" in done.stdout, done.stderr[-3000:]
