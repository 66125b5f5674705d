# SPDX-License-Identifier: Apache-2.0
"""gputrace hang of several processes: which one is missing in the collective that the others wait in.

    test_missing.py BUILD SOURCE PROGRAM
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import preloading

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
LIBRARIES = [os.path.join(BUILD, "preload", name) for name in ("libgputrace.so", "libgputrace-libraries.so")]
RANKS = 4
ABSENT = 2
PATIENCE = 60  # s


@unittest.skipUnless(os.access("/dev/shm", os.W_OK), "no /dev/shm")
class Missing(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-missing-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.boxes = tempfile.mkdtemp(prefix="gt-missing.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.boxes, ignore_errors=True)

    def start(self, silent=None, cupti="130000", libraries="nccl"):
        """One process each, of which ABSENT does not come to the tenth collective of its half. @silent has no mailbox."""
        settings = dict(preloading.PATIENT, GPUTRACE_OUTPUT=self.folder + "/out", GPUTRACE_LIBRARIES=libraries, GPUTRACE_CONTROL=self.boxes,
                        GPUTRACE_EXIT_TIMEOUT="5000", GPUTRACE_FLUSH_PERIOD="100")
        preload = preloading.with_tracer(":".join(LIBRARIES if libraries else LIBRARIES[:1]))
        running = []
        for rank in range(RANKS):
            words = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--cupti=" + cupti, "env", f"LD_PRELOAD={preload}",
                     f"RANK={rank}", f"WORLD_SIZE={RANKS}", *(f"{k}={v}" for k, v in settings.items()),
                     *(["GPUTRACE_CONTROL=off"] if rank == silent else []),
                     PROGRAM, "missing", self.folder + "/id", str(rank), str(RANKS), str(ABSENT)]
            running.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL))
            self.addCleanup(running[-1].stderr.close)
            self.addCleanup(running[-1].kill)
        return running

    def hang(self, *words):
        done = subprocess.run([CLI, "hang", *words], capture_output=True, text=True, timeout=100, check=False,
                              env=dict(os.environ, GPUTRACE_CONTROL=self.boxes))
        return done.returncode, done.stdout, done.stderr

    def found(self, *words, ready=lambda objects: True):
        """The objects that say who is missing, once there are any."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            _, out, err = self.hang("--json", *words)
            objects = [json.loads(line) for line in out.splitlines()]
            collectives = [one for one in objects if "collective" in one]
            if collectives and ready(collectives):
                return collectives, objects
            time.sleep(0.1)
        self.fail(out + err)

    def go_on(self, running):
        with open(self.folder + "/id.go", "w", encoding="ascii"):
            pass
        for process in running:
            self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())

    def check(self, one, seen=True, members=RANKS // 2):
        self.assertEqual((one["collective"], one["members"], one["elsewhere"], one["is_in_flight"]), (10, members, 0, seen), one)
        self.assertEqual(one["call"], "ncclAllReduce")
        self.assertEqual([row["rank"] for row in one["waiting"]], [0], one)
        self.assertEqual([row["rank"] for row in one["missing"]], [ABSENT], one)
        last = one["missing"][0]["last"]
        self.assertEqual((last["collective"], last["call"]), (9, "ncclAllGather"))

    def test_one_is_missing(self):
        running = self.start()
        (one,), objects = self.found("all")
        self.check(one)
        pids = {one["rank"]: one["pid"] for one in objects if "rank" in one}
        self.assertEqual(one["missing"][0]["pid"], pids[ABSENT])
        self.assertEqual(one["other_call"], [])
        self.assertGreaterEqual(one["seconds"], 1)
        reports = {report["rank"]: report for report in objects if "rank" in report}
        ours = [c for c in reports[0]["communicators"] if c["communicator"] == one["communicator"]]
        self.assertEqual([c["in_flight"]["collective"] for c in ours], [10])
        code, out, err = self.hang("all")
        self.assertEqual((code, err), (0, ""))
        report, end = out.rsplit("\n\n", 1)
        self.assertNotIn("\f", out)
        self.assertIn(f"communicator {one['communicator']} of {RANKS // 2} ranks\n    called last: collective 10, ncclAllReduce, ", report)
        first, second = end.splitlines()
        self.assertRegex(first, rf"^collective 10 of communicator {one['communicator']}, ncclAllReduce, 2 members: 1 waits in it for up to ")
        self.assertRegex(second, rf"^  rank {ABSENT} \(process {pids[ABSENT]}\) has not called it: its last one there is 9, ncclAllGather, ")
        self.go_on(running)

    def test_by_nccl_s_own_ranges(self):
        """Without --libraries. How many a split has nobody tells."""
        running = self.start(libraries="")
        (one,), _ = self.found("all")
        self.check(one, members=0)
        out = self.hang("all")[1]
        self.assertIn(", ncclAllReduce, 2 members here: 1 waits in it for up to ", out)
        self.assertIn(f"\ncommunicator {one['communicator']}\n    called last: collective 10, ncclAllReduce, ", out)
        self.go_on(running)

    def test_it_is_not_here(self):
        """Who is missing is not traced: that there is somebody else is known all the same."""
        running = self.start(silent=ABSENT)
        (one,), objects = self.found("all", ready=lambda collectives: collectives[0]["seconds"] >= 2)
        self.assertEqual((one["collective"], one["missing"], one["elsewhere"]), (10, [], 1), one)
        self.assertIn("  1 of its members is not among these processes: who is missing is not known\n", self.hang("all")[1])
        pid = next(report["pid"] for report in objects if report.get("rank") == 0)
        self.assertNotIn("not among", self.hang(str(pid))[1])  # one alone is no comparison
        self.go_on(running)

    def test_hooks_only(self):
        """What is in flight is not known, but what was called is."""
        running = self.start(cupti="none")
        (one,), _ = self.found("all")
        self.check(one, seen=False)
        self.assertIn("2 members: 1 called it up to ", self.hang("all")[1])
        self.go_on(running)


if __name__ == "__main__":
    unittest.main()
