"""DataLoader: fork and spawn workers that touch only CPU tensors, pinned batches."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset


class Pairs(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return {"x": torch.full((3,), float(index)), "y": index % 5}


class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for index in range(worker.id if worker else 0, 12, worker.num_workers if worker else 1):
            yield torch.tensor([index])


class TouchesDevice(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(1, device="tpu").cpu()


def epoch(loader):
    total, labels = torch.zeros(3, device="tpu"), []
    for batch in loader:
        total += batch["x"].to("tpu", non_blocking=True).sum(0)
        labels += batch["y"].to("tpu").tolist()
    return total.cpu().tolist(), sorted(labels)


EXPECTED = ([float(sum(range(24)))] * 3, sorted(i % 5 for i in range(24)))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("pin", [False, True])
def test_fork_and_pin(workers, pin):
    torch.ones(1, device="tpu")  # the plugin is open before the workers fork
    loader = DataLoader(
        Pairs(),
        batch_size=5,
        shuffle=True,
        num_workers=workers,
        pin_memory=pin,
        multiprocessing_context="fork" if workers else None,
    )
    assert epoch(loader) == EXPECTED
    assert epoch(loader) == EXPECTED
    if pin:
        assert next(iter(loader))["x"].is_pinned()


def test_spawn_and_persistent_workers():
    loader = DataLoader(
        Pairs(), batch_size=8, num_workers=1, multiprocessing_context="spawn", persistent_workers=True
    )
    for _ in range(2):
        assert epoch(loader) == EXPECTED


def test_iterable_dataset():
    loader = DataLoader(Stream(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    assert sorted(v for batch in loader for v in batch.tpu().flatten().tolist()) == list(range(12))


def test_tensors_on_the_device_without_workers():
    x, y = torch.arange(10.0, device="tpu")[:, None], torch.arange(10, device="tpu")
    loader = DataLoader(
        TensorDataset(x, y), batch_size=4, generator=torch.Generator().manual_seed(1), shuffle=True
    )
    seen = []
    for a, b in loader:
        assert a.is_tpu and b.is_tpu
        assert a[:, 0].long().equal(b)
        seen += b.tolist()
    assert sorted(seen) == list(range(10))


def test_forked_worker_that_touches_the_device_says_so():
    torch.ones(1, device="tpu")
    loader = DataLoader(TouchesDevice(), num_workers=1, multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match="(?s)fork.*spawn"):
        next(iter(loader))
    assert torch.ones(2, device="tpu").sum().item() == 2  # the parent goes on


def test_collate_of_tpu_tensors(check):
    rows = [torch.full((2,), float(i), device="tpu") for i in range(3)]
    check(torch.utils.data.default_collate(rows), torch.arange(3.0)[:, None].expand(3, 2))


def test_random_split_and_samplers():
    data = TensorDataset(torch.arange(20))
    left, right = torch.utils.data.random_split(data, [15, 5], generator=torch.Generator().manual_seed(0))
    weights = torch.utils.data.WeightedRandomSampler(torch.ones(5), 5, replacement=False)
    values = [v.tpu().item() for (v,) in DataLoader(right, batch_size=None, sampler=weights)]
    assert sorted(values) == sorted(right[i][0].item() for i in range(5)) and len(left) == 15
