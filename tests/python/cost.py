# SPDX-License-Identifier: Apache-2.0
"""Prints what one capture of about 20 Python frames costs that were all seen before.

    cost.py PROBE_LIBRARY
"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.probe_start.restype = ctypes.c_char_p
library.probe_cost.restype = ctypes.c_double
frames = ctypes.c_uint32()

# Functions that differ, one calling the other, as in a program; no recursion of one.
source = "".join(f"def f{i}(times):\n    x = [y for y in (1, 2)]\n    return f{i + 1}(times)\n"
                 for i in range(18))
source += "def f18(times):\n    return library.probe_cost(times, ctypes.byref(frames))\n"
exec(source)

if library.probe_start():
    sys.exit(3)
f0(1000)
costs = sorted(f0(100000) for _ in range(11))
print(f"CPython {sys.version.split()[0]}: {frames.value} frames, {costs[5]:.0f} ns median, "
      f"{costs[0]:.0f} ns least")
