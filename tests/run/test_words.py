#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The words of the command line: short options, values in the next word, gputrace.ini, the newest run, and what
other tools call it."""
import os
import shutil
import subprocess
import unittest

from harness import CLI, LAUNCHER, ROOT, RunTest, environment

TRACE = ROOT / "examples" / "traces" / "train.json.gz"


def variables(done):
    return dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)


class TestRunWords(RunTest):
    def test_values_and_letters(self):
        for words in (("--output", "o", "--stacks", "off"), ("-o", "o", "--stacks=off"), ("-oo", "--stacks", "off"),
                      ("-qo", "o", "--stacks=off"), ("-qoo", "--stacks=off")):
            values = variables(self.run_it(*words, "-q", "-d", "2m", "env"))
            self.assertTrue(values["GPUTRACE_OUTPUT"].endswith("/o"), words)
            self.assertEqual((values["GPUTRACE_STACKS"], values["GPUTRACE_QUIET"], values["GPUTRACE_DURATION"]),
                             ("off", "yes", "2m"), words)

    def test_switch_takes_no_next_word(self):
        self.assertEqual(self.run_it("--sync", "echo", "started").stdout, b"started\n")

    def test_other_names(self):
        for word, needle in (("--cuda-graph-trace=node", "--graphs"), ("--sample=cpu", "--sample-cpu"), ("-z", "-z")):
            done = self.run_it(word, "true")
            self.assertEqual(done.returncode, 2)
            self.assertIn(needle, done.stderr.decode())

    def test_variable_that_is_not_set(self):
        done = self.run_it("--output=%q{NOT_SET_HERE}/x", "touch", "started")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1))
        self.assertIn(b"the environment variable NOT_SET_HERE is not set", done.stderr)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_untraced_without_the_cli(self):
        """What runs the program untraced finds it behind the same words: the launcher and the script."""
        alone = self.scratch / "gputrace-launcher"
        shutil.copy(LAUNCHER, alone)
        for command in ([str(alone), "run"], self.command()):
            for words in (["-o", "dir", "--stacks", "off", "--sync"], ["--output=dir", "-q"], ["-l", "full", "--"]):
                done = subprocess.run([*command, *words, "echo", "started"], capture_output=True, check=False,
                                      cwd=self.scratch, env={**environment(), "GPUTRACE_BUILD": "/nonexistent"})
                self.assertEqual((done.returncode, done.stdout), (0, b"started\n"), (command, words, done.stderr))
                self.assertIn(b"untraced", done.stderr)


class TestSettings(RunTest):
    def setUp(self):
        super().setUp()
        self.home = self.scratch / "config"
        (self.home / "gputrace").mkdir(parents=True)
        self.own = self.home / "gputrace" / "gputrace.ini"
        self.project = self.scratch / "gputrace.ini"

    def run_env(self, *words, **changes):
        return self.run_it(*words, "env", env=environment(XDG_CONFIG_HOME=self.home, **changes))

    def test_who_wins(self):
        self.own.write_text(f"# mine\n; too\n\nstacks = full\noutput = {self.scratch}/o\nsync=yes\nlevel = full\n")
        self.project.write_text("  stacks=short  \nlevel = minimal\n")
        values = variables(self.run_env("--level=default", GPUTRACE_SYNC="no"))
        self.assertEqual(values["GPUTRACE_STACKS"], "short")  # the project's
        self.assertEqual(values["GPUTRACE_OUTPUT"], f"{self.scratch}/o")
        self.assertEqual(values["GPUTRACE_SYNC"], "no")  # the environment's
        self.assertEqual(values["GPUTRACE_LEVEL"], "default")  # the command line's

    def test_wrong_lines(self):
        for text, needle in (("stack = off", "--stacks"), ("stacks", "option = value"), ("\nstacks = maybe", ":2: "),
                             ("cupti = /tmp/x.so", "must not choose"), ("output = x", "must not choose"),
                             ("spool = /tmp", "must not choose")):
            self.project.write_text(text + "\n")
            done = self.run_env()
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (2, b"", 1), text)
            self.assertIn(needle, done.stderr.decode())
            self.assertIn("gputrace.ini:", done.stderr.decode())

    def test_no_file_to_read(self):
        """What is wrong and what to do is said in one line, and the program runs."""
        cases = ((os.mkfifo, "no regular file; it takes one option = value a line"),
                 (os.mkdir, "a folder, not a file; it takes one option = value a line"),
                 (lambda path: path.write_text("#" * 70000), "larger than 64 KiB, the most that settings take; "),
                 (lambda path: path.write_bytes(b"stacks = off\0"), "no text; it takes one option = value a line"),
                 (lambda path: path.symlink_to("nowhere"), "a dangling symbolic link; remove it or fix it"),
                 (lambda path: path.symlink_to(path), "a loop of symbolic links; remove it or fix it"))
        for make, expected in cases:
            make(self.project)
            done = self.run_env()
            said = [line for line in done.stderr.decode().splitlines() if "gputrace.ini" in line]
            self.assertEqual((done.returncode, len(said)), (0, 1), done.stderr)
            self.assertIn(f"gputrace.ini: not read: it is {expected}", said[0])
            self.assertNotIn("GPUTRACE_STACKS", variables(done))
            self.project.rmdir() if self.project.is_dir() else self.project.unlink()

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_of_another_user(self):
        self.project.write_text("stacks = off\n")
        os.chown(self.project, 65534, 65534)
        done = self.run_env()
        self.assertNotIn("GPUTRACE_STACKS", variables(done))
        self.assertIn(b"belongs to another user", done.stderr)

    def test_doctor_shows_them(self):
        self.project.write_text("stacks = off\nnonsense = 1\n")
        done = subprocess.run([str(LAUNCHER), f"--source={ROOT}", "doctor"], capture_output=True, text=True, check=False,
                              cwd=self.scratch, env=environment(XDG_CONFIG_HOME=self.home))
        self.assertRegex(done.stdout, r"ok +settings +gputrace.ini: stacks=off")
        self.assertRegex(done.stdout, r"gputrace.ini:2: there is no option --nonsense")


class TestNewestRun(RunTest):
    def cli(self, *words):
        return subprocess.run([str(CLI), *words], capture_output=True, text=True, check=False, cwd=self.scratch,
                              env=environment())

    def make_run(self, name, traces=1):
        folder = self.scratch / "gputrace-out" / name
        folder.mkdir(parents=True)
        for i in range(traces):
            shutil.copy(TRACE, folder / f"{'ab'[i]}.json.gz")

    def test_newest(self):
        self.make_run("20261102-101010-99")
        self.make_run("20261103-101010-5")
        self.make_run("20261101-235959-1000")
        for command in ("stats", "gaps", "stacks", "verify"):
            done = self.cli(command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"gputrace {command}: the newest run, gputrace-out/20261103-101010-5\n", done.stderr)

    def test_none(self):
        done = self.cli("stats")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no run in gputrace-out", done.stderr)

    def test_folder_for_one_trace(self):
        self.make_run("one")
        self.make_run("two", traces=2)
        done = self.cli("convert", "gputrace-out/one", "one.pftrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in (("convert", "gputrace-out/two", "two.pftrace"), ("symbolize", "gputrace-out/two"),
                      ("open", "gputrace-out/two")):
            done = self.cli(*words)
            self.assertEqual(done.returncode, 1)
            self.assertIn("gputrace-out/two: 2 traces; name one of:\n  gputrace-out/two/a.json.gz\n", done.stderr)
        self.assertEqual(self.cli("compress", "gputrace-out/two").stdout.count("packed already"), 2)


class TestOutputs(RunTest):
    def cli(self, *words):
        return subprocess.run([str(CLI), *words], capture_output=True, text=True, check=False, cwd=self.scratch,
                              env=environment())

    def test_a_file_for_each_table(self):
        done = self.cli("stats", "--format=csv", "-o", "tables", str(TRACE))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        for path in (self.scratch / "tables").iterdir():
            self.assertNotIn("\n\n", path.read_text(), path)
        self.assertIn("cuda_gpu_kern_sum.csv", os.listdir(self.scratch / "tables"))
        done = self.cli("stats", "--format=csv", "-o", "tables", str(TRACE))
        self.assertEqual(done.returncode, 1)
        self.assertIn("exists already, and is not overwritten", done.stderr)

    def test_report_replaces_its_own_page_only(self):
        page = self.scratch / "gputrace-report.html"
        for _ in range(2):
            self.assertEqual(self.cli("report", str(TRACE)).returncode, 0)
        page.write_text("<html>mine")
        self.assertEqual(self.cli("report", str(TRACE)).returncode, 1)
        self.assertEqual(page.read_text(), "<html>mine")


class TestCommands(RunTest):
    def test_help(self):
        for command in ("stats", "run", "gaps"):
            done = subprocess.run([str(CLI), "help", command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"usage: gputrace {command} ", done.stdout)

    def test_narrow_terminal(self):
        done = subprocess.run([str(CLI), "help", "run"], capture_output=True, text=True, check=True,
                              env={**os.environ, "COLUMNS": "72"})
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 72)

    def test_other_tools_words(self):
        for word, meant in (("record", "run"), ("profile", "run"), ("statz", "stats"), ("view", "open")):
            done = subprocess.run([str(CLI), word], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"did you mean '{meant}'?", done.stderr)

    def test_reports_of_other_names(self):
        for word, meant in (("gpukernsum", "cuda_gpu_kern_sum"), ("cuda_gpu_kern_sm", "cuda_gpu_kern_sum"), ("osrtsum", "osrt_sum")):
            done = subprocess.run([str(CLI), "stats", f"--report=gpu_rank_use,{word}", TRACE], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"--report={word}: no such report; did you mean {meant}?", done.stderr)


if __name__ == "__main__":
    unittest.main()
