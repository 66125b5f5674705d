# SPDX-License-Identifier: Apache-2.0
#
# A Python process under the hooks: its extension modules come in by RTLD_LOCAL (RTLD_NEXT finds no
# runtime), and ctypes reaches a runtime by dlsym, past every hook.
import ctypes
import os
import sys

folder = os.environ["GT_TEST_PLUGINS"]
failures = 0


def check(what, got, want):
    global failures
    if got != want:
        print(f"{what} is {got}, not {want}", file=sys.stderr)
        failures += 1


plugin13 = ctypes.CDLL(folder + "/libplugin_13.so", mode=os.RTLD_LOCAL)
plugin12 = ctypes.CDLL(folder + "/libplugin_12.so", mode=os.RTLD_LOCAL)
for _ in range(2):
    check("plug-in of runtime 13", plugin13.plugin_malloc(), 13)
    check("plug-in of runtime 12", plugin12.plugin_malloc(), 12)
    check("its launch", plugin12.plugin_launch(), 12)

hooks = ctypes.CDLL(None)
counts = (ctypes.c_int * 6)()
hooks.gputrace_test_counts(counts)
recorded = counts[1]
check("calls recorded so far", recorded, 6)

for version in (12, 13):
    runtime = ctypes.CDLL(f"{folder}/cudart{version}/libcudart.so.{version}")
    memory = ctypes.c_void_p()
    check(f"ctypes call of runtime {version}",
          runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)), version)
hooks.gputrace_test_counts(counts)
check("calls recorded after ctypes calls", counts[1], recorded)
sys.exit(failures != 0)
