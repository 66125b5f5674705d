#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel launched 100 times: launches by the driver API out of a compiled launcher. Exit 77
without triton, torch or a GPU."""
import json
import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch sees no GPU", file=sys.stderr)
    sys.exit(77)

LAUNCHES = 100


@triton.jit
def add_one(pointer, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(pointer + offsets, tl.load(pointer + offsets, mask=mask) + 1, mask=mask)


def main():
    data = torch.zeros(4096, device="cuda")
    for _ in range(LAUNCHES):
        add_one[(4,)](data, 4096, BLOCK=1024)
    torch.cuda.synchronize()
    assert data[0].item() == LAUNCHES
    print(json.dumps({"program": "triton_kernel", "kernel_name": "add_one",
                      "named_kernels": LAUNCHES}))


if __name__ == "__main__":
    main()
