# SPDX-License-Identifier: Apache-2.0
"""Runs a program that stops at gates (tests/gate.h) until the test has seen what it waits for, so that
tests do not depend on sleeps."""
import glob
import os
import subprocess
import tempfile
import time

PATIENCE = 100  # seconds until a condition counts as failed


def wait_for(condition, seconds=PATIENCE):
    """Polls until the condition holds. False: it never did."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def texts(folder):
    """The current content of the traces below a folder; the last line of each may be cut."""
    for path in glob.glob(os.path.join(folder, "**", "*.pt.trace.json"), recursive=True):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield file.read()
        except FileNotFoundError:  # removed or renamed meanwhile
            pass


def count(folder, word):
    """The number of occurrences of a word in them."""
    return sum(text.count(word) for text in texts(folder))


def run(command, conditions, env, timeout=300, **how):
    """As subprocess.run. Opens each gate in order when its condition holds or has failed; without
    conditions all gates are open."""
    with tempfile.TemporaryDirectory() as folder:
        gate = os.path.join(folder, "gate")
        with subprocess.Popen(command, env=dict(env, GATE=gate) if conditions else env,
                              stdin=subprocess.DEVNULL, text=True, **how) as process:
            for number, condition in enumerate(conditions, 1):
                wait_for(lambda: process.poll() is not None or condition())
                with open(f"{gate}.{number}", "w", encoding="ascii"):
                    pass
            try:
                out, errors = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)
