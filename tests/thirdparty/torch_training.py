# SPDX-License-Identifier: Apache-2.0
"""PyTorch: training steps, a stream of its own, a CUDA graph. By hand: --wheels with an environment."""

import torch


def train(steps):
    model = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.ReLU(), torch.nn.Dropout(0.1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for _ in range(steps):
        data = torch.ones(32, 64).pin_memory().to("cuda", non_blocking=True)
        optimizer.zero_grad()
        model(data).pow(2).mean().backward()
        optimizer.step()
    torch.cuda.synchronize()


def replay(times):
    total = torch.zeros(256, device="cuda")
    graph = torch.cuda.CUDAGraph()
    total.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        total.mul_(2).add_(1)
        scaled = torch.sigmoid(total)
    for _ in range(times):
        graph.replay()
    return scaled.cpu().shape


def beside():
    stream = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        begin.record()
        part = torch.arange(4096, device="cuda", dtype=torch.float32).cumsum(0)
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    end.synchronize()
    return part.cpu().shape, begin.elapsed_time(end) >= 0


train(5)
print(torch.__version__, torch.cuda.get_device_name(), replay(20), beside())
