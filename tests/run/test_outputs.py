#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that commands write: never over one that exists, gone again when they are not whole."""
import os
import resource
import shutil
import signal
import subprocess
import unittest

from harness import CLI, ROOT, RunTest, environment

TRACE = ROOT / "examples" / "traces" / "train.json.gz"
COMMANDS = [["report", "--output={}"], ["stacks", "--svg={}"], ["stacks", "--speedscope={}"],
            ["merge", "--output={}"], ["symbolize", "--output={}"]]
TO_STANDARD_OUTPUT = [["report", "--output=-"], ["stacks", "--svg=-"], ["merge"], ["symbolize"]]


def let_files_be_small():
    """A disk that is full after a KiB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


class TestOutputs(RunTest):
    def cli(self, words, target=None, **options):
        words = [word.format(target) for word in words]
        return subprocess.run([CLI, *words, "trace.json.gz"], cwd=self.scratch, check=False,
                              stderr=subprocess.PIPE, text=True, timeout=300, env=environment(),
                              **{"stdout": subprocess.PIPE, **options})

    def setUp(self):
        super().setUp()
        shutil.copy(TRACE, self.scratch / "trace.json.gz")

    def each(self, commands):
        for words in commands:
            with self.subTest(words=words):
                yield words

    def test_no_file_is_overwritten(self):
        os.symlink("trace.json.gz", self.scratch / "link")
        (self.scratch / "other").write_text("mine", encoding="ascii")
        for words in self.each(COMMANDS):
            for target in ("trace.json.gz", "link", "other"):
                done = self.cli(words, target)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr, f"gputrace: {target}: exists already, and is not overwritten\n")
        self.assertEqual((self.scratch / "trace.json.gz").read_bytes(), TRACE.read_bytes())
        self.assertEqual((self.scratch / "other").read_text(encoding="ascii"), "mine")

    def test_a_full_device(self):
        for words in self.each(COMMANDS):
            done = self.cli(words, "/dev/full")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "gputrace: /dev/full: No space left on device\n")
            self.assertEqual(done.stdout, "")
        self.assertTrue(os.path.exists("/dev/full"))

    def test_standard_output_is_full(self):
        for words in self.each(TO_STANDARD_OUTPUT):
            with open("/dev/full", "wb") as full:
                done = self.cli(words, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "gputrace: standard output: No space left on device\n")

    def test_half_a_file_is_removed(self):
        for words in self.each(COMMANDS):
            done = self.cli(words, "new", preexec_fn=let_files_be_small)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "gputrace: new: File too large\n")
            self.assertEqual(os.listdir(self.scratch), ["trace.json.gz"])

    def write_large(self):
        """Some tenths of a second's work."""
        event = ('{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {0}, "dur": 0.5, "args": '
                 '{{"device": 0, "stream": 7, "correlation": {0}}}}}')
        with open(self.scratch / "large.json", "w", encoding="ascii") as file:
            file.write("[\n" + ",\n".join(event.format(i + 1) for i in range(400000)) + "\n]\n")

    def test_half_a_file_is_removed_by_a_signal(self):
        """The command ends as by the signal, without a word."""
        self.write_large()
        (self.scratch / "trace.json.gz").unlink()
        for words in self.each([["merge", "--output=new"], ["symbolize", "--output=new"], ["export", "--sqlite=new"],
                                ["export", "--csv=new"]]):
            for number in (signal.SIGINT, signal.SIGTERM):
                ended = self.interrupt(words, number)
                while ended[0] == 0:  # it was faster
                    self.remove_new()
                    ended = self.interrupt(words, number)
                self.assertEqual(ended, (-number, "", ""))
                self.assertEqual(os.listdir(self.scratch), ["large.json"])

    def interrupt(self, words, number):
        """Once its output is there. (status, stdout, stderr)"""
        with subprocess.Popen([CLI, *words, "large.json"], cwd=self.scratch, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not os.path.lexists(self.scratch / "new"):
                pass
            process.send_signal(number)
            said = process.communicate(timeout=300)
        return process.returncode, *said

    def remove_new(self):
        new = self.scratch / "new"
        if new.is_dir():
            shutil.rmtree(new)
        else:
            new.unlink()

    def test_nothing_to_symbolize(self):
        """A trace that was cut inside its first event."""
        with open(self.scratch / "cut.json", "w", encoding="ascii") as file:
            file.write('[{"ph": "M", "name": "process_na')
        done = subprocess.run([CLI, "symbolize", "--output=new", "cut.json"], cwd=self.scratch, env=environment(),
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "gputrace: cut.json: holds no event\n"))
        self.assertFalse((self.scratch / "new").exists())

    def test_a_cut_gzip_file_is_called_that(self):
        path = self.scratch / "trace.json.gz"
        path.write_bytes(TRACE.read_bytes()[:-100])
        done = self.cli(["verify"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("gputrace repair closes it", done.stdout)
        self.assertNotIn("member", done.stdout)

    def test_a_folder_of_two_traces_is_not_served(self):
        folder = self.scratch / "runs"
        folder.mkdir()
        names = [folder / f"{name}.json.gz" for name in ("one", "two")]
        for name in names:
            name.write_bytes(TRACE.read_bytes())
        done = subprocess.run([CLI, "open", "--port=0", "--timeout=1", folder], check=False,
                              capture_output=True, text=True, timeout=300, env=environment())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.splitlines(), [
            f"gputrace open: {folder}: 2 traces; name one of:", *(f"  {name}" for name in names),
            f"or make one of all: gputrace merge --output=all.json {folder}"])

    def test_what_is_whole_stays(self):
        for words in self.each(COMMANDS):
            done = self.cli(words, "new")
            self.assertEqual(done.returncode, 0, done.stderr)
            (self.scratch / "new").unlink()


if __name__ == "__main__":
    unittest.main()
