#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files made to be expensive cost a command at most MOST times as many instructions as an ordinary file of the
same size, counted by callgrind: the same on any machine at any load. What was linear search was 5 to 200 times."""
import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import CLI

SIZE = 300_000  # bytes of a file
MOST = 4
OTHER = {  # of some that print a line for each; of one whose search was still short in a file of this size
    # each is laid out, put into words, or its name parsed, once: linear, but an ordinary file has few of them
    ("devices", "stats"): 10, ("devices", "gaps"): 6, ("names", "analyze"): 5, ("names", "report"): 9,
    ("stacks", "gaps"): 6, ("stacks", "analyze"): 5, ("stacks", "report"): 13, ("colliding stack ids", "report"): 13,
    ("deep stacks", "gaps"): 5, ("deep stacks", "report"): 5, ("python functions", "analyze"): 5,
    ("crossing ranges", "stacks"): 5, ("nested ranges", "stacks"): 5,
    ("python functions", "lines"): 5,  # each function is compared with the rows of core/json/user_code.def
    ("colliding short correlation ids", "convert"): 1.4, ("names of copies", "report"): 7, ("waits of one id", "stats"): 1.4,
    ("colliding short correlation ids", "convert"): 1.4, ("clocks and throttling", "analyze"): 1,
    ("merged processes with gaps", "analyze"): 8,  # a model for each of 340 processes
    ("empty events", "stats"): 6, ("empty events", "verify"): 10,  # forty times as many as in an ordinary file
}
HEADER = ('{"schemaVersion": 1, "metadata": {"gputrace_version": "0.1.0"}, "baseTimeNanoseconds": 0, '
          '"displayTimeUnit": "ns", "traceEvents": [\n')
INVERSE = pow(0x9e3779b97f4a7c15, -1, 1 << 64)  # undoes what keys were multiplied by before there was a seed
ALL = ("stats", "usage", "analyze", "gaps", "merge", "report", "verify", "convert", "export")
READ = ("stats", "report")


def call(i, ts, tid=100, pid=100, dur=0.5, correlation=None, **args):
    return {"ph": "X", "cat": "cuda_runtime", "name": "c", "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": dict(correlation=i if correlation is None else correlation, **args)}


def kernel(i, ts, pid=0, tid=7, name="k", correlation=None, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": 0.5,
            "args": dict(correlation=i if correlation is None else correlation, **args)}


def span(ts, dur, name="r", tid=100, **more):
    return dict({"ph": "X", "cat": "user_annotation", "name": name, "pid": 100, "tid": tid, "ts": ts, "dur": dur}, **more)


def plain(i):
    return [call(i, 2 * i), kernel(i, 2 * i + 1)]


def with_ids(id_of):
    return lambda i: [call(i, 2 * i, correlation=id_of(i)), kernel(i, 2 * i + 1, correlation=id_of(i))]


def with_stacks(id_of):
    return lambda i: [call(i, 2 * i, stack=id_of(i), frames=["f%d (a.so+0x%x)" % (i, i)]),
                      kernel(i, 2 * i + 1, stack=id_of(i))]


def row(i, pid, was):
    return {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0,
            "args": {"labels": "x", "rank": i, "merged process": i, "merged pid": was}}


def merged(i):
    return [row(i, 100 + i, 100), call(i, 2 * i, pid=100 + i), kernel(i, 2 * i + 1)]


def merged_with_gaps(i):
    return [row(i, 100000 + i, 100), row(i, 500000 + i, 0),
            *(e for k in range(3) for e in (call(k + 1, 9 * k, pid=100000 + i), kernel(k + 1, 9 * k + 1, pid=500000 + i)))]


def counter(name, ts, **args):
    return {"ph": "C", "cat": "gputrace", "name": name, "pid": 0, "tid": 0, "ts": ts, "args": args}


# What stands in the file for each i, and the commands that it is tried with.
SHAPES = {
    "devices": (lambda i: [kernel(i, 2 * i, pid=i)], ALL),
    "streams": (lambda i: [kernel(i, 2 * i, tid=i)], ALL),
    "threads": (lambda i: [call(i, 2 * i, tid=i)], ALL),
    "processes": (lambda i: [call(i, 2 * i, pid=i)], ALL),
    "contexts": (lambda i: [kernel(i, 2 * i, context=i)], ("convert", "stats")),
    "names": (lambda i: [kernel(i, 2 * i, name="k%d" % i)], ALL),
    "names of arguments": (lambda i: [kernel(i, 2 * i, **{"k%d" % (40 * i + j): 1 for j in range(40)})], READ + ("verify",)),
    "empty events": (lambda i: [{}], READ + ("verify",)),
    "thread names": (lambda i: [{"ph": "M", "name": "thread_name", "pid": i, "tid": i, "args": {"name": "t"}}],
                     ("stats", "merge", "verify", "export")),
    "stacks": (with_stacks(lambda i: i), ALL),
    "deep stacks": (lambda i: [call(i, 2 * i, stack=i, frames=["f%d_%d (a.so)" % (i % 3, k) for k in range(400)]),
                               kernel(i, 2 * i + 1, stack=i)], ("stats", "gaps", "diff", "report")),
    "colliding correlation ids": (with_ids(lambda i: (i << 20) * INVERSE % (1 << 63)), READ + ("merge",)),
    "correlation ids with equal low bits": (with_ids(lambda i: i << 40), READ),
    "colliding short correlation ids": (with_ids(lambda i: (i << 20) * pow(0x9e3779b1, -1, 1 << 32) % (1 << 32)),
                                        ("convert",)),
    "one correlation id": (with_ids(lambda i: 5), READ + ("verify", "merge")),
    "one id of many processes": (lambda i: [call(i, i, pid=100 + i, correlation=5),
                                            kernel(i, 1e5 + i, pid=100000 + i, correlation=5, device=0)], READ),
    "ids of some processes": (lambda i: [call(i, 2 * i, pid=100 + i % 40, correlation=i // 40 + 1),
                                         kernel(i, 2 * i + 1, correlation=i // 40 + 1)], READ),
    "python functions": (lambda i: [span(i, 1e6 - 2 * i, "<built-in f%d>" % i, cat="python_function"),
                                    call(i, i + 0.2, dur=0.1), kernel(i, i + 0.5)],
                         ("lines", "stats", "usage", "analyze")),
    "lines of python": (lambda i: [span(i, 1e6 - 2 * i, "a.py(%d): f" % i, cat="python_function"),
                                   call(i, i + 0.2, dur=0.1), kernel(i, i + 0.5)], ("lines",)),
    "categories": (lambda i: [dict(kernel(i, 2 * i), cat="c%d" % i)] + plain(i), READ),
    "colliding stack ids": (with_stacks(lambda i: i << 40), READ + ("symbolize",)),
    "crossing ranges": (lambda i: [span(i, 1e6), call(i, i + 0.2, dur=0.1), kernel(i, i + 0.5)],
                        READ + ("ranges", "stacks", "filtered")),
    "nested ranges": (lambda i: [span(i, 1e6 - 2 * i), call(i, i + 0.2, dur=0.1), kernel(i, i + 0.5)],
                      READ + ("ranges", "stacks", "filtered")),
    "ranges before calls": (lambda i: [span(i, 2000 - 2 * i)] if i < 1000 else plain(i), ("stats", "gaps", "ranges")),
    "calls of the system with deep stacks": (
        lambda i: [*(plain(10 * i) if i % 50 == 1 else ()),
                   span(20 * i + 4, 9, "read", cat="osrt", args={
                       "stack": i % 3 + 1, **({"frames": ["f%d_%d (a.so)" % (i, k) for k in range(400)]} if i <= 3 else {})})],
        ("gaps", "analyze", "usage")),
    "nested calls of the system": (
        lambda i: [*([call(i, 0), kernel(i, 1)] if i == 1 else [call(i, 3e6 + i), kernel(i, 3e6 + i + 0.6)] if i % 50 == 0 else ()),
                   span(10 + i, 2e6 - 2 * i, "read", cat="osrt")], ("gaps", "usage")),
    "crossing calls": (lambda i: [call(i, i, dur=1e6), kernel(i, i + 0.5)], READ),
    "steps": (lambda i: [span(2 * i, 2, "ProfilerStep#%d" % i), kernel(i, 2 * i + 1, name="k%d" % i)],
              READ + ("usage", "analyze", "diff")),
    "steps of many threads": (lambda i: [span(2 * i, 2, "ProfilerStep#1", tid=i), kernel(i, 2 * i + 1)], READ + ("diff",)),
    "open slices": (lambda i: [span(i, 0, tid=i, ph="B")], READ),
    "slices that begin, then end": (lambda i: [span(i, 0, tid=i % 1500, ph="BE"[i // 1500 % 2])], READ),
    "merged processes": (merged, ("export",)),
    "waits of one id": (lambda i: [call(5, 2 * i, name="cudaLaunchHostFunc"),
                                   dict(kernel(5, 1e7 + 2 * i, name="Host Function", device=0, stream=7), cat="cuda_sync")], ("stats",)),
    "names of copies": (lambda i: [dict(kernel(i, 2 * i, name="copy %d" % i, bytes=100), cat="gpu_memcpy")], ("report",)),
    "readings of devices": (lambda i: [kernel(i, i, pid=i % 4000), {"ph": "C", "cat": "gputrace", "name": "clocks", "pid": i % 4000,
                                                                    "tid": 0, "ts": i, "args": {"SM MHz": 1000 + i}}],
                            ("gaps", "analyze")),
    "a flow far away": (lambda i: plain(i) if i > 1 else [{"ph": "s", "id": (1 << 32) - 1, "pid": 100, "tid": 100, "ts": 1,
                                                           "cat": "ac2g", "name": "ac2g"}], ("convert",)),
    "work without flows": (plain, ("verify",)),
    "merged processes with gaps": (merged_with_gaps, ("analyze",)),
    "clocks and throttling": (lambda i: [*([span(0, 1e6, "k", 7, pid=0, cat="kernel")] if i == 1 else ()),
                                         counter("clocks", i, **{"SM MHz": 1000 + i % 900}),
                                         counter("throttled", i, **{"power limit": i % 2})], ("analyze", "gaps")),
    "one flow": (lambda i: [kernel(i, i, correlation=5), {"ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": i,
                                                          "cat": "ac2g", "name": "ac2g", "bp": "e"}], ("verify",)),
}

ENDS = {  # behind the events
    "work without flows": ', "ledger": {%s}' % ", ".join('"pad%d": 1' % i for i in range(400)),
}


def commands(path, folder):
    return {
        "stats": ["stats", "--top=5", path],
        "lines": ["stats", "--top=5", "--by=line", path],
        "ranges": ["stats", "--top=5", "--report=nvtx_gpu_proj_sum", path],
        "filtered": ["stats", "--top=5", "--report=all", "--filter=nvtx=none", path],
        "usage": ["stats", "--top=5", "--report=all", "--histogram", "--percentiles", path],
        "analyze": ["analyze", path],
        "gaps": ["gaps", "--top=5", path],
        "stacks": ["stacks", path],
        "diff": ["diff", "--top=5", path, path],
        "merge": ["merge", f"--output={folder}/merged.json", path, f"{folder}/plain.json"],
        "report": ["report", f"--output={folder}/report.html", path],
        "verify": ["verify", path],
        "convert": ["convert", path, f"{folder}/converted.pftrace"],
        "export": ["export", f"--csv={folder}/tables", path],
        "symbolize": ["symbolize", f"--output={folder}/lines.json", path],
    }


class Cost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gputrace-cost-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.ordinary = collections.defaultdict(int)
        cls.write("plain", plain)

    @classmethod
    def write(cls, name, events, end=""):
        path = os.path.join(cls.folder, name + ".json")
        size = 0
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEADER)
            for i in itertools.count(1):
                for event in events(i):
                    text = json.dumps(event, separators=(",", ":"))
                    size += file.write((",\n" if size else "") + text)
                if size >= SIZE:
                    break
            file.write("\n]%s}\n" % end)
        return path

    def count(self, name, path):
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            shutil.copy(os.path.join(self.folder, "plain.json"), out)
            done = subprocess.run(
                ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(out, "out"),
                 str(CLI), *commands(path, out)[name]], capture_output=True, text=True, timeout=500, check=False,
                env={name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"})
        self.assertIn(done.returncode, (0, 1) if name == "verify" else (0,), done.stderr)
        return max(int(n) for n in re.findall(r"Collected : (\d+)", done.stderr))

    def check(self, shape):
        path = self.write(shape.replace(" ", "-"), SHAPES[shape][0], ENDS.get(shape, ""))
        for name in SHAPES[shape][1]:
            with self.subTest(shape=shape, command=name):
                if not self.ordinary[name]:
                    self.ordinary[name] = self.count(name, os.path.join(self.folder, "plain.json"))
                cost = self.count(name, path)
                ratio = cost / self.ordinary[name]
                print("%s, %s: %.1f times %.0f million" % (shape, name, ratio, self.ordinary[name] / 1e6), flush=True)
                self.assertLess(ratio, OTHER.get((shape, name), MOST))
        os.unlink(path)


for key in SHAPES:
    setattr(Cost, "test_" + key.replace(" ", "_").replace(",", ""), lambda self, key=key: self.check(key))

if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    unittest.main()
