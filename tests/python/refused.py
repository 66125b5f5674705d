# SPDX-License-Identifier: Apache-2.0
"""Starts the collector where the kernel refuses what it reads with; prints whether it starts.

    refused.py PROBE_LIBRARY
"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.probe_start.restype = ctypes.c_char_p
if library.probe_refuse_reads():
    print("no seccomp")
else:
    print((library.probe_start() or b"started").decode())
