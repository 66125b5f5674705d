#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The toolkit's own CUPTI without a driver that it can use: the program gets the same results as without
the tracer, and the trace has its calls with their results and the reason why GPU work is missing."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD = os.environ["TARGET_BUILD"]
SOURCE = os.environ["TARGET_SOURCE"]
PROGRAM = os.environ["TARGET_NO_DRIVER"]
CUPTI = os.environ["TARGET_CUPTI"] # of the toolkit
LIBRARY = os.path.join(BUILD, "preload", "libgputrace.so")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def run(before, folder=None):
    command = list(before)
    if folder:
        command += ["env", "GPUTRACE_OUTPUT=" + folder, "GPUTRACE_CUPTI=" + CUPTI,
                    "LD_PRELOAD=" + preloading.with_tracer(LIBRARY)]
    environment = dict(os.environ, GPUTRACE_BUILD=BUILD, **preloading.without_tracer())
    result = subprocess.run(command + [PROGRAM], env=environment, capture_output=True, text=True,
                            timeout=120, check=False)
    lines = result.stderr.splitlines()
    return (result.returncode, result.stdout,
            [line for line in lines if not line.startswith("gputrace: ")],
            [line for line in lines if line.startswith("gputrace: ")])


class NoDriver(unittest.TestCase):
    def check(self, before):
        """The results of the calls in the trace, by name."""
        with tempfile.TemporaryDirectory() as folder:
            bare, traced = run(before), run(before, folder)
            self.assertEqual(traced[:3], bare[:3])
            self.assertEqual(bare[0], 9)
            self.assertEqual(len(traced[3]), 1, traced[3])
            self.assertIn("GPU work is not recorded", traced[3][0])
            path, = trace_file.find(folder)
            with open(path, encoding="utf-8") as file:
                root = json.load(file)
        self.assertEqual(root["metadata"]["mode"], "hooks only")
        self.assertIn("cuptiSubscribe", root["metadata"]["mode_reason"])
        self.assertEqual(root["ledger"]["launches_without_record"], root["ledger"]["launches_seen"])
        self.assertEqual(root["ledger"]["kernels_written"], 0)
        calls = [event for event in root["traceEvents"] if event.get("cat") == "cuda_runtime"]
        return {name: [call["args"].get("result", 0) for call in calls if call["name"] == name]
                for name in ("cudaMalloc", "cudaMemset", "cudaMemcpy", "cudaFree")}

    @unittest.skipIf(has_driver(), "there is a driver")
    def test_no_driver(self):
        insufficient = 35 # cudaErrorInsufficientDriver
        self.assertEqual(self.check([]), {"cudaMalloc": [insufficient], "cudaFree": [insufficient],
                                          "cudaMemset": [insufficient] * 3,
                                          "cudaMemcpy": [insufficient] * 3})

    def test_another_driver(self):
        """One that this CUPTI does not support: the simulated device."""
        simulator = os.path.join(SOURCE, "scripts", "simcuda")
        self.assertEqual(self.check([simulator]), {"cudaMalloc": [0], "cudaFree": [0],
                                                   "cudaMemset": [0] * 3, "cudaMemcpy": [0] * 3})


if __name__ == "__main__":
    sys.exit(unittest.main())
