#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's trace_processor: every slice and arrow arrives, no error statistic.

No package brings its program: PyPI's "perfetto" downloads it when it is first used. It is taken from
TRACE_PROCESSOR or the PATH (trace_processor_shell).
"""

import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile

import traces

SHELL = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")


def query(path, text):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([SHELL, "-q", file.name, path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def check(path, events):
    errors = query(path, "select name, value from stats where severity = 'error' and value > 0;")
    assert not errors, errors
    slices = int(query(path, "select count(*) as n from slice where dur >= 0;")[0]["n"])
    wanted = sum(1 for e in events if e["ph"] in ("X", "i"))
    assert slices == wanted, (slices, wanted)
    arrows = int(query(path, "select count(*) as n from flow;")[0]["n"])
    assert arrows == sum(1 for e in events if e["ph"] == "f"), arrows


def main(folder):
    if not SHELL:
        print("skipped: no trace_processor_shell; no package brings it, set TRACE_PROCESSOR to one")
        return 77
    for path, events in traces.load(folder).values():
        check(path, events)
    print("trace_processor: no error statistic")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
