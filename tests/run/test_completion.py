#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion as a user types it: bash and zsh on a terminal, fish by its own answer. A shell that is not
installed is skipped."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest

DOCS = pathlib.Path(os.environ["GPUTRACE_BUILD"]) / "docs"
TAB = "\t"
PROMPT = "READY>"
PATIENCE = 60  # seconds
# What `gputrace ps --format=csv` prints of two processes, and of one that a pid does not reach.
TRACED = "PID,Rank,Host,State,Kernels/s,Memory (MB),Command,File\\n" \
    "71234,0,a,on,,1.2,python3 a:b.py,/x.json\\n82345,1,a,on,,1.2,./app,/y.json\\n" \
    "71235,1,b,other pid namespace,,,app,\\n"


class Terminal:
    """An interactive shell; each line that is typed is given up again."""

    def __init__(self, folder, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(HOME=folder, TERM="dumb", PS1=PROMPT, COLUMNS="400")
            os.execvp(command[0], command)

    def read_until(self, text):
        out, end = "", time.monotonic() + PATIENCE
        while text not in out and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                out += os.read(self.fd, 65536).decode(errors="replace")
        return out

    def say(self, line):
        os.write(self.fd, f"{line}; echo DO''NE\n".encode())
        return self.read_until("DONE")

    def complete(self, words):
        """What the shell makes of `words` and a TAB: it is run as the arguments of a function that prints them."""
        os.write(self.fd, f"{words}{TAB}".encode())
        time.sleep(0.5)  # zsh loads its functions at the first TAB
        os.write(self.fd, b"; echo DO''NE\n")
        return self.read_until("DONE")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def given(out):
    """The arguments that the function printed."""
    return next((line.split("given:", 1)[1].strip() for line in out.replace("\r", "\n").split("\n")
                 if line.startswith("given:")), out)


class TestCompletion(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gputrace-completion-")
        self.addCleanup(self.folder.cleanup)
        pathlib.Path(self.folder.name, "a trace.json").touch()

        program = pathlib.Path(self.folder.name, "bin", "not-many-have-this-name")
        program.parent.mkdir()
        program.touch(0o755)
        os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
        listing = pathlib.Path(self.folder.name, "bin", "ps")
        listing.write_text("#!/bin/sh\necho '  PID TTY          TIME CMD'\necho '93456 ?        00:00:01 app'\n", encoding="ascii")
        listing.chmod(0o755)

    def start(self, shell, *commands):
        if not shutil.which(shell[0]):
            self.skipTest(f"{shell[0]} is not installed")
        terminal = Terminal(self.folder.name, shell)
        self.addCleanup(terminal.close)
        terminal.say(f"PS1='{PROMPT}'; gputrace() {{ [ \"$1\" = ps ] && {{ printf '{TRACED}'; return; }}; "
                     "printf 'given:'; printf ' <%s>' \"$@\"; echo; }")
        for command in commands:
            terminal.say(command)
        return terminal

    def check(self, terminal, sort):
        for typed, expected in (("gputrace stac", "<stacks>"),
                                ("gputrace verif", "<verify>"),
                                ("gputrace stats --so", f"<stats> <{sort}>"),
                                ("gputrace stats --format=ma", "<stats> <--format=markdown>"),
                                ("gputrace run --stack-la", "<run> <--stack-lane>"),
                                ("gputrace run --compress=g", "<run> <--compress=gzip>"),
                                ("gputrace stats --by li", "<stats> <--by> <line>"),
                                ("gputrace stats -b li", "<stats> <-b> <line>"),
                                ("gputrace stats --report=gpu_rat", "<stats> <--report=gpu_rate_sum>"),
                                ("gputrace stats --report=gpu_step_use,gpu_rat", "<stats> <--report=gpu_step_use,gpu_rate_sum>"),
                                ("gputrace gaps --filter=ker", "<gaps> <--filter=kernel=>"),
                                ("gputrace run --stacks f", "<run> <--stacks> <full>"),
                                ("gputrace run -l mi", "<run> <-l> <minimal>"),
                                ("gputrace run ./a", "<run> <./a trace.json>"),
                                ("gputrace run -- ./a", "<run> <--> <./a trace.json>"),
                                ("gputrace hang al", "<hang> <all>"),
                                ("gputrace hang 712", "<hang> <71234>"),
                                ("gputrace detach 8", "<detach> <82345>"),
                                ("gputrace set stacks=off 7", "<set> <stacks=off> <71234>"),
                                ("gputrace attach 934", "<attach> <93456>"),
                                ("gputrace run -- not-ma", "<run> <--> <not-many-have-this-name>"),
                                ("gputrace set flush", "<set> <flush-period=>"),
                                ("gputrace set stacks=of", "<set> <stacks=off>"),
                                ("gputrace stats a", "<stats> <a trace.json>")):
            with self.subTest(typed):
                self.assertEqual(given(terminal.complete(typed)), expected)

    def test_bash(self):
        self.check(self.start(["bash", "--norc", "--noprofile", "-i"], f"source '{DOCS}/gputrace'"), "--sort=")

    def test_zsh(self):
        self.check(self.start(["zsh", "-f", "-i"], "unsetopt auto_menu list_ambiguous zle_bracketed_paste; bindkey -e",
                              f"fpath=('{DOCS}' $fpath); autoload -U compinit; compinit -D -u"), "--sort")

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        for typed, expected in (("gputrace stac", ["stacks"]), ("gputrace stats --so", ["--sort"]),
                                ("gputrace stats --format=ma", ["--format=markdown"]),
                                ("gputrace run --stack-la", ["--stack-lane"]), ("gputrace stats -", None),
                                ("gputrace hang 712", ["71234"]), ("gputrace set 8", ["82345"]),
                                ("gputrace run -- not-ma", ["not-many-have-this-name"]),
                                ("gputrace run --stacks=full not-ma", ["not-many-have-this-name"]),
                                ("gputrace attach 934", ["93456"])):
            done = subprocess.run(["fish", "--no-config", "-c",
                                   f"function gputrace; printf '{TRACED}'; end; "
                                   f"source '{DOCS}/gputrace.fish'; complete -C '{typed}'"], cwd=self.folder.name,
                                  env={**os.environ, "HOME": self.folder.name}, capture_output=True, text=True, check=True)
            words = [line.split("\t")[0] for line in done.stdout.splitlines()]
            with self.subTest(typed):
                if "--format=" in typed:  # the help is that of the option, not of each value
                    self.assertNotIn("\t", done.stdout)
                if expected is None:
                    self.assertIn("--by", words)
                else:
                    self.assertEqual(sorted(words), expected)


if __name__ == "__main__":
    unittest.main()
