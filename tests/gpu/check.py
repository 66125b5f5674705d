#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What needs a real GPU (scripts/gpu-check): every program against its trace, the overhead of each
level of tracing, one probe per CUPTI behaviour that the simulated device imitates. Builds nothing."""
import argparse
import ctypes
import glob
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys

import runs

SKIP = 77

# Program, how it is traced, which counts of its report have to be found.
COUNTS = ("kernels", "memcpys", "memsets")
PROGRAMS = [
    ("launches-shared --count=5000", "run"),
    ("launches-static --count=5000", "run"),
    ("launches-static --count=5000 --threads=8", "run"),
    ("launches-static --count=5000", "injection alone"),
    ("graph-shared --nodes=100 --count=500", "run"),
    ("graph-static --nodes=100 --count=500", "run"),
    ("copies-shared --count=100", "run"),
    ("copies-static --count=100", "run"),
    ("driver --count=5000", "run"),
]

# Level of tracing and its options; None: not traced at all.
LEVELS = [
    ("not traced", None),
    ("calls only", ["--mode=hooks", "--stacks=off", "--format=null"]),
    ("kernels", ["--stacks=off", "--format=null"]),
    ("kernels and stacks", ["--stacks=short", "--format=null"]),
    ("kernels, stacks, file", ["--stacks=short"]),
]
TIMED = ["launches-shared --count=50000", "launches-static --count=50000",
         "launches-static --count=20000 --threads=8", "driver --count=50000",
         "graph-static --nodes=100 --count=2000"]
CAPTURED = ["launches-static --count=50 --threads=2", "graph-static --nodes=10 --count=5",
            "copies-static --count=2", "driver --count=20"]


def has_gpu():
    """True when the driver here can create a context: the smallest program runs."""
    return runs.run_bare("driver --count=1").status == 0


def find_cudart():
    """Lets the programs with the shared runtime find it, where the loader does not by itself."""
    listing = subprocess.run(["ldd", str(runs.PROGRAMS / "launches-shared")], capture_output=True,
                             text=True, check=False).stdout
    missing = re.search(r"(libcudart\.so\.\d+) => not found", listing)
    if not missing:
        return
    for folder in (os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64",
                   "/usr/local/cuda/lib64", *(f"{path}/nvidia/*/lib" for path in sys.path)):
        for path in glob.glob(f"{folder}/{missing.group(1)}"):
            before = os.environ.get("LD_LIBRARY_PATH")
            os.environ["LD_LIBRARY_PATH"] = os.path.dirname(path) + (f":{before}" if before else "")
            return


def find_driver():
    """The file of libcuda.so.1, which tells a real driver from the simulated one."""
    ctypes.CDLL("libcuda.so.1")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if "/libcuda.so" in line:
                return line.split(None, 5)[5].strip()
    return "unknown"


def machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_mode",
             "--format=csv,noheader"]
    smi = shutil.which("nvidia-smi") and subprocess.run(query, capture_output=True, text=True,
                                                        check=False).stdout.strip()
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        cpu = re.search(r"model name\s*: (.*)", cpuinfo.read())
    driver = find_driver()
    return {"device": "SIMULATED (tests/simcuda)" if "/simcuda/" in driver else "real",
            "libcuda": driver, "gpu": smi or "nvidia-smi is not here", "cpu": cpu.group(1) if cpu else "unknown",
            "cores": os.cpu_count(), "kernel": platform.release(), "libc": platform.libc_ver()[1]}


def trace_program(program, way):
    return runs.run_injected(program) if way == "injection alone" else runs.run_traced(program)


def judge(run, expected):
    """Sentences about what is wrong with a traced run."""
    faults = list(run.spoiled)
    if run.status != 0:
        faults.append(f"exit status {run.status}: {run.text.strip()[-300:]}")
    if len(run.traces) != 1:
        return faults + [f"{len(run.traces)} traces instead of one"]
    trace = run.traces[0]
    found = trace.counts()
    faults += [f"{found[name]} {name} in the trace, {expected[name]} in the program"
               for name in COUNTS if name in expected and found[name] != expected[name]]
    if trace.metadata.get("mode") != "cupti":
        faults.append(f"mode {trace.metadata.get('mode')}: {trace.metadata.get('mode_reason')}")
    return (faults + trace.unlinked() + trace.time_faults(run.began_ns, run.ended_ns)
            + trace.without_stack() + trace.losses())


def describe(program, way, run, faults):
    trace = run.traces[0] if run.traces else None
    return {"program": program, "way": way, "expected": run.report, "faults": faults,
            "found": trace.counts() if trace else {},
            "cupti": trace.metadata.get("cupti_path") if trace else None,
            "cupti_version": trace.cupti_version if trace else None,
            "driver_version": trace.driver_version if trace else None,
            "unwinder": trace.metadata.get("unwinder") if trace else None,
            "ledger": trace.ledger if trace else {}}


def check_programs():
    rows = []
    for program, way in PROGRAMS:
        bare = runs.run_bare(program)
        if bare.status != 0:
            rows.append({"program": program, "way": way, "skipped": bare.text.strip()[-200:]})
            continue
        run = trace_program(program, way)
        rows.append(describe(program, way, run, judge(run, run.report)))
    return rows


def check_torch():
    counted = runs.run_bare("torch_step.py --count-with-profiler")
    if counted.status != 0:
        return {"program": "torch_step.py", "way": "run", "skipped": counted.text.strip()[-200:]}
    run = runs.run_traced("torch_step.py")
    faults = judge(run, {})
    wanted = counted.report["profiled_kernels"]
    found = run.traces[0].counts()["kernels"] if run.traces else 0
    # The trace also holds the kernels of the set-up; torch's profiler saw the 20 steps only.
    if found < wanted:
        faults.append(f"{found} kernels in the trace, {wanted} counted by torch's own profiler")
    return describe("torch_step.py", "run", run, faults) | {"profiled_kernels": wanted}


def check_triton():
    bare = runs.run_bare("triton_kernel.py")
    if bare.status != 0:
        return {"program": "triton_kernel.py", "way": "run", "skipped": bare.text.strip()[-200:]}
    run = runs.run_traced("triton_kernel.py")
    faults = judge(run, {})
    found = run.traces[0].kernels_named(run.report["kernel_name"]) if run.traces else 0
    if run.report and found != run.report["named_kernels"]:
        faults.append(f"{found} kernels of that name, {run.report['named_kernels']} launched")
    return describe("triton_kernel.py", "run", run, faults)


def time_level(program, options, rounds):
    """ns per launch, best of some rounds: what disturbs only adds."""
    values = []
    for _ in range(rounds):
        run = runs.run_bare(program) if options is None else runs.run_traced(program, *options)
        if run.status != 0 or not run.report:
            return None
        values.append(run.report["ns_per_launch"])
    return {"best": min(values), "median": statistics.median(values), "all": values}


def measure_overhead(rounds):
    table = []
    for program in TIMED:
        levels = {name: time_level(program, options, rounds) for name, options in LEVELS}
        table.append({"program": program, "levels": levels})
    return table


def run_probes():
    names = runs.Run([str(runs.PROGRAMS / "probes"), "--list"], runs.clean_environment())
    results = []
    for line in names.text.splitlines():
        name, _, claim = line.partition("\t")
        run = runs.Run([str(runs.PROGRAMS / "probes"), name], runs.clean_environment())
        verdict = {0: "holds", 1: "does not hold"}.get(run.status, "could not be tried")
        results.append({"probe": name, "claim": claim, "verdict": verdict,
                        "detail": run.text.strip()[-300:]})
    return results


def capture(folder):
    """Raw activity records of small runs, to be replayed in tests."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for program in CAPTURED:
        path = folder / f"{program.split()[0]}.cupti"
        run = runs.run_traced(program, GPUTRACE_CAPTURE_BUFFERS=str(path))
        files.append({"program": program, "file": path.name,
                      "bytes": path.stat().st_size if path.exists() else 0, "report": run.report})
    return files


def count_bad(report):
    bad = sum(1 for row in report["programs"] if row.get("faults"))
    bad += sum(1 for probe in report["probes"] if probe["verdict"] != "holds")
    return bad


def format_report(report):
    lines = ["gputrace checked on a CUDA device", ""]
    lines += [f"{name}: {value}" for name, value in report["machine"].items()]
    lines += ["", "Programs against their traces", ""]
    for row in report["programs"]:
        verdict = "skipped" if "skipped" in row else "BAD" if row["faults"] else "ok"
        found = ", ".join(f"{number} {name}" for name, number in row.get("found", {}).items())
        lines.append(f"{verdict:8} {row['program']} ({row['way']}): {found}{row.get('skipped', '')}")
        lines += [f"         - {fault}" for fault in row.get("faults", [])]
    lines += ["", "Host time per launch, ns, best of the rounds (added to the untraced run)", ""]
    for row in report["overhead"]:
        base = row["levels"]["not traced"]
        lines.append(row["program"])
        for name, value in row["levels"].items():
            if value and base:
                lines.append(f"    {name:24} {value['best']:9.1f} ({value['best'] - base['best']:+.1f})")
            else:
                lines.append(f"    {name:24} not measured")
    lines += ["", "CUPTI's behaviour", ""]
    lines += [f"{probe['verdict']:20} {probe['probe']}: {probe['claim']} ({probe['detail']})"
              for probe in report["probes"]]
    lines += ["", "Captured activity records", ""]
    lines += [f"{row['bytes']:10} bytes {row['file']} ({row['program']})"
              for row in report["captures"]]
    skipped = sum(1 for row in report["programs"] if "skipped" in row)
    lines += ["", f"{report['bad']} findings, {skipped} programs could not run here"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("--report", default="gpu-check-report", metavar="PATH",
                        help="writes PATH.txt and PATH.json (default: gpu-check-report)")
    parser.add_argument("--captures", metavar="FOLDER", help="also capture raw activity records there")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of each measurement (5)")
    parser.add_argument("--no-overhead", action="store_true", help="leave the overhead table out")
    arguments = parser.parse_args()
    if not (runs.PROGRAMS / "driver").exists():
        sys.exit(f"gpu-check: {runs.PROGRAMS} is not built: ninja -C build gpu-programs")
    if not has_gpu():
        print("gpu-check: no usable GPU here: nothing was checked")
        return SKIP
    find_cudart()
    report = {"machine": machine(),
              "programs": check_programs() + [check_torch(), check_triton()],
              "overhead": [] if arguments.no_overhead else measure_overhead(arguments.rounds),
              "probes": run_probes(),
              "captures": capture(pathlib.Path(arguments.captures)) if arguments.captures else []}
    report["bad"] = count_bad(report)
    text = format_report(report)
    pathlib.Path(arguments.report + ".txt").write_text(text, encoding="utf-8")
    pathlib.Path(arguments.report + ".json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(text, end="")
    return 1 if report["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
