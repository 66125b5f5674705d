# SPDX-License-Identifier: Apache-2.0
"""Ranks of a job on two hosts, in containers: UTS and pid namespaces, a boot and a clock of its own for each host.

    test_hosts.py BUILD SOURCE PROGRAM CLOCK
"""

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

BUILD, SOURCE, PROGRAM, CLOCK = (os.path.realpath(path) for path in sys.argv[1:5])
del sys.argv[1:5]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
RANKS = 4  # two on each host
STEPS = 60
AHEAD = 5_000_000  # ns, of the second host's clock when the job begins
PPM = 50
SPACES = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--uts", "--mount", "--pid", "--mount-proc",
          "--fork", "--kill-child"]  # what becomes of a rank whose peers failed
PATIENCE = 80  # s

# Of one rank: $0 the program, $1 the folder, $2 the rank, $3 its host.
CONTAINER = """
hostname n$3 && mount --bind "$1/boot$3" /proc/sys/kernel/random/boot_id || exit 9
tracer=${{TRACER:-$LD_PRELOAD}}
[ $3 = 0 ] || tracer=$tracer:{clock}
exec env LD_PRELOAD="$tracer" "$0" train "$1/$OUT.id" $2 {ranks} {steps} 0
"""


def tracer(output):
    """(words in front of the job, variables) that trace it: see test_collectives.py."""
    if not preloading.RUNTIMES:
        return [os.path.join(SOURCE, "scripts", "gputrace"), "run", "--libraries=nccl", "--spool=on", f"--output={output}"], {}
    libraries = [os.path.join(BUILD, "preload", name) for name in ("libgputrace.so", "libgputrace-libraries.so")]
    return [], dict(preloading.PATIENT, GPUTRACE_OUTPUT=output, GPUTRACE_LIBRARIES="nccl", GPUTRACE_SPOOL="on",
                    TRACER=preloading.with_tracer(":".join(libraries)))


def can_make_them():
    return subprocess.run([*SPACES, "hostname", "x"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(shutil.which("unshare") and can_make_them(), "no namespaces can be made")
class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-hosts-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for host in range(2):
            with open(f"{cls.folder}/boot{host}", "w", encoding="ascii") as file:
                file.write(f"0000000{host}-1111-2222-3333-444444444444\n")
        with open(cls.folder + "/container", "w", encoding="ascii") as file:
            file.write(CONTAINER.format(clock=CLOCK, ranks=RANKS, steps=STEPS))
        cls.said = cls.run_job("out", *(f"RANK={r} WORLD_SIZE={RANKS} LOCAL_RANK={r % 2}" for r in range(RANKS)))
        cls.paths = sorted(glob.glob(cls.folder + "/out/**/*.pt.trace.json*", recursive=True))
        cls.traces = [cls.load(path) for path in cls.paths]

    @classmethod
    def run_job(cls, out, *variables):
        spaces = " ".join(SPACES)
        job = " ".join(
            f'{{ env {words} timeout -s KILL {PATIENCE} {spaces} sh -c "$(cat "$1/container")" "$0" "$1" {r} {r // 2} >/dev/null '
            '|| echo $? >"$1/failed"; } &' for r, words in enumerate(variables))
        words, more = tracer(f"{cls.folder}/{out}")
        done = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *words, "sh", "-c", job + " wait", PROGRAM, cls.folder],
            capture_output=True, text=True, timeout=PATIENCE + 20, check=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, OUT=out, GPUTRACE_BUILD=BUILD, SIMCLOCK_FROM=str(time.time_ns()), SIMCLOCK_AHEAD_NS=str(AHEAD),
                     SIMCLOCK_PPM=str(PPM), **more))
        assert done.returncode == 0 and not os.path.exists(cls.folder + "/failed"), done.stderr
        return done.stderr

    @staticmethod
    def load(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def tool(self, *words):
        done = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_a_file_for_each(self):
        """All have one pid, and their spools lay in one folder."""
        self.assertEqual([trace["distributedInfo"] for trace in self.traces],
                         [{"backend": "nccl", "rank": r, "world_size": RANKS, "local_rank": r % 2} for r in range(RANKS)], self.said)
        metadata = [trace["metadata"] for trace in self.traces]
        self.assertEqual({m["pid"] for m in metadata}, {1})
        self.assertEqual([m["hostname"] for m in metadata], ["n0", "n0", "n1", "n1"])
        self.assertEqual([m["boot"][:8] for m in metadata], ["00000000"] * 2 + ["00000001"] * 2)
        if not preloading.RUNTIMES:
            self.assertIn(f"gputrace: {RANKS} traces of all {RANKS} ranks in {self.folder}/out", self.said)
        self.tool("verify", *self.paths)

    def test_the_clocks(self):
        """They are found within the error that is stated, and the error is not much larger than need be."""
        out, said = self.tool("merge", self.folder + "/out")
        self.assertIn("gputrace merge: clocks of 2 processes related to that of the first by collectives, within", said)
        merged = json.loads(out)
        self.assertEqual(merged["distributedInfo"], {"backend": "nccl", "rank": 0, "world_size": RANKS})
        one, two = merged["clocks"][2:]
        for clock in one, two:
            self.assertEqual(clock["by"], "collectives")
            self.assertLess(abs(clock["ahead_ns"] - AHEAD), PPM * 60 * 1000 + clock["error_ns"])
            self.assertLess(clock["error_ns"], 100_000)
        ends = {}
        for event in merged["traceEvents"]:
            if event.get("cat") == "kernel" and event["name"].startswith("ncclDevKernel_AllReduce"):
                ends.setdefault(event["args"]["Seq"], []).append(event["ts"] + event["dur"])
        ends = {sequence: times for sequence, times in ends.items() if len(times) == RANKS}
        self.assertGreater(len(ends), STEPS // 2)
        error = max(one["error_ns"], two["error_ns"]) / 1000 + 1  # us
        lasted = max(map(max, ends.values())) - min(map(min, ends.values()))
        for clock in one, two:  # a drift moves the ends by no more than is stated
            self.assertLess(abs(clock["drift_ppm"] - PPM) * lasted / 1e6, 2 * error)
            self.assertLess(abs(clock["drift_ppm"] - PPM), PPM / 2)
        for times in ends.values():
            self.assertLess(max(times) - min(times), 2 * error, (times, one, two))

    def test_a_zip(self):
        path = self.folder + "/all.zip"
        self.tool("merge", "--output=" + path, self.folder + "/out")
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("perfetto_manifest.json"))["perfetto_manifest"]
        names = [entry["machine"]["name"] for entry in manifest["files"]]
        self.assertEqual(names, [f"rank {r} on n{r // 2} pid 1" for r in range(RANKS)])
        offsets = [entry.get("clocks", {"offset_ns": 0})["offset_ns"] for entry in manifest["files"]]
        bases = [trace["baseTimeNanoseconds"] for trace in self.traces]
        for rank in 2, 3:
            self.assertLess(abs(bases[rank] - bases[0] - offsets[rank] - AHEAD), 1_000_000, offsets)

    def test_one_host_of_two(self):
        merged = json.loads(self.tool("merge", "--host=n1", self.folder + "/out")[0])
        ranks = {e["args"]["rank"] for e in merged["traceEvents"] if e["name"] == "process_labels" and "rank" in e["args"]}
        self.assertEqual(ranks, {2, 3})

    def test_who_is_late(self):
        """With the clocks as they are the second host would seem 5 ms late each time."""
        rows = json.loads(self.tool("ranks", "--format=json", self.folder + "/out")[0])
        late = {row["Rank"]: row for row in rows["rank_late"]}
        self.assertEqual(len(late), RANKS)
        self.assertNotIn("-0.0,", json.dumps(rows["rank_clocks"][:2]))
        self.assertEqual([row["Clock By"] for row in rows["rank_clocks"]][2:], ["collectives"] * 2, rows["rank_clocks"])

    def test_without_ranks(self):
        """Nothing tells the processes apart but what the tracer finds: no file is written over another one."""
        said = self.run_job("plain", *["X=1"] * RANKS)
        paths = glob.glob(self.folder + "/plain/**/*.pt.trace.json*", recursive=True)
        self.assertEqual(len(paths), RANKS, said)
        self.tool("verify", *paths)


if __name__ == "__main__":
    unittest.main()
