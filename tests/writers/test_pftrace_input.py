#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that reads traces accepts a .pftrace, and prints the same as for the JSON of the same run."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import files

CLI = sys.argv[2]
WHERE = files.folder()
JSON, _ = files.make(WHERE, 30, hostile=1, sync=1)
PF = os.path.join(WHERE, "same.pftrace")


EVENTS = re.compile(rb"(\d+)( events|</b>events)")


def without_events(output):
    """JSON counts its metadata and the two ends of each flow as events; a .pftrace has none."""
    return EVENTS.sub(rb"N\2", output)


def run(*words, stdin=None, expect=0):
    done = subprocess.run([CLI, *words], stdin=stdin, capture_output=True, timeout=300, check=False)
    assert expect is None or done.returncode == expect, (words, done.returncode, done.stdout[-500:], done.stderr)
    return done.stdout, done.stderr.decode()


run("convert", JSON, PF)
# in another folder: of two files next to each other only one counts
SAME = os.path.join(WHERE, "other", "same.json")
os.mkdir(os.path.dirname(SAME))
run("convert", PF, SAME)

COMMANDS = [("stats", "--report=all", "--format=json"), ("stats", "--by=stack", "--format=csv"),
            ("stacks",), ("stacks", "--weight=count"), ("gaps", "--format=json"),
            ("verify",)]


def same_answers():
    for command in COMMANDS:
        of_json, of_pftrace = (run(*command, path)[0] for path in (SAME, PF))
        of_json, of_pftrace = of_json.replace(SAME.encode(), b""), of_pftrace.replace(PF.encode(), b"")
        assert without_events(of_json) == without_events(of_pftrace), (command, of_json, of_pftrace)
        assert of_json, command


def number_of_events():
    """For a .pftrace it is the sum of the written events of all kinds in its ledger."""
    counts = [int(EVENTS.search(run("verify", path)[0]).group(1)) for path in (SAME, PF)]
    ledger = json.loads(files.read(SAME))["ledger"]
    of_kinds = sum(ledger[kind + "_written"] for kind in
                   ("calls", "kernels", "memcpys", "memsets", "syncs", "overheads", "ranges", "range_shadows",
                    "stack_lane_slices", "samples", "counters", "notes"))
    assert of_kinds == counts[1] < counts[0], (counts, of_kinds)


def compressed_and_from_a_pipe():
    packed = os.path.join(WHERE, "other", "packed.pftrace.gz")
    with open(PF, "rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    command = ("stats", "--format=json")
    want = run(*command, PF)[0]
    assert run(*command, packed)[0] == want
    with open(PF, "rb") as source:
        assert run(*command, "-", stdin=source)[0] == want
    for path in (PF, packed):
        back = os.path.join(WHERE, "same.json")  # it contains its own name
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as pipe:
            run("convert", "-", back, stdin=pipe.stdout)
        assert files.read(back) == files.read(SAME)
        os.unlink(back)
    os.unlink(packed)


def export_and_report():
    tables, pages = [], []
    for name, path in (("a", SAME), ("b", PF)):
        folder = os.path.join(WHERE, name)
        run("export", "--csv=" + folder, path)
        tables.append({table: files.read(os.path.join(folder, table)).replace(path.encode(), b"")
                       for table in os.listdir(folder)})
        page = os.path.join(WHERE, name + ".html")
        run("report", "--title=x", "--output=" + page, path)
        pages.append(without_events(files.read(page).replace(path.encode(), b"")))
    assert tables[0] == tables[1] and len(tables[0]) >= 5
    assert pages[0] == pages[1]


def merge_and_diff():
    merged = os.path.join(WHERE, "merged.json")
    for sources in ([PF], [PF, SAME]):
        with open(merged, "wb") as file:
            file.write(run("merge", *sources)[0])
        assert run("verify", merged)[0].count(b"\n") == 1
    assert b"slower" not in run("diff", "--gate=5%", SAME, PF)[0]  # 1 % takes more evidence


def folder_with_both_forms():
    """One run in two forms is one run."""
    folder = os.path.join(WHERE, "both")
    os.mkdir(folder)
    shutil.copy(PF, os.path.join(folder, "a.pftrace"))
    alone = run("stats", "--format=json", folder)
    shutil.copy(SAME, os.path.join(folder, "a.pt.trace.json"))
    both = run("stats", "--format=json", folder)
    assert both[0] == alone[0] and alone[1] == "", both
    assert both[1].count("\n") == 1 and "a.pftrace: left out" in both[1], both


def cut():
    """Events before the cut count, and the cut is reported; without a spool repair has nothing to add."""
    path = os.path.join(WHERE, "other", "cut.pftrace")
    with open(path, "wb") as file:
        file.write(files.read(PF)[:os.path.getsize(PF) * 2 // 3])
    before = files.read(path)
    assert b"cut: the file ends inside a packet" in run("stats", path)[0]
    told = run("verify", path, expect=1)[0]
    assert told.count(b"\n") == 1 and b"not closed" in told and b"repair" not in told, told
    assert b"nothing to add" in run("repair", path)[0]
    assert run("symbolize", PF, expect=1)[1].count("\n") == 1
    assert files.read(path) == before
    os.unlink(path)


def broken_text():
    """The writer's text is valid UTF-8: other bytes are damage. They are replaced, as in JSON."""
    data = files.read(PF)
    at = data.index(b"cudaLaunchKernel")
    path = os.path.join(WHERE, "other", "broken.pftrace")
    with open(path, "wb") as file:
        file.write(data[:at] + b"\xff" + data[at + 1:])
    told = run("verify", path, expect=1)[0].decode()
    assert told.count("\n") == 1 and "1 text not in UTF-8" in told, told
    assert "\ufffdudaLaunchKernel".encode() in run("stats", "--report=cuda_api_sum", "--format=csv", path)[0]
    os.unlink(path)


def wrong_in_both():
    """GPU work that starts before its call is found in both formats."""
    path, _ = files.make(os.path.join(WHERE, "wrong"), 200, overlap=1, seed=3)
    other = path.replace(".pt.trace.json", ".pftrace")
    run("convert", path, other)
    found = [re.sub(rb"^.*?: ", b"", run("verify", "--top=100000", name, expect=1)[0], flags=re.M)
             for name in (path, other)]
    lines = [sorted(line for line in text.splitlines() if b"before its call" in line) for text in found]
    assert lines[0] == lines[1] and lines[0], lines
    shutil.rmtree(os.path.dirname(path))


def lying_ledger():
    """Missing packets are noticed: the ledger of the file still counts them."""
    data = files.read(PF)
    at, kept, dropped = 0, bytearray(), 0
    while at < len(data):  # packets: tag, length, content
        begin, size, shift = at, 0, 0
        at += 1
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        content = data[at:at + size]
        at += size
        # a slice of GPU work without interned data or a clock: only field 53
        if not dropped and b"\xaa\x03" in content[:12] and size < 40:
            dropped = 1
            continue
        kept += data[begin:at]
    assert dropped
    path = os.path.join(WHERE, "other", "lying.pftrace")
    with open(path, "wb") as file:
        file.write(kept)
    told = run("verify", path, expect=1)[0].decode()
    assert "the ledger says" in told, told
    assert b"the ledger says" in run("stats", path)[0]
    os.unlink(path)


def foreign():
    """Another tool's .pftrace is reported in one line."""
    path = os.path.join(WHERE, "other", "foreign.pftrace")
    with open(path, "wb") as file:
        file.write(b"\x0a\x04\x50\x02\x40\x01")
    for command in ("stats", "gaps", "verify", "merge"):
        out, told = run(command, path, expect=1)
        text = told + out.decode() if command == "verify" else told
        assert "not a .pftrace of gputrace" in text and told.count("\n") <= 1, (command, text)
    os.unlink(path)


files.main([same_answers, number_of_events, compressed_and_from_a_pipe, export_and_report, merge_and_diff,
            folder_with_both_forms, cut, broken_text, wrong_in_both, lying_ledger, foreign])
