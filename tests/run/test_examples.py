#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's examples are what the program prints, and every command has an example and a page."""
import gzip
import os
import re
import shutil
import subprocess
import sys
import unittest

from harness import BUILD, CLI, ROOT, RunTest, environment

TRACES = ROOT / "examples" / "traces"
NOT_RUN = ("open", "symbolize")  # they wait for a browser, and want a program that is not here


def readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.partition("## Each command by example")[2].partition("\n## ")[0]


def examples():
    """(command, lines) in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", readme(), re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def fits(wanted, lines):
    """Are these the lines, "..." standing for any number of them?"""
    parts = ["".join(line + "\n" for line in part) for part in split(wanted)]
    text = "".join(line + "\n" for line in lines)
    return re.fullmatch("(?:.*\n)*?".join(map(re.escape, parts)), text) is not None


def split(wanted):
    parts = [[]]
    for line in wanted:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


class TestExamples(RunTest):
    def test_readme_shows_what_is_printed(self):
        tools = self.scratch / "tools"
        tools.mkdir()
        (tools / "gputrace").symlink_to(CLI)
        work = self.scratch / "work"
        shutil.copytree(TRACES, work)
        env = environment(LC_ALL="C.UTF-8")
        env["PATH"] = f"{tools}:{env['PATH']}"
        count = 0
        for command, wanted in examples():
            if command.split()[1] in NOT_RUN:
                continue
            done = subprocess.run(["sh", "-c", command], cwd=work, env=env, timeout=300, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertTrue(fits(wanted, done.stdout.splitlines()), f"{command}\n{done.stdout}")
            self.assertEqual(done.returncode, 3 if "--gate" in command else 0, command)
            count += 1
        self.assertGreaterEqual(count, 12)

    def test_every_command_has_an_example_and_a_page(self):
        listed = subprocess.run([str(CLI), "--help"], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE):
            if name != "run":  # the README begins with it
                self.assertRegex(readme(), rf"gputrace {name}\b", "the README has no example")
            if name in ("run", "doctor"):  # their page is gputrace(1)
                continue
            page = BUILD / "docs" / f"gputrace-{name}.1"
            self.assertIn(".SH EXAMPLES", page.read_text(encoding="utf-8"), page)

    def test_traces_are_those_of_the_golden_cases(self):
        """examples/traces is made by tests/golden/make_traces.py: gzip -9n, or as it is."""
        made = self.scratch / "made"
        subprocess.run([sys.executable, str(ROOT / "tests" / "golden" / "make_traces.py"), str(made),
                        str(self.scratch / "stamp")], check=True)
        pairs = {"train.json.gz": "train.json", "slow-kernel.json.gz": "slow_kernel.json",
                 "slow-loader.json.gz": "slow_loader.json", "killed.json": "running.json", "memory.json.gz": "memory.json",
                 "ranks/rank0.json.gz": "ranks/rank0_n3_4100.1.pt.trace.json",
                 "ranks/rank1.json.gz": "ranks/rank1_n3_4101.1.pt.trace.json"}
        have = {os.path.relpath(path, TRACES) for path in TRACES.rglob("*.json*")}
        self.assertEqual(have, set(pairs))
        for ours, theirs in pairs.items():
            data = (TRACES / ours).read_bytes()
            self.assertEqual(gzip.decompress(data) if ours.endswith(".gz") else data,
                             (made / theirs).read_bytes(), ours)


if __name__ == "__main__":
    unittest.main()
