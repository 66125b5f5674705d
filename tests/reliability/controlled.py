# SPDX-License-Identifier: Apache-2.0
"""Programs that commands speak to, as the tests of --control start them."""

import functools
import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness

BUSY = harness.program("busy")
CONTROLLED = harness.program("controlled")


class Running:
    """A traced program that works until its gate is opened."""

    def __init__(self, folder, name, control, options=(), program=(BUSY,), **how):
        self.gate = os.path.join(folder, name + ".gate")
        self.out = os.path.join(folder, name + ".out")
        self.said = os.path.join(folder, name + ".said")
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                harness.command(program, folder=self.out, options=(f"GPUTRACE_CONTROL={control}", *options),
                                **how),
                env=harness.environment(GATE=self.gate), stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.pid = self.process.pid  # simcuda and env have called exec

    def read(self):
        with open(self.said, encoding="utf-8") as said:
            return said.read()

    def open(self):
        with open(self.gate + ".1", "w", encoding="ascii"):
            pass

    def end(self):
        """Its exit status and what it printed."""
        self.open()
        return self.process.wait(timeout=300), self.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@unittest.skipUnless(harness.has_shm(), "no /dev/shm")
class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.boxes = tempfile.mkdtemp(prefix="gputrace-test-control.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.boxes)

    def start(self, name="one", **how):
        running = Running(self.folder, name, how.pop("control", self.boxes), **how)
        self.addCleanup(running.stop)
        harness.gate.wait_for(lambda: "first" in running.read() or running.process.poll() is not None)
        self.assertIn("first", running.read())
        return running

    def tell(self, *words):
        return harness.tool(*words, GPUTRACE_CONTROL=self.boxes)

    def ps(self):
        status, output = self.tell("ps", "--format=json")
        self.assertEqual(status, 0, output)
        return json.loads(output)["processes"]

    def box(self):
        found, = glob.glob(os.path.join(self.boxes, "*"))
        return found

    def write(self, offset, data):
        with open(self.box(), "r+b", buffering=0) as box:
            box.seek(offset)
            box.write(data)


def started(path):
    """The ms in a file's name."""
    return int(path.split(".pt.trace")[0].rsplit(".", 1)[1])


class Windows(Test):
    """Of a program that is started, stopped and changed: its files against what the device did."""

    def launch(self, name="one", *options, **how):
        truth = os.path.join(self.folder, name + ".truth")
        os.mkdir(truth)
        return self.start(name, program=(CONTROLLED,), truth=truth, options=options, **how)

    def good(self, *words):
        status, output = self.tell(*words)
        self.assertEqual(status, 0, output)
        return output

    def check(self, name, path):
        """A file has one piece of what the device did, without a hole, and its ledger balances."""
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", "--strict", path)
        self.assertEqual(status, 0, output)
        trace = harness.trace_file.Trace(path)
        ledger = trace.ledger
        self.assertEqual(ledger["launches_without_record"] + ledger["gpu_ops_without_call"], 0)
        told = {event["args"]["correlation"] for event in trace.gpu}
        self.assertEqual(len(told), len(trace.gpu))
        for did in self.did(name):
            mine = [at for at, correlation in enumerate(did) if correlation in told]
            self.assertTrue(not mine or mine == list(range(mine[0], mine[-1] + 1)))
        return trace

    @functools.cache
    def did(self, name):
        """What the device did for a program that has ended, by stream."""
        by_stream = {}
        for op in harness.Truth(os.path.join(self.folder, name + ".truth")).operations:
            by_stream.setdefault(op["stream"], []).append(op["correlation"])
        return [sorted(did) for did in by_stream.values()]

    def end(self, run):
        self.assertEqual(run.end(), (3, "first\n0 wrong values\n"))

    def recorded(self, run):
        return harness.gate.wait_for(lambda: '"cat": "kernel"' in "".join(harness.gate.texts(run.out)))
