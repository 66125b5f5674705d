#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: on a terminal, after a second, gone at the end; never elsewhere."""
import os
import re
import subprocess
import time
import unittest

from harness import CLI, RunTest, environment
from terminal import PATIENCE, Terminal

EVENT = ('{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0, '
         '"args": {"device": 0, "stream": 7}}')
ERASE = b"\r\x1b[K"


class TestProgress(RunTest):
    def slow(self, *words, word=None, seconds=1.6, on_terminal=("stderr",), env=None):
        """Runs a command whose input, a FIFO named slow.json, comes to its end when the word was shown, or
        without a word after so many seconds. What came on the terminal, and on stdout if that was none;
        and how long all of it took."""
        fifo = self.scratch / "slow.json"
        if fifo.exists():
            fifo.unlink()
        os.mkfifo(fifo)
        terminal = Terminal()
        self.addCleanup(terminal.close)
        streams = {name: terminal.other if name in on_terminal else subprocess.PIPE
                   for name in ("stdout", "stderr")}
        began = time.monotonic()
        process = subprocess.Popen([str(CLI), *words, str(fifo)], cwd=self.scratch,
                                   env={**environment(TERM="xterm"), **(env or {})},
                                   stdin=subprocess.DEVNULL, **streams)
        with open(fifo, "w", encoding="ascii") as file:
            file.write("[\n" + EVENT)
            file.flush()
            if word:
                terminal.read(re.escape(ERASE + b"gputrace: " + word))
            else:
                time.sleep(seconds)
            file.write("\n]\n")
        out, errors = process.communicate(timeout=PATIENCE)
        took = time.monotonic() - began
        return process.returncode, terminal.read(), out, errors, took

    def test_a_line_that_goes_away(self):
        commands = {("stats",): b"reading", ("gaps",): b"reading", ("stacks",): b"reading",
                    ("verify",): b"verifying",
                    ("export", "--csv=out"): b"exporting", ("report",): b"reading"}
        for command, word in commands.items():
            _, shown, out, _, _ = self.slow(*command, word=word)
            self.assertIn(ERASE + b"gputrace: " + word, shown, command)
            self.assertTrue(shown.endswith(ERASE), (command, shown))
            self.assertNotIn(b"\x1b", out, command)

    def test_tables_come_behind_it(self):
        _, shown, _, _, _ = self.slow("stats", word=b"reading", on_terminal=("stdout", "stderr"))
        line, tables = shown.rsplit(ERASE, 1)
        self.assertIn(b"reading", line)
        self.assertNotIn(b"Kernels", line)
        self.assertIn(b"Kernels", tables)

    def test_findings_come_behind_it(self):
        status, shown, _, _, _ = self.slow("verify", word=b"verifying", on_terminal=("stdout", "stderr"))
        line, findings = shown.rsplit(ERASE, 1) if shown.endswith(b"\n") else (shown, b"")
        self.assertEqual(status, 1)
        self.assertIn(b"verifying", line)
        self.assertIn(b"slow.json", findings or line)

    def test_nothing_elsewhere(self):
        for how in ({"on_terminal": ()}, {"on_terminal": ("stdout",)},
                    {"env": {"TERM": "dumb"}}, {"env": {"GPUTRACE_QUIET": "yes"}},
                    {"seconds": 0.1}):
            _, shown, out, errors, took = self.slow("stats", **how)
            if "seconds" in how and took > 1:
                continue  # on a busy machine it was no short work
            for text in (shown, out or b"", errors or b""):
                self.assertNotIn(b"reading", text, how)

    def test_share_of_a_file(self):
        """Of files whose size is known: percent, bytes and rate."""
        whole = self.scratch / "a.json"
        whole.write_text("[\n" + ",\n".join([EVENT] * 20000) + "\n]\n")
        fifo = self.scratch / "b.json"
        os.mkfifo(fifo)
        terminal = Terminal()
        self.addCleanup(terminal.close)
        process = subprocess.Popen([str(CLI), "stats", str(whole), str(fifo)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=terminal.other,
                                   env=environment(TERM="xterm"))
        wanted = rb"reading \d+ %, \d+\.\d of \d+\.\d MB, \d+ MB/s"
        with open(fifo, "w", encoding="ascii") as file:
            file.write("[\n" + EVENT)
            file.flush()
            terminal.read(wanted)
            file.write("\n]\n")
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertRegex(terminal.read(), wanted)


if __name__ == "__main__":
    unittest.main()
