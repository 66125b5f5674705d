#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other things loaded into programs: a sanitizer, another allocator, another preload before and after
us, an auditor, RTLD_DEEPBIND, paths with blanks, another tool in CUDA_INJECTION64_PATH. Output, exit
status and descriptors are as without the tracer, and the GPU work is in the trace."""

import glob
import os
import shutil
import sys
import tempfile
import unittest

import harness

ROUNDS = 40
OPERATIONS = 3 * 3 * ROUNDS
WORK = [harness.program("workload"), "rounds", str(ROUNDS)]


def library(name):
    return os.path.join(harness.PROGRAMS, f"lib{name}.so")


def system_library(pattern):
    found = sorted(glob.glob("/usr/lib/*/" + pattern) + glob.glob("/usr/lib64/" + pattern))
    return found[0] if found else None


def without_sanitizer(why):
    return unittest.skipIf(harness.preloading.RUNTIMES, "in a build with a sanitizer: " + why)


class Neighbours(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "a folder", "out")

    def compare(self, words, preload=(), behind=(), enter="LD_PRELOAD", **variables):
        """@preload: libraries before the tracer; @behind: after it."""
        variables = [f"{name}={value}" for name, value in variables.items()]
        ours = [f"GPUTRACE_OUTPUT={self.out}"]
        ours += [f"{name}={value}" for name, value in harness.preloading.PATIENT.items()]
        with_us = [*preload, harness.LIBRARY, *behind] if enter == "LD_PRELOAD" else preload
        if enter != "LD_PRELOAD":
            ours.append(f"{enter}={harness.LIBRARY}")
        bare = harness.run(["env", *variables, *self.preload([*preload, *behind]), *words])
        traced = harness.run(["env", *variables, *ours, *self.preload(with_us), *words],
                             truth=self.folder)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.said, [])
        return traced

    @staticmethod
    def preload(libraries):
        libraries = [*harness.preloading.RUNTIMES.split(), *libraries]
        return ["LD_PRELOAD=" + ":".join(libraries)] if libraries else []

    def check_trace(self, operations=OPERATIONS, calls=True):
        paths = harness.traces(self.out)
        self.assertEqual(len(paths), 1)
        ledger = harness.trace_file.Trace(paths[0]).ledger
        written = sum(ledger[key] for key in
                      ("kernels_written", "memcpys_written", "memsets_written"))
        self.assertEqual(written, operations)
        self.assertEqual(ledger["gpu_ops_without_call"], 0 if calls else operations)
        self.assertEqual(harness.lint(paths[0]), "")

    def read_neighbour(self):
        with open(os.path.join(self.folder, "neighbour"), encoding="utf-8") as file:
            return int(file.read())

    def neighbour(self):
        return {"NEIGHBOUR_OUT": os.path.join(self.folder, "neighbour")}

    def test_sanitized_program(self):
        words = [harness.program("workload_asan"), *WORK[1:]]
        if not os.path.exists(words[0]):
            self.skipTest("this build has no program with AddressSanitizer")
        runtime = system_library("libasan.so.*")
        self.compare(words, enter="CUDA_INJECTION64_PATH")
        self.check_trace()
        shutil.rmtree(self.out)
        if runtime:  # the sanitizer's runtime has to be first
            self.compare(words, preload=[runtime])
            self.check_trace()

    @without_sanitizer("its allocator stands in front of any other")
    def test_other_allocator(self):
        allocator = system_library("libjemalloc.so.2")
        if not allocator:
            self.skipTest("no libjemalloc")
        for order in ("preload", "behind"):
            with self.subTest(order):
                shutil.rmtree(self.out, ignore_errors=True)
                self.compare(WORK, **{order: [allocator]})
                self.check_trace()

    def test_other_preload(self):
        for order in ("preload", "behind"):
            with self.subTest(order):
                shutil.rmtree(self.out, ignore_errors=True)
                self.compare(WORK, **{order: [library("neighbour_preload")]}, **self.neighbour())
                self.check_trace()
                self.assertEqual(self.read_neighbour(), 3 * ROUNDS)

    @without_sanitizer("its runtime wants to be loaded before the auditor")
    def test_auditor(self):
        self.compare(WORK, LD_AUDIT=library("neighbour_audit"))
        self.check_trace()

    @without_sanitizer("its runtime refuses RTLD_DEEPBIND")
    def test_deepbind(self):
        self.compare([harness.program("deepbind"), library("neighbour_plugin")])
        self.check_trace(3 * 20)

    @without_sanitizer("its runtime cannot be in two namespaces")
    def test_namespace(self):
        """A copy of the tracer in the namespace of the CUDA libraries (dlmopen), which are closed while it runs."""
        self.compare([harness.program("deepbind"), library("neighbour_plugin"), "namespace"])
        path, = harness.traces(self.out)
        self.assertEqual(harness.trace_file.Trace(path).ledger["launches_seen"], 3 * 20)
        self.assertEqual(harness.lint(path), "")

    def test_paths_with_blanks(self):
        """Blanks in the paths of program, folder and output. In the library's path, LD_PRELOAD would end there."""
        folder = os.path.join(self.folder, "a program")
        os.mkdir(folder)
        program = os.path.join(folder, "its name")
        shutil.copy(WORK[0], program)
        self.compare([program, *WORK[1:]])
        self.check_trace()
        shutil.rmtree(self.out)
        own = os.path.join(folder, "the library.so")
        shutil.copy(harness.LIBRARY, own)
        traced = harness.run(["env", f"CUDA_INJECTION64_PATH={own}",
                              f"GPUTRACE_OUTPUT={self.out}", *WORK])
        self.assertEqual(traced[:3], harness.run(WORK)[:3])
        self.check_trace()

    def test_injection_is_taken(self):
        """The driver loads and calls the other tool as without us; we start through the hooks."""
        self.compare(WORK, CUDA_INJECTION64_PATH=library("neighbour_injection"), **self.neighbour())
        self.assertEqual(self.read_neighbour(), 1)
        self.check_trace()


if __name__ == "__main__":
    sys.exit(unittest.main())
