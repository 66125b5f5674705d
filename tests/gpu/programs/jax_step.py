#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A jitted function of JAX, called 100 times: a kernel each. Exit 77
without jax or a GPU."""
import json
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others use this GPU, too
try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
if jax.default_backend() != "gpu":
    print("JAX sees no GPU", file=sys.stderr)
    sys.exit(77)

CALLS = 100


@jax.jit
def add_and_double(data):
    return (data + 1.0) * 2.0


def main():
    data = jnp.zeros((256, 256))
    add_and_double(data).block_until_ready()
    for _ in range(CALLS - 1):
        result = add_and_double(data)
    result.block_until_ready()
    print(json.dumps({"program": "jax_step", "least_kernels": CALLS}))


if __name__ == "__main__":
    main()
