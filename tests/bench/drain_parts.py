#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one launch with its kernel makes the writing thread do, by stage: instructions and memory accesses, by
callgrind.

    drain_parts.py BUILD [FORMAT...]

The difference of 6000 and 2000 launches, 40 frames deep; FORMAT: chrome, perfetto (both if none is given). Memory
that is cleared for CUPTI's buffers is left out: it comes in blocks of megabytes.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

FEW, MANY = 2000, 6000
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STAGES = (("reads CUPTI's buffers", r"collectors/cupti/(cupti|buffers|relay|memory)|simcuda"),
          ("translates records", r"collectors/cupti/records|collectors/symbols|core/(hash|intern)\.|guest/clock"),
          ("reads calls, their stacks",
           r"pipeline/sources|core/(ring|stack|thread)\.|collectors/(call|nvtx|trigger)|cuda_api"),
          ("joins them", r"pipeline/join|core/correlate"), ("ranges", r"pipeline/ranges"),
          ("file, ledger, windows", r"pipeline/output|writers/(file|sink|packed|write_behind)|core/schema/ledger"),
          ("orders GPU work, its tracks", r"writers/reorder|core/tracks"),
          ("formats", r"writers/(chrome|perfetto)|core/(json|schema)"))
OTHER = "other, libc"


def stage_of(place):
    return next((name for name, pattern in STAGES if re.search(pattern, place)), OTHER)


def simulated(build):
    return subprocess.run([os.path.join(SOURCE, "scripts/simcuda"), "--build=" + build, "--print-path"],
                          capture_output=True, text=True, check=True).stdout.strip()


def profile(build, form, launches, folder):
    """Of the thread that translates records."""
    tracer = os.path.join(build, "preload/libgputrace.so")
    environment = dict(os.environ, LD_LIBRARY_PATH=simulated(build), SIMCUDA_TIME="virtual", LD_PRELOAD=tracer,
                       CUDA_INJECTION64_PATH=tracer, GPUTRACE_NVTX="off", GPUTRACE_FORMAT=form,
                       GPUTRACE_EXIT_TIMEOUT="60000", GPUTRACE_OUTPUT=os.path.join(folder, "out"))
    subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", "--cache-sim=yes",
                    "--callgrind-out-file=" + os.path.join(folder, "cg"),
                    os.path.join(build, "bench/gputrace-workload"), "loop", "1", str(launches), "40"],
                   env=environment, capture_output=True, check=True, timeout=400)
    for path in sorted(glob.glob(os.path.join(folder, "cg-*"))):
        text = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no",
                               "--show=Ir,Dr,Dw", path], capture_output=True, text=True, check=True).stdout
        if ":gt_translate_record" in text:
            return text
    raise RuntimeError("no thread translates records")


def counts(build, form, launches):
    with tempfile.TemporaryDirectory() as folder:
        text = profile(build, form, launches, folder)
    stages = collections.defaultdict(collections.Counter)
    for line in text.splitlines():
        match = re.match(r"\s*([\d,]+)\s+([\d,]+|\.)\s+([\d,]+|\.)\s+(\S+):(\S+)", line)
        if not match or "memset" in match[5]:
            continue
        number = [int(field.replace(",", "").replace(".", "0")) for field in match.groups()[:3]]
        stages[stage_of(match[4])].update(instructions=number[0], accesses=number[1] + number[2])
    return stages


def each_launch(build, form):
    few, many = counts(build, form, FEW), counts(build, form, MANY)
    return {name: {key: (many[name][key] - few[name][key]) / (MANY - FEW) for key in ("instructions", "accesses")}
            for name in [stage for stage, _ in STAGES] + [OTHER]}


def show(build, form):
    print(f"\n| {form} | instructions | memory accesses |\n| --- | --- | --- |")
    stages = each_launch(build, form)
    for name, each in stages.items():
        print(f"| {name} | {each['instructions']:.0f} | {each['accesses']:.0f} |")
    print("| together | %.0f | %.0f |" % tuple(sum(each[key] for each in stages.values())
                                               for key in ("instructions", "accesses")))


if __name__ == "__main__":
    for wanted in sys.argv[2:] or ("chrome", "perfetto"):
        show(os.path.abspath(sys.argv[1]), wanted)
