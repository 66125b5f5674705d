#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--kernels, --calls, --nvtx-ranges, --streams, --devices, --min-duration: what they leave out is counted by
kind and nowhere else, what they keep is whole, and the program does not notice."""

import collections
import glob
import os
import signal
import subprocess
import tempfile
import unittest

import harness
from test_ranges import API, LATER, PROGRAM, REPEAT, Base

KINDS = ("kernel", "memcpy", "memset")
FLOWS = ("s", "f")


class Filters(Base):
    def filtered(self, steps, *options, asked="", **how):
        """The trace, all books balanced: what the device did is written or counted as filtered."""
        trace = self.go(asked, steps, *options, **how)
        did = collections.Counter(op["kind"] for op in self.truth.operations)
        for kind in KINDS if not asked else ():
            ledger = trace.ledger
            self.assertEqual(ledger[kind + "s_written"] + ledger[kind + "s_filtered"], did[kind], kind)
        self.assertEqual(self.said, [])
        return trace

    def kinds(self, trace):
        return collections.Counter(harness.trace_file.GPU[event["cat"]] for event in trace.gpu)

    def test_kernels(self):
        for value, kernels in (("tick", 7), ("t?c*,other", 7), ("!other", 7), ("!t*", 0), ("other", 0),
                               ("*,!tick", 0)):
            for form in ("chrome", "perfetto"):
                with self.subTest(value=value, form=form):
                    options = ("GPUTRACE_KERNELS=" + value, "GPUTRACE_FORMAT=" + form)
                    if form == "perfetto":
                        self.run_both("", "work=7", *options)
                        found, = glob.glob(self.out + "/*.pftrace")
                        path = found + ".pt.trace.json"
                        self.assertEqual(harness.tool("convert", found, path)[0], 0)
                        trace = self.read(path)
                    else:
                        trace = self.filtered("work=7", *options)
                    self.assertEqual(self.kinds(trace), collections.Counter(
                        {"memcpy": 7, "memset": 7, "kernel": kernels}) - collections.Counter(kernel=0))
                    self.assertEqual(trace.ledger["kernels_filtered"], 7 - kernels)
                    self.assertEqual(trace.root["metadata"]["filters"], "kernels=" + value)
                    # the calls are all there, each with its stack, and an arrow where there is its work
                    launches = [event for event in trace.calls if event["name"] == "cuLaunchKernel"]
                    self.assertEqual(len(launches), 7)
                    self.assertTrue(all("stack" in event["args"] for event in launches))
                    flows = collections.Counter(event["ph"] for event in trace.events if event["ph"] in FLOWS)
                    self.assertEqual(flows, collections.Counter(s=14 + kernels, f=14 + kernels))

    def test_calls(self):
        others = {"cudaMalloc", "cudaStreamCreate", "cudaStreamSynchronize", "cuModuleLoadData"}
        for value, names in (("cuLaunchKernel", {"cuLaunchKernel"}), ("!*", set()), ("cudaMalloc", {"cudaMalloc"}),
                             ("cudaMem*Async,cuL*", {"cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync"}),
                             ("!cudaM*,!cuM*,!cudaStreamC*,!cudaD*", {"cuLaunchKernel", "cudaStreamSynchronize"})):
            for more in ((), ("GPUTRACE_SYNC=yes",)):
                with self.subTest(value=value, more=more):
                    trace = self.filtered("work=7", "GPUTRACE_CALLS=" + value, *more)
                    self.assertEqual({event["name"] for event in trace.calls}, names)
                    # the GPU work is all there, with the stacks of its calls
                    self.assertEqual(self.kinds(trace), {kind: 7 for kind in KINDS})
                    self.assertTrue(all("stack" in event["args"] for event in trace.gpu))
                    written = [event for event in trace.calls if event["name"] not in others]
                    flows = [event["ph"] for event in trace.events if event["ph"] in FLOWS]
                    self.assertEqual(sorted(flows), ["f"] * len(written) + ["s"] * len(written))
                    ledger = trace.ledger
                    self.assertEqual(ledger["gpu_ops_without_call"] + ledger["launches_without_record"], 0)
                    # without --sync no record looks for a wait: it need not be recorded
                    self.assertGreaterEqual(len(written) + ledger["calls_filtered_later"], 21)
                    if not more:
                        self.assertEqual(len(written) + ledger["calls_filtered_later"], 21)
                        self.assertGreater(ledger["calls_filtered"], 0)

    def test_ranges(self):
        steps = "push=a push=load work=2 pop work=1 pop begin=b work=1 end push=load@lib work=3 pop=lib"
        for value, names in (("a", ["a"]), ("!load", ["a", "b"]), ("load@lib", ["load"]), ("?", ["a", "b"]),
                             ("*@lib", ["load"]), ("!*", [])):
            with self.subTest(value=value):
                trace = self.filtered(steps, "GPUTRACE_NVTX_RANGES=" + value)
                ranges = [event for event in trace.slices if event["cat"] == "user_annotation"]
                self.assertEqual(sorted(event["name"] for event in ranges), names)
                shadows = {event["name"] for event in trace.slices if event["cat"] == "gpu_user_annotation"}
                self.assertEqual(shadows, set(names))
                self.assertEqual(trace.ledger["ranges_filtered"], 4 - len(names))
                self.assertEqual(trace.ledger["ranges_wrong"], 0)
                self.assertEqual(self.kinds(trace), {kind: 7 for kind in KINDS})
        # work in a range that is left out is of the range around it
        trace = self.filtered(steps, "GPUTRACE_NVTX_RANGES=a,b")
        inside = collections.Counter(event["args"].get("nvtx") for event in trace.gpu)
        self.assertEqual(inside, {"a": 9, "b": 3, None: 9})

    def test_devices_and_streams(self):
        stream = self.filtered("work=2").gpu[0]["args"]["stream"]
        for option, kept, left_out in (("STREAMS", (str(stream), "!99", "*"), ("99", f"!{stream}")),
                                       ("DEVICES", ("0", "*[!1]*,0", "!9*"), ("!0", "9"))):
            for value in kept:
                self.assertEqual(len(self.filtered("work=2", f"GPUTRACE_{option}={value}").gpu), 6, value)
            for value in left_out:
                trace = self.filtered("work=2", f"GPUTRACE_{option}={value}")
                self.assertEqual((len(trace.gpu), trace.ledger["kernels_filtered"]), (0, 2), value)

    def test_name_of_a_device(self):
        trace = self.filtered("work=2")
        name = trace.root["deviceProperties"][0]["name"]
        self.assertEqual(len(self.filtered("work=2", "GPUTRACE_DEVICES=" + name).gpu), 6)
        self.assertEqual(len(self.filtered("work=2", "GPUTRACE_DEVICES=!" + name).gpu), 0)

    def test_everything(self):
        """A valid trace that says so; so do those who read it."""
        trace = self.filtered("work=7", "GPUTRACE_MIN_DURATION=1h", "GPUTRACE_NVTX_RANGES=!*")
        self.assertEqual((trace.gpu, trace.calls), ([], []))
        self.assertEqual(trace.root["metadata"]["filters"], "nvtx-ranges=!* min-duration=3600000000000ns")
        for command in (("stats",), ("gaps",), ("diff", trace.path), ("report", "--output=" + self.out + "/r.html")):
            status, output = harness.tool(*command, trace.path)
            self.assertEqual(status, 0, output)
            if command[0] == "report":
                with open(self.out + "/r.html", encoding="utf-8") as file:
                    output = file.read()
            self.assertIn("filtered while recording (nvtx-ranges=!* min-duration=3600000000000ns)", output)
            self.assertRegex(output, "7 kernels, 7 copies, 7 sets")

    def test_min_duration(self):
        """The short ones, and no others."""
        trace = self.filtered("work=20")
        lengths = sorted(trace.duration(event) for event in trace.gpu)
        middle = lengths[len(lengths) // 2]
        trace = self.filtered("work=20", f"GPUTRACE_MIN_DURATION={middle}ns")
        self.assertTrue(all(trace.duration(event) >= middle for event in trace.gpu + trace.calls))
        self.assertGreater(trace.ledger["kernels_filtered"] + trace.ledger["memsets_filtered"], 0)

    def test_graphs(self):
        """Nodes keep the stacks of where they were made, also when those calls are left out."""
        trace = self.filtered("work=1 graph replay=3", "GPUTRACE_CALLS=cudaStreamSynchronize")
        self.assertEqual(self.kinds(trace), {kind: 4 for kind in KINDS})
        nodes = [event for event in trace.gpu if "graph node id" in event["args"]]
        self.assertEqual(len(nodes), 9)
        self.assertTrue(all("created stack" in event["args"] for event in nodes), nodes[0])
        trace = self.filtered("work=1 graph replay=3", "GPUTRACE_KERNELS=!*")
        self.assertEqual(self.kinds(trace), {"memcpy": 4, "memset": 4})

    def test_every_mode(self):
        for cupti, options in (("18", ()), ("130000", ("GPUTRACE_API=all",)), ("130000", ("GPUTRACE_STACK_LANE=yes",)),
                               ("130000", ("GPUTRACE_STACK_THRESHOLD=1ns",))):
            with self.subTest(cupti=cupti, options=options):
                trace = self.filtered("work=7", "GPUTRACE_KERNELS=!*", "GPUTRACE_CALLS=cu?*Mem*", *options, cupti=cupti)
                self.assertEqual(self.kinds(trace), {"memcpy": 7, "memset": 7})
        trace = self.go("", "work=7", "GPUTRACE_MODE=hooks", "GPUTRACE_CALLS=cudaMemsetAsync", strict=False)
        self.assertEqual({event["name"] for event in trace.calls}, {"cudaMemsetAsync"})

    def test_windows(self):
        """What is outside the window is that, what is filtered in it is this."""
        trace = self.filtered(f"work=5 Start work=6 Stop work=2 {LATER}", "GPUTRACE_KERNELS=!*",
                              "GPUTRACE_CALLS=!cudaStream*", asked=API)
        self.assertEqual(self.kinds(trace), {"memcpy": 6, "memset": 6})
        self.assertEqual(trace.ledger["kernels_filtered"], 6)
        self.assertNotIn("cudaStreamSynchronize", {event["name"] for event in trace.calls})
        trace = self.filtered(f"work=5 push=step work=6 pop work=2 {LATER}", "GPUTRACE_NVTX_RANGES=!step",
                              asked="nvtx:step")
        self.assertEqual(self.kinds(trace), {kind: 6 for kind in KINDS})
        self.assertEqual(trace.ledger["ranges_filtered"], 1)
        paths = self.run_both(API, "Start work=3 Stop work=5 Start work=4 Stop", REPEAT, "GPUTRACE_KERNELS=!*",
                              "GPUTRACE_CALLS=cudaMemsetAsync")
        traces = sorted((self.read(path) for path in paths), key=lambda trace: trace.root["metadata"]["window"][-1])
        self.assertEqual([trace.ledger["kernels_filtered"] for trace in traces], [3, 4])
        self.assertEqual([len(trace.calls) for trace in traces], [3, 4])
        trace = self.go("", "work=300", "GPUTRACE_KERNELS=!*", "GPUTRACE_DELAY=1ms")
        self.assertNotIn("kernel", self.kinds(trace))

    def test_several_files(self):
        """Removed files are counted once."""
        for keep in ("0", "2"):
            self.go("", "work=4000", "GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=" + keep, "GPUTRACE_KERNELS=!*",
                    "GPUTRACE_CALLS=cudaMemsetAsync", files=True)
            paths = harness.traces(self.out)
            self.assertGreater(len(paths), 1)
            ledgers = [harness.trace_file.Trace(path).ledger for path in paths]
            for path in paths:
                self.assertEqual(harness.tool("verify", path)[0], 0, harness.tool("verify", path)[1])
            self.assertEqual(sum(ledger["kernels_filtered"] for ledger in ledgers), 4000)
            self.assertEqual(sum(ledger["calls_filtered_later"] for ledger in ledgers), 8000)

    def test_kill(self):
        """What was filtered before, and what recovery filters, are one count."""
        for steps in ("work=900 kill", "work=5 launch=400 kill", "launch=2 kill"):
            with self.subTest(steps=steps), tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "out")
                options = ("GPUTRACE_KERNELS=!t k", "GPUTRACE_SPOOL=on", "GPUTRACE_CALLS=cudaMem*",
                           "GPUTRACE_FLUSH_PERIOD=20")
                done = harness.run([PROGRAM] + steps.split(), truth=folder, folder=out,
                                   options=[option.replace("t k", "tick") for option in options])
                self.assertEqual(done.status, -signal.SIGKILL)
                self.assertEqual(harness.tool("repair", out)[0], 0)
                path, = harness.traces(out)
                self.assertEqual(harness.tool("verify", path)[0], 0, harness.tool("verify", path)[1])
                trace = harness.trace_file.Trace(path)
                # a kill may take the name with it before it was read: then nothing is known to match
                self.assertLessEqual({event["name"] for event in trace.gpu if event["cat"] == "kernel"},
                                     {"(name not recovered)"})
                self.assertLessEqual({event["name"] for event in trace.calls}, {"cudaMemsetAsync", "cudaMemcpyAsync"})
                if steps.startswith("work=900"):
                    kinds = self.kinds(trace)
                    self.assertEqual(trace.ledger["kernels_filtered"] + kinds.pop("kernel", 0), 900)
                    self.assertEqual(kinds, {"memcpy": 900, "memset": 900})

    def test_wrong_values(self):
        """The library says so and records all; the command runs nothing."""
        trace = self.go("", "work=2", "GPUTRACE_KERNELS=a,,b")
        self.assertEqual(len(trace.gpu), 6)
        self.assertIn("'a,,b' is no value for GPUTRACE_KERNELS", self.said[0])

    @unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not put a sanitizer first")
    def test_command(self):
        gputrace = os.path.join(harness.SOURCE, "scripts", "gputrace")
        for option, said in (
                ("--kernels=,a", "--kernels=,a: it takes patterns between commas, as *gemm* or !*fill*"),
                ("--nvtx-ranges=!", "--nvtx-ranges=!: it takes patterns"),
                ("--streams=a\nb", "it takes patterns between commas"),
                ("--devices=" + "x" * 300, "--devices: the list is longer than 255 bytes"),
                ("--calls=cudaMemCopy,cuLaunchKernel", "no CUDA call is called 'cudaMemCopy'"),
                ("--min-duration=-1", "--min-duration")):
            with self.subTest(option=option):
                done = subprocess.run([gputrace, "run", option, "echo", "ran"], capture_output=True, text=True,
                                      timeout=60, check=False, env=harness.environment())
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
