#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process may die at any moment: what stands in the file then is whole lines and at most one
broken one, and the array needs only its bracket."""

import json
import os
import random
import signal
import subprocess
import time

import files

BLOCK = 16384


def events_of(data):
    """What a reader keeps of a cut array: the lines up to the last whole one."""
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


def closed_tail_with_running_head():
    """Killed between tail and head: the tail says where the events end, the first line is whole."""
    path, _ = files.make(files.folder(), 30)
    closed = files.read(path)
    running = files.read(files.make(files.folder(), 30, close=0)[0])
    mixed = running[:BLOCK] + closed[BLOCK:]
    end = mixed.rindex(b'\n], "ledger": ')
    assert len(events_of(mixed[:end + 1])) == len(json.loads(closed)["traceEvents"])


def a_killed_writer_leaves_whole_lines():
    """SIGKILL at random moments, while the writer is writing as fast as it can."""
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


files.main([every_cut_keeps_its_whole_lines, closed_tail_with_running_head,
            a_killed_writer_leaves_whole_lines])
