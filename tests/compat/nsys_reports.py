#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All reports of `nsys stats` and rules of `nsys analyze` run on our SQLite files without an error.

usage: nsys_reports.py CLI MAKE_TRACE

nsys is taken from NSYS or the PATH; where there is none the test is skipped. Debian has version 2022.4 in its component
non-free. It need not be installed, which would bring a libcuda.so.1: `apt-get download nsight-systems nsight-systems-target`,
`dpkg -x FILE nsys` of both, NSYS=nsys/usr/lib/nsight-systems/target-linux-x64/nsys.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

NSYS = os.environ.get("NSYS") or shutil.which("nsys")
LISTED = re.compile(r"^\s+([a-z0-9][a-z0-9_-]*)(?:[\[:].*)? -- ", re.MULTILINE)
# what a report says for which the trace holds nothing
NO_DATA = ("does not contain", "SKIPPED", "could not be analyzed")


def listed(*words):
    done = subprocess.run([NSYS, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return sorted(set(LISTED.findall(done.stdout)))


def run(*words):
    done = subprocess.run([NSYS, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def check(path, name, *words):
    """Error of a report or rule; None."""
    status, output = run(*words, path)
    wrong = re.search(r"no such (column|table|function)|[Ee]rror|Traceback", output)
    if wrong or (status and not any(text in output for text in NO_DATA)):
        return f"{name}: exit {status}: {output[-500:]}"
    return None


def main(cli, make_trace):
    if not NSYS:
        print("skipped: no nsys; set NSYS to one")
        return 77
    reports, rules = listed("stats", "--help-reports"), listed("analyze", "--help-rules")
    assert len(reports) >= 30 and len(rules) >= 7, (reports, rules)
    with tempfile.TemporaryDirectory(prefix="gputrace-nsys-") as folder:
        subprocess.run([make_trace, folder, "40", "sync=1", "devices=2", "hostile=1"], check=True, stdout=subprocess.DEVNULL)
        path = os.path.join(folder, "trace.sqlite")
        subprocess.run([cli, "export", "--sqlite=" + path, *glob.glob(os.path.join(folder, "*.json"))], check=True)
        found = [check(path, name, "stats", "-q", "--format=csv", "--report", name) for name in reports]
        found += [check(path, name, "analyze", "--rule", name) for name in rules]
    found = [line for line in found if line]
    print("\n".join(found) or f"nsys: {len(reports)} reports, {len(rules)} rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
