#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of some transformer blocks for --seconds=S: "ready PID", then a line for each ten steps with the
moment they ended (CLOCK_REALTIME) and the ms of one. The host is what limits it. Exit 77 without torch or a GPU."""
import os
import sys
import time

try:
    import torch
    from torch.nn import functional
except ImportError:
    print("torch cannot be imported", file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch sees no GPU", file=sys.stderr)
    sys.exit(77)

WIDTH, HEADS, BLOCKS = 512, 8, 4


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.inner, self.outer = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.inner(self.norms[0](x)).view(batch, length, 3, HEADS, width // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outer(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))


def make_step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[Block() for _ in range(BLOCKS)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(8, 256, WIDTH, device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
    return step


def main():
    seconds = next((float(word[10:]) for word in sys.argv if word.startswith("--seconds=")), 10)
    step = make_step()
    for _ in range(30):
        step()
    torch.cuda.synchronize()
    print(f"ready {os.getpid()}", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        print(f"{time.time():.3f} {(time.perf_counter() - start) * 100:.3f}", flush=True)


if __name__ == "__main__":
    main()
