#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace convert: a .pftrace cut anywhere gives the events before the cut; invalid input is reported."""

import os
import subprocess
import sys

import files

CLI = sys.argv[2]
WHERE = files.folder()
JSON, _ = files.make(WHERE, 20)


def convert(source, target):
    """Exit status and stderr; removes the target first."""
    if os.path.exists(target):
        os.unlink(target)
    done = subprocess.run([CLI, "convert", source, target], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    return done.returncode, done.stderr


def events(path):
    return [line for line in files.read(path).decode().splitlines() if line.startswith(",{")]


WHOLE = os.path.join(WHERE, "whole.pftrace")
assert convert(JSON, WHOLE) == (0, "")
DATA = files.read(WHOLE)
BACK = os.path.join(WHERE, "back.pt.trace.json")
assert convert(WHOLE, BACK) == (0, "")


def there_and_back():
    """No event is lost or changed."""
    assert sorted(events(BACK)) == sorted(events(JSON))


def cut_anywhere():
    """A longer part of the file never gives fewer events, and a cut is reported."""
    path, target = os.path.join(WHERE, "cut.pftrace"), os.path.join(WHERE, "cut.json")
    last = 0
    for size in range(1, len(DATA), max(1, len(DATA) // 60)):
        with open(path, "wb") as file:
            file.write(DATA[:size])
        status, told = convert(path, target)
        if status:
            assert status == 1 and "not a .pftrace of gputrace" in told and not last, (size, told)
            continue
        assert "the file was cut" in told, (size, told)
        count = sum('"ph": "X"' in line for line in events(target))
        assert count >= last, (size, count, last)
        last = count
    assert last


def wrong_input():
    """One line with the reason, and no file."""
    target = os.path.join(WHERE, "never.json")
    foreign = os.path.join(WHERE, "foreign")
    for content in (b"", b"hello", b"\x0a\x04\x50\x07\x40\x01", b'{"traceEvents": [{"ph": "X"}]}'):
        with open(foreign, "wb") as file:
            file.write(content)
        status, told = convert(foreign, target)
        assert status == 1 and told.count("\n") == 1 and foreign in told, (content, told)
        assert not os.path.exists(target)
    for wrong in (os.path.join(WHERE, "form.unknown"), os.path.join(WHERE, "no", "folder.json")):
        status, told = convert(WHOLE, wrong)
        assert status and told.count("\n") == 1, told


files.main([there_and_back, cut_anywhere, wrong_input])
