# SPDX-License-Identifier: Apache-2.0
"""What the tests of `gputrace run` share: where things are, and how to start the command."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "gputrace"
BUILD = pathlib.Path(os.environ.get("GPUTRACE_BUILD", ROOT / "build")).resolve()
CLI = BUILD / "cli" / "gputrace-cli"
LAUNCHER = BUILD / "cli" / "gputrace-launcher"
LIBRARY = BUILD / "preload" / "libgputrace.so"

# Variables that would change what is tested.
FOREIGN = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "RANK", "SLURM_PROCID", "SLURM_JOB_ID",
           "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "TORCHELASTIC_RUN_ID")


def environment(**changes):
    """This process's environment without what would disturb, plus the changes."""
    result = {name: value for name, value in os.environ.items()
              if name not in FOREIGN and not name.startswith("GPUTRACE_")}
    result["GPUTRACE_BUILD"] = str(BUILD)
    result["XDG_CONFIG_HOME"] = "/nonexistent"  # no gputrace.ini of the user
    result.update({name: str(value) for name, value in changes.items()})
    return result


class RunTest(unittest.TestCase):
    """A test with a scratch folder as working directory of what it starts."""

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="gputrace-test-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def command(self, *words, shell="sh", script=SCRIPT):
        interpreter = [shell] if script == SCRIPT else []  # an installed one is no script
        return [*interpreter, str(script), "run", *map(str, words)]

    def run_it(self, *words, shell="sh", script=SCRIPT, env=None, **options):
        options.setdefault("capture_output", True)
        options.setdefault("timeout", 300)
        return subprocess.run(self.command(*words, shell=shell, script=script), check=False,
                              cwd=self.scratch, env=env or environment(), **options)

    def python(self, code):
        """The words that run a piece of Python as the traced program."""
        return [sys.executable, "-S", "-c", code]
