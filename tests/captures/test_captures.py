#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Activity records of a real GPU through the translation and the writer, compared with what was written
before: test_captures.py REPLAY CLI [--update]

Beside each NAME.cupti.gz lies NAME.expected: what was counted, what is in the trace, and its first event of
each kind as it is in the file. An unexpected change means that records of a real CUPTI are read otherwise.
"""
import collections
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def replay(program, capture):
    """(what it counted, text of the trace)"""
    with tempfile.TemporaryDirectory(prefix="gputrace-capture-") as folder:
        done = subprocess.run([program, str(capture), folder], capture_output=True, text=True, check=False,
                              timeout=60)
        if done.returncode:
            sys.exit(f"{capture.name}: {done.stderr.strip() or done.returncode}")
        return done.stdout, (pathlib.Path(folder) / "replayed.json").read_text(encoding="utf-8")


def spans(values):
    """17, 18, 19, 21 as 17-19 21"""
    parts = []
    for value in sorted(set(values)):
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def times(events):
    """Work of one stream runs in order, one piece after another."""
    by_stream = collections.defaultdict(list)
    for event in events:
        by_stream[event["args"]["stream"]].append((event["ts"], event["ts"] + event["dur"]))
    for stream, work in sorted(by_stream.items()):
        late = sum(after[0] < before[1] - 0.0011 for before, after in zip(work, work[1:]))
        yield f"stream {stream}: {len(work)} in {work[-1][1] - work[0][0]:.3f} us, {late} not in order"


def summary(text):
    events = [event for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]
    work = [event for event in events if event["cat"] in GPU]
    counts = collections.Counter((event["cat"], event["name"]) for event in events)
    yield from (f"{cat} {name}: {count}" for (cat, name), count in sorted(counts.items()))
    yield from times(work)
    for key in ("correlation", "grid id", "graph id", "graph node id", "channel"):
        values = [event["args"][key] for event in work if key in event["args"]]
        yield f"{key}: {spans(values)} of {len(values)} events"


def first_lines(text):
    """Of each kind, as it is in the file; and that of the device."""
    seen = set()
    yield next(line for line in text.splitlines() if '"deviceProperties"' in line)
    for line in text.splitlines():
        if '"ph": "X"' not in line:
            continue
        event = json.loads(line.lstrip(","))
        key = (event["cat"], event["name"])
        if key not in seen:
            seen.add(key)
            yield line.lstrip(",")


def verify(cli, text):
    """A trace without calls, but nothing else is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="gputrace-capture-") as folder:
        (pathlib.Path(folder) / "trace.json").write_text(text, encoding="utf-8")
        done = subprocess.run([cli, "verify", "trace.json"], cwd=folder, capture_output=True, text=True,
                              check=False, timeout=60)
    return (done.stdout + done.stderr).splitlines()


def describe(program, cli, capture):
    counted, text = replay(program, capture)
    lines = counted.splitlines() + [""] + list(summary(text)) + [""] + list(first_lines(text))
    return "\n".join(lines + [""] + verify(cli, text)) + "\n"


def main():
    program, cli = (str(pathlib.Path(name).resolve()) for name in sys.argv[1:3])
    failed = 0
    captures = sorted(HERE.glob("*/*.cupti.gz"))
    for capture in captures:
        path = capture.with_name(capture.name.replace(".cupti.gz", ".expected"))
        got = describe(program, cli, capture)
        if "--update" in sys.argv:
            path.write_text(got, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != got:
            failed = 1
            sys.stdout.writelines(difflib.unified_diff(path.read_text(encoding="utf-8").splitlines(True),
                                                       got.splitlines(True), str(path), "now"))
    return failed or not captures


sys.exit(main())
