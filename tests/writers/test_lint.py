#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lint finds nothing in valid files and the right error in each kind of invalid one; so does `gputrace verify`, in
its own words."""

import collections
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


def changed(change, source=GOOD):
    """Path of a copy of a good file with `change` applied."""
    before = files.read(source).decode()
    after = change(before)
    assert after != before, "the change changed nothing"
    path = os.path.join(files.folder(), "rank0_n3_4100.1.pt.trace.json")
    with open(path, "w", encoding="utf-8", newline="", errors="surrogateescape") as file:
        file.write(after)
    return path


def verify(path):
    """Exit status and output of `gputrace verify`."""
    done = subprocess.run([CLI, "verify", "--top=1000", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, check=False)
    return done.returncode, done.stdout


def broken(change, rule, *options, source=GOOD, words=""):
    """The lint must report that rule, and `verify`, if it checks for it, those words."""
    path = changed(change, source)
    rules = {line.split(": ")[1] for line in files.lint(path, *options)}
    assert rule in rules, (rule, rules)
    if words:
        found_in(path, words)


def found(change, words, source=GOOD):
    """`verify` must report these words."""
    found_in(changed(change, source), words)


def found_in(path, words):
    status, output = verify(path)
    assert status == 1 and words in output, (words, status, output)


def replacing(old, new, count=1):
    return lambda text: text.replace(old, new, count)


def matching(pattern, new):
    return lambda text: re.sub(pattern, new, text, count=1)


def good_files():
    assert files.lint(GOOD) == []
    assert verify(GOOD)[0] == 0, verify(GOOD)
    assert files.lint(RUNNING, "--running") == []
    assert files.lint(files.make(files.folder(), 60, overlap=1, hostile=1, devices=3)[0]) == []
    assert files.lint(files.make(files.folder(), 5, full=1, pid=3, rank=1, world=4)[0]) == []
    assert files.lint(files.make(files.folder(), 0)[0]) == []


def few_details():
    """Only ids, times and places; no blank between tokens, no flow."""
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


def default_details():
    """What the readers of other people use, without blanks in the arguments."""
    path, ledger = files.make(files.folder(), 20, brief=1, devices=2)
    whole = files.make(files.folder(), 20, devices=2)
    assert files.lint(path) == []
    assert {key: count for key, count in ledger.items() if key != "bytes_written"} == \
        {key: count for key, count in whole[1].items() if key != "bytes_written"}
    pairs = zip(*(files.read(name).decode().splitlines() for name in (path, whole[0])))
    kinds = collections.Counter()
    for brief, full in pairs:
        if not full.startswith(',{"ph": "X"'):
            continue
        short, long = json.loads(brief[1:]), json.loads(full[1:])
        assert brief.startswith(full.split('"args": ')[0]), brief  # people search for '"cat": "kernel"'
        assert brief.split('"args": ')[1] == json.dumps(short["args"], separators=(",", ":"), ensure_ascii=False) + "}", brief
        moved = long["args"].keys() - short["args"].keys()
        assert moved <= {"queued", "dynamic shared memory", "warps per SM", "theoretical occupancy %", "cbid"}, moved
        kinds.update(moved)
        for key in {"launched by", "created by", "forward by"} & short["args"].keys():
            assert short["args"].pop(key).split(" < ")[0] in long["args"].pop(key)
        assert {**long["args"], **short["args"]} == long["args"], brief
    assert len(kinds) == 5, kinds


def trailing_zeros(line):
    """Times have three decimals; Python omits trailing zeros."""
    return sum(len(text) - len(repr(float(text))) for text in re.findall(r'"(?:ts|dur)":([0-9.]+)', line))


def header_rules():
    broken(replacing('"rank": 0', '"rank": "0"'), "header", words="no distributedInfo with a rank in the header")
    broken(replacing('"rank": 0', '"rank":0'), "header", words='"rank": needs a space after it')
    broken(replacing('"displayTimeUnit": "ns"', '"displayTimeUnit": "us"'), "header", words='displayTimeUnit is neither "ns" nor "ms"')
    broken(replacing('"schemaVersion": 1,\n', ""), "header", words="no schemaVersion in the header")
    broken(replacing('"metadata": {', '"stackFrames": {}, "metadata": {'), "header", words="stackFrames makes readers ignore the events")
    broken(replacing('"id": 1, "name": "NVIDIA', '"id": 7, "name": "NVIDIA'), "header", words="deviceProperties[1] is device 7")


def form_rules():
    broken(replacing('"ledger": ', '"books": '), "ledger", words="no ledger after the events")
    broken(replacing("Record Window End", "Finish"), "last event", words='the last event is not "Record Window End"')
    broken(lambda text: text[:-40], "json", words="not closed: the file ends inside an event")
    broken(replacing("\n,{", ",{"), "lines")
    broken(replacing("Record Window End", "Record \ud83d Window End".encode(
        "utf-8", "surrogatepass").decode("utf-8", "surrogateescape")), "utf-8", words="text is not UTF-8")
    broken(lambda text: text.replace('"pad": "', '"pad": " '), "block", "--running", source=RUNNING)


def event_rules():
    broken(matching(r'"ts": (\d+)\.\d{3}', r'"ts": \1'), "numbers", words="is not microseconds with three decimals")
    broken(matching(r'"ts": \d+\.\d{3}', '"ts": -1.000'), "ts", words="ts -1.000 is not microseconds")
    broken(matching(r'"tid": 4100, "ts"', '"tid": "4100", "ts"'), "tid", words="tid is not a whole number of 32 bits")
    broken(replacing('"ph": "X"', '"ph": "B"'), "ph", words='ph "B" is not one of X M i C s f')
    broken(replacing('"name": "cudaMemcpyAsync"', '"name": ""'), "name", words="event without a name")
    broken(replacing('"cat": "cuda_runtime"', '"cat": "strange"'), "cat", words="calls_written is 280, the file has 279")
    broken(replacing('"args": {"cbid"', '"args": {"stream": 7, "cbid"'), "args", words="argument stream on what is not GPU work")
    broken(replacing('"name": "thread_name"', '"name": "gpu_name"'), "metadata", words='metadata "gpu_name" ends TraceLens')
    broken(replacing("Memcpy HtoD (", "Copy HtoD ("), "name")
    broken(replacing('"bytes": 1048576', '"size": 1048576'), "args")
    broken(replacing('"grid": [64, 8, 1]', '"grid": [64, 8]'), "args")
    broken(replacing('"blocks per SM": 3.878788', '"blocks per SM": 0.0'), "args")
    broken(replacing('"bytes": 1048576', '"bytes": 9007199254740992'), "numbers", words="argument 9007199254740992 is 2^53 or more")
    broken(replacing("cudaMemsetAsync", "cuda\\/Memset"), "escapes")
    broken(replacing("cudaMemsetAsync", "cuda\\ud83d\\ude00"), "escapes", words="Perfetto refuses a file with surrogates")
    for escape in "\\u0301", "\\uD7ff", "\\ue000":
        broken(replacing("cudaMemsetAsync", "cuda" + escape), "escapes", words=f"escape {escape}: the format has this character as UTF-8")
    broken(replacing("cudaMemsetAsync", "cuda\\uDFFF"), "escapes", words="Perfetto refuses a file with surrogates")
    broken(replacing('"args": {"cbid"', '"args": {"External id": 5, "cbid"'), "External id", words="External id 5 names no operator")


def arrow_rules():
    broken(matching(r',\{"ph": "s", "id": (\d+)', r',{"ph": "s", "id": "\1"'), "arrow", words="flow whose id is not a whole number")
    broken(matching(r',\{"ph": "s"[^\n]*\n', ""), "arrow", words="flow 1 has no beginning")
    broken(matching(r',\{"ph": "f"[^\n]*\n', ""), "arrow", words="1 GPU operation of correlation 1 without a flow")
    broken(replacing(', "bp": "e"', ""), "arrow", words='end of a flow without bp "e"')
    broken(matching(r'("ph": "f", "id": \d+, "pid": 0, "tid": )\d+', r"\g<1>99"), "arrow", words="flow 1 ends where no GPU work of this id is")
    broken(matching(r'("args": \{"cbid": 41, "correlation": )\d+', r"\g<1>2"), "correlation", words="correlation 2 has a second call")


def row_rules():
    broken(matching(r'("cat": "kernel"[^\n]*"dur": )\d+\.\d{3}', r"\g<1>99999.000"), "overlap")
    broken(matching(r',\{"ph": "M", "name": "thread_name"[^\n]*\n', ""), "names", words="names_written is 23, the file has 22")


def stack_rules():
    broken(matching(r', "frames": \[[^]]*\]', ""), "frames", words="stack 2 is used before its frames are defined")
    broken(matching(r'("launched by": ")', r"\1" + "x" * 500), "launched by")
    broken(matching(r'("launched by": ")[^"]*', r"\1other (x.c:1)"), "launched by")


def ledger_rules():
    broken(matching(r'"kernels_written": \d+', '"kernels_written": 3'), "ledger", words="kernels_written is 3, the file has 280")


def book(key, change):
    """Changes a count of the ledger."""
    return lambda text: re.sub(rf'("{key}": )(\d+)', lambda found: found[1] + str(int(found[2]) + change), text, count=1)


def on_event(choose, change):
    """Changes the first event of a file for which `choose` is true."""
    def apply(text):
        lines = text.splitlines(keepends=True)
        for number, line in enumerate(lines):
            if line.startswith(',{"ph"') and choose(json.loads(line[1:])):
                lines[number] = "," + change(line[1:])
                return "".join(lines)
        raise AssertionError("no such event")
    return apply


def is_a(category):
    return lambda event: event.get("cat") == category


def setting(key, value):
    return lambda line: re.sub(rf'"{key}": [^,}}]+', f'"{key}": {value}', line, count=1)


def crossing(text):
    """A kernel that ends in the middle of the next one of its track."""
    last = {}
    for line in text.splitlines():
        event = json.loads(line[1:]) if line.startswith(',{"ph": "X"') else {}
        row = event.get("pid"), event.get("tid")
        if event.get("cat") == "kernel" and row in last:
            before, at = last[row]
            length = event["ts"] + event["dur"] / 2 - at["ts"]
            return text.replace(before, setting("dur", f"{length:.3f}")(before), 1)
        last[row] = line, event
    raise AssertionError("no two on a row")


def early(text):
    """GPU work two milliseconds before its call."""
    calls = {}
    for line in text.splitlines():
        event = json.loads(line[1:]) if line.startswith(',{"ph": "X"') else {}
        if event.get("cat") == "cuda_runtime":
            calls[event["args"]["correlation"]] = event["ts"]
    return on_event(is_a("kernel"), lambda line: setting(
        "ts", f'{calls[json.loads(line)["args"]["correlation"]] - 2000:.3f}')(line))(text)


def moved_behind(pattern):
    """Moves the line that matches the pattern to the end."""
    def apply(text):
        line = re.search(pattern, text)[0]
        return text.replace(line, "", 1).replace(',{"ph": "i", "s": "g"', line + ',{"ph": "i", "s": "g"', 1)
    return apply


def doubled_operator(text):
    operator = ('{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 4100, "tid": 4100, "ts": 5000000012.500, "dur": 0.001, '
                '"args": {"External id": 77}}\n')
    return text.replace(',{"ph": "i", "s": "g"', f',{operator},{operator},{{"ph": "i", "s": "g"', 1)


def verify_rules():
    """Errors in tracks, calls and times."""
    found(crossing, "ns before another of its track ends, and ends after it")
    found(early, "GPU work starts 2000000 ns before its call")
    found(on_event(is_a("cuda_runtime"), setting("correlation", 2)), "correlation 2 has a second call")
    found(on_event(is_a("cuda_runtime"), setting("correlation", 0)), "no correlation id of 1 or more")
    found(on_event(is_a("kernel"), setting("correlation", 0)), "no correlation id of 1 or more")
    found(on_event(is_a("kernel"), setting("device", 3)), "GPU work whose pid is not its device")
    found(on_event(is_a("cuda_runtime"), setting("pid", 3)), "host pid 3 is a GPU's row")
    found(on_event(is_a("cuda_runtime"), setting("dur", "-1.000")), "negative duration")
    found(on_event(is_a("cuda_runtime"), lambda line: re.sub(r' "dur": [^,]+,', "", line)), "slice without a duration")
    found(on_event(is_a("cuda_runtime"), lambda line: line.replace('"cat": "cuda_runtime"', '"cat": ""')),
          "slice without a category")
    found(on_event(is_a("kernel"), lambda line: re.sub(r' "ts": [^,]+,', "", line)), "event without ts")
    found(matching(r',\{"ph": "M", "name": "thread_name", "pid": 0[^\n]*\n', ""), "of GPU 0 has no name")
    found(moved_behind(r',\{"ph": "M", "name": "thread_name", "pid": 4100[^\n]*\n'), "whose name comes later")
    found(doubled_operator, "a second operator with External id 77")


def verify_books():
    """Errors in the ledger's sums."""
    found(book("calls_seen", 1), "of 281 calls seen 280 are accounted for")
    found(book("calls_received", -1), "calls_received is 1 less than what was written")
    found(book("records_kernel", -1), "records_kernel is 1 less than what was written")
    found(book("records_memcpy", 2), "2 calls, records and samples are neither written nor lost by a cause")
    lost = changed(lambda text: book("calls_lost_ring_full", 4)(book("calls_seen", 4)(text)))
    status, output = verify(lost)
    assert status == 0 and "lost: 4 calls_lost_ring_full: " in output, (status, output)


files.main([good_files, few_details, default_details, header_rules, form_rules, event_rules, arrow_rules, row_rules, stack_rules,
            ledger_rules, verify_rules, verify_books])
