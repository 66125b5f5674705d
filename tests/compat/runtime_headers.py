#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The signatures of the hooks against the headers of the CUDA runtimes after the toolkit's here. A call that a
newer runtime adds and that is recorded by default must have a hook, too.

A version that cannot be downloaded is skipped with its name.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

import cupti_wheels

CHECKED = ["13.0.96", "13.1.80", "13.2.86", "13.3.29", "13.4.92", "13.5.37"]
SOURCE = pathlib.Path(os.environ["TARGET_SOURCE"])
INCLUDE = os.environ["TARGET_INCLUDE"].split(os.pathsep)
COMPILER = shlex.split(os.environ["TARGET_CC"])
SKIPPED = 77
ROW = re.compile(r"^GT_CUDA_(HOOKED|HOOKED_NEWER|RUNTIME_NEWER)\((\d+), v(\d+), (\w+), (\w+), ([^,()]+)(?:,\s+(\w+))?\)$", re.M)


def rows():
    """(macro, version as 13010, symbol, flags, signature or "")"""
    text = (SOURCE / "core/schema/cuda_runtime.def").read_text()
    return [(macro, int(version), symbol, flags.split(" | "), signature)
            for macro, _, version, symbol, _, flags, signature in ROW.findall(text)]


def declared(folder):
    """The functions of the runtime's header."""
    return set(re.findall(r"CUDARTAPI\s+(\w+)\(", (folder / "include" / "cuda_runtime_api.h").read_text()))


def assertions(version, functions):
    """C that compiles when each hook has the type of the function for which it stands."""
    names = {signature for macro, since, _, _, signature in rows()
             if signature in functions and (macro == "HOOKED" or macro == "HOOKED_NEWER" and since <= version)}
    return ["#include <cuda_runtime_api.h>", "#include <cuda_profiler_api.h>", '#include "preload/cuda_signatures.h"'] + [
        f"cudaError_t hook_{name} GT_CUDA_PARAMS_{name};\n"
        f"_Static_assert(__builtin_types_compatible_p(__typeof__({name}), __typeof__(hook_{name})), \"{name}\");"
        for name in sorted(names)]


class RuntimeHeaders(unittest.TestCase):
    def compile(self, folder, lines):
        command = COMPILER + ["-std=gnu11", "-fsyntax-only", "-Wno-deprecated-declarations", "-xc", "-",
                              "-I", str(SOURCE)]
        for include in [str(folder / "include")] + INCLUDE:
            command += ["-isystem", include]
        result = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def check_version(self, version, folder):
        version = version[0] * 1000 + version[1] * 10
        functions = declared(folder)
        lines = assertions(version, functions)
        self.assertGreater(len(lines), 80)
        self.compile(folder, lines)
        newer = [row for row in rows() if row[0] == "HOOKED_NEWER" and row[1] <= version]
        self.assertEqual([row[2] for row in newer if row[4] not in functions], [])
        self.assertEqual([symbol for macro, _, symbol, flags, _ in rows()
                          if macro == "RUNTIME_NEWER" and "D" in flags and symbol in functions], [])


def add_test(version, folder):
    def test(self):
        if not folder:
            self.skipTest(f"the runtime {version} cannot be downloaded")
        self.check_version(cupti_wheels.number(version), folder)
    setattr(RuntimeHeaders, "test_" + version.replace(".", "_"), test)


if __name__ == "__main__":
    FOLDERS = cupti_wheels.fetch(CHECKED, cupti_wheels.RUNTIMES)
    if not any(FOLDERS.values()):
        print("no runtime can be downloaded")
        sys.exit(SKIPPED)
    for one, place in FOLDERS.items():
        add_test(one, place)
    unittest.main(verbosity=2)
