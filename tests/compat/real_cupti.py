#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer with NVIDIA's own libcupti, from 11.8 to the newest, on machines that it cannot work on: without
a driver, with the toolkit's stub of one, with one that is too old, and with the simulated one, which it
does not know. The program is unharmed and the reason is the true one. The record layouts and the table of
CUDA calls are compared with the headers of the same versions.

usage: real_cupti.py checked|all    (all: whatever PyPI has)

A version that cannot be downloaded is skipped with its name.
"""
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

import cupti_wheels

# One of each minor version with its own behaviour or layouts.
CHECKED = ["11.8.87", "12.1.105", "12.4.127", "12.6.80", "12.8.90", "12.9.79", "13.0.85", "13.1.115",
           "13.2.86", "13.3.75", "13.4.92", "13.5.25"]
BUILD = pathlib.Path(os.environ["TARGET_BUILD"])
SOURCE = pathlib.Path(os.environ["TARGET_SOURCE"])
PROGRAM = os.environ["TARGET_NO_DRIVER"]
STUBS = pathlib.Path(os.environ["TARGET_CUDA"]) / "lib64" / "stubs" / "libcuda.so"
INCLUDE = os.environ["TARGET_INCLUDE"].split(os.pathsep)
COMPILER = shlex.split(os.environ["TARGET_CC"])
TRACER = BUILD / "preload" / "libgputrace.so"
SIMULATED = BUILD / "tests" / "simcuda"
SKIPPED = 77

# What CUPTI itself answers without a driver: the facts that collectors/cupti/library/ relies on.
ASK = """
import ctypes, sys
cupti, version = ctypes.CDLL(sys.argv[1]), ctypes.c_uint32()
result = cupti.cuptiGetVersion(ctypes.byref(version))
print(result, version.value, cupti.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), cupti.cuptiGetVersion, None))
"""


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("GPUTRACE_", "CUDA_INJECTION", "LD_LIBRARY_PATH"))}
    result = subprocess.run(command, env=dict(environment, **variables), capture_output=True, text=True,
                            timeout=120, check=False, preexec_fn=without_core)
    lines = result.stderr.splitlines()
    return (result.returncode, result.stdout, [line for line in lines if not line.startswith("gputrace: ")],
            [line for line in lines if line.startswith("gputrace: ")])


def has_driver():
    return run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"])[0] == 0


def api_version(folder):
    text = (folder / "include" / "cupti_version.h").read_text()
    return int(re.search(r"#define CUPTI_API_VERSION (\d+)", text).group(1))


def answers(version, api):
    """What ASK prints, or the signal that ends it."""
    if version >= (13, 3):
        return (0, "999 0 999\n")
    if version >= (13, 2):
        return (-signal.SIGSEGV, "")
    return (0, f"0 {api} {999 if version >= (13, 0) else 15}\n")


def reason_on_unknown_driver(version):
    if version >= (13, 3):
        return "cuptiGetVersion failed with CUPTI_ERROR_NOT_SUPPORTED (27): CUPTI does not support this driver"
    if version >= (13, 2):
        return "CUPTI 13.2 does not support this driver"
    result = "CUPTI_ERROR_UNKNOWN (999)" if version >= (13, 0) else "CUPTI_ERROR_NOT_INITIALIZED (15)"
    return f"cuptiSubscribe failed with {result}: "


def newest_structs(folder):
    """By family, as "Kernel": the struct that this CUPTI writes, as "CUpti_ActivityKernel13"."""
    newest = {}
    for header in ("cupti_activity_deprecated.h", "cupti_activity.h"):
        path = folder / "include" / header
        text = path.read_text() if path.is_file() else ""
        for family, digits in re.findall(r"}\s*CUpti_Activity([A-Za-z]+?)(\d*);", text):
            newest[family] = max(newest.get(family, 0), int(digits or 1))
    return {family: f"CUpti_Activity{family}{digits if digits > 1 else ''}"
            for family, digits in newest.items()}


def assertions(folder):
    """The rows of layout.h about the structs that this CUPTI writes."""
    newest = newest_structs(folder)
    rows = [(family, field, offset) for family, digits, field, offset in
            re.findall(r"^GT_AT\(CUpti_Activity([A-Za-z]+?)(\d*), (\w+), (\d+)\);",
                       (SOURCE / "collectors/cupti/records/layout.h").read_text(), re.M)
            if int(digits or 1) <= int(re.search(r"\d*$", newest[family])[0] or 1)]
    rows += [row for row in re.findall(r"^GT_LIKE\(\w+, \w+, (\w+), (\w+), (\d+)\);",
                                       (SOURCE / "collectors/cupti/records/layout.h").read_text(), re.M) if row[0] in newest]
    kinds = [row for row in re.findall(r"^#define GT_CUPTI_KIND_\w+ +(\d+) /\* (\w+) \*/$",
                                       (SOURCE / "collectors/cupti/records/layout.h").read_text(), re.M) if "HostLaunch" in newest]
    lengths = {}  # the last row that the version has reached
    for since, size, family in re.findall(r"^GT_RECORD_BYTES\(\w+, (\d+), (\d+), (\w+)\)$",
                                          (SOURCE / "collectors/cupti/library/lengths.def").read_text(), re.M):
        if int(since) <= api_version(folder):
            lengths[family] = size
    return ["#include <stddef.h>", "#include <cuda.h>", "#include <cupti_activity.h>"] + [
        f'_Static_assert(sizeof({newest[family]}) == {size}, "{newest[family]}");' for family, size in lengths.items()] + [
        f'_Static_assert(offsetof({newest[family]}, {field}) == {offset}, "{newest[family]}.{field}");'
        for family, field, offset in rows] + [
        f'_Static_assert({name} == {number}, "{name}");' for number, name in kinds]


class RealCupti(unittest.TestCase):
    bare = {}

    def program(self, libraries, folder=None, **variables):
        """Its results, with the tracer when there is a @folder for the trace."""
        if libraries:
            variables["LD_LIBRARY_PATH"] = str(libraries)
        if folder:
            variables.update(GPUTRACE_OUTPUT=folder, LD_PRELOAD=str(TRACER))
        return run([PROGRAM], **variables)

    def check(self, cupti, libraries, reason):
        if libraries not in self.bare:
            self.bare[libraries] = self.program(libraries)
        for injection in ({}, {"CUDA_INJECTION64_PATH": "/another/tool.so"}):
            with self.subTest(libraries=libraries, **injection), tempfile.TemporaryDirectory() as folder:
                traced = self.program(libraries, folder, GPUTRACE_CUPTI=str(cupti), **injection)
                self.assertEqual(traced[:3], self.bare[libraries][:3])
                self.assertEqual(traced[0], 9)
                self.assertEqual(len(traced[3]), 1, traced[3])
                self.assertIn(reason, traced[3][0])

    def check_without_driver(self, version, folder):
        cupti = cupti_wheels.library(folder)
        if has_driver():
            return
        asked = run([sys.executable, "-c", ASK, str(cupti)])
        self.assertEqual(asked[:2], answers(version, api_version(folder)))
        self.check(cupti, None, "there is no CUDA driver here")

    def check_stub(self, folder):
        if not STUBS.exists():
            return
        with tempfile.TemporaryDirectory() as stub:
            os.symlink(STUBS, os.path.join(stub, "libcuda.so.1"))
            self.check(cupti_wheels.library(folder), stub, "toolkit's stub")

    def check_layouts(self, folder):
        command = COMPILER + ["-std=c11", "-fsyntax-only", "-xc", "-", "-isystem", str(folder / "include")]
        for include in INCLUDE:
            command += ["-isystem", include]
        result = subprocess.run(command, input="\n".join(assertions(folder)), capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def check_version(self, version, folder):
        cupti = cupti_wheels.library(folder)
        self.check_without_driver(version, folder)
        self.check_stub(folder)
        if version >= (12,):
            self.check(cupti, SIMULATED / "18", f"(CUDA 11.8) is too old for CUPTI {version[0]}: ")
        self.check(cupti, SIMULATED / "130000", reason_on_unknown_driver(version))
        self.check_layouts(folder)

    def test_newest_known(self):
        known = re.search(r"NEWEST_KNOWN (\d+)u", (SOURCE / "collectors/cupti/records/sanity.h").read_text())
        had = [api_version(folder) for folder in FOLDERS.values() if folder]
        self.assertLessEqual(max(had), int(known.group(1)))

    def test_table_of_calls(self):
        if not all(FOLDERS.values()):
            self.skipTest("the names of some calls are in one version only, and not all can be downloaded")
        had = [str(folder / "include") for folder in FOLDERS.values()]
        result = subprocess.run([sys.executable, SOURCE / "tests/structure/cuda_table.py", SOURCE, "--all"] + had,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


def add_test(version, folder):
    def test(self):
        if not folder:
            self.skipTest(f"CUPTI {version} cannot be downloaded")
        self.check_version(cupti_wheels.number(version), folder)
    setattr(RealCupti, "test_" + version.replace(".", "_"), test)


if __name__ == "__main__":
    FOLDERS = cupti_wheels.fetch(CHECKED if sys.argv.pop(1) == "checked" else cupti_wheels.listed())
    if not any(FOLDERS.values()):
        print("no CUPTI can be downloaded")
        sys.exit(SKIPPED)
    for one, place in FOLDERS.items():
        add_test(one, place)
    unittest.main(verbosity=2)
