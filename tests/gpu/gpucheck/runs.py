# SPDX-License-Identifier: Apache-2.0
"""Runs one program, bare or traced, and gives its report, its trace and how it ended."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

from gpucheck import places, process
from gpucheck.trace import Trace

# Ours that decide how the tests run, and those by which somebody chose a CUPTI for this machine.
KEPT = {"GPUTRACE_EXIT_TIMEOUT", "GPUTRACE_CUPTI"}
REMOVED = {"LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}
UNTRACED = ("the program runs untraced", "is not traced")


def clean_environment():
    return {name: value for name, value in os.environ.items()
            if (not name.startswith("GPUTRACE_") or name in KEPT) and name not in REMOVED}


def program_words(program):
    """The words that start a program of this folder: a built one, or a Python script."""
    name, *arguments = program.split()
    if name.endswith(".py"):
        return [sys.executable, str(places.SCRIPTS / name), *arguments]
    return [str(places.PROGRAMS / name), *arguments]


class Run:
    """ended, report (the program's JSON line or {}), traces, spoiled (files that are no traces), answer (of a
    command for the traces, or None)."""

    def __init__(self, words, environment, limit):
        self.ended = process.run(words, environment, limit)
        self.report = last_json(self.ended.out)
        self.traces = []
        self.spoiled = []
        self.answer = None

    @property
    def status(self):
        return self.ended.status

    @property
    def skipped(self):
        return self.ended.status == 77

    def untraced(self):
        """What the command says when it runs the program untraced; empty: it does not say so."""
        lines = [line for line in self.said() if any(part in line for part in UNTRACED)]
        return lines[0] if lines else ""

    def said(self):
        """The lines of gputrace on stderr."""
        return [line for line in self.ended.err.splitlines() if line.startswith("gputrace:")]


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                return {}
    return {}


def run_bare(program, limit, **variables):
    return Run(program_words(program), clean_environment() | variables, limit)


def take_traces(run, folder):
    for path in sorted(pathlib.Path(folder).rglob("*.pt.trace.json")):
        try:
            run.traces.append(Trace(path))
        except (ValueError, KeyError) as error:
            run.spoiled.append(f"{path.name}: {error}")
    return run


def run_traced(program, limit, *options, asked=(), **variables):
    """Under `gputrace run`. @asked: a command for its traces, which becomes @answer."""
    folder = tempfile.mkdtemp(prefix="gputrace-check-")
    try:
        words = [*places.GPUTRACE, "run", f"--output={folder}", *options, "--",
                 *program_words(program)]
        run = take_traces(Run(words, clean_environment() | variables, limit), folder)
        if asked:
            run.answer = process.run([*places.GPUTRACE, *asked, folder], clean_environment(), limit)
        return run
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_injected(program, limit):
    """By CUDA_INJECTION64_PATH alone, no preload."""
    folder = tempfile.mkdtemp(prefix="gputrace-check-")
    try:
        variables = {"CUDA_INJECTION64_PATH": str(places.LIBRARY), "GPUTRACE_OUTPUT": folder}
        run = Run(program_words(program), clean_environment() | variables, limit)
        return take_traces(run, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
