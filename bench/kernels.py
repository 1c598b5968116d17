"""Kernels through the device against CPU PyTorch in the same process: products, convolutions, attention, reductions, data movement."""
import torch
import torch.nn.functional as F

from timing import note, pair, row, tune_malloc


def both(make):
    return make("tpu"), make("cpu")


def gemm(threads):
    for n in (512, 1024, 2048):
        def make(device, dtype=torch.float32, n=n):
            a, b = torch.randn(n, n, device=device, dtype=dtype), torch.randn(n, n, device=device, dtype=dtype)
            return lambda: a @ b
        f32, peer = both(make)
        row("gemm", f"f32 {n}^3, {threads} thread(s)", *pair(f32, peer, blocks=7, seconds=0.05, least=1), "ms", 0.9, "more")
        if n <= 1024:
            bf16, peer = both(lambda device: make(device, torch.bfloat16))
            row("gemm", f"bf16 {n}^3 against PyTorch", *pair(bf16, peer, blocks=5, seconds=0.05, least=1), "ms", 0.8, "more")
            row("gemm", f"bf16 {n}^3 against our f32", *pair(bf16, f32, blocks=5, seconds=0.05, least=1), "ms", 0.9, "more")
    for m, k, n in ((1, 576, 1536), (1, 4096, 4096), (8, 4096, 4096)):
        def make(device, m=m, k=k, n=n):
            x, w = torch.randn(m, k, device=device), torch.randn(n, k, device=device)
            return lambda: F.linear(x, w)
        a, b = pair(*both(make), blocks=9, seconds=0.03)
        row("gemv", f"f32 {m}x{k}x{n}, {threads} thread(s)", a, b, "ms", 1.0, "more")


CONVOLUTIONS = {"7x7/2 3-64 @224": (3, 64, 7, 2, 3, 224), "3x3 64 @56": (64, 64, 3, 1, 1, 56), "1x1 256-64 @56": (256, 64, 1, 1, 0, 56),
                "3x3 256 @14": (256, 256, 3, 1, 1, 14), "3x3 512 @7": (512, 512, 3, 1, 1, 7)}


def convolution():
    for name, (cin, cout, size, stride, pad, extent) in CONVOLUTIONS.items():
        def make(device, backward=False, dtype=torch.float32):
            x = torch.randn(2, cin, extent, extent, device=device, dtype=dtype, requires_grad=backward)
            w = torch.randn(cout, cin, size, size, device=device, dtype=dtype, requires_grad=backward)
            def forward():
                return F.conv2d(x, w, stride=stride, padding=pad)
            if not backward:
                return forward
            y = forward()
            g = torch.ones_like(y)
            return lambda: torch.autograd.grad(forward(), (x, w), g)
        f32, theirs = pair(*both(make), blocks=5, seconds=0.05, least=1)
        row("conv", name, f32, theirs, "ms", 0.6, "more")
        a, b = pair(*both(lambda device: make(device, True)), blocks=5, seconds=0.05, least=1)
        row("conv", name + " with gradients", a, b, "ms", 0.6, "more")
        ours = make("tpu", dtype=torch.bfloat16)
        bf16, again = pair(ours, make("tpu"), blocks=5, seconds=0.05, least=1)
        row("conv", name + " bf16 against our f32", bf16, again, "ms", 0.9, "more")


def attention():
    for causal in (False, True):
        def make(device, backward=False):
            q, k, v = (torch.randn(1, 9, 512, 64, device=device, requires_grad=backward) for _ in range(3))
            if not backward:
                return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            g = torch.ones(1, 9, 512, 64, device=device)
            return lambda: torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=causal), (q, k, v), g)
        name = "prefill 1x9x512x64" + (" causal" if causal else "")
        a, b = pair(*both(make), blocks=7, seconds=0.05, least=1)
        row("attention", name, a, b, "ms", 0.7, "more")
        a, b = pair(*both(lambda device: make(device, True)), blocks=5, seconds=0.05, least=1)
        row("attention", name + " with gradients", a, b, "ms", 0.7, "more")


def others():
    cases = {
        "sum rows 4096^2": lambda d: (lambda x: lambda: x.sum(1))(torch.randn(4096, 4096, device=d)),
        "cumsum rows 4096^2": lambda d: (lambda x: lambda: x.cumsum(1))(torch.randn(4096, 4096, device=d)),
        "sort 1024x4096": lambda d: (lambda x: lambda: x.sort(-1))(torch.randn(1024, 4096, device=d)),
        "embedding 16k of 32000x576": lambda d: (lambda w, i: lambda: F.embedding(i, w))(torch.randn(32000, 576, device=d), torch.randint(0, 32000, (16384,)).to(d)),
        "transpose 4096^2": lambda d: (lambda x: lambda: x.t().contiguous())(torch.randn(4096, 4096, device=d)),
    }
    for name, make in cases.items():
        a, b = pair(*both(make), blocks=5, seconds=0.05, least=1)
        row("others", name, a, b, "ms", 0.5, "more")


def main():
    tune_malloc()
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        note("kernels", f"{threads} thread(s)")
        gemm(threads)
    convolution()
    attention()
    others()


if __name__ == "__main__":
    main()
