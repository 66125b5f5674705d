#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--level and --compress: what is in the file then, and that a packed file never costs the plain one."""
import gzip
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

from harness import CLI, LIBRARY
from test_traced import LAUNCHES, PIPELINE, TracedTest, simulated

TEXT = b'{"traceEvents": [' + b'{"name": "something of a trace"},' * 100000 + b"{}]}\n"


def slices(path):
    with open(path, encoding="utf-8") as text:
        return [event for event in json.load(text)["traceEvents"] if event["ph"] == "X"]


class TestLevel(TracedTest):
    def trace(self, *words, **variables):
        done = self.run_it("--quiet", f"--output=out{len(self.traces())}", *words, PIPELINE,
                           env=simulated(**variables))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        path = max(self.traces(), key=os.path.getmtime)
        self.check_complete(path)
        return path, slices(path)

    def test_minimal_has_the_work_and_ids_and_nothing_else(self):
        plain, _ = self.trace()
        _, whole = self.trace("--graphs=whole")
        path, events = self.trace("--level=minimal")
        kinds = [event["cat"] for event in whole if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_graph")]
        self.assertEqual(kinds.count("gpu_graph"), 5)
        self.assertEqual(sorted(e["cat"] for e in events if e["pid"] == 0 and e["cat"] != "overhead"),
                         sorted(kinds))
        for event in events:
            self.assertFalse({"grid", "stack", "launched by", "cbid"} & event["args"].keys(), event)
        self.assertLess(path.stat().st_size, plain.stat().st_size * 2 / 3)
        calls = {e["args"].get("correlation") for e in events if e["cat"].startswith("cuda_")}
        self.assertTrue(all(e["args"]["correlation"] in calls for e in events if e["cat"] in ("kernel", "gpu_graph")))

    def test_an_option_counts_more_than_the_level(self):
        _, events = self.trace("--stacks=short", "--level=minimal")
        kernels = [event for event in events if event["cat"] == "kernel"]
        self.assertTrue(all("launched by" in event["args"] for event in kernels))
        self.assertFalse(any("grid" in event["args"] for event in kernels))

    def test_a_variable_counts_more_than_the_level(self):
        _, events = self.trace("--level=minimal", GPUTRACE_DETAILS="all")
        self.assertTrue(all("grid" in e["args"] for e in events if e["cat"] == "kernel"))

    def test_full_repeats_the_frames(self):
        _, events = self.trace("--level=full")
        self.assertTrue(all("frames" in e["args"] for e in events if e["cat"] == "kernel"))

    def test_no_such_level(self):
        done = self.run_it("--level=huge", PIPELINE, env=simulated(), text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "gputrace: 'huge' is no value for --level: it takes one of "
                             "minimal|default|full\n"))


class TestCompress(TracedTest):
    def files(self):
        return sorted(str(path.relative_to(self.scratch)) for path in self.scratch.rglob("*")
                      if path.is_file() and not path.name.endswith(".owner"))

    def test_run_leaves_one_packed_file(self):
        done = self.run_it("--output=out", "--compress=gzip", PIPELINE, env=simulated(), text=True)
        self.assertEqual(done.returncode, 0)
        [name] = self.files()
        self.assertTrue(name.endswith(".pt.trace.json.gz"), name)
        self.assertIn(name, done.stderr)
        self.assertIn("Copies", done.stderr)
        verify = subprocess.run([str(CLI), "verify", self.scratch / name], capture_output=True,
                                text=True, check=False)
        self.assertEqual(verify.returncode, 0, verify.stdout)

    def test_the_other_form(self):
        self.run_it("--output=out", "--compress=gzip", "--format=perfetto", PIPELINE, env=simulated())
        [name] = self.files()
        self.assertTrue(name.endswith(".pftrace.gz"), name)
        done = subprocess.run([str(CLI), "convert", name, "back.json"], cwd=self.scratch,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.kernels(self.scratch / "back.json")), 26)

    def test_a_killed_program_is_repaired_and_packed(self):
        done = self.run_it("--output=out", "--compress=gzip", "sh", "-c",
                           f"{LAUNCHES} --count=1000000000 & while ! zgrep -qs '\"kernel\"' out/*.gz; do "
                           "sleep 0.1; done; kill -9 $!; wait", env=simulated(), text=True)
        [name] = self.files()
        with gzip.open(self.scratch / name) as file:
            self.assertIn("repaired", json.load(file))
        self.assertIn("repaired", done.stderr)

    def test_the_library_alone(self):
        """A build without ISA-L says that it does not."""
        done = subprocess.run([str(PIPELINE)], check=True, cwd=self.scratch, capture_output=True, text=True,
                              env=simulated(LD_PRELOAD=LIBRARY, GPUTRACE_COMPRESS="gzip",
                                            GPUTRACE_OUTPUT="out"))
        said = done.stderr.count("gputrace compress FILE")
        self.assertEqual([name[-8:] for name in self.files()], ["ace.json" if said else ".json.gz"], done.stderr)
        self.assertLessEqual(said, 1, done.stderr)


class TestCommand(TracedTest):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.scratch, "trace.json")
        self.path.write_bytes(TEXT)
        self.packed = pathlib.Path(self.scratch, "trace.json.gz")

    def compress(self, path=None):
        done = subprocess.run([str(CLI), "compress", str(path or self.path)], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stderr

    def refused(self, words, content):
        status, told = self.compress()
        self.assertEqual((status, told.count("\n")), (1, 1))
        self.assertIn(words, told)
        self.assertEqual(self.path.read_bytes(), content)
        self.assertEqual([p for p in self.scratch.iterdir() if p.name.endswith(".part")], [])

    def test_packs_and_says_so(self):
        self.assertEqual(self.compress(), (0, ""))
        self.assertFalse(self.path.exists())
        self.assertEqual(gzip.decompress(self.packed.read_bytes()), TEXT)
        self.assertEqual(self.compress(self.packed), (0, ""))
        self.assertEqual(gzip.decompress(self.packed.read_bytes()), TEXT)

    def test_a_running_file_is_refused(self):
        self.path.write_bytes(b"[{}\n")
        self.refused("not closed", b"[{}\n")

    def test_what_is_no_trace_is_refused(self):
        for content, words in ((b"", "empty"), (b"\n", "no trace"), (b"a text\n", "no trace")):
            self.path.write_bytes(content)
            self.refused(words, content)

    def test_what_is_not_whole_is_refused(self):
        for content, words in ((TEXT[:60000], "gputrace repair closes it"), (TEXT[:10], "ends before its events begin"),
                               (b'{"a":1}\n', "no traceEvents"), (TEXT.replace(b"{}]", b"{]]"), "offset"),
                               (b"\n\x05\x01\x02", "not a .pftrace")):
            self.path.write_bytes(content)
            self.refused(words, content)
        self.path.write_bytes(TEXT[:60000])
        subprocess.run([str(CLI), "repair", "--quiet", str(self.path)], check=True)
        self.assertEqual(self.compress(), (0, ""))

    def test_a_missing_file(self):
        self.assertEqual(self.compress("nothing.json"),
                         (1, "gputrace: nothing.json: No such file or directory\n"))

    def test_a_name_that_is_taken(self):
        self.packed.write_bytes(b"mine")
        self.refused("trace.json: its .gz exists already, and is not overwritten; it stays as it is", TEXT)
        self.assertEqual(self.packed.read_bytes(), b"mine")

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "no /dev/full")
    def test_a_full_disk(self):
        limit = f"ulimit -f 1; trap '' XFSZ; exec '{CLI}' compress trace.json"
        self.path.write_bytes(b"{" + os.urandom(1 << 20))
        content = self.path.read_bytes()
        done = subprocess.run(["sh", "-c", limit], cwd=self.scratch, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertEqual(self.path.read_bytes(), content)
        self.assertEqual([p.name for p in self.scratch.iterdir()], ["trace.json"])

    def make_long(self, size):
        """A file whose packing takes time; most of it is a hole."""
        with open(self.path, "wb") as file:
            file.write(b"{")
            file.truncate(size)

    def stopped_by(self, number):
        """Signal @number while a file is packed that takes a minute."""
        size = 64 << 30
        self.make_long(size)
        part = pathlib.Path(self.scratch, ".trace.json.gz.part")
        process = subprocess.Popen([str(CLI), "compress", str(self.path)], stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        while not part.exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        process.wait(timeout=200)
        self.assertNotEqual(process.returncode, 0, "it was too fast to be stopped")
        self.assertEqual(self.path.stat().st_size, size)
        self.assertFalse(self.packed.exists())
        return part

    def test_interrupted(self):
        self.assertFalse(self.stopped_by(signal.SIGINT).exists())

    def test_killed_and_done_again(self):
        self.assertTrue(self.stopped_by(signal.SIGKILL).exists())
        self.path.write_bytes(TEXT)
        self.assertEqual(self.compress(), (0, ""))
        self.assertEqual([p.name for p in self.scratch.iterdir()], ["trace.json.gz"])

    def test_progress_on_a_terminal(self):
        self.make_long(1 << 30)  # enough to be stopped in
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        part = pathlib.Path(self.scratch, ".trace.json.gz.part")
        process = subprocess.Popen([str(CLI), "compress", str(self.path)], stderr=theirs,
                                   stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
        while not part.exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)  # for longer than work goes on without a word
        time.sleep(1.2)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(timeout=200), 1)  # packed, and then seen to be no trace
        told = b""
        while select.select([ours], [], [], 5)[0] and b"as it is\r\n" not in told:
            told += os.read(ours, 65536)
        os.close(theirs)  # not before: what is unread may go with the last one who can write
        self.assertRegex(told, rb"gputrace: packing \d+ %, \d+\.\d of \d+\.\d MB")
        self.assertRegex(told, rb"\r\x1b\[Kgputrace: [^\r\x1b]*; it stays as it is\r\n")


if __name__ == "__main__":
    if not (LIBRARY.exists() and PIPELINE.exists()):
        print(f"{LIBRARY} or {PIPELINE} is not built")
        sys.exit(77)
    unittest.main()
