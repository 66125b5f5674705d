# SPDX-License-Identifier: Apache-2.0
"""Shared by the reliability tests: running a program on the simulated device with and without the
tracer, the device's truth file, and reading traces in every form that a dead process leaves."""

import collections
import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets"))
import gate  # noqa: E402  pylint: disable=wrong-import-position
import preloading  # noqa: E402  pylint: disable=wrong-import-position
import trace_file  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.path.realpath(os.environ["RELIABILITY_BUILD"])
SOURCE = os.environ["RELIABILITY_SOURCE"]
LIBRARY = os.path.join(BUILD, "preload", "libgputrace.so")
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
PROGRAMS = os.path.join(BUILD, "tests", "reliability")
FOREIGN = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
           "PMI_RANK", "PMIX_RANK")

GPU_KINDS = ("kernel", "memcpy", "memset")
LAUNCHES = ("cuLaunchKernel", "cudaMemsetAsync", "cudaMemcpyAsync")  # of device.h; hooks see the runtime's

Result = collections.namedtuple("Result", "status stdout stderr said")


def program(name):
    return os.path.join(PROGRAMS, "reliability_" + name)


def environment(**changes):
    result = {name: value for name, value in os.environ.items()
              if name not in FOREIGN and not name.startswith(("GPUTRACE_", "SIMCUDA_"))}
    result["GPUTRACE_BUILD"] = BUILD
    result.update(preloading.without_tracer())
    result.update(changes)
    return result


def older_cupti(cupti):
    """The file of a CUPTI that is older than the program's runtime, which must be given by name."""
    if cupti not in ("18", "22", "26"):
        return []
    found = glob.glob(os.path.join(BUILD, "tests", "simcuda", cupti, "libcupti.so.1[0-9]*"))
    return [os.path.realpath(path) for path in found if os.path.isfile(path)][:1]


def command(words, folder=None, fault="", cupti="130000", truth=None, options=(), before=()):
    """The argument vector: simulator, then the tracer's variables by env(1), then the program."""
    result = [os.path.join(SOURCE, "scripts", "simcuda"), "--cupti=" + cupti]
    if fault:
        result.append("--fault=" + fault)
    if truth:
        result.append("--truth=" + os.path.join(truth, "truth.%p.jsonl"))
    result += before
    if folder:
        result += ["env", "GPUTRACE_OUTPUT=" + folder, "LD_PRELOAD=" + preloading.with_tracer(LIBRARY),
                   *(f"{name}={value}" for name, value in preloading.PATIENT.items()), *options]
        result += ["GPUTRACE_CUPTI=" + path for path in older_cupti(cupti)]
    return result + list(words)


def run(words, timeout=300, env=None, stdout=subprocess.PIPE, gates=(), **how):
    """Ends in bounded time or raises. Separates the tracer's messages. @gates: see gate.run."""
    result = gate.run(command(words, **how), gates, env or environment(), timeout=timeout,
                      stdout=stdout, stderr=subprocess.PIPE)
    lines = result.stderr.splitlines()
    return Result(result.returncode, result.stdout,
                  [line for line in lines if not line.startswith("gputrace: ")],
                  [line for line in lines if line.startswith("gputrace: ")])


def run_into(path, words, **how):
    """A run whose stdout is a file, so that a gate can wait for a word in it."""
    with open(path, "w+", encoding="utf-8") as file:
        result = run(words, stdout=file, **how)
        file.seek(0)
        return result._replace(stdout=file.read())


def truth_rows(folder):
    """Every line of the truth files. The last one of a killed process may be cut."""
    for path in sorted(glob.glob(os.path.join(folder, "truth.*"))):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)


class Truth:
    """The simulated device's truth file."""

    def __init__(self, folder):
        self.operations, self.calls, self.faults = [], [], collections.Counter()
        self.fault_rows, self.delivered = [], set()
        self.attributes = {}  # of CUPTI, as a client set them
        self.launches = []  # names, including faults
        self.graph_trace = []  # on or off
        for row in truth_rows(folder):
            self.take(row)

    def take(self, row):
        if row["truth"] == "op" and row["kind"] in GPU_KINDS:
            self.operations.append(row)
        elif row["truth"] == "attribute":
            self.attributes[row["attribute"]] = row["value"]
        elif row["truth"] == "graph_trace":
            self.graph_trace.append(row["on"])
        elif row["truth"] == "delivered":
            self.delivered.update(map(tuple, row["work"]))
        elif row["truth"] == "fault":
            self.faults[row["fault"]] += 1
            self.fault_rows.append(row)
            self.launches.append(row["fault"])
        elif row["truth"] == "call":
            self.calls.append(row)
            if row["name"] in LAUNCHES and not row["nested"]:
                self.launches.append(row["name"])

    def launches_before(self, fault):
        """The number of launches before it, and the names of the later ones."""
        at = self.launches.index(fault)
        return at, self.launches[at + 1:]


def traces(folder):
    return trace_file.find(folder)


def number_of(path):
    """The number of a file among those of its process, from 1."""
    return int(path.rsplit(".part", 1)[1].split(".", 1)[0]) if ".part" in path else 1


def has_shm():
    if not os.path.ismount("/dev/shm"):
        return False
    status = os.statvfs("/dev/shm")
    return status.f_bavail * status.f_bsize > 1 << 30


def tool(*words, before=(), **changes):
    """gputrace-cli: status and output."""
    result = subprocess.run([*before, CLI, *words], capture_output=True, text=True, timeout=300, check=False,
                            env=dict(os.environ, **changes))
    return result.returncode, result.stdout + result.stderr


def lint(path):
    """Findings of the format lint; empty if there are none."""
    result = subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "lint", "trace_lint.py"),
                             path], capture_output=True, text=True, timeout=300, check=False)
    return (result.stdout + result.stderr).strip() if result.returncode else ""


def strict_lines(path):
    """Events of a file in either form, read line by line as from a cut file: every line but the last
    must be one complete event."""
    events = []
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    for number, line in enumerate(lines):
        text = line.strip().lstrip(b",[").rstrip(b"]").strip()
        if not text.startswith(b'{"ph"'):
            continue
        try:
            events.append(json.loads(text))
        except ValueError:
            if any(rest.strip(b" \r\n]\0") for rest in lines[number + 1:]):
                raise
    return events
