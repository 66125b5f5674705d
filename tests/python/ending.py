# SPDX-License-Identifier: Apache-2.0
"""An interpreter that ends while stacks are captured: by daemon threads that are in C code with the GIL
released, by exit handlers, by destructors when modules are torn down.

    ending.py PROBE_LIBRARY
"""
import atexit
import ctypes
import sys
import threading

cdll = ctypes.CDLL(sys.argv[1])
pydll = ctypes.PyDLL(sys.argv[1])
cdll.probe_start.restype = ctypes.c_char_p


def spin():
    while True:
        cdll.probe_spin(200)


class Late:
    """Dies when its module does."""

    def __init__(self, probe):
        self.probe = probe

    def __del__(self):
        self.probe(5)


def ending():
    if not cdll.probe_spin(5):
        print("no Python stack in an exit handler")
        sys.stdout.flush()


if cdll.probe_start():
    sys.exit("refused")
late = Late(pydll.probe_spin)
sys.late = Late(cdll.probe_spin)
atexit.register(ending)
for _ in range(4):
    threading.Thread(target=spin, daemon=True).start()
if not cdll.probe_spin(20):
    sys.exit("no Python stack")
