#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one launch makes its thread do, by part of the tracer: instructions, memory accesses, branches and
mispredictions of a simulated predictor, by callgrind. Cache misses would be those of all threads: it simulates one
cache for them.

    launch_parts.py BUILD [LEVEL...]

The difference of 4000 and 1000 launches, 40 frames deep, each in an NVTX range; LEVEL as in gputrace bench: calls,
stacks, python, nvtx, full (all of them if none is given). Loads do not matter; libc's parts depend on the processor.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

FEW, MANY = 1000, 4000
LEVELS = {"calls": {"GPUTRACE_STACKS": "off", "GPUTRACE_NVTX": "off"}, "stacks": {"GPUTRACE_NVTX": "off"},
          "python": {"GPUTRACE_NVTX": "off"}, "nvtx": {}, "full": {"GPUTRACE_LEVEL": "full"}}
PYTHON = """import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
words = [word.encode() for word in sys.argv[1:6]]
words = (ctypes.c_char_p * len(words))(*words)
def f9(): return library.gt_bench_workload(len(words), words)
exec(''.join(f'def f{i}(): return f{i + 1}()\\n' for i in range(9)))
sys.exit(f0())
"""
PARTS = (("callback", r"collectors/(cupti|trigger)/"), ("record", r"collectors/call/|core/(thread|ring)|forkguard"),
         ("unwinding", r"collectors/unwind/"), ("Python", r"collectors/python/"), ("NVTX", r"collectors/nvtx/"),
         ("clock", r"core/guest/(fast_)?clock|core/arch/|clock_gettime"), ("other", r"core/|preload/"))
EVENTS = ("Ir", "Dr", "Dw", "Bc", "Bi", "Bcm", "Bim")


def part_of(file, library):
    found = next((part for part, pattern in PARTS if re.search(pattern, file)), None)
    if found:
        return found
    if "libc.so" in library:
        return "libc"
    if re.search(r"libcu|libsimcuda|simcuda", file + library):
        return "simulated CUDA"
    return "the program, the rest"


def counts(build, level, launches):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        simcuda = subprocess.run([os.path.join(source, "scripts/simcuda"), "--build=" + build, "--print-path"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        tracer = os.path.join(build, "preload/libgputrace.so")
        environment = dict(os.environ, LD_LIBRARY_PATH=simcuda, SIMCUDA_TIME="virtual", LD_PRELOAD=tracer,
                           CUDA_INJECTION64_PATH=tracer, GPUTRACE_OUTPUT=os.path.join(folder, "out"), **LEVELS[level])
        program = [os.path.join(build, "bench/gputrace-workload")]
        if level in ("python", "full"):
            program = [sys.executable, "-c", PYTHON, os.path.join(build, "bench/libgputrace-workload.so")]
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", "--cache-sim=yes", "--branch-sim=yes",
                        "--callgrind-out-file=" + os.path.join(folder, "cg")] + program +
                       ["loop", "1", str(launches), "30"], env=environment, capture_output=True, check=True)
        text = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", os.path.join(folder, "cg-01")],
                              capture_output=True, text=True, check=True).stdout
    return parse(text)


def parse(text):
    events = re.search(r"Events shown:\s+(.*)", text)[1].split()
    parts = collections.defaultdict(collections.Counter)
    for line in text.splitlines():
        match = re.match(r"(\s*[\d,]+ +\(.*?)\s(\S+):(\S+)(?: \[(\S+)\])?$", line)
        if not match or "PROGRAM TOTALS" in line:
            continue
        fields = re.findall(r"(?<!\S)([\d,]+|\.)(?: +\(\s*[\d.]+%\))?(?!\S)", match[1] + " ")
        part = parts[part_of(match[2], match[4] or "")]
        for event, number in zip(events, fields):
            part[event] += int(number.replace(",", "")) if number != "." else 0
    return parts


def show(build, level):
    few, many = counts(build, level, FEW), counts(build, level, MANY)
    print(f"\n| {level} | instructions | memory accesses | branches | mispredicted |")
    print("| --- | --- | --- | --- | --- |")
    for name in [part for part, _ in PARTS] + ["libc", "simulated CUDA"]:
        each = {event: (many[name][event] - few[name][event]) / (MANY - FEW) for event in EVENTS}
        print(f"| {name} | {each['Ir']:.0f} | {each['Dr'] + each['Dw']:.0f} | "
              f"{each['Bc'] + each['Bi']:.0f} | {each['Bcm'] + each['Bim']:.1f} |")


for wanted in sys.argv[2:] or LEVELS:
    show(os.path.abspath(sys.argv[1]), wanted)
