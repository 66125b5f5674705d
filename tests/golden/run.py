#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run one golden case: run.py CLI TRACES CASE [--update]

A case is a folder with `cmd`, a shell script in which `gputrace` is the program, $TRACES the small traces,
$OLD the traces written by version 0.1 (traces-of-0.1/) and $DATA the public Kineto traces; and the expected
`stdout.exact`, `stderr.exact` (absent: empty) and `exit` (absent: 0). It runs in an empty folder. A case that
uses $DATA ($GPUTRACE_TEST_DATA, else ../shared/data next to the source tree) is skipped if there is none, as
is one that exits with 77.
"""
import difflib
import os
import subprocess
import sys
import tempfile

SKIPPED = 77


def find_data(case):
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(case))))
    beside = os.path.join(os.path.dirname(source), "shared", "data")
    data = os.environ.get("GPUTRACE_TEST_DATA", beside)
    return data if os.path.isdir(os.path.join(data, "kineto")) else None


def expected(case, name, otherwise=""):
    try:
        with open(os.path.join(case, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return otherwise


def update(case, name, text, otherwise=""):
    path = os.path.join(case, name)
    if text != otherwise:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif os.path.exists(path):
        os.unlink(path)


def run(cli, traces, case, script, data):
    with tempfile.TemporaryDirectory(prefix="gputrace-golden-") as folder:
        tools = os.path.join(folder, "tools")
        work = os.path.join(folder, "work")
        os.mkdir(tools)
        os.mkdir(work)
        os.symlink(os.path.abspath(cli), os.path.join(tools, "gputrace"))
        os.symlink(os.path.abspath(traces), os.path.join(folder, "traces"))
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(case)), "traces-of-0.1"),
                   os.path.join(folder, "old"))
        env = {"PATH": tools + ":" + os.environ["PATH"], "TRACES": "../traces", "OLD": "../old", "LC_ALL": "C.UTF-8",
               "PYTHON": sys.executable, "HOME": folder}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        if data:
            os.symlink(data, os.path.join(folder, "data"))
            env["DATA"] = "../data"
        return subprocess.run(["sh", "-e", "-c", script], cwd=work, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)


def main():
    cli, traces, case = sys.argv[1:4]
    script = expected(case, "cmd")
    data = find_data(case)
    if "$DATA" in script and not data:
        print("skipped: no Kineto traces (set GPUTRACE_TEST_DATA)")
        return SKIPPED
    done = run(cli, traces, case, script, data)
    if done.returncode == SKIPPED:
        print("skipped: a program that it needs is not here")
        return SKIPPED
    got = {"stdout.exact": done.stdout.decode(), "stderr.exact": done.stderr.decode(),
           "exit": "%d\n" % done.returncode}
    if "--update" in sys.argv[4:]:
        for name, text in got.items():
            update(case, name, text, "0\n" if name == "exit" else "")
        return 0
    failed = 0
    for name, text in got.items():
        want = expected(case, name, "0\n" if name == "exit" else "")
        if want != text:
            failed = 1
            sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), text.splitlines(True),
                                                       name + " expected", name + " now"))
    return failed


sys.exit(main())
