# SPDX-License-Identifier: Apache-2.0
"""Who launched a kernel, as run, symbolize and stats say: the line with <<<>>>, whatever nvcc and the
toolkit's headers put between it and the runtime and the compiler inlined.

    test_launching_line.py SOURCE_FOLDER BUILD_FOLDER PROGRAM.cu PROGRAM...
"""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, PROGRAM_TEXT, *PROGRAMS = (pathlib.Path(path).resolve() for path in sys.argv[1:])
del sys.argv[1:]
GPUTRACE = SOURCE / "scripts" / "gputrace"


def run(*command):
    environment = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
    environment.update(GPUTRACE_BUILD=str(BUILD), GPUTRACE_EXIT_TIMEOUT="60000")
    result = subprocess.run([str(word) for word in command], env=environment, check=False,
                            capture_output=True, text=True, timeout=240)
    if result.returncode:
        raise AssertionError(f"{command}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def wanted_places():
    """The lines of the source that say "launch N", by N."""
    found = {}
    lines = PROGRAM_TEXT.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        mark = re.search(r"/\* launch (\d+) \*/", line)
        if mark:
            found[int(mark[1])] = f"{PROGRAM_TEXT.name}:{number}"
    return [found[number] for number in sorted(found)]


def launching_lines(trace):
    """The place of each kernel's launch in the trace, in the order of the kernels."""
    kernels = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "kernel"]
    kernels.sort(key=lambda event: event["ts"])
    return [re.search(r" \(([^()]*)\)$", event["args"]["launched by"].split(" < ")[0])[1] for event in kernels]


def rows_by_line(trace, *options):
    rows = csv.DictReader(io.StringIO(run(GPUTRACE, "stats", "--by=line", "--format=csv", *options, trace)))
    return sorted(os.path.basename(row["Name"]) for row in rows if row["Instances"] != "0")


class LaunchingLine(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def traced(self, program, name, *options):
        run(SOURCE / "scripts" / "simcuda", GPUTRACE, "run", f"--output={self.folder}/{name}", *options, program)
        [trace] = [path for path in (self.folder / name).iterdir() if "trace" in path.name and path.name[0] != "."]
        return trace

    def test_every_launch(self):
        wanted = wanted_places()
        self.assertEqual(len(wanted), 10)
        for program in PROGRAMS:
            with self.subTest(program=program.name):
                plain = self.traced(program, f"{program.name}-off", "--symbolize=off")
                lines = self.folder / f"{program.name}.json"
                run(GPUTRACE, "symbolize", f"--output={lines}", plain)
                self.assertEqual(launching_lines(lines), wanted)
                self.assertEqual(rows_by_line(lines, "--symbolize=off"), sorted(wanted))
                # by run itself, and by the command that reads
                self.assertEqual(launching_lines(self.traced(program, f"{program.name}-on")), wanted)
                self.assertEqual(rows_by_line(plain), sorted(wanted))
                self.assertNotEqual(rows_by_line(plain, "--symbolize=off"), sorted(wanted))

    def test_the_other_form(self):
        trace = self.traced(PROGRAMS[0], "other", "--format=perfetto")
        self.assertEqual(rows_by_line(trace), sorted(wanted_places()))


if __name__ == "__main__":
    unittest.main()
