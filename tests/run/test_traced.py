#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace run` with a CUDA program on the simulated device: the trace, what is said afterwards, what
becomes of the trace when the program dies or lives on in the background."""
import contextlib
import ctypes
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import BUILD, CLI, LIBRARY, ROOT, RunTest, environment

PROGRAMS = BUILD / "tests" / "gpu"
PIPELINE = PROGRAMS / "pipeline-shared"
LAUNCHES = PROGRAMS / "launches-shared"


def simulated(**changes):
    """An environment in which programs meet the simulated device."""
    path = subprocess.run([str(ROOT / "scripts" / "simcuda"), "--print-path"], capture_output=True,
                          text=True, check=True, env=environment()).stdout.strip()
    # the last records have the time that they need on a busy machine
    return environment(LD_LIBRARY_PATH=path, GPUTRACE_EXIT_TIMEOUT="60000", **changes)


def wait_for(condition, seconds=60):
    for _ in range(seconds * 100):
        if condition():
            return True
        time.sleep(0.01)
    return False


def adopt_orphans(yes=1):
    """From now on processes whose parents have ended are this one's children."""
    set_child_subreaper = 36
    if ctypes.CDLL(None).prctl(set_child_subreaper, yes, 0, 0, 0):
        raise OSError("prctl")


class TracedTest(RunTest):
    def traces(self):
        return sorted(self.scratch.rglob("*.pt.trace.json"))

    def load(self, path):
        with open(path, encoding="utf-8") as text:
            return json.load(text)

    def check_complete(self, path):
        """Closed, and the linter of our own commands finds nothing."""
        self.assertIn("traceEvents", self.load(path))
        done = subprocess.run([str(CLI), "verify", str(path)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def kernels(self, path):
        return [event["name"] for event in self.load(path)["traceEvents"]
                if event.get("cat") == "kernel"]


class TestReport(TracedTest):
    def test_a_program_that_ends_well(self):
        done = self.run_it("--output=out", PIPELINE, env=simulated(), text=True)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "8 chunks on 2 streams, 5 replays of a graph: done\n"))
        [path] = self.traces()
        self.assertEqual(path.parent, self.scratch / "out")
        self.check_complete(path)
        self.assertEqual(len(self.kernels(path)), 26)
        for words in (str(path), "Kernels", "CUDA API", "Copies", "smooth", "ui.perfetto.dev"):
            self.assertIn(words, done.stderr)
        self.assertEqual(done.stderr.count("ui.perfetto.dev"), 1)

    def test_quiet(self):
        done = self.run_it("--quiet", PIPELINE, env=simulated())
        self.assertEqual(done.stderr, b"")
        self.assertEqual(len(self.traces()), 1)

    def test_several_processes(self):
        done = self.run_it("sh", "-c", f"{PIPELINE} & {PIPELINE}; wait", env=simulated(), text=True)
        self.assertEqual(len(self.traces()), 2)
        self.assertIn("2 traces", done.stderr)

    def test_only_this_runs_traces_are_told(self):
        self.run_it("--quiet", "--output=out", PIPELINE, env=simulated())
        [first] = self.traces()
        done = self.run_it("--output=out", PIPELINE, env=simulated(), text=True)
        self.assertEqual(len(self.traces()), 2)
        self.assertNotIn(first.name, done.stderr)

    def test_output_is_a_link(self):
        (self.scratch / "disk").mkdir()
        (self.scratch / "out").symlink_to("disk")
        done = self.run_it("--output=out", PIPELINE, env=simulated(), text=True)
        self.assertEqual(len(self.traces()), 1)
        self.assertIn("gputrace: trace: ", done.stderr)

    def test_ranks_below_the_wrapper(self):
        """It has a rank of its own in a batch script; the launcher below it gives others."""
        ranks = f"for r in 0 1; do RANK=$r WORLD_SIZE=2 {PIPELINE} & done; wait"
        done = self.run_it("--output=out", "--compress=gzip", "sh", "-c", ranks, text=True,
                           env=simulated(SLURM_PROCID=0, SLURM_NTASKS=1))
        self.assertIn("2 traces", done.stderr)
        self.assertEqual(self.traces(), [])  # both are packed
        self.assertEqual([path.name[:6] for path in sorted(self.scratch.rglob("*.gz"))], ["rank0_", "rank1_"])

    def test_a_rank_below_the_wrapper_that_is_killed(self):
        script = (f"RANK=5 {LAUNCHES} --count=1000000000 >/dev/null 2>&1 & "
                  "while ! grep -qs '\"kernel\"' out/*; do sleep 0.1; done; kill -KILL $!; wait; true")
        done = self.run_it("--output=out", "sh", "-c", script, text=True, env=simulated(SLURM_PROCID=0))
        self.assertIn("repaired", done.stderr)
        [path] = self.traces()
        self.check_complete(path)

    def test_strangers_below_the_folder(self):
        """A process of this rank has a sub-folder named like its trace; others' traces are nobody's business here."""
        strange = " ".join(f"mkdir -p out/{place}; GPUTRACE_OUTPUT=out/{place} env -u GPUTRACE_RUN -u GPUTRACE_COMPRESS {PIPELINE};"
                           for place in ("a", "a/b/c", "host_1/x", "host_77"))
        done = self.run_it("--output=out", "--compress=gzip", "sh", "-c", f"{strange} RANK=3 {PIPELINE}; RANK=3 {PIPELINE}",
                           env=simulated(), text=True)
        self.assertEqual(len(self.traces()), 4, done.stderr)  # left as they are
        self.assertIn("2 traces", done.stderr)
        first, second = sorted((self.scratch / "out").rglob("*.gz"), key=lambda path: len(path.parts))
        self.assertEqual(first.parent.name, "out")
        self.assertTrue(second.name.startswith(second.parent.name + "."))

    def test_another_run_in_the_same_folder(self):
        """Two nodes of a job: each wrapper prints its own."""
        for form in ("chrome", "perfetto"):
            with self.subTest(form):
                waiting = ["sh", "-c", "echo started; read -r line"]
                with subprocess.Popen(self.command("--output=out", *waiting), cwd=self.scratch, text=True,
                                      env=simulated(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as first:
                    self.assertEqual(first.stdout.readline(), "started\n")
                    second = self.run_it("--output=out", f"--format={form}", PIPELINE, env=simulated(),
                                         text=True)
                    errors = first.communicate("go on\n", timeout=300)[1]
                self.assertIn("gputrace: trace: ", second.stderr)
                self.assertIn("no trace", errors)

    def test_a_run_within_a_run(self):
        """The outer one prints both."""
        inner = " ".join(self.command("--quiet", PIPELINE))
        done = self.run_it("--output=out", "sh", "-c", f"{inner}; {PIPELINE}", env=simulated(), text=True)
        self.assertIn("2 traces", done.stderr)

    def test_a_process_that_knows_only_where_to_write(self):
        """Launchers pass on what they are asked to do."""
        done = self.run_it("--output=out", "env", "-u", "GPUTRACE_RUN", PIPELINE, env=simulated(), text=True)
        self.assertIn("gputrace: trace: ", done.stderr)

    def test_a_process_in_a_container(self):
        """Its number is another there, and it is seen to be done."""
        alone = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if not shutil.which("unshare") or subprocess.run([*alone, "true"], check=False,
                                                         capture_output=True).returncode:
            self.skipTest("no namespace of processes here")
        script = (f"{LAUNCHES} --count=1000000000 >/dev/null 2>&1 & "
                  "while ! grep -qs '\"kernel\"' out/*; do sleep 0.1; done; kill -KILL $!; wait; true")
        done = self.run_it("--output=out", *alone, "sh", "-c", script, env=simulated(), text=True)
        self.assertNotIn("still being written", done.stderr)
        self.assertIn("repaired", done.stderr)

    def test_null_format_writes_nothing(self):
        done = self.run_it("--format=null", PIPELINE, env=simulated())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_mode_off_records_nothing(self):
        done = self.run_it("--mode=off", PIPELINE, env=simulated())
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, b"8 chunks on 2 streams, 5 replays of a graph: done\n", b""))
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_ranks(self):
        for rank in ("0", "1"):
            done = self.run_it("--output=out", PIPELINE, text=True,
                               env=simulated(RANK=rank, WORLD_SIZE="2"))
            self.assertEqual(done.returncode, 0)
            self.assertEqual("ui.perfetto.dev" in done.stderr, rank == "0", done.stderr)
        self.assertEqual([path.name[:6] for path in self.traces()], ["rank0_", "rank1_"])

    def test_unwritable_output(self):
        done = self.run_it("--output=/proc/nowhere", PIPELINE, env=simulated(), text=True)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "8 chunks on 2 streams, 5 replays of a graph: done\n"))
        self.assertIn("/proc/nowhere", done.stderr)

    def test_a_name_of_two_lines(self):
        """Each file is one, whatever its folder is called."""
        name = 'two\nlines "100%%" of\\it'
        for options, ending in (((), ".json"), (("--compress=gzip",), ".gz"), (("--format=perfetto",), ".pftrace")):
            with self.subTest(options=options):
                done = self.run_it(f"--output={name}", *options, PIPELINE, env=simulated(), text=True)
                self.assertIn("gputrace: trace: ", done.stderr)
                self.assertIn("Kernels", done.stderr)
                self.assertNotIn("No such file", done.stderr)
                [path] = (self.scratch / name.replace("%%", "%")).glob("*" + ending)
                path.unlink()

    def test_a_name_of_two_lines_of_a_killed_program(self):
        script = (f"{LAUNCHES} --count=1000000000 >/dev/null 2>&1 & "
                  "while ! grep -rqs '\"kernel\"' .; do sleep 0.1; done; kill -KILL $!; wait; true")
        done = self.run_it("--output=two\nlines", "sh", "-c", script, env=simulated(), text=True)
        self.assertIn("repaired", done.stderr)
        [path] = self.traces()
        self.check_complete(path)

    def test_trace_of_an_odd_name_in_the_other_folder(self):
        temporary = self.scratch / "temporary"
        temporary.mkdir()
        (self.scratch / "file").touch()
        for options in ((), ("--format=perfetto",)):
            with self.subTest(options=options):
                done = self.run_it('--output=file/two\nlines "\t\\ \udcff', *options, PIPELINE,
                                   env=simulated(TMPDIR=temporary), errors="surrogateescape")
                self.assertIn(f"gputrace: trace: {temporary}/", done.stderr)

    def test_trace_in_the_other_folder(self):
        """Where no folder can be made the library writes beside other temporary files: told, and no other."""
        temporary = self.scratch / "temporary folder"
        temporary.mkdir()
        (self.scratch / "file").touch()
        for options in ((), ("--format=perfetto",), ("--compress=gzip",)):
            with self.subTest(options=options):
                for name in ("else", "out"):  # the first run's stays out of what the second one tells
                    done = self.run_it(f"--output=file/{name}", *options, PIPELINE, text=True,
                                       env=simulated(TMPDIR=temporary))
                    [path] = temporary.glob(f"*_{self.pid_of_trace(done)}.*")
                    self.assertIn(f"gputrace: trace: {path}\n", done.stderr)
                    self.assertIn("Kernels", done.stderr)
                    self.assertNotIn("no trace", done.stderr)
                    self.assertEqual(path.suffix == ".gz", "--compress=gzip" in options)

    def pid_of_trace(self, done):
        line = next(line for line in done.stderr.splitlines() if "writing to " in line)
        return line.split(" instead")[0].rsplit("/", 1)[1].split(".")[0].rsplit("_", 1)[1]

    def test_foreign_traces_in_the_other_folder(self):
        """Of another output folder, however new they are."""
        done = self.run_it("--output=out/put", PIPELINE, env=simulated(TMPDIR=self.scratch), text=True)
        [path] = self.traces()
        stranger = self.scratch / path.name.replace(".", ".9", 1)
        stranger.write_bytes(path.read_bytes())
        done = self.run_it("--output=out", "true", env=simulated(TMPDIR=self.scratch), text=True)
        self.assertNotIn(stranger.name, done.stderr)
        self.assertIn("no trace", done.stderr)

    def test_full_disk(self):
        """The reason is reported again, not guessed."""
        alone = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
        if not shutil.which("unshare") or subprocess.run([*alone, "mount -t tmpfs x /mnt"], check=False,
                                                         capture_output=True).returncode:
            self.skipTest("no mount namespace of one's own here")
        script = 'mount -t tmpfs -o size=8k x /mnt && exec "$@"'
        done = subprocess.run([*alone, script, "-", *self.command("--output=/mnt/out", PIPELINE)],
                              check=False, cwd=self.scratch, env=simulated(), text=True,
                              capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0)
        self.assertIn("disk full", done.stderr)
        self.assertIn("no trace: '/mnt/out' does not take one: No space left on device", done.stderr)
        self.assertNotIn("no work", done.stderr)

    def test_pipe(self):
        """It is no folder that cannot be made, and has no trace to look for."""
        pipe = self.scratch / "pipe"
        os.mkfifo(pipe)
        with open(self.scratch / "read", "wb") as file, subprocess.Popen(["cat", pipe], stdout=file) as reader:
            done = self.run_it("--output=pipe", PIPELINE, env=simulated(), text=True)
            try:  # a reader that nobody has written to waits for ever
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass
            reader.wait(timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(b'"kernel"', (self.scratch / "read").read_bytes())

    def test_nothing_to_trace(self):
        done = self.run_it("--output=out", "true", env=simulated(), text=True)
        self.assertIn("gave the GPU no work", done.stderr)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_no_steps_for_the_schedule(self):
        done = self.run_it("--output=out", "--schedule=2,1,1,2", "true", env=simulated(), text=True)
        self.assertIn("no step of --schedule (no range ProfilerStep#N was seen)", done.stderr)
        for name, text in ("it", "(no range it was seen)"), ("auto", "--step-range=auto finds steps only afterwards"):
            done = self.run_it("--output=out", "--schedule=2,1,1,2", "--step-range=" + name, "true", env=simulated(),
                               text=True)
            self.assertIn(text, done.stderr)

    def test_killed_without_a_spool(self):
        """What it had not written is the reason, not a program without work."""
        code = ("import ctypes, os; cuda = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p(); "
                "cuda.cudaMalloc(ctypes.byref(p), 4096); os.kill(os.getpid(), 9)")
        done = self.run_it("--output=out", "--spool=off", "--flush-period=60000", *self.python(code), env=simulated(), text=True)
        self.assertIn("was killed (Killed), and with --spool=off", done.stderr)

    def test_failed_before_the_first_launch(self):
        """Its calls are in the trace, and what the last one came to."""
        code = ("import ctypes; cuda = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p(); "
                "cuda.cudaMalloc(ctypes.byref(p), 4096); cuda.cudaFree(p); "
                "raise SystemExit(cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(1 << 50)))")
        done = self.run_it("--output=out", *self.python(code), env=simulated(), text=True)
        self.assertEqual(done.returncode, 2)
        trace, = (self.scratch / "out").glob("*.json")
        calls = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "cuda_runtime"]
        self.assertEqual([call["name"] for call in calls], ["cudaMalloc", "cudaFree", "cudaMalloc"])
        self.assertEqual(len({call["args"].get("stack") for call in calls} - {None}), 3)

    def test_only_looked_at_the_devices(self):
        code = "import ctypes; ctypes.CDLL('libcudart.so.13').cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))"
        done = self.run_it("--output=out", *self.python(code), env=simulated(), text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("gave the GPU no work", done.stderr)

    def test_doctor(self):
        done = subprocess.run([str(ROOT / "scripts" / "gputrace"), "doctor"], capture_output=True,
                              text=True, check=False, cwd=self.scratch,
                              env=simulated(TMPDIR=self.scratch))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("libcupti.so", "arrived in a trace", "All is well"):
            self.assertIn(words, done.stdout)
        self.assertNotIn("CUDA_INJECTION64_PATH", done.stdout)
        self.assertEqual(list(self.scratch.iterdir()), [])


class TestOtherWaysIn(TracedTest):
    def check(self, **variables):
        subprocess.run([str(PIPELINE)], check=True, cwd=self.scratch, capture_output=True,
                       env=simulated(GPUTRACE_OUTPUT=self.scratch / "out", **variables))
        [path] = self.traces()
        self.check_complete(path)
        self.assertEqual(len(self.kernels(path)), 26)

    def test_ranks_of_launchers(self):
        """One launcher's rank; what it does not tell, from the one around it. A lone rank has a folder of its own."""
        slurm = {"SLURM_PROCID": 1, "SLURM_NTASKS": 4, "SLURM_LOCALID": 0, "SLURM_JOB_ID": 77}
        lone = dict(slurm, SLURM_PROCID=0, SLURM_NTASKS=1)
        for number, (variables, info, folder) in enumerate((
                (dict(slurm, PMIX_RANK=1), {"rank": 1, "world_size": 4, "local_rank": 0}, "77"),
                (dict(slurm, RANK=1, WORLD_SIZE=2, LOCAL_RANK=1), {"rank": 1, "world_size": 2, "local_rank": 1}, "77"),
                (dict(slurm, RANK=2, WORLD_SIZE=8), {"rank": 2, "world_size": 8}, "77"),
                ({"RANK": 3}, {"rank": 3, "world_size": 4}, r"\d+-\d+"),
                (dict(lone, RANK=0, WORLD_SIZE=2), {"rank": 0, "world_size": 2, "local_rank": 0}, "77"),
                (lone, {"rank": 0, "world_size": 1, "local_rank": 0}, r"\d+-\d+"),
                ({"RANK": 0, "WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "none"}, {"rank": 0, "world_size": 2},
                 r"\d+-\d+"))):
            with self.subTest(variables):
                place = self.scratch / str(number)
                place.mkdir()
                subprocess.run([str(PIPELINE)], check=True, cwd=place, capture_output=True,
                               env=simulated(LD_PRELOAD=LIBRARY, **variables))
                [path] = place.rglob("*.pt.trace.json")
                self.assertEqual(self.load(path)["distributedInfo"], info)
                self.assertRegex(path.parent.name, f"^{folder}$")

    def test_ranks_that_contradict(self):
        """Variables of one launcher that cannot both be true, that are missing or no numbers: one line, and it is
        in the trace, in either format."""
        for number, (variables, info, doubt) in enumerate((
                ({"RANK": 5, "WORLD_SIZE": 2}, {"rank": 5, "world_size": 6},
                 "RANK=5, but WORLD_SIZE=2: taken as rank 5 of 6"),
                ({"RANK": 5, "WORLD_SIZE": 2, "SLURM_PROCID": 5, "SLURM_NTASKS": 8}, {"rank": 5, "world_size": 8},
                 "RANK=5, but WORLD_SIZE=2: taken as rank 5 of 8"),
                ({"RANK": 1, "WORLD_SIZE": 8, "LOCAL_RANK": 4, "LOCAL_WORLD_SIZE": 2},
                 {"rank": 1, "world_size": 8, "local_rank": 4},
                 "LOCAL_RANK=4, but LOCAL_WORLD_SIZE=2: taken as rank 1, 4 on its host"),
                ({"OMPI_COMM_WORLD_RANK": 3, "OMPI_COMM_WORLD_SIZE": 3}, {"rank": 3, "world_size": 4},
                 "OMPI_COMM_WORLD_RANK=3, but OMPI_COMM_WORLD_SIZE=3: taken as rank 3 of 4"),
                ({"PMI_RANK": 2, "PMI_SIZE": 4, "MPI_LOCALRANKID": 1, "MPI_LOCALNRANKS": 1, "GPUTRACE_FORMAT": "perfetto"},
                 {"rank": 2, "world_size": 4, "local_rank": 1},
                 "MPI_LOCALRANKID=1, but MPI_LOCALNRANKS=1: taken as rank 2, 1 on its host"),
                ({"RANK": 3}, {"rank": 3, "world_size": 4}, "RANK=3, but WORLD_SIZE is not set: taken as rank 3 of 4"),
                ({"RANK": 0, "WORLD_SIZE": "a"}, {"rank": 0, "world_size": 1},
                 "RANK=0, but WORLD_SIZE is no number: taken as rank 0 of 1"),
                ({"PMIX_RANK": 2}, {"rank": 2, "world_size": 3},
                 "PMIX_RANK=2, but no number of ranks: taken as rank 2 of 3"),
                ({"RANK": "abc"}, {"rank": 0, "world_size": 1}, "RANK is no number: taken as no rank"),
                ({"RANK": "abc", "SLURM_PROCID": 1, "SLURM_NTASKS": 2}, {"rank": 1, "world_size": 2}, None),
                ({"RANK": 0, "WORLD_SIZE": 2, "SLURM_PROCID": 5, "SLURM_NTASKS": 8}, {"rank": 0, "world_size": 2}, None))):
            with self.subTest(variables):
                place = self.scratch / f"doubt{number}"
                place.mkdir()
                done = subprocess.run([str(PIPELINE)], check=True, cwd=place, capture_output=True, text=True,
                                      env=simulated(LD_PRELOAD=LIBRARY, **variables))
                self.assertEqual(done.stderr.count(f"gputrace: {doubt}\n"), int(bool(doubt)), done.stderr)
                for path in place.rglob("*.pftrace"):
                    subprocess.run([str(CLI), "convert", str(path), str(place / "a.pt.trace.json")], check=True, capture_output=True)
                [path] = place.rglob("*.pt.trace.json")
                header = self.load(path)
                self.assertEqual(header["distributedInfo"], info)
                self.assertEqual(header["metadata"].get("rank_doubt"), doubt)

    def folders_of(self, script, **variables):
        """Those that the library chose by itself in a shell script, in their order by name, with the number of
        traces in each."""
        place = self.scratch / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        subprocess.run(["sh", "-c", script], check=True, cwd=place, capture_output=True, timeout=300,
                       env=simulated(**variables), start_new_session=True)
        return sorted(len(list(folder.rglob("*.pt.trace.json"))) for folder in (place / "gputrace-out").iterdir())

    def test_runs_of_one_script(self):
        """Each has its own folder, with all processes that it starts, also when the first one has gone."""
        alone = f"LD_PRELOAD={LIBRARY} {PIPELINE}"
        self.assertEqual(self.folders_of(f"{alone}; {alone}"), [1, 1])
        self.assertEqual(self.folders_of(f"{alone}; {alone}", SLURM_PROCID=0, SLURM_NTASKS=1, SLURM_JOB_ID=77), [1, 1])
        self.assertEqual(self.folders_of(f"LD_PRELOAD={LIBRARY} sh -c '{PIPELINE}; {PIPELINE} & wait'; {alone}"), [1, 2])
        gone = f"LD_PRELOAD={LIBRARY} sh -c '(sleep 0.2; {PIPELINE}) & (sleep 0.2; {PIPELINE}) & :'"
        self.assertEqual(self.folders_of(f"{gone}; {gone}; while [ $(find . -name '*.json' | wc -l) != 4 ] || "
                                         "grep -L traceEvents $(find . -name '*.json') | grep -q .; do sleep 0.1; done"),
                         [2, 2])

    def test_steps_of_a_job(self):
        ranks = f"for r in 0 1; do SLURM_PROCID=$r LD_PRELOAD={LIBRARY} {PIPELINE} & done; wait"
        steps = "; ".join(f"export SLURM_STEP_ID={step}; {ranks}" for step in (0, 1))
        self.assertEqual(self.folders_of(steps, SLURM_JOB_ID=77, SLURM_NTASKS=2), [2, 2])

    def test_ranks_of_a_script(self):
        """They agree, however each comes to know its rank."""
        for start in (f"RANK=$r LD_PRELOAD={LIBRARY} {PIPELINE}", f"LD_PRELOAD={LIBRARY} env RANK=$r {PIPELINE}",
                      f"LD_PRELOAD={LIBRARY} sh -c 'RANK='$r' {PIPELINE}; true'"):
            with self.subTest(start):
                self.assertEqual(self.folders_of(f"for r in 0 1; do {start} & done; wait", WORLD_SIZE=2), [2])

    def test_jobs_of_a_traced_shell(self):
        """Its jobs are process groups, and runs, of their own."""
        for groups, folders in (("set -m;", [1, 1]), ("", [2])):
            self.assertEqual(self.folders_of(f"LD_PRELOAD={LIBRARY} bash -c '{groups} {PIPELINE}; {PIPELINE}; true'"), folders)

    def test_preload_alone(self):
        self.check(LD_PRELOAD=LIBRARY)

    def test_injection_alone(self):
        self.check(CUDA_INJECTION64_PATH=LIBRARY)


class TestDeath(TracedTest):
    def start(self, *words):
        process = subprocess.Popen(self.command("--output=out", *words), cwd=self.scratch,
                                   env=simulated(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        return process

    def tracing(self):
        """The one trace once it holds kernels, with the process that writes it."""
        def found():
            return any('"kernel"' in path.read_text(encoding="utf-8") for path in self.traces())
        self.assertTrue(wait_for(found))
        [path] = self.traces()
        return path, int(path.name.split(".")[0].rsplit("_", 1)[1])

    def test_a_killed_program_is_repaired(self):
        process = self.start(LAUNCHES, "--count=1000000000")
        path, pid = self.tracing()
        os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertIn("repaired", errors)
        self.assertGreater(len(self.kernels(path)), 0)

    def killed(self):
        """Words of a program that kills a traced process once it has a trace. Soft limits do not hold for it."""
        return ["bash", "-c", f"ulimit -Sf unlimited; {LAUNCHES} --count=1000000000 >/dev/null 2>&1 & "
                "while ! grep -qs '\"kernel\"' out/*; do sleep 0.1; done; kill -KILL $!; wait; true"]

    def test_a_soft_limit_is_the_programs(self):
        done = subprocess.run(["bash", "-c", 'ulimit -Sf 1; exec "$@"', "-", *self.command("--output=out", *self.killed())],
                              check=False, capture_output=True, text=True, cwd=self.scratch, env=simulated(), timeout=300)
        self.assertIn("repaired", done.stderr)
        [path] = self.traces()
        self.check_complete(path)

    @unittest.skipIf(os.environ.get("GT_TEST_RUNTIMES"), "a sanitizer does not go with LD_AUDIT")
    def test_a_repair_that_is_killed(self):
        """One line names what is left to do."""
        source, audit = self.scratch / "audit.c", self.scratch / "audit.so"
        source.write_text("""#include <errno.h>
                          #include <signal.h>
                          #include <stdio.h>
                          #include <string.h>
                          unsigned la_version(unsigned version) {
                              char words[256] = ""; FILE *file = fopen("/proc/self/cmdline", "r");
                              size_t n = file ? fread(words, 1, sizeof(words) - 1, file) : 0;
                              if (n && !strcmp(words + strlen(words) + 1, "repair")) raise(SIGKILL);
                              return version;
                          }""", encoding="ascii")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(audit), str(source)], check=True)
        done = self.run_it("--output=out", *self.killed(), env=simulated(LD_AUDIT=audit), text=True)
        [path] = self.traces()
        self.assertIn(f"repair was killed by signal 9 (Killed); run `gputrace repair {path}`", done.stderr)
        subprocess.run([str(CLI), "repair", str(path)], check=False, capture_output=True, env=environment())

    def test_an_impatient_user(self):
        """What is done after the program does not end by the key that ended it, also when it is pressed again."""
        words = self.command("--output=out", LAUNCHES, "--count=1000000000")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.scratch)
            os.execvpe("sh", words, simulated())
        self.addCleanup(os.close, terminal)
        self.tracing()
        shown, keys = b"", 300
        with contextlib.suppress(OSError):
            while True:
                os.write(terminal, b"\x03" if keys else b"")
                keys -= keys > 0
                time.sleep(0.01)
                if select.select([terminal], [], [], 0.01)[0]:
                    data = os.read(terminal, 65536)
                    shown += data
                    if not data:
                        break
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGINT)
        self.assertIn(b"repaired", shown)
        self.assertIn(b"gputrace: trace: ", shown)
        [path] = self.traces()
        self.check_complete(path)

    def test_a_killed_grandchild_is_repaired(self):
        """Nobody asks how it ended, as under a launcher that was killed with it, or its parent does."""
        adopt_orphans()
        self.addCleanup(adopt_orphans, 0)
        for end in ("exec true", "wait; true"):
            with self.subTest(end):
                self.end_of_a_grandchild(end)
                shutil.rmtree(self.scratch / "out")

    def end_of_a_grandchild(self, end):
        process = self.start("sh", "-c", f"{LAUNCHES} --count=1000000000 >/dev/null 2>&1 & "
                             "while ! grep -qs '\"kernel\"' out/*; do sleep 0.1; done; "
                             f"kill -KILL $!; {end}")
        _, errors = process.communicate(timeout=120)
        path, pid = self.tracing()
        with contextlib.suppress(ChildProcessError):  # a shell may ask without being told to
            os.waitpid(pid, 0)
        self.assertEqual(process.returncode, 0)
        self.assertIn("repaired", errors)
        self.check_complete(path)

    def test_a_background_process_is_left_alone(self):
        process = self.start("--max-size=16M", "--keep=1", "sh", "-c", f"{LAUNCHES} --count=1000000000 >/dev/null 2>&1 & "
                             "sleep 0.1; while ! grep -qs '\"kernel\"' out/*; do sleep 0.1; done")
        _, errors = process.communicate(timeout=120)
        path, pid = self.tracing()
        try:
            self.assertIn("still being written", errors)
            self.assertEqual(path.read_bytes()[:1], b"[")
            self.assertEqual(process.returncode, 0)
        finally:
            os.kill(pid, signal.SIGKILL)
            self.assertTrue(wait_for(lambda: not os.path.exists(f"/proc/{pid}")))
            subprocess.run([str(CLI), "repair", str(path)], check=False, capture_output=True,
                           env=environment())  # takes its spool away


if __name__ == "__main__":
    if not (LIBRARY.exists() and PIPELINE.exists()):
        print(f"{LIBRARY} or {PIPELINE} is not built")
        sys.exit(77)
    unittest.main()
