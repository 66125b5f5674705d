#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a target program on the simulated device with and without the tracer, and compares.

    run.py --build DIR --source DIR [--cupti 18|22|26|130000|none] [--enter preload|injection|run|copy]
           [--option NAME=VALUE ...] [--fault LIST] -- PROGRAM [ARGUMENT ...]

Checked: output and exit status are the same; every event the target expects is there and no other
GPU work; every GPU slice has its call, its flow and its stack; the file passes the lint; the trace
equals the device's own truth file event by event. Exit 0, or 1 with a line for each difference.
"""

import argparse
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lint"))
import pftrace_lint
import preloading
import trace_file

# The trace clock follows CLOCK_MONOTONIC, the device CLOCK_REALTIME: the largest drift by slewing.
CLOCK_TOLERANCE_NS = 20000

COPY_NAMES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}


class Failures(list):
    def add(self, text, *values):
        self.append(text % values)

    def equal(self, what, got, wanted):
        if got != wanted:
            self.add("%s: got %s, wanted %s", what, got, wanted)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--cupti", default="130000")
    parser.add_argument("--enter", default="preload", choices=["preload", "injection", "run", "copy"])
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--fault", default="")
    parser.add_argument("--keep", help="folder that is kept, for looking at what came out")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def tracer_environment(arguments, output):
    library = os.path.realpath(os.path.join(arguments.build, "preload", "libgputrace.so"))
    environment = {"GPUTRACE_OUTPUT": output, **preloading.PATIENT}
    if arguments.enter == "preload":
        environment["LD_PRELOAD"] = preloading.with_tracer(library)
    elif arguments.enter == "copy":  # preloaded, and the driver loads a second file
        environment["LD_PRELOAD"] = preloading.with_tracer(library)
        environment["CUDA_INJECTION64_PATH"] = os.path.join(os.path.dirname(output), "copy.so")
        shutil.copy(library, environment["CUDA_INJECTION64_PATH"])
    elif arguments.enter == "injection":
        environment["CUDA_INJECTION64_PATH"] = library
    for path in older_cupti(arguments) if arguments.cupti in ("18", "22", "26") else ():
        if os.path.isfile(path):
            environment["GPUTRACE_CUPTI"] = os.path.realpath(path)
    for option in arguments.option:
        name, value = option.split("=", 1)
        environment["GPUTRACE_" + name.upper().replace("-", "_")] = value
    return environment


def older_cupti(arguments):
    """The file of a CUPTI that is older than the program's runtime, which must be given by name."""
    folder = subprocess.run([os.path.join(arguments.source, "scripts", "simcuda"),
                             "--build=" + arguments.build, "--cupti=" + arguments.cupti,
                             "--print-path"], capture_output=True, text=True, check=True)
    return glob.glob(os.path.join(folder.stdout.strip(), "libcupti.so.1[0-9]*"))


def run(arguments, folder, traced):
    """The target's exit status, stdout, stderr. The simulator's wrapper comes first, so that LD_PRELOAD
    affects the program and not only the shell."""
    command = [os.path.join(arguments.source, "scripts", "simcuda"), "--cupti=" + arguments.cupti]
    if arguments.fault:
        command.append("--fault=" + arguments.fault)
    environment = dict(os.environ, GPUTRACE_BUILD=os.path.realpath(arguments.build),
                       **preloading.without_tracer())
    environment["SIMCUDA_BUILD"] = environment["GPUTRACE_BUILD"]
    if traced:
        command.append("--truth=" + os.path.join(folder, "truth.%p.jsonl"))
        environment.update(tracer_environment(arguments, os.path.join(folder, "out")))
        if arguments.enter == "run":
            command += [os.path.join(arguments.source, "scripts", "gputrace"), "run", "--quiet",
                        "--"]
    result = subprocess.run(command + arguments.command, env=environment, capture_output=True,
                            text=True, timeout=400, check=False, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout, result.stderr


def read_truth(folder):
    calls, operations = [], []
    for name in sorted(os.listdir(folder)):
        if not name.startswith("truth."):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if row["truth"] == "call":
                    calls.append(row)
                elif row["truth"] == "op" and row["kind"] != "graph":  # its nodes are the work
                    operations.append(row)
    return calls, operations


def kind_key(event):
    """The key by which GPU slices are compared: kind, name or copy kind and bytes, function."""
    kind = trace_file.GPU[event["cat"]]
    function = trace_file.frame_function(event["args"].get("launched by", ""))
    if kind == "kernel":
        return (kind, event["name"], function)
    if kind == "memcpy":
        return (kind, event["name"].split()[1], event["args"]["bytes"], function)
    return (kind, event["args"]["bytes"], function)


def read_expectations(stdout):
    gpu, calls = collections.Counter(), {}
    for line in stdout.splitlines():
        word, *rest = line.split("\t")
        if word != "expect":
            continue
        if rest[0] == "kernel":
            gpu[("kernel", rest[1], rest[3])] += int(rest[2])
        elif rest[0] == "memcpy":
            gpu[("memcpy", rest[1], int(rest[2]), rest[4])] += int(rest[3])
        elif rest[0] == "memset":
            gpu[("memset", int(rest[1]), rest[3])] += int(rest[2])
        elif rest[0] == "call":
            calls[rest[1]] = int(rest[2])
    return gpu, calls


RANGE_WORDS = ("range", "shadow", "nvtx", "payload", "mark", "counter", "unfinished", "ledger")


def name_of_shadow(name):
    """Readers take all slices called ProfilerStep#N for steps."""
    return name.replace("ProfilerStep#", "step ")


def read_ranges(stdout, step_range):
    """Counts of the named ranges that the target expects."""
    rows = collections.Counter()
    for line in stdout.splitlines():
        word, *rest = line.split("\t")
        if word != "expect":
            continue
        if rest[0] == "step":
            names = [rest[1]] * int(rest[2])
            if step_range in (rest[1], "auto"):
                names = ["ProfilerStep#%d" % i for i in range(int(rest[2]))]
            if step_range == "auto":  # the first is a step only because of the second
                names[0] = rest[1]
            for name in names:
                rows[("range", name, "")] += 1
                rows[("shadow", name_of_shadow(name))] += 1
        elif rest[0] == "payload":
            rows[tuple(rest)] += 1
        elif rest[0] == "shadow":
            rows[("shadow", name_of_shadow(rest[1]))] += int(rest[2])
        elif rest[0] in RANGE_WORDS:
            rows[tuple(rest[:-1])] += int(rest[-1])
    return rows


def ranges_of(trace):
    rows = collections.Counter()
    for event in trace.events:
        args = event.get("args", {})
        if event.get("cat") == "user_annotation" and event["ph"] == "X":
            rows[("range", event["name"], args.get("domain", ""))] += 1
            if "payload" in args:
                rows[("payload", event["name"], args["payload"])] += 1
            if "unfinished" in args:
                rows[("unfinished", event["name"])] += 1
        elif event.get("cat") == "user_annotation":
            rows[("mark", event["name"])] += 1
        elif event.get("cat") == "gpu_user_annotation":
            rows[("shadow", event["name"])] += 1
        elif event["ph"] == "C" and event["name"] != "tracer cost":  # as many as the run lasts seconds
            rows[("counter", event["name"])] += 1
        elif event.get("cat") == "kernel":
            rows[("nvtx", event["name"].split("(")[0], args.get("nvtx", ""))] += 1
    return rows


def check_extents_of_shadows(trace, failures):
    """No shadow has the extent of another slice of its track: viewers could draw the inner one outside."""
    same = collections.defaultdict(list)
    for event in trace.slices:
        if event["cat"] in ("gpu_user_annotation", "kernel", "gpu_memcpy", "gpu_memset", "gpu_graph"):
            same[event["pid"], event["tid"], trace.start(event), trace.duration(event)].append(event)
    for events in same.values():
        if len(events) > 1:
            failures.add("%s on one track with one extent", ", ".join(e["name"] for e in events))


def check_thread_names(trace, failures):
    """No two threads have rows of one name; one without a name of its own has the program's and its number."""
    rows = {e["tid"]: e["args"]["name"] for e in trace.events
            if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] >= 64 and e["tid"] < 8388608}
    for name, count in collections.Counter(rows.values()).items():
        if count > 1:
            failures.add("%d threads are named %s", count, name)
        if name.split(" ")[0] == "thread":
            failures.add("%s is not named after its program", name)


def check_shadows(trace, failures):
    """A shadow extends from the first to the last operation of its range on the stream."""
    ranges = {e["args"]["External id"]: e for e in trace.slices if e["cat"] == "user_annotation"}
    check_extents_of_shadows(trace, failures)
    for shadow in (e for e in trace.slices if e["cat"] == "gpu_user_annotation"):
        host = ranges.get(shadow["args"]["External id"])
        if not host or name_of_shadow(host["name"]) != shadow["name"]:
            failures.add("shadow %s has no range", shadow["name"])
            continue
        if "stream" in shadow["args"]:
            failures.add("shadow %s has a stream: readers take it for work", shadow["name"])
        if trace.start(shadow) < trace.start(host):
            failures.add("shadow %s starts before its range", shadow["name"])
        ends = {trace.start(e) + trace.duration(e) for e in trace.gpu}
        end = trace.start(shadow) + trace.duration(shadow)
        failures.equal("shadow %s has an operation at each end" % shadow["name"],
                       (trace.start(shadow) in {trace.start(e) for e in trace.gpu},
                        any(end - slack in ends for slack in range(4))), (True, True))


def check_ranges(trace, stdout, step_range, failures, with_gpu):
    wanted = read_ranges(stdout, step_range)
    if not wanted:
        return
    got = ranges_of(trace)
    for key in [key for key in wanted if key[0] == "ledger"] + [("ledger", "ranges_lost")]:
        got[key] = trace.ledger[key[1]]
    for key in sorted(set(wanted) | set(got)):
        if with_gpu or key[0] not in ("shadow", "nvtx"):
            failures.equal("%s" % (key,), got[key], wanted[key])
    check_shadows(trace, failures)


def user_name(name):
    """The call as in the source, without the suffix of the per-thread stream's variants."""
    return name.removesuffix("_ptsz").removesuffix("_ptds")


def check_expected(trace, stdout, failures, with_gpu):
    gpu, calls = read_expectations(stdout)
    if not gpu or not calls:
        failures.add("the target expects nothing")
    seen = collections.Counter(kind_key(e) for e in trace.gpu)
    anonymous = {key[:-1] for key in gpu if key[-1] == "*"}  # any function will do
    for key in list(seen):
        if key[:-1] in anonymous:
            seen[key[:-1] + ("*",)] += seen.pop(key)
    for key in sorted(set(gpu) | set(seen), key=str) if with_gpu else ():
        failures.equal("GPU work %s" % (key,), seen[key], gpu[key])
    names = collections.Counter(user_name(e["name"]) for e in trace.calls)
    missing = {n: c - names[n] for n, c in calls.items() if c != names[n]}
    # without CUPTI the call that initialized the driver began before the session
    if missing and (with_gpu or list(missing.values()) != [1]):
        failures.add("calls missing (or, negative, too many): %s", missing)


def check_created(trace, stdout, failures):
    """Kernels of graphs: the function that captured each node."""
    wanted = collections.Counter()
    for line in stdout.splitlines():
        word, *rest = line.split("\t")
        if word == "expect" and rest[0] == "created":
            wanted[(rest[1], rest[3])] += int(rest[2])
    seen = collections.Counter((e["name"], trace_file.frame_function(e["args"]["created by"]))
                               for e in trace.gpu
                               if e["cat"] == "kernel" and "created by" in e["args"])
    for key in sorted(set(wanted) | set(seen)):
        if wanted:
            failures.equal("kernels created by %s" % (key,), seen[key], wanted[key])


def check_links(trace, failures):
    """Each GPU slice has one call with its correlation id, a flow from it, and a stack."""
    calls = {e["args"]["correlation"]: e for e in trace.calls}
    failures.equal("calls with a correlation id of their own", len(calls), len(trace.calls))
    starts = {e["id"]: e for e in trace.events if e["ph"] == "s"}
    ends = collections.Counter((e["id"], e["pid"], e["tid"], e["ts"])
                               for e in trace.events if e["ph"] == "f")
    for event in trace.gpu:
        correlation = event["args"]["correlation"]
        call, start = calls.get(correlation), starts.get(correlation)
        if not call or not start:
            failures.add("%s %s has no call or no arrow", event["name"], correlation)
            continue
        failures.equal("arrow of %s" % correlation, (start["tid"], start["ts"]),
                       (call["tid"], call["ts"]))
        if (correlation, event["pid"], event["tid"], event["ts"]) not in ends:
            failures.add("%s %s has no arrow end", event["name"], correlation)
        if "stack" not in event["args"]:
            failures.add("%s %s has no stack", event["name"], correlation)


def check_truth_gpu(trace, operations, failures):
    """The same operations, at the same time, on the same stream, with the same arguments."""
    def by(correlation, kind, stream, start):
        return (correlation, kind, stream, start)

    truth = sorted(operations, key=lambda r: by(r["correlation"], r["kind"], r["stream"], r["start"]))
    traced = sorted(trace.gpu, key=lambda e: by(e["args"]["correlation"], trace_file.GPU[e["cat"]],
                                                e["args"]["stream"], trace.start(e)))
    failures.equal("operations", len(traced), len(truth))
    for row, event in zip(truth, traced):
        what = "%s %s" % (row["kind"], row["correlation"])
        failures.equal(what + " identity",
                       (event["args"]["correlation"], trace_file.GPU[event["cat"]],
                        event["args"]["stream"], event["args"]["device"],
                        event["args"]["context"]),
                       (row["correlation"], row["kind"], row["stream"], row["device"],
                        row["context"]))
        failures.equal(what + " duration", trace.duration(event), row["end"] - row["start"])
        if abs(trace.start(event) - row["start"]) > CLOCK_TOLERANCE_NS:
            failures.add("%s starts at %d, truth %d", what, trace.start(event), row["start"])
        if row["kind"] == "kernel":
            failures.equal(what + " shape", (event["args"]["grid"], event["args"]["block"]),
                           (row["grid"], row["block"]))
            failures.equal(what + " node", event["args"].get("graph node id", 0),
                           row["node"] & 0xFFFFFFFF)
            failures.equal(what + " grid id", event["args"].get("grid id"), row["grid_id"])
        else:
            failures.equal(what + " bytes", event["args"]["bytes"], row["bytes"])


def check_truth_calls(trace, calls, failures):
    """Every traced call happened, at that time; outermost ones only."""
    truth = {c["correlation"]: c for c in calls if not c["nested"]}
    for event in trace.calls:
        row = truth.get(event["args"]["correlation"])
        if not row:
            failures.add("call %s %s is not in the truth file", event["name"],
                         event["args"]["correlation"])
            continue
        failures.equal("name of call %d" % row["correlation"], event["name"],
                       row["name"].removeprefix("__").split("_v1")[0])
        start, end = trace.start(event), trace.start(event) + trace.duration(event)
        # both stamp on the host, at different places in a call; the thread may be preempted in between
        if start > row["end"] + CLOCK_TOLERANCE_NS or end + CLOCK_TOLERANCE_NS < row["start"]:
            failures.add("call %s lies at %d..%d, truth %d..%d", event["name"], start, end,
                         row["start"], row["end"])


def check_ledger(trace, failures):
    """The ledger against the file itself."""
    ledger = trace.ledger
    kinds = collections.Counter(trace_file.GPU[e["cat"]] for e in trace.gpu)
    for kind in ("kernel", "memcpy", "memset"):
        failures.equal(kind + " slices in the ledger", ledger[kind + "s_written"], kinds[kind])
    failures.equal("calls in the ledger", ledger["calls_written"], len(trace.calls))
    failures.equal("sum of calls", ledger["calls_seen"],
                   ledger["calls_received"] + ledger["calls_nested"]
                   + ledger["calls_lost_ring_full"] + ledger["calls_lost_no_thread"]
                   + ledger["calls_after_exit"] + ledger["calls_passed"] + ledger["calls_filtered"]
                   + ledger["calls_governed"] + ledger["calls_thinned"]
                   + ledger["calls_open_at_end"])


NO_STACK = "unknown (no call stack)"
UNKNOWN = {"line": NO_STACK, "function": NO_STACK, "stack": NO_STACK,
           "op": "(no operator)", "nvtx": "(no range)"}


def check_sums(arguments, trace, failures):
    """However GPU time is grouped, the groups add up to the total; time without a name has a group."""
    whole = sum(trace.duration(event) for event in trace.gpu)
    stackless = sum(trace.duration(event) for event in trace.gpu if "stack" not in event["args"])
    for by, unknown in UNKNOWN.items():
        result = subprocess.run([os.path.join(arguments.build, "cli", "gputrace-cli"), "stats",
                                 "--by=" + by, "--format=json", trace.path],
                                capture_output=True, text=True, check=True)
        rows = json.loads(result.stdout)["gpu_by_" + by]
        failures.equal("GPU time by " + by, sum(row["Total Time (ns)"] for row in rows), whole)
        failures.equal("operations by " + by, sum(row["Instances"] for row in rows),
                       len(trace.gpu))
        nameless = sum(row["Total Time (ns)"] for row in rows if row["Name"] == unknown)
        if by in ("line", "function", "stack"):
            failures.equal("GPU time of no known " + by, nameless, stackless)
        for row in rows:
            if row.get("Inside Time (ns)", whole) > whole or \
                    row.get("Inside Time (ns)", whole) < row["Total Time (ns)"]:
                failures.add("by %s: inside %s", by, row)


def lint(arguments, path, failures):
    result = subprocess.run([sys.executable,
                             os.path.join(arguments.source, "tests", "lint", "trace_lint.py"), path],
                            capture_output=True, text=True, check=False)
    if result.returncode:
        failures.add("lint: %s", (result.stdout + result.stderr).strip())


def convert(arguments, folder, failures):
    """Converts .pftrace files to JSON, which is then checked."""
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.pftrace"), recursive=True)):
        for line in pftrace_lint.Lint(path).check():
            failures.add("lint: %s", line)
        result = subprocess.run([os.path.join(arguments.build, "cli", "gputrace-cli"), "convert",
                                 path, path[:-len(".pftrace")] + ".pt.trace.json"],
                                capture_output=True, text=True, check=False)
        if result.returncode or result.stderr:
            failures.add("convert: %s", result.stderr.strip())


def check_trace(arguments, folder, stdout, failures):
    convert(arguments, os.path.join(folder, "out"), failures)
    paths = trace_file.find(os.path.join(folder, "out"))
    if len(paths) != 1:
        failures.add("%d trace files instead of one: %s", len(paths), paths)
        return
    lint(arguments, paths[0], failures)
    trace = trace_file.Trace(paths[0])
    with_gpu = arguments.cupti != "none" and "mode=hooks" not in arguments.option
    check_expected(trace, stdout, failures, with_gpu)
    check_thread_names(trace, failures)
    steps = [o.split("=", 1)[1] for o in arguments.option if o.startswith("step-range=")]
    check_ranges(trace, stdout, steps[0] if steps else "", failures, with_gpu)
    check_ledger(trace, failures)
    if not with_gpu:
        failures.equal("GPU slices without CUPTI", len(trace.gpu), 0)
        failures.equal("mode", trace.root["metadata"]["mode"], "hooks only")
        return
    calls, operations = read_truth(folder)
    check_sums(arguments, trace, failures)
    check_links(trace, failures)
    check_created(trace, stdout, failures)
    check_truth_gpu(trace, operations, failures)
    check_truth_calls(trace, calls, failures)


def check(arguments, folder):
    failures = Failures()
    bare = run(arguments, folder, traced=False)
    traced = run(arguments, folder, traced=True)
    failures.equal("exit status", traced[0], bare[0])
    failures.equal("stdout", traced[1], bare[1])
    ours = [line for line in traced[2].splitlines() if line.startswith("gputrace: ")]
    others = [line for line in traced[2].splitlines() if not line.startswith("gputrace: ")]
    failures.equal("stderr", others, bare[2].splitlines())
    warned = arguments.cupti == "none" or "latency=yes" in arguments.option
    failures.equal("lines of ours on stderr", len(ours), int(warned))
    check_trace(arguments, folder, traced[1], failures)
    if failures and ours:
        failures.append("the tracer said: " + "; ".join(ours))
    return failures


def main():
    arguments = parse_arguments()
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        failures = check(arguments, arguments.keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            failures = check(arguments, folder)
    for failure in failures[:40]:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
