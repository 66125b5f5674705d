#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUPTI without a driver that it can use, the toolkit's own and simulated ones of several versions: the
program gets the same results as without the tracer, and the trace has its calls with their results and
the reason why GPU work is missing."""

import ctypes
import json
import os
import pathlib
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
# Without a driver they answer 15, 999, never, 999 in every function.
SIMULATED = [str(next(pathlib.Path(BUILD, "tests", "simcuda", version).glob("libcupti.so.1*[0-9]")))
             for version in ("26", "130000", "130200", "130300")]


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def run(before, folder=None, cupti=CUPTI, **variables):
    command = list(before)
    if folder:
        command += ["env", "GPUTRACE_OUTPUT=" + folder, "GPUTRACE_CUPTI=" + cupti,
                    "LD_PRELOAD=" + preloading.with_tracer(LIBRARY)]
    environment = dict(os.environ, GPUTRACE_BUILD=BUILD, **preloading.without_tracer(), **variables)
    result = subprocess.run(command + [PROGRAM], env=environment, capture_output=True, text=True,
                            timeout=120, check=False)
    lines = result.stderr.splitlines()
    return (result.returncode, result.stdout,
            [line for line in lines if not line.startswith("gputrace: ")],
            [line for line in lines if line.startswith("gputrace: ")])


class NoDriver(unittest.TestCase):
    def check(self, before, reason, result, cupti=CUPTI, **variables):
        """@result: of all calls."""
        with tempfile.TemporaryDirectory() as folder:
            bare, traced = run(before), run(before, folder, cupti, **variables)
            self.assertEqual(traced[:3], bare[:3])
            self.assertEqual(bare[0], 9)
            self.assertEqual(len(traced[3]), 1, traced[3])
            self.assertIn("GPU work is not recorded", traced[3][0])
            path, = trace_file.find(folder)
            with open(path, encoding="utf-8") as file:
                root = json.load(file)
        self.assertEqual(root["metadata"]["mode"], "hooks only")
        self.assertIn(reason, root["metadata"]["mode_reason"])
        self.assertEqual(root["ledger"]["launches_without_record"], root["ledger"]["launches_seen"])
        self.assertEqual(root["ledger"]["kernels_written"], 0)
        calls = [event for event in root["traceEvents"] if event.get("cat") == "cuda_runtime"]
        for name, count in (("cudaMalloc", 1), ("cudaMemset", 3), ("cudaMemcpy", 3), ("cudaFree", 1)):
            self.assertEqual([call["args"].get("result", 0) for call in calls if call["name"] == name],
                             [result] * count)

    @unittest.skipIf(has_driver(), "there is a driver")
    def test_no_driver(self):
        insufficient = 35 # cudaErrorInsufficientDriver
        for cupti in [CUPTI] + SIMULATED:
            # the driver, if it came, would start the session; or the first call does
            for variables in ({}, {"CUDA_INJECTION64_PATH": "/another/tool.so"}):
                with self.subTest(cupti=cupti, **variables):
                    self.check([], "there is no CUDA driver here", insufficient, cupti, **variables)

    def on_simulated(self, driver):
        return [os.path.join(SOURCE, "scripts", "simcuda"), "--cupti=" + driver]

    def test_another_driver(self):
        """One that this CUPTI does not support: the simulated device."""
        self.check(self.on_simulated("130000"), "failed with ", 0)

    def test_too_old_driver(self):
        for cupti in SIMULATED:
            with self.subTest(cupti=cupti):
                self.check(self.on_simulated("18"), "the driver (CUDA 11.8) is too old for CUPTI 1", 0, cupti)

    def test_driver_without_what_cupti_wants(self):
        """CUPTI 13.2 never returns from its first call then."""
        self.check(self.on_simulated("130000"), "CUPTI 13.2 does not support this driver", 0,
                   next(cupti for cupti in SIMULATED if "/130200/" in cupti))


    def test_suitable_driver(self):
        for cupti in SIMULATED:
            for variables in ({}, {"CUDA_INJECTION64_PATH": "/another/tool.so"}):
                with self.subTest(cupti=cupti, **variables), tempfile.TemporaryDirectory() as folder:
                    run(self.on_simulated(pathlib.Path(cupti).parent.name), folder, cupti, **variables)
                    path, = trace_file.find(folder)
                    with open(path, encoding="utf-8") as file:
                        root = json.load(file)
                    self.assertEqual(root["metadata"]["mode"], "cupti")
                    self.assertEqual(root["ledger"]["memcpys_written"], 3)
                    self.assertEqual(root["ledger"]["memsets_written"], 3)


if __name__ == "__main__":
    sys.exit(unittest.main())
