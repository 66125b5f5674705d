#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Full disks and size limits: the file is still closed, and losses are counted."""

import json
import os
import subprocess
import sys

import files


def totals(ledger):
    """Events of the program, without names and flows."""
    return sum(ledger[key] for key in ("calls_written", "kernels_written", "memcpys_written",
                                       "memsets_written", "syncs_written", "ranges_written"))


WHOLE = totals(files.make(files.folder(), 200)[1])


def check_closed(path, ledger, cause, limit):
    data = files.read(path)
    assert len(data) <= limit, (len(data), limit)
    assert files.lint(path) == [], files.lint(path)[:3]
    assert json.loads(data)["ledger"] == ledger
    assert ledger["events_lost_disk"] > 0
    assert totals(ledger) + ledger["events_lost_disk"] == WHOLE, (totals(ledger), ledger)
    lost = [e for e in json.loads(data)["traceEvents"] if e["name"] == "LOST"]
    assert [e["args"] for e in lost] == [{"cause": cause, "events": ledger["events_lost_disk"]}]


def size_limit():
    for limit in (65536, 1000000, 1000001, 2000000):
        path, ledger = files.make(files.folder(), 200, max_size=limit)
        check_closed(path, ledger, "size limit", limit)
        assert len(files.read(path)) > limit - 65536 - 8192 - 1000


def file_size_resource_limit():
    """The kernel refuses in the middle of a batch; the newest events are dropped for the tail."""
    for limit in (300000, 500001, 777777, 1048576):
        path, ledger = files.make(files.folder(), 200, fsize=limit)
        check_closed(path, ledger, "size limit", limit)


def no_room_for_anything():
    """Not even the tail fits: the array form stays, every event counted as lost."""
    path, ledger = files.make(files.folder(), 20, expect=1, fsize=16400)
    data = files.read(path)
    assert data.startswith(b'[{"ph": "M"') and data.endswith(b"\n]\n"), data[-80:]
    assert len(json.loads(data)) == 1
    assert totals(ledger) == 0 and ledger["events_lost_disk"] > 0


def full_disk():
    """A file system of 1 MiB, in a mount namespace of its own."""
    where, kept = files.folder(), files.folder()
    script = (f"mount -t tmpfs -o size=1m tmpfs {where} && {files.MAKE_TRACE} {where} 200 "
              f">{kept}/counted && cp {where}/*.json {kept}/")
    done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", script],
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        raise files.Skip("may not mount a file system: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    with open(os.path.join(kept, "counted"), encoding="utf-8") as file:
        name, *lines = file.read().splitlines()
    ledger = {key: int(value) for key, value in (line.split() for line in lines)}
    check_closed(os.path.join(kept, os.path.basename(name)), ledger, "disk full", 1 << 20)


PFTRACE = totals(files.make(files.folder(), 400, perfetto=1)[1])


def converted(path):
    """A converted .pftrace: the JSON's ledger, None if the file had none, its events, the messages."""
    target = os.path.join(files.folder(), "out.json")
    done = subprocess.run([sys.argv[2], "convert", path, target], stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    whole = json.loads(files.read(target))
    return whole.get("ledger"), whole["traceEvents"], done.stderr


def check_pftrace(path, ledger, limit):
    """Closed with its ledger after the last complete packet; the reader reads every slice."""
    assert len(files.read(path)) <= limit
    assert ledger["events_lost_disk"] > 0
    assert totals(ledger) + ledger["events_lost_disk"] == PFTRACE, ledger
    read, events, told = converted(path)
    assert told == "" and totals(read) == totals(ledger), (told, read, ledger)
    assert read["events_lost_disk"] == ledger["events_lost_disk"]
    lost = [e for e in events if e["name"] == "LOST"]
    assert [e["args"] for e in lost] == [{"cause": "size limit", "events": ledger["events_lost_disk"]}]


def pftrace_on_a_full_disk():
    """The disk refuses in the middle of a batch, at many places."""
    for limit in range(40000, 140000, 7777):
        path, ledger = files.make(files.folder(), 400, perfetto=1, fsize=limit)
        check_pftrace(path, ledger, limit)


def pftrace_with_a_size_limit():
    for limit in (20000, 65537, 100000):
        check_pftrace(*files.make(files.folder(), 400, perfetto=1, max_size=limit), limit)


def pftrace_without_room_for_its_end():
    """The first packets fit and the ledger does not: the reader reads what is there and reports that."""
    empty = len(files.read(files.make(files.folder(), 0, perfetto=1)[0]))
    path, ledger = files.make(files.folder(), 20, expect=1, perfetto=1, fsize=empty * 6 // 10)
    assert ledger["events_lost_disk"] == totals(files.make(files.folder(), 20, perfetto=1)[1])
    none, events, told = converted(path)
    assert none is None and "the file was cut" in told and not [e for e in events if e["ph"] == "X"], told


files.main([full_disk, size_limit, file_size_resource_limit, no_room_for_anything,
            pftrace_on_a_full_disk, pftrace_with_a_size_limit, pftrace_without_room_for_its_end])
