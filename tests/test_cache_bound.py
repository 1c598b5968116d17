"""The executable cache keeps to its bound, and so does the memory behind it."""
import json


def test_new_signatures_for_ever_take_no_more_memory(python):
    code = """
import json, torch
x = torch.randn(4, 16, 4096, device="tpu")
seen = []
for turn in range(4):
    for n in range(turn * 200, turn * 200 + 200):
        x[:, n % 16 :, n : n + 9] + 1
    seen.append((torch.tpu.compile_stats()["entries"], torch.tpu.allocation_stats()["core_live_blocks"]))
print(json.dumps(seen))
"""
    done = python(code, TORCH_TPU_CACHE_ENTRIES="64")
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout)
    assert all(entries <= 64 for entries, _ in seen)
    assert abs(seen[3][1] - seen[1][1]) < 64, seen   # 9 blocks a program when they were kept
