# SPDX-License-Identifier: Apache-2.0
"""Eight ranks under Open MPI, two of them on another host, whose clock is ahead and gains. One is slowed on purpose.

    test_slow_rank.py BUILD SOURCE PROGRAM CLOCK
"""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import preloading
import test_hosts as hosts

sys.path[:0] = [os.path.join(hosts.SOURCE, "tests", name) for name in ("lint", "numbers")]
import trace_lint  # noqa: E402

sys.argv.insert(1, hosts.CLI)
import test_merge_zip as zips  # noqa: E402

del sys.argv[1]

RANKS = 8
STEPS = 40
KERNEL = 200_000  # ns
SLOWED = {  # how: the rank, its variables, the cause that is to be named
    "gpu": (3, {"SIMCUDA_KERNEL_NS": 20 * KERNEL}, "slower GPU"),
    "host": (6, {"LATE_NS": 25_000_000}, "host"),
    "network": (1, {"SIMNCCL_GBS": 1}, "network"),
}

# Of one rank: $0 the program, $1 the folder.
RANK = """
rank=$OMPI_COMM_WORLD_RANK
[ $rank != {slow} ] || export {variables}
[ $rank -lt 6 ] || exec timeout -s KILL {patience} {spaces} sh -c "$(cat "$1/other")" "$0" "$1"
exec env LD_PRELOAD="${{TRACER:-$LD_PRELOAD}}" "$0" grid "$1/id" {steps} $LATE_NS
"""
OTHER_HOST = """
hostname other && mount --bind "$1/boot" /proc/sys/kernel/random/boot_id || exit 9
exec env LD_PRELOAD="${{TRACER:-$LD_PRELOAD}}:{clock}" "$0" grid "$1/id" {steps} $LATE_NS
"""


@unittest.skipUnless(shutil.which("mpirun"), "no Open MPI is installed")
@unittest.skipUnless(shutil.which("unshare") and hosts.can_make_them(), "no namespaces can be made")
class SlowRank:
    """What holds of each of the three; HOW is its name."""

    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-slow-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.slow, variables, cls.cause = SLOWED[cls.HOW]
        texts = {"boot": "00000001-1111-2222-3333-444444444444\n",
                 "other": OTHER_HOST.format(clock=hosts.CLOCK, steps=STEPS),
                 "rank": RANK.format(slow=cls.slow, variables=" ".join(f"{k}={v}" for k, v in variables.items()), steps=STEPS,
                                     patience=hosts.PATIENCE, spaces=" ".join(hosts.SPACES))}
        for name, text in texts.items():
            with open(f"{cls.folder}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        cls.out = cls.folder + "/out"
        words, more = hosts.tracer(cls.out)
        done = subprocess.run(
            [os.path.join(hosts.SOURCE, "scripts", "simcuda"), "--build=" + hosts.BUILD, f"--kernel-ns={KERNEL}", *words,
             "mpirun", "--oversubscribe", "--timeout", str(hosts.PATIENCE), "-n", str(RANKS),
             "sh", "-c", texts["rank"], hosts.PROGRAM, cls.folder],
            capture_output=True, text=True, timeout=hosts.PATIENCE + 20, check=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, GPUTRACE_BUILD=hosts.BUILD, LATE_NS="0", OMPI_ALLOW_RUN_AS_ROOT="1",
                     OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", SIMCLOCK_FROM=str(time.time_ns()),
                     SIMCLOCK_AHEAD_NS=str(hosts.AHEAD), SIMCLOCK_PPM=str(hosts.PPM), **more))
        assert done.returncode == 0, done.stderr
        cls.paths = sorted(glob.glob(cls.out + "/**/*.pt.trace.json*", recursive=True))
        assert len(cls.paths) == RANKS, done.stderr
        cls.traces = [hosts.Hosts.load(path) for path in cls.paths]
        cls.tables = json.loads(cls.tool("ranks", "--format=json", cls.out)[0])

    @classmethod
    def tool(cls, *words):
        done = subprocess.run([hosts.CLI, *words], capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    def test_the_clocks(self):
        """All all-reduces of all ranks end within twice the stated error, and more than the rounding of the file."""
        path = self.folder + "/all.pt.trace.json"
        self.tool("merge", "--output=" + path, self.out)
        self.assertEqual(trace_lint.Lint(path, merged=True).run()[:5], [])
        merged = hosts.Hosts.load(path)
        clocks = merged["clocks"]
        self.assertEqual([clock["by"] for clock in clocks], ["monotonic"] * 6 + ["collectives"] * 2, clocks)
        for clock in clocks[6:]:
            self.assertLess(abs(clock["drift_ppm"] - hosts.PPM), 1)
            self.assertLess(clock["error_ns"], 100_000)
        error = max(clock["error_ns"] for clock in clocks[6:]) / 1000 + 1  # us
        ends = collections.defaultdict(list)
        for event in merged["traceEvents"]:
            if event.get("cat") == "kernel" and event["args"].get("Group size") == RANKS:
                ends[event["args"]["Seq"]].append(event["ts"] + event["dur"])
        self.assertEqual([len(times) for times in ends.values()], [RANKS] * STEPS)
        self.assertLess(max(max(times) - min(times) for times in ends.values()), 2 * error, clocks)

    def test_a_zip(self):
        path = self.folder + "/all.zip"
        self.tool("merge", "--output=" + path, self.out)
        zips.check_headers(path)
        with zipfile.ZipFile(path) as archive:
            first, *names = archive.namelist()
            body = zips.check_manifest(json.loads(archive.read(first)), names)
            for name, original in zip(names, self.paths):
                with open(original, "rb") as file:
                    self.assertEqual(archive.read(name), file.read())
        self.assertLess(body["attributes"]["gputrace.clock_error_ns"], 100_000)

    def test_communication_sums(self):
        """By collective and size, as an independent computation has them from the files."""
        sums, counts = collections.Counter(), collections.Counter()
        for event in (event for trace in self.traces for event in trace["traceEvents"]):
            if event.get("cat") == "kernel" and event["name"].startswith("nccl"):
                size = event["args"]["In msg nelems"] * {"BFloat16": 2, "Float": 4}[event["args"]["dtype"]]
                sums[size] += round(event["dur"] * 1000)
                counts[size] += 1
        rows = json.loads(self.tool("stats", "--report=gpu_comm_sum", "--format=json", self.out)[0])
        rows = rows["gpu_comm_sum"] if isinstance(rows, dict) else rows
        self.assertEqual({round(row["Size (MB)"] * 1e6): (row["Instances"], row["Total Time (ns)"]) for row in rows},
                         {size: (counts[size], sums[size]) for size in sums})
        self.assertEqual(sorted(counts.values()), [RANKS * STEPS] * 3)

    @unittest.skipIf(preloading.RUNTIMES, "a sanitizer makes every rank late that has no processor")
    def test_it_is_named(self):
        rows = self.tables["rank_late"]
        self.assertEqual(len(rows), RANKS)
        self.assertEqual(rows[0]["Rank"], f"rank {self.slow}", rows)
        self.assertEqual(rows[0]["Cause"], self.cause, rows)
        said = self.tool("ranks", self.out)[0]
        self.assertTrue(said.startswith(f"rank {self.slow} "), said)
        self.assertIn(f"Cause: {self.cause}", said)


for how in SLOWED:
    globals()[how.title()] = type(how.title(), (SlowRank, unittest.TestCase), {"HOW": how})

if __name__ == "__main__":
    unittest.main()
