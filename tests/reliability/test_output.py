#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Places that cannot be written, or not for long: the program does not notice, a created file is valid, its
ledger has the losses, and they are reported once."""

import errno
import glob
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import harness

ROUNDS = "400"
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
WORK = [harness.program("workload"), "rounds", ROUNDS]


def has_tmpfs():
    """Whether we can have our own mount namespace, to fill a disk that nobody else uses."""
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs -o size=64k x /mnt"]
    return bool(shutil.which("unshare")) and subprocess.run(
        words, capture_output=True, check=False).returncode == 0


class Reader:
    """The reader of a pipe: present before the writer, gone when it has read enough."""

    def __init__(self, path):
        os.mkfifo(path)
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def leave_after(self, size):
        while size:
            select.select([self.fd], [], [])
            size -= len(os.read(self.fd, size))
        os.close(self.fd)

    def leave_when(self, told, word):
        """Leaves without reading, soon after the first bytes are there, if any."""
        with open(told, encoding="utf-8") as file:
            if word not in file.read():
                return False
        select.select([self.fd], [], [], 2)
        os.close(self.fd)
        return True


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-output-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.bare = harness.run(WORK)
        self.assertEqual(self.bare.status, 3)

    def same(self, **how):
        result = harness.run(WORK, **how)
        self.assertEqual(result[:3], self.bare[:3])
        return result

    def check_file(self, path):
        """Checks that the file is closed and valid. Returns its ledger."""
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["ledger"]

    def told_once(self, result):
        self.assertEqual(len(result.said), 1, result.said)

    def told_of_end(self, result):
        """Once, and that the end is missing."""
        self.assertEqual(len(result.said), 2, result.said)
        self.assertIn("has no ledger", result.said[1])

    def test_size_limit_of_the_process(self):
        """RLIMIT_FSIZE would end the program by SIGXFSZ if an unguarded thread met it."""
        result = self.same(folder=self.folder, before=["prlimit", "--fsize=200000"])
        self.told_once(result)
        path = harness.traces(self.folder)[0]
        self.assertLessEqual(os.path.getsize(path), 200000)
        self.assertGreater(self.check_file(path)["events_lost_disk"], 0)

    def test_size_limit_of_the_trace(self):
        self.same(folder=self.folder, options=("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=1"))
        path = harness.traces(self.folder)[0]
        self.assertLessEqual(os.path.getsize(path), 1 << 20)
        self.assertGreater(self.check_file(path)["events_lost_disk"], 0)

    def test_full_disk(self):
        if not has_tmpfs():
            self.skipTest("no mount namespace of one's own here")
        script = ("mount -t tmpfs -o size=256k x /mnt && \"$@\"; status=$?; cp -r /mnt/. "
                  f"'{self.folder}'; exit $status")
        result = self.same(folder="/mnt", before=["unshare", "--mount", "--map-root-user", "sh",
                                                  "-c", script, "sh"])
        self.told_once(result)
        path = harness.traces(self.folder)[0]
        self.assertGreater(self.check_file(path)["events_lost_disk"], 0)

    def test_folder_that_cannot_be_made(self):
        """A file is in its place: the trace goes to the temporary folder, which is reported."""
        blocked = os.path.join(self.folder, "file")
        with open(blocked, "w", encoding="utf-8"):
            pass
        result = self.same(folder=os.path.join(blocked, "be\nlow\x1b[2J"))
        self.assertEqual(len(result.said), 2, result.said)
        self.assertIn("file/be?low?[2J (", result.said[0])  # a terminal would act on it
        self.assertIn("instead", result.said[1])
        path = result.said[1].split("writing to ")[1].split(" instead")[0]
        self.addCleanup(os.unlink, path)
        self.check_file(path)
        self.assertEqual(os.path.getsize(blocked), 0)

    def test_folder_that_vanishes(self):
        """Removed while the program runs: nothing can be kept, the program does not notice."""
        words = [harness.program("workload"), "slow", "1200"]
        out = os.path.join(self.folder, "out")
        done = threading.Event()

        def remove():
            while not done.wait(0.02):
                if harness.traces(out):
                    shutil.rmtree(out, ignore_errors=True)
                    return

        thread = threading.Thread(target=remove)
        thread.start()
        traced = harness.run(words, folder=out)
        done.set()
        thread.join()
        self.assertEqual(traced[:3], harness.run(words)[:3])

    def test_program_that_sets_its_title(self):
        """Its environment moves after the session began: options keep their values."""
        steps, default = self.folder + "/steps", self.folder + "/default"
        os.makedirs(default)
        into = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh"]
        for options, before, ending, where in (
                (("GPUTRACE_OUTPUT=" + steps, "GPUTRACE_FORMAT=perfetto", "GPUTRACE_STACKS=full"),
                 [], ".pftrace", steps),
                (("GPUTRACE_OUTPUT=", "SLURM_JOB_ID=my_job"), [*into, default], ".pt.trace.json",
                 default + "/gputrace-out/my_job"),
                (("TMPDIR=" + self.folder, "GPUTRACE_OUTPUT=/dev/null/below"), [], ".pt.trace.json",
                 self.folder)):
            with self.subTest(options=options):
                traced = harness.run([harness.program("workload"), "titled", "3"],
                                     folder=self.folder, options=options, before=before)
                self.assertEqual(traced[:3], harness.run([WORK[0], "rounds", "3"])[:3])
                names = [name for name in os.listdir(where) if name.endswith(ending)]
                self.assertEqual(len(names), 1, traced.said)

    def test_program_that_changes_its_folder(self):
        """A relative path is relative to the folder in which the program started."""
        into = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.folder]
        traced = harness.run([harness.program("workload"), "moved", "3"], folder="below", before=into)
        self.assertEqual(traced[:3], harness.run([WORK[0], "rounds", "3"])[:3])
        self.assertEqual(traced.said, [])
        path, = harness.traces(os.path.join(self.folder, "below"))
        self.check_file(path)

    def test_umask_of_nothing(self):
        """The owner can read the trace all the same, and nobody else."""
        words = ["sh", "-c", 'umask 0777; exec "$@"', "sh", harness.program("workload"), "rounds", "3"]
        os.mkdir(self.folder + "/out")
        traced = harness.run(words, folder=self.folder + "/out")
        self.assertEqual(traced[:3], harness.run(words)[:3])
        path, = harness.traces(self.folder + "/out")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)

    def test_fifo(self):
        """A pipe in place of the folder is streamed to; without a reader nothing is written."""
        pipe = os.path.join(self.folder, "pipe")
        first = Reader(pipe)  # cat may be slow to start
        with open(os.path.join(self.folder, "read"), "wb") as file, \
                subprocess.Popen(["cat", pipe], stdout=file) as reader:
            self.same(folder=pipe)
            os.close(first.fd)
            reader.wait(timeout=300)
        gpu = [e for e in harness.strict_lines(file.name)
               if e.get("cat") in harness.trace_file.GPU]
        self.assertEqual(len(gpu), 3 * 3 * int(ROUNDS))

    def test_fifo_without_reader(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        result = self.same(folder=pipe)
        self.assertTrue(result.said)
        for line in result.said:
            if "instead" in line:
                os.unlink(line.split("writing to ")[1].split(" instead")[0])

    def test_fifo_whose_reader_leaves(self):
        """SIGPIPE would end the program, by its default action."""
        for form in ("chrome", "perfetto"):
            pipe = os.path.join(self.folder, form)
            reader = threading.Thread(target=Reader(pipe).leave_after, args=(4096,), daemon=True)
            reader.start()
            result = self.same(folder=pipe, options=("GPUTRACE_FORMAT=" + form,))
            reader.join(harness.gate.PATIENCE)
            self.assertEqual(len(result.said), 2, result.said)
            self.assertIn(pipe + ": cannot write (nobody reads it", result.said[0])
            self.assertRegex(result.said[1], r"ends early, without \d\d+ events \(nobody reads it\)")

    def test_fifo_whose_reader_leaves_while_the_program_exits(self):
        """CUPTI hangs, so the program's own thread writes."""
        reader, told = Reader(os.path.join(self.folder, "pipe")), os.path.join(self.folder, "told")
        words = [harness.program("workload"), "held", "100"]
        result = harness.run_into(told, words, folder=os.path.join(self.folder, "pipe"), fault="flush=hang",
                                  gates=[lambda: reader.leave_when(told, "held")],
                                  options=("GPUTRACE_EXIT_TIMEOUT=200", "TMPDIR=" + self.folder))
        self.assertEqual(result[:3], harness.run_into(told, words)[:3])
        self.assertRegex("".join(result.said), r"without \d+ events \(nobody reads it\)")

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_fifo_whose_reader_does_not_read(self):
        """What it does not take while the program ends is missing: nothing could repair a pipe."""
        reader = Reader(os.path.join(self.folder, "pipe"))
        self.addCleanup(os.close, reader.fd)
        result = self.same(folder=os.path.join(self.folder, "pipe"),
                           options=("GPUTRACE_EXIT_TIMEOUT=200", "GPUTRACE_SPOOL=" + self.spools()))
        self.told_once(result)
        self.assertRegex(result.said[0], "its reader was too slow|cannot write")  # where 2 s pass before the end

    def spools(self):
        """Where no spool may be left."""
        folder = tempfile.mkdtemp(prefix="gt-output-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(lambda: self.assertEqual(os.listdir(folder), []))
        return folder

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_dev_full(self):
        result = self.same(folder="/dev/full", options=("GPUTRACE_SPOOL=" + self.spools(),))
        self.told_once(result)
        self.assertIn("disk full", result.said[0])

    def run_failing(self, **variables):
        """Runs with failing writes of the tracer."""
        if harness.preloading.RUNTIMES:
            self.skipTest("the sanitizer's own write() is in front")
        options = [f"{name}={value}" for name, value in variables.items()]
        return self.same(folder=self.folder,
                         options=(f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", *options))

    def failing(self, **variables):
        """The same, and the one trace."""
        result = self.run_failing(**variables)
        [path] = harness.traces(self.folder)
        return result, path

    def test_quota(self):
        result, path = self.failing(FAILWRITE_ERRNO=errno.EDQUOT, FAILWRITE_FROM=6)
        self.told_of_end(result)
        self.assertIn("quota", result.said[0])
        self.assertGreater(os.path.getsize(path), 1000)
        harness.strict_lines(path)

    def test_input_output_error(self):
        result, path = self.failing(FAILWRITE_ERRNO=errno.EIO, FAILWRITE_FROM=6)
        self.told_of_end(result)
        harness.strict_lines(path)

    def test_nothing_can_be_written(self):
        result = self.run_failing(FAILWRITE_ERRNO=errno.EDQUOT)
        self.told_once(result)
        self.assertEqual(harness.traces(self.folder), [])

    def test_writes_that_take_half(self):
        result, path = self.failing()
        self.assertEqual(result.said, [])
        self.assertEqual(self.check_file(path)["events_lost_disk"], 0)

    def test_size_limit_while_the_exiting_thread_writes(self):
        """CUPTI hangs, so the program's own thread closes the file, and meets the limit."""
        result = harness.run(WORK, folder=self.folder, fault="flush=hang",
                             options=("GPUTRACE_EXIT_TIMEOUT=200",), before=["prlimit", "--fsize=18000"])
        self.assertEqual(result[:2], self.bare[:2])

    def left_unclosed(self, **variables):
        """The disk never responds: the program ends, its trace stays unclosed. Returns the messages."""
        if harness.preloading.RUNTIMES:
            self.skipTest("the sanitizer's own write() is in front")
        folder = tempfile.mkdtemp(dir=self.folder)
        hangs = os.path.join(folder, "hangs")
        options = [f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", "FAILWRITE_HANG=" + hangs,
                   "FAILWRITE_FROM=2", "GPUTRACE_EXIT_TIMEOUT=200", *(f"{name}={value}" for name, value in variables.items())]
        result = harness.run([harness.program("coexist_linked"), "work-until"], folder=folder,
                             gates=[lambda: os.path.exists(hangs)], options=options)
        self.assertEqual((result.status, result.stderr), (3, []))
        return result.said

    def test_file_left_unclosed(self):
        [said] = self.left_unclosed()
        path, = glob.glob(os.path.join(self.folder, "*", "*.pt.trace.json"))
        self.assertIn(path + " was not finished 200 ms after the end (raise --exit-timeout)", said)
        self.assertIn("gputrace repair", said)

    def test_file_left_unclosed_under_run(self):
        """Which repairs the file, and cannot know why it is open."""
        self.assertEqual(self.left_unclosed(GPUTRACE_QUIET="yes"), [])
        [said] = self.left_unclosed(GPUTRACE_RUN="1", GPUTRACE_SPOOL="off")
        self.assertIn("raise --exit-timeout", said)
        self.assertNotIn("gputrace repair", said)

    def test_read_only_folder(self):
        if not has_tmpfs():
            self.skipTest("no mount namespace of one's own here")
        script = "mount -t tmpfs -o ro x /mnt && exec \"$@\""
        result = self.same(folder="/mnt/below", before=["unshare", "--mount", "--map-root-user", "sh",
                                                        "-c", script, "sh"],
                           options=("TMPDIR=/mnt",))
        self.told_once(result)
        self.assertIn("read-only", result.said[0])

    def test_folder_that_everybody_may_change(self):
        """Not sticky: another user could replace the file."""
        os.chmod(self.folder, 0o777)
        other = os.path.join(self.folder, "other")
        os.mkdir(other, 0o700)
        result = self.same(folder=self.folder, options=("TMPDIR=" + other,))
        self.assertIn("open to others", result.said[0])
        self.check_file(harness.traces(other)[0])

    def test_pipe_in_the_place_of_a_claim(self):
        os.mkfifo(os.path.join(self.folder, ".rank0.owner"))
        self.same(folder=self.folder)
        self.assertEqual(len(harness.traces(self.folder)), 1)

    def test_same_process_number_on_the_same_host(self):
        """Containers with one folder and one host name: each process has pid 1."""
        inside = ["unshare", "--pid", "--fork", "--map-root-user"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no process namespace of one's own here")
        words = harness.command(WORK, folder=self.folder, before=inside)
        crowd = [subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL)
                 for _ in range(6)]
        self.assertEqual([process.wait(timeout=300) for process in crowd], [3] * 6)
        paths = harness.traces(self.folder)
        self.assertEqual(len(paths), 6)
        for path in paths:
            self.check_file(path)

    def everything(self):
        """All bytes below the folder, names included."""
        data = b""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    data += name.encode() + file.read()
        return data

    def test_secrets(self):
        """Arguments are in a trace only on request, the environment never."""
        words = [*WORK, "--password=argument-5ecret"]
        planted = ("API_TOKEN=variable-5ecret", "CUDA_NOTE=variable-5ecret")
        for form in ("chrome", "perfetto"):
            options = (*planted, "GPUTRACE_FORMAT=" + form)
            self.assertEqual(harness.run(words, folder=self.folder, options=options).status, 3)
            data = self.everything()
            self.assertTrue(b"tick" in data)
            self.assertFalse(b"5ecret" in data)
            harness.run(words, folder=self.folder, options=(*options, "GPUTRACE_RECORD_CMDLINE=1"))
            data = self.everything()
            self.assertTrue(b"argument-5ecret" in data)
            self.assertFalse(b"variable-5ecret" in data)
            shutil.rmtree(self.folder)

    def test_folder_with_a_variable_in_its_name(self):
        evil = "../../planted/\n$(id)\udcff" + "x" * 5000
        for value in (evil, "", "...", "/"):
            out = os.path.join(self.folder, "%q{EVIL}", "%%")
            self.same(folder=out, options=("EVIL=" + value,))
        names = sorted(os.listdir(self.folder))
        self.assertEqual(len(names), 3)
        self.assertIn("unset", names)
        for name in names:
            self.assertRegex(name, r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$")
            self.assertEqual(os.listdir(os.path.join(self.folder, name)), ["%"])

    def test_folder_that_vanishes_under_many_files(self):
        words = [harness.program("workload"), "rounds", "4000"]
        out = os.path.join(self.folder, "out")
        done = threading.Event()

        def remove():
            while not done.wait(0.001):
                if os.path.isdir(out) and len(os.listdir(out)) > 3:
                    shutil.rmtree(out, ignore_errors=True)
                    return

        thread = threading.Thread(target=remove)
        thread.start()
        traced = harness.run(words, folder=out, options=("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0"))
        done.set()
        thread.join()
        self.assertEqual(traced[:3], harness.run(words)[:3])

    def test_planted_links(self):
        """Nothing that already exists is followed or overwritten."""
        victim = os.path.join(self.folder, "victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("keep")
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        os.symlink(victim, os.path.join(out, ".rank0.owner"))
        self.same(folder=out)
        with open(victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "keep")

    def test_link_in_the_place_of_the_folder(self):
        """The user's own link is followed, another user's is not."""
        out, link = (os.path.join(self.folder, name) for name in ("out", "link"))
        os.mkdir(out)
        os.symlink(out, link)
        self.assertEqual(self.same(folder=link).said, [])
        self.assertEqual(len(harness.traces(out)), 1)
        if os.geteuid():
            self.skipTest("only root can make a link that is another user's")
        os.lchown(link, 65534, 65534)
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        result = self.same(folder=link, options=("TMPDIR=" + other,))
        self.assertIn("a symbolic link of somebody else", result.said[0])
        self.assertEqual((len(harness.traces(out)), len(harness.traces(other))), (1, 1))

    def test_one_rank_twice(self):
        """Two processes of a rank at the same time: one writes into the folder itself, one into a sub-folder."""
        options = ("RANK=1", "WORLD_SIZE=2")
        words = harness.command(WORK, folder=self.folder, options=options)
        pair = [subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL)
                for _ in range(2)]
        self.assertEqual([process.wait(timeout=300) for process in pair], [3, 3])
        paths = harness.traces(self.folder)
        self.assertEqual(len(paths), 2)
        self.assertEqual(sum(os.path.dirname(path) == self.folder for path in paths), 1)
        for path in paths:
            self.check_file(path)
        status, output = harness.tool("verify", self.folder)
        self.assertEqual((status, output.count(": ok")), (0, 2), output)

    @unittest.skipIf(harness.preloading.RUNTIMES, "the sanitizer's own mappings would fail")
    def test_no_memory(self):
        """Each of the tracer's mappings fails in turn, alone and with all that follow: the program
        continues, and what was written is valid."""
        shim = os.path.join(harness.PROGRAMS, "libfailmap.so")
        preload = f"LD_PRELOAD={shim}:{harness.LIBRARY}"
        count = self.count_mappings(preload)
        self.assertGreater(count, 20)
        for many in ("1", "100000"):
            for number in range(1, count + 1, 2 if many == "1" else 7):
                with self.subTest(number=number, many=many), \
                        tempfile.TemporaryDirectory() as folder:
                    self.same(folder=folder, options=(preload, f"FAILMAP_FROM={number}",
                                                      f"FAILMAP_COUNT={many}"))
                    for path in harness.traces(folder):
                        self.check_file(path)

    def count_mappings(self, preload):
        result = harness.run(WORK, folder=self.folder, options=(preload, "FAILMAP_FROM=1000000",
                                                                "FAILMAP_REPORT=1"))
        return int(result.stderr[-1].split(": ")[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
