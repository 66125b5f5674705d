#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process may die at any moment: the file then has complete lines and at most one broken one, and the
array only needs its bracket."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import files

BLOCK = 16384


def events_of(data):
    """The events that a reader keeps of a cut array: up to the last complete line."""
    kept = data[:data.rfind(b"\n") + 1]
    if kept.endswith(b"\n]\n"):
        kept = kept[:-2]
    events = json.loads(kept + b"]")
    assert all("ph" in event and "name" in event for event in events)
    return events


def every_cut_keeps_its_whole_lines():
    path, _ = files.make(files.folder(), 60, close=0, overlap=1, hostile=1)
    data = files.read(path)
    assert len(data) > 10 * 65536 / 2, len(data)
    lines = [i for i, byte in enumerate(data) if byte == 0x0a]
    chooser = random.Random(5)
    cuts = chooser.sample(range(BLOCK, len(data)), 30) + [BLOCK, BLOCK + 1, len(data) - 2, len(data)]
    cuts += chooser.sample(lines, 20) + [line + 1 for line in chooser.sample(lines, 20)]
    for cut in cuts:
        whole = sum(1 for line in lines if line < cut)
        if data[:cut].endswith(b"\n]\n"):
            whole -= 1
        assert len(events_of(data[:cut])) == whole, cut


def every_cut_is_repaired_to_a_good_file():
    """`gputrace repair` turns a file cut anywhere after its first line into one that passes the lint."""
    data = files.read(files.make(files.folder(), 40, close=0, overlap=1, hostile=1)[0])
    chooser = random.Random(11)
    for cut in chooser.sample(range(BLOCK, len(data)), 12) + [BLOCK, len(data)]:
        path = os.path.join(files.folder(), "n3_4100.1.pt.trace.json")
        with open(path, "wb") as file:
            file.write(data[:cut])
        os.utime(path, (0, 0))  # recent files of other hosts are left alone
        done = subprocess.run([sys.argv[2], "repair", path], capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == 0, (cut, done.stderr)
        assert files.lint(path) == [], (cut, files.lint(path)[:3])


def closed_tail_with_running_head():
    """Killed between tail and head: the tail marks the end of the events, the first line is complete."""
    path, _ = files.make(files.folder(), 30)
    closed = files.read(path)
    running = files.read(files.make(files.folder(), 30, close=0)[0])
    mixed = running[:BLOCK] + closed[BLOCK:]
    end = mixed.rindex(b'\n], "ledger": ')
    assert len(events_of(mixed[:end + 1])) == len(json.loads(closed)["traceEvents"])


def a_killed_writer_leaves_whole_lines():
    """SIGKILL at random moments, while the writer writes as fast as it can."""
    chooser = random.Random(7)
    unclosed = 0
    for _ in range(8):
        where = files.folder()
        with subprocess.Popen([files.MAKE_TRACE, where, "200000"], stdout=subprocess.DEVNULL) as made:
            while not os.listdir(where) and made.poll() is None:
                time.sleep(0.001)
            time.sleep(chooser.uniform(0.0, 0.3))
            made.send_signal(signal.SIGKILL)
        data = files.read(os.path.join(where, os.listdir(where)[0]))
        unclosed += data.startswith(b"[")
        if data.startswith(b"[") and len(data) >= BLOCK:
            events_of(data)
    assert unclosed, "no run was killed in time"


files.main([every_cut_keeps_its_whole_lines, every_cut_is_repaired_to_a_good_file,
            closed_tail_with_running_head, a_killed_writer_leaves_whole_lines])
