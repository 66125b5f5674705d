# SPDX-License-Identifier: Apache-2.0
"""--stack-lane on the simulated device: compares the tracks of call stacks with the known calls of a
program, and with the calls of the trace itself.

    test_stack_lane.py BUILD SOURCE PROGRAM    PROGRAM: a native target
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
HERE = os.path.dirname(os.path.realpath(__file__))
STACK_ROWS = 25165824
PYTHON_FRAME = re.compile(r"(.*) \(stack_lane\.py:(\d+)(?:-(\d+))?\)")


def run(folder, *words, options=("--stack-lane", "--symbolize=off")):
    """(stdout of the program, its trace). Its frames are those that were recorded: source lines bring inlined
    ones, of which the stack tracks know nothing."""
    command = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD,
               os.path.join(SOURCE, "scripts", "gputrace"), "run", "--quiet", *options,
               "--output=" + folder, "--", *words]
    environment = dict(os.environ, GPUTRACE_BUILD=BUILD, **preloading.PATIENT,
                       **preloading.without_tracer())
    result = subprocess.run(command, env=environment, timeout=400,
                            capture_output=True, text=True, check=False)
    if result.returncode:
        raise AssertionError(result.stdout + result.stderr)
    paths = trace_file.find(folder)
    if len(paths) != 1:
        raise AssertionError("%s: %s" % (paths, result.stderr))
    return result.stdout, trace_file.Trace(paths[0])


def lane(trace):
    """The stack tracks of the trace: thread id -> slices in the order of a reader, outer ones first."""
    rows = collections.defaultdict(list)
    for event in trace.slices:
        if event["cat"] == "call_stack":
            rows[event["tid"] - STACK_ROWS].append(event)
    for slices in rows.values():
        slices.sort(key=lambda e: (trace.start(e), -trace.duration(e)))
    return rows


def nested(trace, slices):
    """(depth, slice) of each slice of a track; the depth counts the slices around it."""
    open_ends = []
    for event in slices:
        start, end = trace.start(event), trace.start(event) + trace.duration(event)
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        yield len(open_ends), event
        open_ends.append(end)


class StackLane(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def check_file(self, trace):
        for command in ([sys.executable, os.path.join(SOURCE, "tests", "lint", "trace_lint.py")],
                        [os.path.join(BUILD, "cli", "gputrace-cli"), "verify"]):
            result = subprocess.run([*command, trace.path], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        names = {event["tid"]: event["args"]["name"] for event in trace.events
                 if event["name"] == "thread_name"}
        for tid in lane(trace):
            self.assertEqual(names[STACK_ROWS + tid], "thread %d call stacks" % tid)

    def check_calls(self, trace):
        """At each call, the slices of its thread's stack track match its stack."""
        rows = lane(trace)
        frames = {e["args"]["stack"]: e["args"]["frames"] for e in trace.slices
                  if "frames" in e["args"]}
        calls = [e for e in trace.calls if "stack" in e["args"]]
        self.assertGreater(len(calls), 3)
        for call in calls:
            begin, end = trace.start(call), trace.start(call) + trace.duration(call)
            # each inner one begins a nanosecond later
            around = [e for e in rows[call["tid"]] if trace.start(e) < max(begin + 1, end)
                      and end <= trace.start(e) + trace.duration(e)]
            functions = [e["args"]["frame"].rsplit(" (", 1)[0] for e in around]
            wanted = [f.rsplit(" (", 1)[0] for f in reversed(frames[call["args"]["stack"]])]
            self.assertEqual(functions, wanted, call)
        for tid, slices in rows.items():
            own = [e for e in calls if e["tid"] == tid]
            outermost = [e["args"]["calls"] for depth, e in nested(trace, slices) if depth == 0]
            self.assertEqual(sum(outermost), len(own))

    def test_python(self):
        stdout, trace = run(self.folder.name, sys.executable, os.path.join(HERE, "stack_lane.py"))
        self.check_file(trace)
        self.check_calls(trace)
        wanted = collections.Counter(tuple(line.split("\t")[1:]) for line in stdout.splitlines())
        got = collections.Counter()
        for slices in lane(trace).values():
            stack = []  # (end, whether it is the program's) of the enclosing slices
            for event in slices:
                start, end = trace.start(event), trace.start(event) + trace.duration(event)
                stack = [(e, own) for e, own in stack if e > start]
                frame = PYTHON_FRAME.fullmatch(event["name"])
                if frame:
                    name, first, last = frame.groups()
                    depth = sum(own for _, own in stack)
                    got[(str(depth), name, first, last or first,
                         str(event["args"]["calls"]))] += 1
                stack.append((end, bool(frame)))
        self.assertEqual(got, wanted)
        self.assertEqual(trace.ledger["stack_lane_calls_lost"], 0)

    def test_native(self):
        _, trace = run(self.folder.name, PROGRAM)
        self.check_file(trace)
        self.check_calls(trace)

    def test_off(self):
        _, trace = run(self.folder.name, PROGRAM, options=())
        self.assertEqual(lane(trace), {})
        self.assertEqual(trace.ledger["stack_lane_slices_written"], 0)


if __name__ == "__main__":
    unittest.main()
