#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace convert: a .pftrace cut anywhere gives the events before the cut; invalid input is reported."""

import json
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
    """Without the blanks behind the last event of a batch."""
    return [line.rstrip() for line in files.read(path).decode().splitlines() if line.startswith(",{")]


WHOLE = os.path.join(WHERE, "whole.pftrace")
assert convert(JSON, WHOLE) == (0, "")
DATA = files.read(WHOLE)
BACK = os.path.join(WHERE, "back.pt.trace.json")
assert convert(WHOLE, BACK) == (0, "")


def there_and_back():
    """No event is lost or changed."""
    assert sorted(events(BACK)) == sorted(events(JSON))


def what_the_header_says():
    """Also why a killed process would have lost its last records."""
    path, native, back = (os.path.join(WHERE, name) for name in ("said.pt.trace.json", "said.pftrace", "said.again.json"))
    with open(path, "wb") as file:
        file.write(files.read(JSON).replace(b'"metadata": {', b'"metadata": {"spool": "none: no room", ', 1))
    assert convert(path, native) == (0, "") and convert(native, back) == (0, "")
    said, again = (json.loads(files.read(name))["metadata"] for name in (path, back))
    assert said["spool"] == "none: no room" and again == said, (said, again)


def without_steps():
    """A step over the whole trace, made again from the other form; a merged file has none."""
    path, _ = files.make(files.folder(), 5, stepless=1)
    slices = [json.loads(line[1:]) for line in events(path) if '"ph": "X"' in line]
    (step,) = (e for e in slices if e["name"] == "ProfilerStep#0")
    slices.remove(step)
    assert (step["cat"], step["args"]) == ("User_Annotation", {"whole trace": 1}), step
    assert step["ts"] == min(e["ts"] for e in slices), step
    assert abs(step["ts"] + step["dur"] - max(e["ts"] + e["dur"] for e in slices)) < 0.01, step
    native, back = os.path.join(WHERE, "plain.pftrace"), os.path.join(WHERE, "plain.pt.trace.json")
    assert convert(path, native) == (0, "") and convert(native, back) == (0, "")
    assert sorted(events(back)) == sorted(events(path)) and not files.lint(path)
    merged = os.path.join(WHERE, "merged.json")
    subprocess.run([CLI, "merge", f"--output={merged}", path], check=True, timeout=300)
    assert b"User_Annotation" not in files.read(merged)
    assert b"User_Annotation" not in files.read(JSON)


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


files.main([there_and_back, what_the_header_says, without_steps, cut_anywhere, wrong_input])
