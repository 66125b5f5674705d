#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: on a terminal, after a second, gone at the end; never elsewhere."""
import os
import pty
import select
import subprocess
import time
import unittest

from harness import CLI, RunTest, environment

EVENT = ('{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0, '
         '"args": {"device": 0, "stream": 7}}')
ERASE = b"\r\x1b[K"


class TestProgress(RunTest):
    def slow(self, *words, seconds=1.6, on_terminal=("stderr",), env=None):
        """Runs a command whose input, a FIFO named slow.json, takes so long to come. What came on the
        terminal, and on stdout if that was none."""
        fifo = self.scratch / "slow.json"
        if fifo.exists():
            fifo.unlink()
        os.mkfifo(fifo)
        master, terminal = pty.openpty()
        streams = {name: terminal if name in on_terminal else subprocess.PIPE
                   for name in ("stdout", "stderr")}
        process = subprocess.Popen([str(CLI), *words, str(fifo)], cwd=self.scratch,
                                   env={**environment(TERM="xterm"), **(env or {})},
                                   stdin=subprocess.DEVNULL, **streams)
        os.close(terminal)
        with open(fifo, "w", encoding="ascii") as file:
            file.write("[\n" + EVENT)
            file.flush()
            time.sleep(seconds)
            file.write("\n]\n")
        out, errors = process.communicate(timeout=60)
        shown = b""
        while select.select([master], [], [], 0.2)[0]:
            try:
                more = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        os.close(master)
        return process.returncode, shown, out, errors

    def test_a_line_that_goes_away(self):
        commands = {("stats",): b"reading", ("gaps",): b"reading", ("stacks",): b"reading",
                    ("verify",): b"verifying",
                    ("export", "--csv=out"): b"exporting", ("report",): b"reading"}
        for command, word in commands.items():
            _, shown, out, _ = self.slow(*command)
            self.assertIn(ERASE + b"gputrace: " + word, shown, command)
            self.assertTrue(shown.endswith(ERASE), (command, shown))
            self.assertNotIn(b"\x1b", out, command)

    def test_tables_come_behind_it(self):
        _, shown, _, _ = self.slow("stats", on_terminal=("stdout", "stderr"))
        line, tables = shown.rsplit(ERASE, 1)
        self.assertIn(b"reading", line)
        self.assertNotIn(b"Kernels", line)
        self.assertIn(b"Kernels", tables)

    def test_findings_come_behind_it(self):
        status, shown, _, _ = self.slow("verify", on_terminal=("stdout", "stderr"))
        line, findings = shown.rsplit(ERASE, 1) if shown.endswith(b"\n") else (shown, b"")
        self.assertEqual(status, 1)
        self.assertIn(b"verifying", line)
        self.assertIn(b"slow.json", findings or line)

    def test_nothing_elsewhere(self):
        for how in ({"on_terminal": ()}, {"on_terminal": ("stdout",)},
                    {"env": {"TERM": "dumb"}}, {"env": {"GPUTRACE_QUIET": "yes"}},
                    {"seconds": 0.1}):
            _, shown, out, errors = self.slow("stats", **how)
            for text in (shown, out or b"", errors or b""):
                self.assertNotIn(b"reading", text, how)

    def test_share_of_a_file(self):
        """Of files whose size is known: percent, bytes and rate."""
        folder = self.scratch / "ranks"
        folder.mkdir()
        (folder / "a.json").write_text("[\n" + ",\n".join([EVENT] * 20000) + "\n]\n")
        fifo = folder / "b.json"
        os.mkfifo(fifo)
        master, terminal = pty.openpty()
        process = subprocess.Popen([str(CLI), "stats", str(folder)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=terminal,
                                   env=environment(TERM="xterm"))
        os.close(terminal)
        with open(fifo, "w", encoding="ascii") as file:
            file.write("[\n" + EVENT)
            file.flush()
            time.sleep(2.5)
            file.write("\n]\n")
        self.assertEqual(process.wait(60), 0)
        shown = os.read(master, 65536)
        os.close(master)
        self.assertRegex(shown, rb"reading \d+ %, \d+\.\d of \d+\.\d MB, \d+ MB/s")


if __name__ == "__main__":
    unittest.main()
