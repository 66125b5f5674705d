#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of a small network as one captured CUDA graph, replayed. Exit 77 without torch or
a GPU. As torch_step.py, the number of kernels to expect is what PyTorch's profiler counted in an
untraced run (--count-with-profiler)."""
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

from torch_step import count_kernels

REPLAYS = 50


def capture():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10)).cuda()
    data = torch.randn(64, 256, device="cuda")
    labels = torch.randint(0, 10, (64,), device="cuda")

    def step():
        for parameter in model.parameters():
            parameter.grad = None
        torch.nn.functional.cross_entropy(model(data), labels).backward()
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def main():
    graph = capture()

    def run():
        for _ in range(REPLAYS):
            graph.replay()
    report = {"program": "torch_graph"}
    if "--count-with-profiler" in sys.argv:
        report["profiled_kernels"] = count_kernels(run)
    else:
        run()
        torch.cuda.synchronize()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
