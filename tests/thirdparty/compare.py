#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of other people's kind untraced and traced on the simulated device, and compares.

    compare.py --build DIR --source DIR [--devices N] [--cupti V] [--nvcc NVCC] [--flag FLAG ...]
               [--package REQUIREMENT ... | --wheels VENV] PROGRAM

PROGRAM is a .cu file, which is compiled, or a .py file, which is run with the packages installed in
an environment of its own below the build folder, or by the Python of VENV, with the simulated runtime
before that of its packages. Checked: output and exit status are the same; no
loss in the ledger; each process's trace passes the lint and has every operation and call that the
device says it did, at that time, with its stack. Exit 0, 1 with the differences, 77 without packages.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "targets"))
import preloading  # noqa: E402
import run as target  # noqa: E402
import trace_file  # noqa: E402

LOST = ("lost", "dropped", "insane", "untimed", "unreadable", "discarded", "without_call",
        "without_record", "reversed")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--devices", default="1")
    parser.add_argument("--cupti", help="without --wheels: 130000")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--package", action="append", default=[])
    parser.add_argument("--wheels", help="an environment that is there: frameworks")
    parser.add_argument("--keep", help="folder that is kept, for looking at what came out")
    parser.add_argument("program", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.build, arguments.source = map(os.path.realpath, (arguments.build, arguments.source))
    arguments.enter, arguments.option = "preload", []
    return arguments


def compiled(arguments, folder):
    """The .cu file as a program in @folder."""
    program = folder / arguments.program.stem
    subprocess.run([arguments.nvcc, "-O1", "-g", "-cudart", "shared", "-Wno-deprecated-declarations",
                    *arguments.flag, "-o", str(program), str(arguments.program), "-lcuda"], check=True)
    return [str(program)]


def environment_with(arguments):
    """Python with the packages; made once for each list of them."""
    name = "-".join(package.replace("==", "-") for package in arguments.package)
    home = pathlib.Path(arguments.build) / "tests" / "thirdparty" / "packages" / name
    python = home / "bin" / "python"
    if (home / ".complete").exists():
        return str(python)
    done = subprocess.run([sys.executable, "-m", "venv", str(home)], check=False,
                          capture_output=True, text=True)
    if not done.returncode:
        done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--retries", "1",
                               "--disable-pip-version-check", *arguments.package], check=False,
                              capture_output=True, text=True)
    if done.returncode:
        print("skipped: cannot install", *arguments.package, *done.stderr.strip().splitlines()[-1:])
        sys.exit(77)
    (home / ".complete").touch()
    return str(python)


def run(arguments, command, folder, traced):
    """Exit status, stdout and stderr; the truth and the traces lie in @folder."""
    simcuda = [os.path.join(arguments.source, "scripts", "simcuda"), "--devices=" + arguments.devices, "--build=" + arguments.build]
    environment = {**os.environ, **preloading.without_tracer()}
    if arguments.wheels:
        simcuda.append("--wheels=" + arguments.wheels)
    if arguments.cupti:
        simcuda.append("--cupti=" + arguments.cupti)
    if traced:
        simcuda.append(f"--truth={folder}/truth.%p.jsonl")
        environment.update(target.tracer_environment(arguments, f"{folder}/out"))
    done = subprocess.run(simcuda + command, env=environment, capture_output=True, text=True,
                          timeout=400, check=False, stdin=subprocess.DEVNULL, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def read_truth(folder):
    """pid -> (calls, operations)."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("truth.*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        pid = int(path.name.split(".")[1])
        found[pid] = ([row for row in rows if row["truth"] == "call"],
                      [row for row in rows if row["truth"] == "op" and row["kind"] != "graph"])
    return found


def pid_of(trace):
    return trace.root["metadata"]["pid"]


def check_counts(trace, calls, operations, failures):
    """As many of each kind as the device did, and nothing lost on the way."""
    got = collections.Counter(trace_file.GPU[event["cat"]] for event in trace.gpu)
    failures.equal("operations by kind", got, collections.Counter(row["kind"] for row in operations))
    for name, count in trace.ledger.items():
        if count and any(word in name for word in LOST):
            failures.add("ledger: %s is %s", name, count)
    outermost = {row["correlation"] for row in calls if not row["nested"]}
    for row in operations:
        if row["correlation"] not in outermost:
            failures.add("the device's own %s %d has no call", row["kind"], row["correlation"])


def check_process(arguments, path, truth, failures):
    target.lint(arguments, path, failures)
    trace = trace_file.Trace(path)
    calls, operations = truth.pop(pid_of(trace), ([], []))
    check_counts(trace, calls, operations, failures)
    target.check_ledger(trace, failures)
    target.check_links(trace, failures)
    if len(trace.gpu) == len(operations):  # else there are no pairs to compare
        target.check_truth_gpu(trace, operations, failures)
    target.check_truth_calls(trace, calls, failures)
    return len(operations), len(trace.calls)


def check(arguments, folder):
    failures = target.Failures()
    if arguments.program.suffix == ".cu":
        command = compiled(arguments, folder)
    elif arguments.wheels:
        command = [f"{arguments.wheels}/bin/python", str(arguments.program.resolve())]
    else:
        command = [environment_with(arguments), str(arguments.program.resolve())]
    bare = run(arguments, command, folder, traced=False)
    traced = run(arguments, command, folder, traced=True)
    failures.equal("exit status", bare[0], 0)
    if bare[0]:
        failures.append(bare[1] + bare[2])
    for what, got, wanted in zip(("exit status, traced", "stdout", "stderr"), traced, bare):
        failures.equal(what, got, wanted)
    truth = read_truth(folder)
    done = [check_process(arguments, path, truth, failures)
            for path in trace_file.find(os.path.join(folder, "out"))]
    for pid, (calls, operations) in truth.items():
        if calls:
            failures.add("no trace of process %d: %d calls, %d operations", pid, len(calls),
                         len(operations))
    print("%d processes, %d operations, %d calls" % (len(done), sum(n for n, _ in done),
                                                     sum(n for _, n in done)))
    if not sum(n for n, _ in done):
        failures.add("the program did nothing")
    return failures


def main():
    arguments = parse_arguments()
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        failures = check(arguments, pathlib.Path(arguments.keep))
    else:
        with tempfile.TemporaryDirectory() as folder:
            failures = check(arguments, pathlib.Path(folder))
    for failure in failures[:40]:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
