"""Python threads: forward and backward, modes, random states, first use, caches."""

import concurrent.futures
import threading

import torch


def together(count, work, timeout=120):
    barrier, errors = threading.Barrier(count), []

    def body(index):
        try:
            barrier.wait()
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def test_same_results_as_one_thread():
    x = torch.randn(40, 40)
    expected = (x @ x).softmax(1).sum(0)
    t = x.tpu()

    def work(_):
        for _ in range(30):
            torch.testing.assert_close((t @ t).softmax(1).sum(0).cpu(), expected, rtol=1e-4, atol=1e-5)

    together(4, work)


def test_new_signatures_in_all_threads_at_once():
    def work(index):
        for size in range(1, 40):
            t = torch.ones(size, 3, device="tpu")
            assert (t * 2 + t.sum(0)).sum().item() == 3 * size * (2 + size)

    together(4, work)


def test_training_in_threads_follows_the_cpu():
    torch.manual_seed(0)
    x, y = torch.randn(16, 6), torch.randn(16, 2)

    def train(device):
        torch_model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        generator = torch.Generator().manual_seed(7)
        for p in torch_model.parameters():
            p.data = torch.randn(p.shape, generator=generator) * 0.3
        model = torch_model.to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(8):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        return loss.item()

    expected, losses = train("cpu"), {}
    together(3, lambda index: losses.__setitem__(index, train("tpu")))
    assert all(abs(loss - expected) < 1e-4 for loss in losses.values()) and len(losses) == 3


def test_one_model_is_shared_by_readers():
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).tpu().eval()
    x = torch.randn(5, 8, device="tpu")
    with torch.no_grad():
        expected = model(x).cpu()

    def work(_):
        with torch.inference_mode():
            for _ in range(40):
                assert model(x).cpu().equal(expected)

    together(4, work)


def test_gradients_accumulate_from_threads():
    w = torch.ones(32, device="tpu", requires_grad=True)
    together(4, lambda index: [(w * (index + 1)).sum().backward() for _ in range(25)])
    assert w.grad.cpu().tolist() == [25 * 10] * 32


def test_modes_are_per_thread():
    def work(index):
        x = torch.ones(2, 2, device="tpu", requires_grad=True)
        for _ in range(20):
            if index % 2:
                with torch.no_grad(), torch.autocast("tpu", dtype=torch.bfloat16):
                    y = x @ x
                    assert y.dtype == torch.bfloat16 and not y.requires_grad
            else:
                y = x @ x
                assert y.dtype == torch.float32 and y.requires_grad

    together(4, work)


def test_random_numbers_are_never_drawn_twice():
    torch.manual_seed(3)
    draws, lock = [], threading.Lock()

    def work(_):
        for _ in range(25):
            values = tuple(torch.rand(4, device="tpu").tolist())
            with lock:
                draws.append(values)

    together(4, work)
    assert len(set(draws)) == 100


def test_generators_of_their_own_repeat():
    expected = torch.rand(8, device="tpu", generator=torch.Generator("tpu").manual_seed(4)).cpu()

    def work(_):
        generator = torch.Generator("tpu")
        for _ in range(20):
            assert torch.rand(8, device="tpu", generator=generator.manual_seed(4)).cpu().equal(expected)

    together(4, work)


def test_executor_and_tensors_that_die_elsewhere():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(lambda i: torch.full((100, 100), float(i), device="tpu"), i) for i in range(40)
        ]
        total = sum(future.result().mean().item() for future in futures)
    assert abs(total - sum(range(40))) < 1e-3


def test_streams_in_threads():
    x = torch.ones(64, 64, device="tpu")

    def work(_):
        stream = torch.tpu.Stream()
        with torch.tpu.stream(stream):
            for _ in range(20):
                y = x @ x
            event = stream.record_event()
        event.synchronize()
        assert y.sum().item() == 64**3

    together(3, work)


def test_caches_are_emptied_beside_work():
    x = torch.arange(64.0, device="tpu")

    def work(index):
        for step in range(30):
            if index == 0:
                torch.tpu.empty_cache()
                torch.tpu.memory_stats()
                torch.tpu.compile_stats() if hasattr(torch.tpu, "compile_stats") else None
            else:
                assert (x[: step + 1] + 1).sum().item() == step * (step + 1) / 2 + step + 1

    together(3, work)


def test_first_use_in_many_threads(python):
    code = """
import threading, torch
errors, barrier = [], threading.Barrier(6)
def work():
    try:
        barrier.wait()
        assert torch.ones(5, device="tpu").sum().item() == 5
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
assert not errors, errors
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_threads_at_exit(python):
    # A daemon thread inside an op at exit ends CPU PyTorch itself with "terminate called"; so it sleeps here.
    code = """
import atexit, threading, time, torch
kept = torch.ones(4, device="tpu")
atexit.register(lambda: print("atexit", int(kept.sum().item())))
def work(rounds, pause):
    x = torch.ones(128, 128, device="tpu")
    for _ in range(rounds):
        x = (x @ x) * 1e-3
    time.sleep(pause)
threading.Thread(target=work, args=(3, 1000), daemon=True).start()
threading.Thread(target=work, args=(60, 0)).start()
time.sleep(0.3)
print("end")
"""
    done = python(code, timeout=60)
    assert done.returncode == 0 and done.stdout.split() == ["end", "atexit", "4"], (
        done.returncode,
        done.stdout,
        done.stderr[-1500:],
    )
