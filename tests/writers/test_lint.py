#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lint finds nothing in good files and the right thing in each kind of broken one."""

import json
import os
import re
import subprocess
import sys

import files

CLI = sys.argv[2]

WHERE = files.folder()
GOOD, _ = files.make(WHERE, 20, sync=1, devices=2)
RUNNING, _ = files.make(WHERE, 20, close=0)


def broken(change, rule, *options, source=GOOD):
    """A copy of a good file with `change` applied must give a finding of that rule."""
    before = files.read(source).decode()
    after = change(before)
    assert after != before, "the change changed nothing"
    path = os.path.join(files.folder(), "rank0_n3_4100.1.pt.trace.json")
    with open(path, "w", encoding="utf-8", newline="", errors="surrogateescape") as file:
        file.write(after)
    rules = {line.split(": ")[1] for line in files.lint(path, *options)}
    assert rule in rules, (rule, rules)


def replacing(old, new, count=1):
    return lambda text: text.replace(old, new, count)


def matching(pattern, new):
    return lambda text: re.sub(pattern, new, text, count=1)


def good_files():
    assert files.lint(GOOD) == []
    assert files.lint(RUNNING, "--running") == []
    assert files.lint(files.make(files.folder(), 60, overlap=1, hostile=1, devices=3)[0]) == []
    assert files.lint(files.make(files.folder(), 5, full=1, pid=3, rank=1, world=4)[0]) == []
    assert files.lint(files.make(files.folder(), 0)[0]) == []


def few_details():
    """Only what ids, times and places need; no blank between tokens, no arrow."""
    path, ledger = files.make(files.folder(), 20, few=1, devices=2)
    assert files.lint(path) == []
    assert ledger["arrows_written"] == 0 and ledger["kernels_written"] > 0
    done = subprocess.run([CLI, "verify", path], stdout=subprocess.PIPE, text=True, check=False)
    assert "arrow" not in done.stdout, done.stdout
    lines = [line for line in files.read(path).decode().splitlines() if line.startswith(',{"ph":"X"')]
    assert lines and b'"ph": "X"' not in files.read(path)
    for line in lines:
        event = json.loads(line[1:])
        assert len(line) - 1 == len(json.dumps(event, separators=(",", ":"), ensure_ascii=False)) + \
            trailing_zeros(line), line
        assert not {"grid", "queued", "registers per thread", "cbid"} & event["args"].keys(), line


def trailing_zeros(line):
    """Times have three decimals, Python leaves zeros at their end out."""
    return sum(len(text) - len(repr(float(text))) for text in re.findall(r'"(?:ts|dur)":([0-9.]+)', line))


def header_rules():
    broken(replacing('"rank": 0', '"rank": "0"'), "header")
    broken(replacing('"rank": 0', '"rank":0'), "header")
    broken(replacing('"displayTimeUnit": "ns"', '"displayTimeUnit": "us"'), "header")
    broken(replacing('"schemaVersion": 1,\n', ""), "header")
    broken(replacing('"metadata": {', '"stackFrames": {}, "metadata": {'), "header")
    broken(replacing('"id": 1, "name": "NVIDIA', '"id": 7, "name": "NVIDIA'), "header")


def form_rules():
    broken(replacing('"ledger": ', '"books": '), "ledger")
    broken(replacing("Record Window End", "Finish"), "last event")
    broken(lambda text: text[:-40], "json")
    broken(replacing("\n,{", ",{"), "lines")
    broken(replacing("Record Window End", "Record \ud83d Window End".encode(
        "utf-8", "surrogatepass").decode("utf-8", "surrogateescape")), "utf-8")
    broken(lambda text: text.replace('"pad": "', '"pad": " '), "block", "--running", source=RUNNING)


def event_rules():
    broken(matching(r'"ts": (\d+)\.\d{3}', r'"ts": \1'), "numbers")
    broken(matching(r'"ts": \d+\.\d{3}', '"ts": -1.000'), "ts")
    broken(matching(r'"tid": 4100, "ts"', '"tid": "4100", "ts"'), "tid")
    broken(replacing('"ph": "X"', '"ph": "B"'), "ph")
    broken(replacing('"name": "cudaMemcpyAsync"', '"name": ""'), "name")
    broken(replacing('"cat": "cuda_runtime"', '"cat": "strange"'), "cat")
    broken(replacing('"args": {"cbid"', '"args": {"stream": 7, "cbid"'), "args")
    broken(replacing('"name": "thread_name"', '"name": "gpu_name"'), "metadata")
    broken(replacing("Memcpy HtoD (", "Copy HtoD ("), "name")
    broken(replacing('"bytes": 1048576', '"size": 1048576'), "args")
    broken(replacing('"grid": [64, 8, 1]', '"grid": [64, 8]'), "args")
    broken(replacing('"blocks per SM": 3.878788', '"blocks per SM": 0.0'), "args")
    broken(replacing('"bytes": 1048576', '"bytes": 9007199254740992'), "numbers")
    broken(replacing("cudaMemsetAsync", "cuda\\/Memset"), "escapes")
    broken(replacing("cudaMemsetAsync", "cuda\\ud83d\\ude00"), "escapes")
    broken(replacing('"args": {"cbid"', '"args": {"External id": 5, "cbid"'), "External id")


def arrow_rules():
    broken(matching(r',\{"ph": "s", "id": (\d+)', r',{"ph": "s", "id": "\1"'), "arrow")
    broken(matching(r',\{"ph": "s"[^\n]*\n', ""), "arrow")
    broken(matching(r',\{"ph": "f"[^\n]*\n', ""), "arrow")
    broken(replacing(', "bp": "e"', ""), "arrow")
    broken(matching(r'("ph": "f", "id": \d+, "pid": 0, "tid": )\d+', r"\g<1>99"), "arrow")
    broken(matching(r'("args": \{"cbid": 41, "correlation": )\d+', r"\g<1>2"), "correlation")


def row_rules():
    broken(matching(r'("cat": "kernel"[^\n]*"dur": )\d+\.\d{3}', r"\g<1>99999.000"), "overlap")
    broken(matching(r',\{"ph": "M", "name": "thread_name"[^\n]*\n', ""), "names")


def stack_rules():
    broken(matching(r', "frames": \[[^]]*\]', ""), "frames")
    broken(matching(r'("launched by": ")', r"\1" + "x" * 500), "launched by")


def ledger_rules():
    broken(matching(r'"kernels_written": \d+', '"kernels_written": 3'), "ledger")


files.main([good_files, few_details, header_rules, form_rules, event_rules, arrow_rules, row_rules, stack_rules,
            ledger_rules])
