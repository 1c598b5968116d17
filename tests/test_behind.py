"""Programs run behind their callers on vtpu: values, memory, errors, events and processes stay as if they did not. Sizes are large
enough that a program is still running when the next is called; numbers are small integers, so that every value is exact."""
import subprocess
import sys
import textwrap
import threading

import pytest
import torch


def whole(*shape, high=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-high, high + 1, shape, generator=generator).double()


def chain(x, steps=60):
    """Products, in-place writes, views and freed temporaries, each dependent on the last."""
    total = torch.zeros_like(x)
    for i in range(steps):
        y = (x @ x.t()).remainder(7) - 3
        y[::2].add_(y[1::2])
        total[:, i % x.shape[1]] += y.sum(1)
        x = (y[:, : x.shape[1]] + total).remainder(5) - 2
        del y
        x.mul_(2).sub_(1)
        x = torch.cat([x[:, 1:], x[:, :1]], 1)
    return x, total


def test_a_chain_of_programs():
    x = whole(384, 384)
    want = chain(x)
    got = chain(x.to("tpu"))
    for a, b in zip(got, want):
        assert torch.equal(a.cpu(), b)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_bits_do_not_depend_on_threads(threads):
    x = torch.randn(256, 300, generator=torch.Generator().manual_seed(1)).to("tpu")

    def run():
        y = x
        for _ in range(20):
            y = torch.softmax(y @ x.t(), -1) @ x
        return y.cpu()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        want = run()
        torch.set_num_threads(threads)
        assert torch.equal(run(), want)
    finally:
        torch.set_num_threads(before)


def train(threads):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layers = torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.LayerNorm(512), torch.nn.Linear(512, 10)
    model = torch.nn.Sequential(*layers).to("tpu")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x, y = torch.randn(512, 256).to("tpu"), torch.randint(0, 10, (512,)).to("tpu")
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return [loss.detach().cpu(), *(p.detach().cpu() for p in model.parameters())]


def test_training_behind_and_inside_the_calls():
    before = torch.get_num_threads()
    try:
        inside = train(1)
        for _ in range(2):
            for a, b in zip(train(2), inside):
                assert torch.equal(a, b)
    finally:
        torch.set_num_threads(before)


def test_several_threads_and_shared_weights():
    w = whole(256, 256)
    on_device = w.to("tpu")
    inputs = [whole(256, 256, seed=i) for i in range(4)]
    results, failures = [None] * 4, []

    def work(i):
        try:
            y = inputs[i].to("tpu")
            for _ in range(25):
                y = (y @ on_device).remainder(5)
            results[i] = y.cpu()
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for i in range(4):
        y = inputs[i]
        for _ in range(25):
            y = (y @ w).remainder(5)
        assert torch.equal(results[i], y)


def heavy(device="tpu"):
    x = torch.full((1536, 1536), 2.0, device=device)
    return x @ x


def test_an_error_is_the_calls_own_and_nothing_is_lost():
    table = torch.arange(12.0, device="tpu").reshape(4, 3)
    y = heavy()
    with pytest.raises(IndexError, match="9"):
        table[torch.tensor([0, 9], device="tpu")]
    with pytest.raises((IndexError, RuntimeError), match="9"):
        table.index_add_(0, torch.tensor([1, 9], device="tpu"), torch.ones(2, 3, device="tpu"))
    assert torch.equal(table.cpu(), torch.arange(12.0).reshape(4, 3))
    assert (y == 2.0 * 2.0 * 1536).all().item()


def test_memory_freed_behind_is_used_again_in_order():
    for _ in range(30):
        y = heavy()
        z = y + 1
        del y
        fresh = torch.full((1536, 1536), -7.0, device="tpu")   # may take y's place while z is being computed
        host = torch.arange(1536.0).to("tpu")                  # and so may an upload
        assert z[17, 3].item() == 2.0 * 2.0 * 1536 + 1
        assert fresh[1535, 1535].item() == -7.0 and host[1535].item() == 1535
        del z, fresh, host


def test_empty_cache_with_work_in_flight():
    y = heavy()
    z = y * 2
    del y
    torch.tpu.empty_cache()
    assert z[0, 0].item() == 2.0 * 2.0 * 1536 * 2


def test_events_and_streams():
    event = torch.Event("tpu")
    y = heavy()
    event.record()
    event.synchronize()
    assert event.query()
    torch.tpu.synchronize()
    assert torch.tpu.current_stream().query()
    assert y[5, 5].item() == 2.0 * 2.0 * 1536


def test_times_of_events_follow_the_work():
    begin, middle, end = (torch.Event("tpu", enable_timing=True) for _ in range(3))
    begin.record()
    middle.record()
    y = heavy()
    end.record()
    if torch.tpu.plugin_choice().plugin.endswith("libvtpu.so"):
        assert end.query()   # a time is taken once the queue has come there
    end.synchronize()
    assert end.query() and middle.query() and begin.query()
    assert 0 <= begin.elapsed_time(middle) <= begin.elapsed_time(end)
    assert y[7, 7].item() == 2.0 * 2.0 * 1536


def test_thread_count_changes_with_work_in_flight():
    before = torch.get_num_threads()
    try:
        for threads in (2, 1, 3, 2, 1):
            y = heavy()
            torch.set_num_threads(threads)
            z = y + heavy()
            assert z[1, 1].item() == 2 * 2.0 * 2.0 * 1536
    finally:
        torch.set_num_threads(before)


def test_numbers_of_programs_keep_their_place():
    """A program's numbers are uploads of a few bytes, which go through the queue: never a later or an earlier value."""
    x = torch.zeros(700, 700, dtype=torch.float64, device="tpu")
    for i in range(300):
        x.add_(i)
        x.mul_(1 - 2 * (i % 2))
    want = 0
    for i in range(300):
        want = (want + i) * (1 - 2 * (i % 2))
    assert (x == want).all().item()


@pytest.mark.parametrize("end", ["", "import os; os._exit(3)", "raise SystemExit(3)", "1 / 0"])
def test_a_process_ends_with_work_in_flight(end):
    code = "import torch\nx = torch.ones(1536, 1536, device='tpu')\nfor _ in range(10): x = x @ x * 1e-3\n" + end
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == {"": 0, "1 / 0": 1}.get(end, 3), done.stderr
    assert "ZeroDivisionError" in done.stderr if end == "1 / 0" else done.stderr == ""


def test_fork_with_work_in_flight():
    code = textwrap.dedent("""
        import os, torch
        x = torch.ones(1536, 1536, device="tpu")
        for _ in range(6): x = x @ x * 1e-3
        child = os.fork()
        if child == 0:
            try:
                x.cpu()
            except RuntimeError as error:
                os._exit(7 if "fork" in str(error) else 8)
            os._exit(9)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7, status
        print(float(x[0, 0] > 0))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.strip() == "1.0", done.stderr
