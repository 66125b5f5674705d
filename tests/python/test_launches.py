# SPDX-License-Identifier: Apache-2.0
"""Traces launches.py on the simulated device under every Python on this machine: the trace must name
the line of each launch.

    test_launches.py BUILD SOURCE LATE_PROGRAM
"""
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import interpreters

HERE = pathlib.Path(__file__).parent
BUILD, SOURCE, LATE = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
del sys.argv[1:4]
LEFT_OUT = "python_stacks_broken", "python_frames_unnamed"
PROGRAM = HERE / "launches.py"


def trace(command, folder, **options):
    """(lines of launches that the program printed, the trace)"""
    environment = dict(os.environ, GPUTRACE_OUTPUT=folder, GPUTRACE_EXIT_TIMEOUT="60000",
                       LD_PRELOAD=str(BUILD / "preload" / "libgputrace.so"))
    environment.update({f"GPUTRACE_{name.upper()}": value for name, value in options.items()})
    simulator = [str(SOURCE / "scripts" / "simcuda"), f"--build={BUILD}"]
    preload = environment.pop("LD_PRELOAD")
    result = subprocess.run([*simulator, "env", f"LD_PRELOAD={preload}", *command, str(PROGRAM)],
                            env=environment, capture_output=True, text=True, timeout=400,
                            check=False)
    if result.returncode:
        raise AssertionError(f"status {result.returncode}: {result.stdout}{result.stderr}")
    files = glob.glob(os.path.join(folder, "*.json"))
    if len(files) != 1:
        raise AssertionError(f"{files}: {result.stderr}")
    with open(files[0], encoding="utf-8") as file:
        return result.stdout.splitlines(), json.load(file)


def kernels(document):
    """The kernels in the order of their launches."""
    slices = [event for event in document["traceEvents"]
              if event.get("cat") == "kernel"]
    return sorted(slices, key=lambda event: event["args"]["correlation"])


def python_frames(event, key="launched by"):
    """(line, function) of the Python frames in "launched by" or "created by"."""
    frames = (re.fullmatch(r"(.*) \(launches\.py:(\d+)\)", frame)
              for frame in event["args"][key].split(" < "))
    return [(match[2], match[1]) for match in frames if match]


def lines_of(events, key="launched by"):
    return ["\t".join(python_frames(event, key)[0]) for event in events]


def select(printed, what):
    return [line.split("\t", 1)[1] for line in printed if line.startswith(what + "\t")]


class Launches(unittest.TestCase):
    def setUp(self):
        self.pythons = [about for about in interpreters.find()
                        if interpreters.is_supported(about)]
        self.assertTrue(self.pythons, "no supported CPython on this machine")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_each_launch_has_its_line(self):
        for number, about in enumerate(self.pythons):
            with self.subTest(about["path"]):
                wanted, document = trace([about["path"]], f"{self.folder.name}/{number}")
                replayed = [e for e in kernels(document) if "created by" in e["args"]]
                launched = [e for e in kernels(document) if "created by" not in e["args"]]
                nodes = select(wanted, "created")
                self.assertEqual(lines_of(launched), select(wanted, "launched"))
                self.assertEqual(len(set(nodes)), 3)
                self.assertEqual(lines_of(replayed, "created by"),
                                 nodes * len(select(wanted, "replayed")))
                self.assertEqual(lines_of(replayed),
                                 [line for line in select(wanted, "replayed") for _ in nodes])
                self.assertEqual(document["metadata"]["python"],
                                 ".".join(map(str, about["version"])))
                self.assertEqual([document["ledger"][key] for key in LEFT_OUT], [0, 0])
                print("CPython", ".".join(map(str, about["version"])), flush=True)

    def test_interpreter_that_comes_late(self):
        """Loaded by a program that uses CUDA already."""
        for number, about in enumerate(self.pythons):
            library = interpreters.shared_library(about)
            if not library:
                continue
            with self.subTest(about["path"]):
                wanted, document = trace(
                    [str(LATE), *library, str(HERE / "until_seen.py")],
                    f"{self.folder.name}/{number}")
                launched = [e for e in kernels(document) if "created by" not in e["args"]]
                self.assertEqual(lines_of(launched), select(wanted, "launched"))
                print("late CPython", ".".join(map(str, about["version"])), flush=True)

    def test_off(self):
        wanted, document = trace([self.pythons[-1]["path"]], self.folder.name, python="off")
        got = [python_frames(event) for event in kernels(document)]
        self.assertTrue(wanted)
        self.assertFalse(any(got))


if __name__ == "__main__":
    unittest.main()
