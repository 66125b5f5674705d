# SPDX-License-Identifier: Apache-2.0
"""Who launched a kernel, after gputrace symbolize: the line with <<<>>>, whatever nvcc and the
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


class LaunchingLine(unittest.TestCase):
    def symbolized(self, program, folder):
        run(SOURCE / "scripts" / "simcuda", GPUTRACE, "run",
            f"--output={folder}/out", program)
        trace, = (folder / "out").glob("*.json")
        run(GPUTRACE, "symbolize", f"--output={folder}/lines.json", trace)
        return folder / "lines.json"

    def test_every_launch(self):
        wanted = wanted_places()
        self.assertEqual(len(wanted), 10)
        for program in PROGRAMS:
            with self.subTest(program=program.name), tempfile.TemporaryDirectory() as folder:
                trace = self.symbolized(program, pathlib.Path(folder))
                kernels = [event for event in json.loads(trace.read_text())["traceEvents"]
                           if event.get("cat") == "kernel"]
                kernels.sort(key=lambda event: event["ts"])
                got = [re.search(r" \(([^()]*)\)$", event["args"]["launched by"].split(" < ")[0])[1]
                       for event in kernels]
                self.assertEqual(got, wanted)
                rows = csv.DictReader(io.StringIO(
                    run(GPUTRACE, "stats", "--by=line", "--format=csv", trace)))
                self.assertEqual(sorted(os.path.basename(row["Name"]) for row in rows
                                        if row["Instances"] != "0"), sorted(wanted))


if __name__ == "__main__":
    unittest.main()
