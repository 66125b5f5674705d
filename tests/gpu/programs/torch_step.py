#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Some training steps of a small network in PyTorch. Exit 77 without torch or a GPU. PyTorch chooses
the kernels, so the number to expect is what its own profiler counted in an untraced run: the
comparison is made by gpu-check with --count-with-profiler."""
import json
import sys

try:
    import torch
except ImportError:
    print("torch cannot be imported", file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch sees no GPU", file=sys.stderr)
    sys.exit(77)


def make_step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.randn(64, 256, device="cuda")
    labels = torch.randint(0, 10, (64,), device="cuda")

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data), labels).backward()
        optimizer.step()
    return step


def count_kernels(run):
    """Kernels that torch's own profiler sees; only in a process that nobody else traces."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        run()
        torch.cuda.synchronize()
    return sum(1 for event in profiler.events()
               if event.device_type == torch.autograd.DeviceType.CUDA
               and not event.name.startswith(("Memcpy", "Memset")))


def main():
    step = make_step()
    step()
    torch.cuda.synchronize()

    def run():
        for _ in range(20):
            step()
    report = {"program": "torch_step"}
    if "--count-with-profiler" in sys.argv:
        report["profiled_kernels"] = count_kernels(run)
    else:
        torch.cuda.nvtx.range_push("counted steps")
        run()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
