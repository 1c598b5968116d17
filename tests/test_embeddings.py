"""Sentence embeddings of all-MiniLM-L6-v2 on tpu against CPU PyTorch."""
import copy

import pytest
import torch

import pretrained
from observe import native_only, transfers

SENTENCES = [
    "A man is eating food.", "Someone is having a meal.", "The stock market fell sharply on Monday.",
    "He said that the boundaries of the field had been moved, though nobody could say when, or by whom, or why.", "Hi!",
]


def embed(model, batch):
    """Mean of the token vectors under the mask, normalised."""
    hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9), dim=-1)


@pytest.fixture(scope="module")
def loaded():
    tokenizer, model = pretrained.minilm()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with pretrained.one_thread(), torch.no_grad():
        return model, batch, embed(model, batch)


def test_same_directions(loaded):
    model, batch, expected = loaded
    twin = copy.deepcopy(model).to("tpu")
    with torch.no_grad(), native_only(), transfers() as moved:
        on_device = batch.to("tpu")
        actual = embed(twin, on_device).cpu()
    batch.to("cpu")
    cosine = torch.nn.functional.cosine_similarity(actual.double(), expected.double())
    assert (cosine > 0.99999).all(), cosine
    similar, unrelated = actual[0] @ actual[1], actual[0] @ actual[2]
    assert similar > 0.5 > 0.3 > unrelated
    assert moved["bytes_to_device"] == sum(tensor.numel() * 8 for tensor in batch.values())
    # Transformers asks once whether the mask hides anything: a bool.
    assert moved["bytes_to_host"] == actual.numel() * 4 + 1


def test_compiled(loaded):
    model, batch, expected = loaded
    torch._dynamo.reset()
    twin = copy.deepcopy(model).to("tpu")
    with torch.no_grad(), native_only(log_ops=False):
        actual = embed(torch.compile(twin, backend="tpu"), copy.copy(batch).to("tpu")).cpu()
    batch.to("cpu")
    cosine = torch.nn.functional.cosine_similarity(actual.double(), expected.double())
    assert (cosine > 0.99999).all(), cosine
    torch._dynamo.reset()
