#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of NCCL on one GPU, without a launcher: NCCL takes them for two hosts (NCCL_HOSTID), so that all goes
through its network. The JSON line tells how many operations each rank asked for. Exit 77 without torch or a GPU."""
import hashlib
import json
import os
import socket
import subprocess
import sys

STEPS = 20
OPERATIONS = 9  # of a step


def second_rank():
    """What both ranks need, and rank 1 beside this one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2",
                      NCCL_SOCKET_IFNAME="lo")
    child = subprocess.Popen([sys.executable, __file__], env=os.environ | {"RANK": "1", "LOCAL_RANK": "1"},
                             stdout=subprocess.DEVNULL)
    os.environ.update(RANK="0", LOCAL_RANK="0")
    return child


def make_step(torch, dist, rank):
    def ones(elements):
        return torch.ones(elements, device="cuda")
    gradients, part = [ones(1 << 18), ones(1 << 16), ones(1 << 20)], ones(1 << 14)
    gathered, scattered, sent = ones(2 << 14), ones(1 << 13), ones(1 << 12)

    def step():
        for work in [dist.all_reduce(gradient, async_op=True) for gradient in gradients]:
            work.wait()
        dist.all_gather_into_tensor(gathered, part)
        dist.reduce_scatter_tensor(scattered, gathered[:1 << 14])
        (dist.recv if rank else dist.send)(sent, 1 - rank)
        dist.broadcast(part, 0)
        with dist._coalescing_manager(device=torch.device("cuda")):
            dist.all_reduce(gradients[0])
            dist.all_reduce(gradients[1])
        for gradient in gradients:
            gradient.fill_(1)
    return step, [gathered, scattered, sent]


def main():
    child = None if "RANK" in os.environ else second_rank()
    rank = int(os.environ["RANK"])
    os.environ["NCCL_HOSTID"] = f"host{rank}"  # one host would be refused: "Duplicate GPU detected"
    try:
        import torch
        from torch import distributed as dist
    except ImportError:
        return 77
    if not torch.cuda.is_available() or not dist.is_nccl_available():
        return 77
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    step, results = make_step(torch, dist, rank)
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    bytes_of = b"".join(result.cpu().numpy().tobytes() for result in results)
    dist.destroy_process_group()
    if child:
        print(json.dumps({"program": "torch_two_ranks", "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                          "operations": STEPS * OPERATIONS, "result": hashlib.sha1(bytes_of).hexdigest()}))
    return child.wait() if child else 0


if __name__ == "__main__":
    sys.exit(main())
