# SPDX-License-Identifier: Apache-2.0
"""Runs one program, bare or traced, and gives its report, its trace and what happened."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from trace import Trace

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPUTRACE_BUILD", ROOT / "build")).resolve()
PROGRAMS = BUILD / "tests" / "gpu"
SCRIPTS = ROOT / "tests" / "gpu" / "programs"
LIBRARY = BUILD / "preload" / "libgputrace.so"
GPUTRACE = ROOT / "scripts" / "gputrace"
TIMEOUT = 180


def clean_environment():
    return {name: value for name, value in os.environ.items()
            if (not name.startswith("GPUTRACE_") or name == "GPUTRACE_EXIT_TIMEOUT")
            and name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")} | {"GPUTRACE_BUILD": str(BUILD)}


def program_words(program):
    """The words that start a program of this folder: a built one, or a Python script."""
    name, *arguments = program.split()
    if name.endswith(".py"):
        return [sys.executable, str(SCRIPTS / name), *arguments]
    return [str(PROGRAMS / name), *arguments]


class Run:
    """status, report (the program's JSON line or {}), traces, began_ns, ended_ns, text."""

    def __init__(self, words, environment):
        self.began_ns = time.time_ns()
        try:
            done = subprocess.run(words, env=environment, capture_output=True, text=True,
                                  check=False, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
            self.status, self.text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            self.status, self.text, done = None, f"still running after {TIMEOUT} s", None
        except OSError as error:
            self.status, self.text, done = 127, str(error), None
        self.ended_ns = time.time_ns()
        self.report = last_json(done.stdout) if done else {}
        self.traces = []
        self.spoiled = []

    @property
    def skipped(self):
        return self.status == 77


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {}


def run_bare(program, **variables):
    return Run(program_words(program), clean_environment() | variables)


def take_traces(run, folder):
    for path in sorted(pathlib.Path(folder).rglob("*.pt.trace.json")):
        try:
            run.traces.append(Trace(path))
        except (ValueError, KeyError) as error:
            run.spoiled.append(f"{path.name}: {error}")
    return run


def run_traced(program, *options, **variables):
    """Under `gputrace run`."""
    folder = tempfile.mkdtemp(prefix="gputrace-check-")
    try:
        words = [str(GPUTRACE), "run", f"--output={folder}", *options, "--", *program_words(program)]
        return take_traces(Run(words, clean_environment() | variables), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_injected(program):
    """By CUDA_INJECTION64_PATH alone, no preload."""
    folder = tempfile.mkdtemp(prefix="gputrace-check-")
    try:
        return take_traces(Run(program_words(program), clean_environment() | {
            "CUDA_INJECTION64_PATH": str(LIBRARY), "GPUTRACE_OUTPUT": folder}), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
