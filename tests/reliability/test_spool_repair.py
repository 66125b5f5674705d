#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recovery from the spool: by `gputrace repair` and `gputrace run`, of processes that were killed at any time, and while a
process still writes."""

import concurrent.futures
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
import spooled

GPUTRACE = os.path.join(harness.SOURCE, "scripts", "gputrace")


class Repair(spooled.Test):
    def test_ranks_in_one_folder(self):
        """Two killed ranks, one repair of the folder."""
        processes = [self.start(spooled.FLOOD, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
        found = harness.gate.wait_for(lambda: [text for text in harness.gate.texts(self.folder)
                                               if '"cat": "kernel"' in text][1:])
        for process in processes:
            process.kill()
            process.wait()
        self.assertTrue(found)
        self.assertEqual(len(self.left()), 2)
        status, output = harness.tool("repair", self.folder)
        self.assertEqual(status, 0, output)
        for path in harness.traces(self.folder):
            self.check_recovered(path)
        self.assertEqual(self.left(), [])

    def test_running_process_is_left_alone(self):
        """With and without a spool: repair reports which process writes the file, and it continues."""
        for spools in (self.spools, "off"):
            with self.subTest(spool=spools):
                shutil.rmtree(self.folder)
                process = self.start(spooled.FLOOD, options=["GPUTRACE_SPOOL=" + spools])
                found = harness.gate.wait_for(self.begun)
                path = harness.traces(self.folder)[0]
                status, output = harness.tool("repair", self.folder)
                with open(path, "rb") as file:
                    still = file.read(1)
                process.kill()
                process.wait()
                self.assertTrue(found)
                self.assertEqual((status, output.count("\n"), still), (1, 1, b"["), output)
                self.assertIn("still writes it", output)
                status, output = harness.tool("repair", self.folder)
                self.assertEqual(status, 0, output)
                self.assertEqual(harness.lint(path), "")

    def test_copy_of_another_name(self):
        """The spool belongs to the file that the process wrote: a copy is closed without it."""
        process = self.start(spooled.FLOOD)
        self.assertTrue(harness.gate.wait_for(self.begun))
        process.kill()
        process.wait()
        path = harness.traces(self.folder)[0]
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, os.path.basename(path))
            shutil.copy(path, copy)
            status, output = harness.tool("repair", copy)
            self.assertEqual((status, len(self.left())), (0, 1), output)
        harness.tool("repair", path)
        self.check_recovered(path)
        self.assertEqual(self.left(), [])

    def test_samples(self):
        """Samples in the sampler's ring are recovered too; the ledger matches."""
        process = self.start(spooled.FLOOD, options=["GPUTRACE_SAMPLE_CPU=500"])
        found = harness.gate.wait_for(lambda: [text for text in harness.gate.texts(self.folder)
                                               if '"cat": "cpu_sample"' in text])
        process.kill()
        process.wait()
        self.assertTrue(found)
        path, = harness.traces(self.folder)
        self.assertEqual(harness.tool("repair", path)[0], 0)
        self.check_recovered(path)
        with open(path, encoding="utf-8") as file:
            self.assertGreater(json.load(file)["ledger"]["samples_written"], 0)
        self.assertEqual(self.left(), [])

    def test_killed_before_there_was_a_file(self):
        """Then repair of the folder creates one, if there are events."""
        process = self.start(spooled.FLOOD)
        harness.gate.wait_for(self.left_with_header)
        process.kill()
        process.wait()
        self.finish_begun()

    def test_killed_before_there_was_a_folder(self):
        """Repair makes it, however it is named; without a spool of it, it does not."""
        above = self.folder
        self.folder += "/not/there"
        mask = os.umask(0)
        os.umask(mask)
        for named in (self.folder, "not/there", above + "/not/./there/"):
            with self.subTest(named=named):
                self.kill_before_a_file()
                shutil.rmtree(above + "/not", ignore_errors=True)  # one that was made in vain
                status, output = harness.tool("repair", above + "/not/here")
                self.assertEqual((status, os.listdir(above)), (1, []), output)
                self.assertIn("No such file", output)
                self.assertEqual(len(self.left()), 1)
                status, output = harness.tool("repair", named, before=("env", "-C", above))
                self.assertEqual(status, 0, output)
                self.assertEqual(self.left(), [])
                path, = harness.traces(self.folder)
                self.check_recovered(path)
                self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o775 & ~mask)
                shutil.rmtree(above + "/not")

    @unittest.skipUnless(spooled.has_namespaces(), "no mount namespaces")
    def test_no_folder_is_made_in_vain(self):
        """No room for the trace: neither the folders that repair made for it, nor a claim, stay."""
        above = self.folder
        self.folder += "/not/there"
        self.kill_before_a_file()
        shutil.rmtree(above + "/not", ignore_errors=True)
        for folders in (".", "not"):
            with self.subTest(already=folders):
                script = (f"mount -t tmpfs -o size=4k x {above} && cd {above} && mkdir -p {folders} && "
                          '"$@"; echo "ended with $?"; find . -mindepth 1')
                status, output = harness.tool("repair", self.folder, TMPDIR="/dev/shm", before=(
                    "unshare", "--mount", "--map-root-user", "sh", "-c", script, "-"))
                left = output.split("ended with ")[1].split("gputrace:")[0].split()
                self.assertEqual(left, ["1"] + ["./not"] * (folders == "not"), output)
                self.assertIn("not recovered: No space left", output)
        self.assertEqual(harness.tool("repair", self.folder)[0], 0)
        self.assertEqual(len(harness.traces(self.folder)), 1)

    def test_killed_before_the_first_line(self):
        """The file exists and is empty: only the spool identifies its process."""
        shim = os.path.join(harness.PROGRAMS, "libkillwrite.so")
        process = self.start(spooled.FLOOD, options=[f"LD_PRELOAD={shim}:{harness.LIBRARY}", "KILLWRITE_FIRST=[",
                                             "KILLWRITE_AT=1", "KILLWRITE_BYTES=0"])
        self.assertEqual(process.wait(timeout=300), -signal.SIGKILL)
        path, = harness.traces(self.folder)
        self.assertEqual(os.path.getsize(path), 0)
        self.finish_begun()

    def test_killed_at_once(self):
        """Before the tracer's thread has read anything: stacks are recovered, with the program's functions,
        and kernels have their names."""
        for _ in range(3):
            result = harness.run([spooled.WORK[0], "killed", "4"], folder=self.folder,
                                 options=["GPUTRACE_SPOOL=" + self.spools])
            self.assertEqual(result.status, -signal.SIGKILL)
        self.finish_begun()
        for path in harness.traces(self.folder):
            self.check_recovered(path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            sets = [e["args"] for e in events if e.get("cat") == "gpu_memset"]
            self.assertEqual(len(sets), 4)
            self.assertEqual({e["name"] for e in events if e.get("cat") == "kernel"},
                             {"tick", "tock(float*)"})
            self.assertEqual([args for args in sets if "work (" not in args["launched by"] or
                              "main (" not in args["launched by"]], [])

    def test_killed_processes_of_one_rank(self):
        """One trace of a rank is in the folder itself, as without the kill."""
        for _ in range(3):
            self.kill_before_a_file()
        self.finish_begun()
        paths = harness.traces(self.folder)
        self.assertEqual(len(paths), 3, paths)
        top = [path for path in paths if os.path.dirname(path) == self.folder]
        self.assertEqual(len(top), 1, paths)
        with open(os.path.join(self.folder, ".rank0.owner"), encoding="utf-8") as claim:
            self.assertEqual(claim.read(), os.path.basename(top[0]))

    def test_repair_killed_before_it_removed_the_spool(self):
        """Its trace is there: the next one removes the spool. A cut one is no trace yet."""
        self.kill_before_a_file()
        spool, = self.left()
        os.link(spool, spool + ".kept")
        self.finish_begun()
        path, = harness.traces(self.folder)
        with open(path, "rb") as file:
            whole = file.read()
        for size in (len(whole), len(whole) // 2):
            os.link(spool + ".kept", spool)
            os.truncate(path, size)
            self.finish_begun()
            with open(path, "rb") as file:
                self.assertEqual(len(file.read()), len(whole))
        os.unlink(spool + ".kept")

    def test_killed_with_an_empty_file_aside(self):
        """The file that the process had created gets its events, wherever it is."""
        self.kill_before_a_file()
        spool, = self.left()
        os.link(spool, spool + ".kept")
        self.finish_begun()
        path, = harness.traces(self.folder)
        os.remove(path)
        os.rename(spool + ".kept", spool)
        aside = os.path.join(self.folder, os.path.basename(path).split(".", 1)[0])
        os.mkdir(aside)
        with open(os.path.join(aside, os.path.basename(path)), "wb"):
            pass
        self.finish_begun()
        self.assertEqual(harness.traces(self.folder), [os.path.join(aside, os.path.basename(path))])
        with open(os.path.join(aside, os.path.basename(path)), encoding="utf-8") as file:
            self.assertGreater(json.load(file)["ledger"]["calls_written"], 0)

    def test_spool_of_another_build(self):
        """Only that build can read it: both stay, unless the user gives it up."""
        process = self.start(spooled.FLOOD)
        self.assertTrue(harness.gate.wait_for(self.begun))
        process.kill()
        process.wait()
        spool, = self.left()
        with open(spool, "r+b") as file:
            file.seek(80)
            file.write(b"0123456789")
        path, = harness.traces(self.folder)
        self.check_kept(path)
        self.assertIn("0123456789", harness.tool("repair", path)[1])
        status, output = harness.tool("repair", "--spool=off", path)
        self.assertEqual((status, harness.lint(path)), (0, ""), output)
        self.assertEqual(self.left(), [spool])

    def check_kept(self, path, **how):
        """Repair without enough space changes nothing, and succeeds later."""
        spool, = self.left()
        with open(path, "rb") as file:
            before = file.read()
        for folder in (False, True):
            status, output = harness.tool("repair", self.folder if folder else path, **how)
            self.assertEqual(status, 1, output)
            self.assertIn("not recovered", output)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(self.left(), [spool])

    def test_repair_without_a_temporary_folder(self):
        for ending, form in (("json", "chrome"), ("pftrace", "perfetto")):
            with self.subTest(form=form):
                shutil.rmtree(self.folder)
                process = self.start(spooled.FLOOD, options=["GPUTRACE_FORMAT=" + form])
                pattern = os.path.join(self.folder, "*." + ending)
                found = harness.gate.wait_for(lambda pattern=pattern: [
                    path for path in glob.glob(pattern) if os.path.getsize(path)])
                process.kill()
                process.wait()
                self.assertTrue(found)
                path, = glob.glob(pattern)
                self.check_kept(path, TMPDIR=self.spools + "/nowhere")
                status, output = harness.tool("repair", path)
                self.assertEqual((status, self.left()), (0, []), output)
                status, output = harness.tool("verify", path)
                self.assertEqual(status, 0, output)

    def repaired(self, path):
        status, output = harness.tool("repair", path)
        self.assertEqual((status, self.left()), (0, []), output)
        self.assertEqual(harness.tool("verify", path)[0], 0)
        with open(path, "rb") as file:
            return file.read()

    def test_repair_that_fails_first(self):
        """Too little memory, a limit of file sizes: afterwards all is there, once."""
        for form, ending in (("chrome", "json"), ("perfetto", "pftrace")):
            with self.subTest(form=form):
                shutil.rmtree(self.folder)
                process = self.start(spooled.FLOOD, options=["GPUTRACE_FORMAT=" + form])
                pattern = os.path.join(self.folder, "*." + ending)
                self.assertTrue(harness.gate.wait_for(lambda pattern=pattern: [
                    path for path in glob.glob(pattern) if os.path.getsize(path) > 1 << 16]))
                process.kill()
                process.wait()
                path, = glob.glob(pattern)
                spool, = self.left()
                for copy in (path, spool):
                    shutil.copy(copy, copy + ".copy")
                for limit in ("--as=16000000", "--as=24000000", "--as=48000000", "--fsize=20000"):
                    self.check_kept(path, before=["prlimit", limit])
                result = self.repaired(path)
                for copy in (path, spool):
                    os.rename(copy + ".copy", copy)
                os.chmod(spool, 0o600)
                self.assertEqual(self.repaired(path), result)

    @unittest.skipUnless(spooled.has_namespaces(), "no mount namespaces")
    def test_repair_with_a_full_temporary_folder(self):
        process = self.start(spooled.FLOOD)
        self.assertTrue(harness.gate.wait_for(self.begun))
        process.kill()
        process.wait()
        path, = harness.traces(self.folder)
        self.check_kept(path, before=spooled.in_namespace("mount -t tmpfs -o size=4k x /mnt"), TMPDIR="/mnt")
        self.assertEqual(harness.tool("repair", path)[0], 0)
        self.check_recovered(path)
        self.assertEqual(self.left(), [])

    def test_repairs_at_the_same_time(self):
        """One of them repairs, the others report which."""
        for form, ending in (("chrome", "json"), ("perfetto", "pftrace")):
            with self.subTest(form=form):
                shutil.rmtree(self.folder)
                process = self.start(spooled.FLOOD, options=["GPUTRACE_FORMAT=" + form])
                pattern = os.path.join(self.folder, "*." + ending)
                self.assertTrue(harness.gate.wait_for(
                    lambda pattern=pattern: sum(map(os.path.getsize, glob.glob(pattern))) > 1 << 20))
                process.kill()
                process.wait()
                path, = glob.glob(pattern)
                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    results = list(pool.map(lambda _: harness.tool("repair", path), range(8)))
                for status, output in results:
                    self.assertTrue(status == 0 or "is repairing it: not touched" in output, output)
                self.assertIn(0, [status for status, _ in results])
                self.assertEqual(self.left(), [])
                self.assertEqual(harness.tool("verify", path)[0], 0)
                self.assertEqual([name for name in os.listdir(self.folder)
                                  if name.endswith(".repair")], [])

    def test_repairs_of_file_and_folder(self):
        """Both find the spool of a process that had only created its file."""
        os.makedirs(self.folder, exist_ok=True)
        process = self.start(spooled.FLOOD)
        self.assertTrue(harness.gate.wait_for(self.left_with_header))
        process.kill()
        process.wait()
        spool, = self.left()
        number = os.path.basename(spool)[len("gputrace-"):-len(".spool")]
        path = os.path.join(self.folder, f"{os.uname().nodename}_{number}.pt.trace.json")
        for old in harness.traces(self.folder):
            os.unlink(old)
        with open(path, "wb"), open(spool, "r+b") as file:
            content = file.read(8192)
            at = content.find(self.folder.encode(), content.find(self.folder.encode()) + 1)
            if at > 0:  # the trace that it names is the empty one
                file.seek(at)
                file.write(bytes(64))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda i: harness.tool("repair", (path, self.folder)[i % 2]), range(8)))
        for status, output in results:  # the later one, without the spool, finds a recent file
            self.assertTrue(status == 0 or "is repairing it" in output or "not touched" in output, output)
        self.assertEqual(self.left(), [])
        for found in harness.traces(self.folder):
            self.assertEqual(harness.tool("verify", found)[0], 0)

    def test_killed_repair_leaves_a_folder(self):
        """The next repair removes it, but nothing that is in use or belongs to others."""
        temporary = os.path.join(self.folder, "temporary")
        process = self.start(spooled.FLOOD)
        self.assertTrue(harness.gate.wait_for(self.begun))
        process.kill()
        process.wait()
        for name in ("gputrace-repair-killed", "gputrace-repair-in-use", "gputrace-repair-young", "other"):
            os.makedirs(os.path.join(temporary, name))
            with open(os.path.join(temporary, name, "trace.json"), "w", encoding="utf-8"):
                pass
            if not name.endswith("young"):
                os.utime(os.path.join(temporary, name), (1, 1))
        used = os.open(os.path.join(temporary, "gputrace-repair-in-use"), os.O_RDONLY)
        self.addCleanup(os.close, used)
        fcntl.flock(used, fcntl.LOCK_EX)
        status, output = harness.tool("repair", harness.traces(self.folder)[0], TMPDIR=temporary)
        self.assertEqual(status, 0, output)
        self.assertEqual(sorted(os.listdir(temporary)),
                         ["gputrace-repair-in-use", "gputrace-repair-young", "other"])

    def test_run_recovers_by_itself(self):
        script = (f""""$@" & until grep -qs '"cat": "kernel"' '{self.folder}'/*.json; do sleep 0.1; done; """
                  "kill -9 $!; wait $!; exit 5")
        words = [os.path.join(harness.SOURCE, "scripts", "simcuda"), GPUTRACE, "run",
                 "--output=" + self.folder, "--spool=" + self.spools, "--", "sh", "-c",
                 script, "-", *spooled.FLOOD]
        environment = harness.environment(SIMCUDA_KERNEL_NS="150000")
        result = subprocess.run(words, env=environment, capture_output=True, text=True,
                                timeout=300, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(result.returncode, 5, result.stderr)
        path, = harness.traces(self.folder)
        self.check_recovered(path)
        self.assertEqual(self.left(), [])

    def test_stopped_process_is_not_dead(self):
        process = self.start(spooled.FLOOD)
        self.assertTrue(harness.gate.wait_for(self.begun))
        process.send_signal(signal.SIGSTOP)
        harness.tool("repair", "--begun", self.folder)
        left = self.left()
        process.kill()
        process.wait()
        self.assertEqual(len(left), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
