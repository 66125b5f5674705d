# SPDX-License-Identifier: Apache-2.0
"""JAX: arrays to the device and back. By hand: --wheels with an environment.

JAX looks for /dev/nvidia0 before it asks CUDA; and it compiles nothing, as cuDNN refuses the device.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # lines with times
os.environ["JAX_PLATFORMS"] = "cuda"

import jax._src.hardware_utils

jax._src.hardware_utils.has_visible_nvidia_gpu = lambda: True

import jax
import numpy

device = jax.devices("cuda")[0]
arrays = [numpy.arange(size, dtype=numpy.float32) for size in (1, 1000, 1 << 20)]
there = [jax.device_put(array, device).block_until_ready() for array in arrays]
for array, copy in zip(arrays, there):
    assert (numpy.asarray(copy) == array).all()
print(jax.__version__, device.platform, len(there))
