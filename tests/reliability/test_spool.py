#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The spool: created where allowed, given up elsewhere, used by `gputrace run` and `repair`, and removed when
no longer needed. The program never notices."""

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

WORK = [harness.program("workload"), "rounds", "300"]
FLOOD = [harness.program("workload"), "flood"]
wait_for = harness.gate.wait_for
GPUTRACE = os.path.join(harness.SOURCE, "scripts", "gputrace")


def has_namespaces():
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs x /mnt"]
    return bool(shutil.which("unshare")) and subprocess.run(
        words, capture_output=True, check=False).returncode == 0


def in_namespace(mount):
    """The argument prefix that runs a command with another /dev/shm."""
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", mount + ' && exec "$@"', "-"]


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
def paths_in(folder):
    """The folder, if it is there, and all that is in it, outer ones first."""
    return [path for root, _, names in os.walk(folder)
            for path in [root] + [os.path.join(root, name) for name in names]]


class Spool(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-spool-"))
        self.spools = tempfile.mkdtemp(prefix="gt-spool-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)
        os.environ["GPUTRACE_SPOOL"] = self.spools  # for repair if a file has no header yet
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")

    def left(self):
        return glob.glob(os.path.join(self.spools, "*.spool"))

    def left_with_header(self):
        """Spools that have their first bytes: without them it is not recognized."""
        found = []
        for path in self.left():
            with open(path, "rb") as file:
                found += [path] if any(file.read(16)) else []
        return found

    def run_work(self, spool=None, **how):
        bare = harness.run(WORK)
        options = ("GPUTRACE_SPOOL=" + (spool or self.spools),) + tuple(how.pop("options", ()))
        result = harness.run(WORK, folder=self.folder, options=options, **how)
        self.assertEqual(result[:3], bare[:3])
        path, = harness.traces(self.folder)
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        with open(path, encoding="utf-8") as file:
            self.trace = json.load(file)
        self.said = output + harness.tool("stats", path)[1]
        return self.trace["metadata"].get("spool", "")

    def start(self, words, before=(), options=(), **changes):
        words = harness.command(words, folder=self.folder, before=before,
                                options=["GPUTRACE_SPOOL=" + self.spools, *options])
        environment = harness.environment(SIMCUDA_KERNEL_NS="150000", **changes)
        return subprocess.Popen(words, env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL)

    def check_recovered(self, path):
        with open(path, encoding="utf-8") as file:
            root = json.load(file)
        self.assertIn("recovered_calls", root["repaired"])
        self.assertGreater(root["ledger"]["calls_written"], 0)
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)

    def test_clean_end_leaves_nothing(self):
        self.assertEqual(self.run_work(), "")
        self.assertEqual(self.left(), [])

    def test_program_that_changes_its_folder(self):
        """A relative folder: the spool is still extended and removed."""
        into = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.spools]
        result = harness.run([WORK[0], "moved", "300"], folder=self.folder, before=into,
                             options=["GPUTRACE_SPOOL=."])
        self.assertEqual(result[:3], harness.run(WORK)[:3])
        path, = harness.traces(self.folder)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["ledger"]["spool_refused_bytes"], 0)
        self.assertEqual(self.left(), [])

    def test_session_that_cannot_start(self):
        """Without the tracer's thread nothing would remove the spool."""
        shim = os.path.join(harness.PROGRAMS, "libnothread.so")
        result = harness.run(WORK, folder=self.folder, options=[
            "GPUTRACE_SPOOL=" + self.spools, f"LD_PRELOAD={shim}:{harness.LIBRARY}"])
        self.assertEqual(result[:3], harness.run(WORK)[:3])
        self.assertIn("the program runs on untraced", result.said[0])
        self.assertEqual(self.left(), [])
        self.assertEqual(harness.traces(self.folder), [])

    def test_off_without_run(self):
        self.assertEqual(self.run_work("auto"), "")

    def test_no_disk_and_no_network(self):
        self.assertIn("is no tmpfs", self.run_work(self.folder))

    def test_network_file_system(self):
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        spool = self.run_work("on", options=(f"LD_PRELOAD={shim}:{harness.LIBRARY}",))
        self.assertIn("is no tmpfs", spool)

    @unittest.skipUnless(has_namespaces(), "no mount namespaces")
    def test_small_shm(self):
        """A container's default /dev/shm is left to the program."""
        before = in_namespace("mount -t tmpfs -o size=64m x /dev/shm")
        self.assertIn("too little room", self.run_work("on", before=before))

    @unittest.skipUnless(has_namespaces(), "no mount namespaces")
    def test_full_shm(self):
        """Every touched page was reserved: a file system with less room than reported gives an error of
        fallocate, never a signal."""
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        before = in_namespace("mount -t tmpfs -o size=5m x /dev/shm")
        spool = self.run_work("on", before=before, options=(
            f"LD_PRELOAD={shim}:{harness.LIBRARY}", "NETFS_TYPE=0x01021994"))
        self.assertEqual(spool, "")

    def check_refused(self, trace, said):
        """What did not fit is counted in the ledger and reported."""
        ledger = trace["ledger"]
        for key in ("spool_refused_bytes", "spool_refused_threads"):
            self.assertGreater(ledger[key], 0)
            self.assertEqual(said.count(key), 2, said)
        told = [event["args"]["bytes"] for event in trace["traceEvents"]
                if event["name"] == "spool full"]
        self.assertEqual(sum(told), ledger["spool_refused_bytes"])

    def test_no_room_left(self):
        """Other files have used up the space since the spool was created."""
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        self.run_work("on", options=(f"LD_PRELOAD={shim}:{harness.LIBRARY}", "NETFS_ROOM=2000000",
                                     "NETFS_TYPE=0x01021994"))
        self.check_refused(self.trace, self.said)

    def test_killed_without_room(self):
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        process = self.start(FLOOD, before=["env", "NETFS_ROOM=2000000", "NETFS_TYPE=0x01021994"],
                             options=[f"LD_PRELOAD={shim}:{harness.LIBRARY}"])
        found = wait_for(lambda: [text for text in harness.gate.texts(self.folder)
                                  if '"cat": "kernel"' in text])  # a round is over
        self.assertTrue(found)
        process.kill()
        process.wait()
        path, = harness.traces(self.folder)
        self.assertEqual(harness.tool("repair", path)[0], 0)
        self.check_recovered(path)
        with open(path, encoding="utf-8") as file:
            ledger = json.load(file)["ledger"]
        self.assertGreater(ledger["spool_refused_bytes"], 0)
        self.assertGreater(ledger["spool_refused_threads"], 0)
        # records that the process had received are gone with its memory
        self.assertGreater(ledger["kernels_not_written"], 0)
        self.assertGreater(ledger["events_lost_at_kill"], 0)

    @unittest.skipUnless(has_namespaces(), "no mount namespaces")
    def test_read_only_shm(self):
        before = in_namespace("mount -t tmpfs -o ro,size=1g x /dev/shm")
        self.assertIn("cannot be written", self.run_work("on", before=before))

    def test_limit_of_file_sizes(self):
        """Growing a file beyond it would raise a signal."""
        self.assertIn("refused it", self.run_work("on", before=["prlimit", "--fsize=2000000"]))

    def test_limit_of_address_space(self):
        self.assertIn("address space", self.run_work("on", before=["prlimit", "--as=64000000000"]))

    def test_ranks_in_one_folder(self):
        """Two killed ranks, one repair of the folder."""
        processes = [self.start(FLOOD, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
        found = wait_for(lambda: [text for text in harness.gate.texts(self.folder)
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

    def test_running_process_keeps_its_spool(self):
        process = self.start(FLOOD)
        found = wait_for(lambda: harness.traces(self.folder) and self.left())
        copy = os.path.join(self.folder, "copy")
        shutil.copy(harness.traces(self.folder)[0], copy)
        harness.tool("repair", copy)
        left = self.left()
        process.kill()
        process.wait()
        self.assertTrue(found)
        self.assertEqual(len(left), 1)

    def test_running_process_is_left_alone(self):
        """With and without a spool: repair reports which process writes the file, and it continues."""
        for spools in (self.spools, "off"):
            with self.subTest(spool=spools):
                shutil.rmtree(self.folder)
                process = self.start(FLOOD, options=["GPUTRACE_SPOOL=" + spools])
                found = wait_for(self.begun)
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
        process = self.start(FLOOD)
        self.assertTrue(wait_for(self.begun))
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
        process = self.start(FLOOD, options=["GPUTRACE_SAMPLE_CPU=500"])
        found = wait_for(lambda: [text for text in harness.gate.texts(self.folder)
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
        process = self.start(FLOOD)
        wait_for(self.left_with_header)
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

    @unittest.skipUnless(has_namespaces(), "no mount namespaces")
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
        process = self.start(FLOOD, options=[f"LD_PRELOAD={shim}:{harness.LIBRARY}", "KILLWRITE_FIRST=[",
                                             "KILLWRITE_AT=1", "KILLWRITE_BYTES=0"])
        self.assertEqual(process.wait(timeout=300), -signal.SIGKILL)
        path, = harness.traces(self.folder)
        self.assertEqual(os.path.getsize(path), 0)
        self.finish_begun()

    def kill_before_a_file(self):
        """Kills a process after its work and before the tracer has made a file. If it has, that is no such process:
        nothing is left of it."""
        for _ in range(100):
            there, spools = set(paths_in(self.folder)), set(self.left())
            self.kill_after_its_work()
            made = [path for path in paths_in(self.folder) if path not in there]
            if not made:
                return
            for path in made[::-1] + [path for path in self.left() if path not in spools]:
                (os.rmdir if os.path.isdir(path) else os.unlink)(path)
        self.fail("the tracer is always faster")

    def kill_after_its_work(self):
        words = harness.command([harness.program("workload"), "held", "4"], folder=self.folder,
                                options=["GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FLUSH_PERIOD=60000"])
        environment = harness.environment(GATE=os.path.join(self.spools, "gate"))
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL) as process:
            process.stdout.readline()
            self.assertEqual(process.stdout.readline(), b"held\n")
            process.kill()

    def test_killed_at_once(self):
        """Before the tracer's thread has read anything: stacks are recovered, with the program's functions,
        and kernels have their names."""
        for _ in range(3):
            result = harness.run([WORK[0], "killed", "4"], folder=self.folder,
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

    def finish_begun(self):
        status, output = harness.tool("repair", "--begun", self.folder)
        self.assertEqual(status, 0, output)
        for path in harness.traces(self.folder):
            harness.tool("repair", path)
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
        self.assertEqual(self.left(), [])

    def begun(self):
        """A process killed before writing its first line leaves an empty file."""
        return [path for path in harness.traces(self.folder) if os.path.getsize(path)]

    def test_spool_of_another_build(self):
        """Only that build can read it: both stay, unless the user gives it up."""
        process = self.start(FLOOD)
        self.assertTrue(wait_for(self.begun))
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
                process = self.start(FLOOD, options=["GPUTRACE_FORMAT=" + form])
                pattern = os.path.join(self.folder, "*." + ending)
                found = wait_for(lambda pattern=pattern: [
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
                process = self.start(FLOOD, options=["GPUTRACE_FORMAT=" + form])
                pattern = os.path.join(self.folder, "*." + ending)
                self.assertTrue(wait_for(lambda pattern=pattern: [
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

    @unittest.skipUnless(has_namespaces(), "no mount namespaces")
    def test_repair_with_a_full_temporary_folder(self):
        process = self.start(FLOOD)
        self.assertTrue(wait_for(self.begun))
        process.kill()
        process.wait()
        path, = harness.traces(self.folder)
        self.check_kept(path, before=in_namespace("mount -t tmpfs -o size=4k x /mnt"), TMPDIR="/mnt")
        self.assertEqual(harness.tool("repair", path)[0], 0)
        self.check_recovered(path)
        self.assertEqual(self.left(), [])

    def test_repairs_at_the_same_time(self):
        """One of them repairs, the others report which."""
        for form, ending in (("chrome", "json"), ("perfetto", "pftrace")):
            with self.subTest(form=form):
                shutil.rmtree(self.folder)
                process = self.start(FLOOD, options=["GPUTRACE_FORMAT=" + form])
                pattern = os.path.join(self.folder, "*." + ending)
                self.assertTrue(wait_for(
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
        process = self.start(FLOOD)
        self.assertTrue(wait_for(self.left_with_header))
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
        process = self.start(FLOOD)
        self.assertTrue(wait_for(self.begun))
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
                 script, "-", *FLOOD]
        environment = harness.environment(SIMCUDA_KERNEL_NS="150000")
        result = subprocess.run(words, env=environment, capture_output=True, text=True,
                                timeout=300, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(result.returncode, 5, result.stderr)
        path, = harness.traces(self.folder)
        self.check_recovered(path)
        self.assertEqual(self.left(), [])

    def test_forked_children(self):
        """They neither touch nor remove it; the parent's trace is whole."""
        for how in ("before", "after", "vfork", "twice", "workers", "exec", "daemon"):
            with self.subTest(how=how):
                words = [harness.program("children"), how]
                bare = harness.run(words)
                with tempfile.TemporaryDirectory() as folder:
                    result = harness.run(words, folder=folder,
                                         options=["GPUTRACE_SPOOL=" + self.spools])
                    self.assertEqual(result[:3], bare[:3])

    def test_stopped_process_is_not_dead(self):
        process = self.start(FLOOD)
        self.assertTrue(wait_for(self.begun))
        process.send_signal(signal.SIGSTOP)
        harness.tool("repair", "--begun", self.folder)
        left = self.left()
        process.kill()
        process.wait()
        self.assertEqual(len(left), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
