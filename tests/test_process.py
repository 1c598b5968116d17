"""Processes: fork, DataLoader workers, shutdown with work in flight, Ctrl-C."""

import torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.tensor([float(index * index)])


def test_dataloader_fork_and_pin():
    torch.ones(1, device="tpu")   # the plugin is open before the workers fork
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2, pin_memory=True)
    total = torch.zeros(1, device="tpu")
    for batch in loader:
        assert batch.is_pinned()
        total += batch.to("tpu", non_blocking=True).sum()
    assert total.item() == sum(i * i for i in range(16))


def test_dataloader_spawn():
    loader = torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=1, multiprocessing_context="spawn")
    assert sum(batch.tpu().sum().item() for batch in loader) == sum(i * i for i in range(16))


def test_fork_is_refused_in_the_child(python):
    code = """
import os, sys, torch
torch.ones(1, device="tpu")
pid = os.fork()
if pid == 0:
    assert torch.ones(2).sum() == 2
    try:
        torch.ones(1, device="tpu")
    except RuntimeError as error:
        os._exit(0 if "fork" in str(error) else 2)
    os._exit(3)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert torch.ones(2, device="tpu").sum().item() == 2
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_exit_with_work_in_flight(python):
    done = python("import torch\nx = torch.ones(512, 512, device='tpu')\nfor _ in range(20): x = x @ x * 1e-3\nprint('end')")
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr


def test_interrupt(python):
    code = """
import os, signal, threading, time, torch
signal.signal(signal.SIGINT, signal.default_int_handler)   # a background job of a script starts with it ignored
x = torch.ones(256, 256, device="tpu")
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        x = x @ x * 1e-3
except KeyboardInterrupt:
    pass
assert torch.ones(2, device="tpu").sum().item() == 2
print("survived")
"""
    done = python(code)
    assert done.stdout.strip() == "survived", done.stderr
