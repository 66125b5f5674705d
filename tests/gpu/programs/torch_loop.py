#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of some transformer blocks for --seconds=S: "ready PID", then a line for each ten steps with the
moment they ended (CLOCK_REALTIME) and the ms of one. With --profiler-rounds=N nothing but, as JSON, the median ms of
a step without and with torch.profiler, in turns. The host is what limits it. Exit 77 without torch or a GPU."""
import json
import os
import statistics
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


def ten_steps(step):
    """The ms of one of ten steps."""
    start = time.perf_counter()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 100


def median_of_blocks(step, seconds=1):
    blocks, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        blocks.append(ten_steps(step))
    return round(statistics.median(blocks), 3)


def profiled(step, with_stack):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, with_stack=with_stack):
        return median_of_blocks(step)


def profile_in_turns(step, rounds):
    profiled(step, False)  # sets CUPTI up
    rows = {"not profiled": [], "torch.profiler": [], "torch.profiler with_stack": []}
    for _ in range(rounds):
        rows["not profiled"].append(median_of_blocks(step))
        rows["torch.profiler"].append(profiled(step, False))
        rows["not profiled"].append(median_of_blocks(step))
        rows["torch.profiler with_stack"].append(profiled(step, True))
    print(json.dumps(rows), flush=True)


def option(name, otherwise):
    return next((float(word[len(name):]) for word in sys.argv if word.startswith(name)), otherwise)


def main():
    step = make_step()
    for _ in range(30):
        step()
    torch.cuda.synchronize()
    rounds = int(option("--profiler-rounds=", 0))
    if rounds:
        return profile_in_turns(step, rounds)
    print(f"ready {os.getpid()}", flush=True)
    end = time.monotonic() + option("--seconds=", 10)
    while time.monotonic() < end:
        ms = ten_steps(step)
        print(f"{time.time():.3f} {ms:.3f}", flush=True)


if __name__ == "__main__":
    main()
