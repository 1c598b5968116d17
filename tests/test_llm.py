"""SmolLM2-135M-Instruct on tpu against CPU PyTorch: logits, generation, sampling, transfers."""
import copy

import pytest
import torch

import pretrained
from observe import native_only, transfers

NEW_TOKENS = 64
pytestmark = pytest.mark.slow   # loading the weights alone takes ten seconds


class Reference:
    """CPU's prompt, its greedy tokens and the logits that belong to them, in float32 and bfloat16."""

    def __init__(self):
        with pretrained.one_thread(), torch.no_grad():
            self.tokenizer, self.model = pretrained.smollm2()
            self.prompt = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": "What is the capital of France?"}],
                add_generation_prompt=True, return_tensors="pt", return_dict=True)
            self.ids = self.model.generate(
                **self.prompt, max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, do_sample=False)
            self.start = self.prompt.input_ids.shape[1]
            self.logits = self.model(self.ids).logits[0, self.start - 1:-1]

    def bfloat16_logits(self):
        with pretrained.one_thread(), torch.no_grad():
            return copy.deepcopy(self.model).bfloat16()(self.ids).logits[0, self.start - 1:-1].float()

    def decided(self):
        """Positions where rounding cannot change CPU's choice."""
        top = self.logits.topk(2, -1).values
        return top[:, 0] - top[:, 1] > 1e-3


@pytest.fixture(scope="module")
def reference():
    return Reference()


@pytest.fixture(scope="module")
def model(reference):
    return copy.deepcopy(reference.model).to("tpu")


def test_teacher_forced_decoding(reference, model):
    """One token at a time through the growing cache, as generate does."""
    ids, start = reference.ids.to("tpu"), reference.start
    with native_only(), torch.no_grad():
        out = model(ids[:, :start], use_cache=True)
        rows = [out.logits[0, -1]]
        for position in range(start, ids.shape[1] - 1):
            out = model(ids[:, position:position + 1], past_key_values=out.past_key_values, use_cache=True)
            rows.append(out.logits[0, -1])
        actual = torch.stack(rows).cpu()
    decided = reference.decided()
    assert decided.sum() > NEW_TOKENS // 2
    assert torch.equal(actual.argmax(-1)[decided], reference.logits.argmax(-1)[decided])
    torch.testing.assert_close(actual, reference.logits, atol=2e-3, rtol=1e-3)


def test_generate_repeats_cpus_tokens(reference, model):
    with native_only():
        ids = model.generate(**reference.prompt.to("tpu"), max_new_tokens=16, min_new_tokens=16, do_sample=False)
    decided = reference.decided()[:16]
    upto = 16 if decided.all() else int((~decided).float().argmax())
    assert ids.cpu()[0, :reference.start + upto].tolist() == reference.ids[0, :reference.start + upto].tolist()


def test_transfers_are_explained(reference, model):
    """Tokens go up, logits come down; nothing else crosses."""
    with torch.no_grad():
        with transfers() as moved:
            ids = reference.ids.to("tpu")
            logits = model(ids).logits[0, -1].cpu()
    assert moved["bytes_to_device"] == reference.ids.numel() * 8
    assert moved["bytes_to_host"] == logits.numel() * 4


def test_bfloat16_is_as_accurate_as_cpus(reference):
    low = copy.deepcopy(reference.model).bfloat16().to("tpu")
    with native_only(), torch.no_grad():
        actual = low(reference.ids.to("tpu")).logits[0, reference.start - 1:-1].float().cpu()

    def error(logits):
        return (logits - reference.logits).square().mean().sqrt().item()

    assert error(actual) <= 1.2 * error(reference.bfloat16_logits())


def sample(model, prompt, seed, **options):
    torch.manual_seed(seed)
    out = model.generate(**prompt, max_new_tokens=12, min_new_tokens=12, do_sample=True, temperature=1.0, top_k=50, **options)
    return out.cpu().tolist()[0][prompt["input_ids"].shape[1]:]


def test_sampling_is_reproducible_eager_and_compiled(reference, model):
    """A static cache makes generate compile its decoding step for tpu by itself."""
    prompt = reference.prompt.to("tpu")
    with native_only():
        first, again, other = (sample(model, prompt, seed) for seed in (7, 7, 8))
    assert first == again and first != other
    torch._dynamo.reset()
    static = sample(model, prompt, 7, cache_implementation="static", disable_compile=True)
    assert static == first
    with native_only(log_ops=False):
        compiled = sample(model, prompt, 7, cache_implementation="static")
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0
    assert compiled == first
    torch._dynamo.reset()
