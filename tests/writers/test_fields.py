#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/trace-fields counts each byte of a file once and finds the launches."""
import os
import re
import subprocess
import sys

import files

SCRIPT = os.path.join(files.ROOT, "scripts", "trace-fields")


def table(path):
    """launches, bytes each, {(event, field): bytes a launch}"""
    done = subprocess.run([sys.executable, SCRIPT, path], stdout=subprocess.PIPE, text=True, timeout=300,
                          check=True)
    launches, each = re.match(r"(\d+) launches, ([\d.]+) bytes each", done.stdout).groups()
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|$", done.stdout, re.MULTILINE)
    return int(launches), float(each), {(kind, key): float(size) for kind, key, size, _ in rows}


ARROWS = files.make(files.folder(), 50)[1]["arrows_written"]  # one begins at each call with work


def every_byte_once():
    for settings in ({}, {"few": 1}, {"hostile": 1, "sync": 1, "full": 1}):
        path, ledger = files.make(files.folder(), 50, **settings)
        launches, each, rows = table(path)
        assert launches == (ledger["arrows_written"] or ARROWS), (launches, ledger)
        assert abs(launches * each - os.path.getsize(path)) <= launches * 0.05 + 1, (launches * each, path)
        assert abs(sum(rows.values()) - each) < 0.05 * len(rows), (rows, each)
        assert ("kernel", "correlation") in rows and (("kernel", "grid") in rows) == ("few" not in settings)


def no_launch():
    path = files.make(files.folder(), 0)[0]
    done = subprocess.run([sys.executable, SCRIPT, path], stderr=subprocess.PIPE, text=True, timeout=300,
                          check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done


files.main([every_byte_once, no_launch])
