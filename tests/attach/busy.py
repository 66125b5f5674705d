#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Python program that is easily disturbed: it launches work, allocates, imports, takes signals and waits,
and compares what it sees with what must be so. Ends at the end of its standard input.

usage: busy.py LIBCUDART    prints "ready", then "calls=N" and "errors=N: first one" """

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time

cudart = ctypes.CDLL(sys.argv[1])
errors = []
ends = threading.Event()
beats = [0]


def check(good, what):
    if not good:
        errors.append(what)


def beat(_number, _frame):
    beats[0] += 1


def sleep_exactly():
    while not ends.is_set():
        before = time.monotonic()
        time.sleep(0.03)
        check(time.monotonic() - before >= 0.03, "sleep")
        check(not ends.wait(0.02) or ends.is_set(), "wait")


def work():
    while not ends.is_set():
        text = json.dumps({str(n): [n] * 10 for n in range(200)})
        check(json.loads(text)["7"] == [7] * 10, "json")


def spawn():
    names = str(sorted(os.environ)) + "\n"
    while not ends.is_set():
        done = subprocess.run([sys.executable, "-S", "-c", "import os; print(sorted(os.environ))"],
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0 and done.stdout == names, "child: " + done.stdout)


def main():
    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)  # PR_SET_PTRACER, any
    device, calls = ctypes.c_void_p(), 0
    check(cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(512)) == 0, "cudaMalloc")
    signal.signal(signal.SIGALRM, beat)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    threads = [threading.Thread(target=run) for run in (sleep_exactly, work, spawn)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    found = []
    while not found:
        check(cudart.cudaMemset(device, calls & 255, ctypes.c_size_t(512)) == 0, "cudaMemset")
        check(cudart.cudaDeviceSynchronize() == 0, "cudaDeviceSynchronize")
        calls += 1
        found, _, _ = select.select([0], [], [], 0.002)
    ends.set()
    for thread in threads:
        thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)
    check(beats[0] > 0, "signals")
    print("calls=%d\nerrors=%d: %s" % (calls, len(errors), errors[:1]))
    return bool(errors)


sys.exit(main())
