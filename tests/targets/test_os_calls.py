# SPDX-License-Identifier: Apache-2.0
"""--osrt: calls of the operating system that block, on a program that blocks for known times.

    test_os_calls.py BUILD SOURCE PROGRAM
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
MS = 1000000
WAIT = 20 * MS
# each call that is made once for so long: how its result is written
ONCE = {"read": {"bytes": 5, "descriptor kind": "pipe"},
        "recv": {"bytes": 9, "descriptor kind": "socket"},
        "poll": {"result": 0},
        "select": {"result": 0},
        "usleep": {"result": 0},
        "clock_nanosleep": {"result": 0},
        "sem_wait": {"result": 0},
        "pthread_mutex_lock": {"result": 0},
        "pthread_cond_wait": {"result": 0},
        "pthread_cond_timedwait": {"result": 110, "errno": 110},
        "epoll_wait": {"result": 0, "descriptor kind": "epoll"}}
TIMED_OUT = {"result": 110, "errno": 110}
MORE = {**dict.fromkeys(("pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_rwlock_timedrdlock",
                         "pthread_rwlock_timedwrlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock",
                         "pthread_timedjoin_np", "pthread_clockjoin_np"), TIMED_OUT),
        **dict.fromkeys(("sem_timedwait", "sem_clockwait"), {"result": -1, "errno": 110}),
        "sigwait": {"result": 0}, "sigwaitinfo": {"result": 10}, "sigtimedwait": {"result": -1, "errno": 11},
        "sigsuspend": {"result": -1, "errno": 4},
        "preadv2": {"bytes": 5, "descriptor kind": "pipe"}, "splice": {"bytes": 5, "descriptor kind": "pipe"},
        "recvmmsg": {"result": 1, "descriptor kind": "socket"}, "epoll_pwait2": {"result": 0, "descriptor kind": "epoll"},
        "wait3": {}}
OUTSIDE = {"epoll_wait": "wait_for_events"}
# a write to shard-N is of N bytes; the last one stays open, and gets one more
SHARDS = f"""import ctypes, os, runpy, sys, time
folder, how = sys.argv[1:]
sys.argv[1:] = ['0']
runpy.run_path({os.path.join(SOURCE, "tests", "targets", "os_calls_modules.py")!r})
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
def write(number):
    path = folder + '/shard-' + str(number)
    if how == 'os':
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        close = lambda: os.close(fd)
    else:
        stream = ctypes.c_void_p(c.fopen(path.encode(), b'w'))
        fd = c.fileno(stream)
        close = lambda: c.fclose(stream)
    os.write(fd, bytes(number))
    if number == 1010:
        time.sleep(0.2)
        os.write(fd, bytes(1011))
        time.sleep(0.2)
    close()
    os.unlink(path)
time.sleep(0.2)
for number in range(1001, 1011):
    write(number)
"""


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


@unittest.skipIf(preloading.RUNTIMES, "a sanitizer interposes the same functions")
class OsCalls(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-os-calls-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *words, options=None, status=0, program=(PROGRAM,)):
        """Untraced if there are no options. Returns what the program said."""
        run = [] if options is None else [os.path.join(SOURCE, "scripts", "gputrace"), "run", "-q",
                                          "--output=" + self.folder + "/out", *options]
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *run, *program, *words], capture_output=True,
            text=True, timeout=120, check=False, stdin=subprocess.DEVNULL, env=dict(os.environ, GPUTRACE_BUILD=BUILD))
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def trace(self, *words, options=("--osrt=5ms",), program=(PROGRAM,)):
        """What the program says is the same without us."""
        said = self.run_program(*words, options=list(options), program=program)
        self.assertEqual(said, self.run_program(*words, program=program))
        paths = [path for path in trace_file.find(self.folder + "/out")]
        code, out, err = tool("verify", *paths)
        self.assertEqual(code, 0, out + err)
        for path in paths:
            subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "lint", "trace_lint.py"), path], check=True,
                           timeout=120)
        return trace_file.Trace(paths[0])

    def calls(self, trace, name=None):
        found = [e for e in trace.slices if e["cat"] == "osrt" and name in (None, e["name"])]
        return sorted(found, key=lambda e: e["ts"])

    def function(self, trace, event):
        """Of the innermost frame."""
        stacks = {e["args"]["stack"]: e["args"]["frames"] for e in trace.slices if "frames" in e.get("args", {})}
        return trace_file.frame_function(stacks[event["args"]["stack"]][0])

    def test_waits(self):
        trace = self.trace("waits", self.folder + "/shard-7", options=["--osrt=5ms"])
        main = trace.calls[0]["tid"]
        self.assertEqual(trace.ledger["os_calls_lost"], 0)
        for name, expected in ONCE.items():
            with self.subTest(name):
                calls = [e for e in self.calls(trace, name) if e["tid"] == main and trace.duration(e) >= 0.5 * WAIT]
                if name == "sem_wait":
                    calls = [e for e in calls if self.function(trace, e) == "blocked_in"]
                self.assertEqual(len(calls), 1)
                args = calls[0]["args"]
                self.assertLess(trace.duration(calls[0]), 20 * WAIT)
                self.assertEqual({key: args.get(key) for key in expected}, expected)
                self.assertEqual(self.function(trace, calls[0]), OUTSIDE.get(name, "blocked_in"))
        joins = [e for e in self.calls(trace, "pthread_join") if self.function(trace, e) == "blocked_in"]
        self.assertTrue(joins)
        self.assertEqual(len(self.calls(trace, "waitpid")), 1)
        # the threads that never call CUDA wait, too
        self.assertGreater(len({e["tid"] for e in self.calls(trace, "nanosleep")}), 5)

    def test_more(self):
        trace = self.trace("more", self.folder + "/shard-8", options=["--osrt=5ms"])
        main = trace.calls[0]["tid"]
        for name, expected in MORE.items():
            with self.subTest(name):
                call, = [e for e in self.calls(trace, name) if e["tid"] == main]
                self.assertGreaterEqual(trace.duration(call), 0.5 * WAIT)
                self.assertEqual({key: call["args"].get(key) for key in expected}, expected)

    def test_more_that_is_quick(self):
        trace = self.trace("more", self.folder + "/shard-8", options=["--osrt=1ns"])
        for name, expected in (("pwritev2", {"bytes": 5}), ("sendmmsg", {"result": 1}), ("copy_file_range", {"bytes": 1 << 20})):
            self.assertTrue(self.calls(trace, name), name)
            for call in self.calls(trace, name):
                self.assertEqual({key: call["args"].get(key) for key in expected}, expected, name)
        self.assertGreaterEqual(len(self.calls(trace, "open")), 4)  # creat, too

    def test_files(self):
        trace = self.trace("waits", self.folder + "/shard-7", options=["--osrt=20us"])
        for name, calls in (("write", self.calls(trace, "write")), ("pread", self.calls(trace, "pread"))):
            calls = [e for e in calls if e["args"].get("bytes") == 8 << 20]
            self.assertEqual(len(calls), 1, name)
            args = calls[0]["args"]
            self.assertEqual((args["descriptor kind"], args["file"]), ("file", self.folder + "/shard-7"))

    def test_files_of_one_inode(self):
        """A call has the path of its own file or none, also where the next file has the same descriptor and inode."""
        script = os.path.join(self.folder, "shards.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SHARDS)
        options = dict(options=["--osrt=1ns"], program=(sys.executable, script))
        for how in ("os", "stdio"):
            with self.subTest(how):
                trace = self.trace(self.folder, how, **options)
                writes = {e["args"]["bytes"]: e["args"].get("file", "") for e in self.calls(trace, "write")
                          if 1000 <= e["args"].get("bytes", 0) <= 1011}
                self.assertGreater(len(writes), 2)  # others may find no slot
                self.assertEqual({size: file for size, file in writes.items() if file not in ("", f"{self.folder}/shard-{min(size, 1010)}")}, {})
                if how == "os":  # it was seen to be opened
                    self.assertEqual(writes[1011], self.folder + "/shard-1010")
                shutil.rmtree(self.folder + "/out")

    def idle(self):
        """Where the thread was while the GPU was idle in calls that block -> ns, as `gaps` has it."""
        code, out, err = tool("gaps", "--format=csv", self.folder + "/out")
        self.assertEqual(code, 0, out + err)
        rows = csv.DictReader(out.split("\n\n")[0].splitlines())
        return {row["Where"]: int(row["Idle Time (ns)"]) for row in rows if row["Cause"] in ("blocking call", "data loading")}

    def test_gaps(self):
        """The GPU waits for each call as long as it lasts."""
        self.trace("waits", self.folder + "/shard-7", options=["--osrt=5ms"])
        places = self.idle()
        for name, expected in ONCE.items():
            kind = expected.get("descriptor kind")
            call = name + "()" + (f" of a {kind} from" if kind in ("pipe", "socket") else " from")
            ns = [ns for where, ns in places.items() if f": {call} {OUTSIDE.get(name, 'blocked_in')} (" in where]
            self.assertEqual(len(ns), 1, (call, places))
            self.assertGreaterEqual(ns[0], 0.5 * WAIT, call)

    def test_gaps_of_python(self):
        """The file, and the line of the program: what the thread waited for."""
        path, loader = self.folder + "/shard-7", os.path.join(SOURCE, "tests", "targets", "os_calls_loader.py")
        os.mkfifo(path)
        with open(loader, encoding="utf-8") as file:
            line = [number for number, text in enumerate(file, 1) if "# blocks here" in text][0]
        trace = self.trace(path, program=(sys.executable, loader))
        want = f": read() of {path} from load_batch ({loader}:{line})"
        found = [ns for where, ns in self.idle().items() if where.endswith(want)]
        self.assertEqual(len(found), 1, self.idle())
        waits = [e for e in self.calls(trace, "read") if e["args"].get("file") == path]
        self.assertEqual(len(waits), 3)
        self.assertGreaterEqual(found[0], 0.9 * sum(trace.duration(e) for e in waits))

    def test_code_that_is_gone(self):
        """What a module does when it is imported: its code is freed before the tracer's thread comes to the call."""
        program = os.path.join(SOURCE, "tests", "targets", "os_calls_modules.py")
        trace = self.trace("8", program=(sys.executable, program))
        stacks = {e["args"]["stack"]: e["args"]["frames"] for e in trace.slices if "frames" in e.get("args", {})}
        frames = [frame for e in self.calls(trace) if "stack" in e["args"] for frame in stacks[e["args"]["stack"]]]
        self.assertEqual([frame for frame in frames if " (/modules/" in frame],
                         [f"<module> (/modules/gone{number}.py:{number + 2})" for number in range(8)])
        self.assertEqual(trace.ledger["python_frames_unnamed"], 0)

    def test_formats(self):
        """What a .pftrace tells is the same after a conversion."""
        self.run_program("waits", self.folder + "/shard-7", options=["--osrt=5ms", "--format=perfetto"])
        path = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder + "/out") for name in names
                if name.endswith(".pftrace")][0]
        code, out, err = tool("convert", path, self.folder + "/all.json")
        self.assertEqual(code, 0, out + err)
        trace = trace_file.Trace(self.folder + "/all.json")
        for name, expected in ONCE.items():
            have = [{key: e["args"].get(key) for key in expected} for e in self.calls(trace, name)]
            self.assertIn(expected, have, name)

    def test_signals(self):
        trace = self.trace("signals", options=["--osrt=500us"])
        errors = [e["args"].get("errno") for e in self.calls(trace, "read") if "bytes" not in e["args"]]
        self.assertIn(4, errors)
        self.assertTrue(self.calls(trace, "nanosleep"))

    def test_children(self):
        trace = self.trace("children", options=["--osrt=500us"])
        threads = {e["tid"] for e in self.calls(trace)}
        self.assertIn(trace.calls[0]["tid"], threads)
        # neither the child of vfork, which has our memory, nor that of fork, nor what was cancelled
        self.assertFalse(self.calls(trace, "usleep"))
        self.assertFalse([e for e in self.calls(trace, "read") if trace.duration(e) > 5 * MS])

    def test_end_of_a_thread(self):
        """A range that nobody ended lasts as long as its thread does: the last call is inside."""
        trace = self.trace("ended", options=["--osrt=5ms"])
        ends = {name: {e["tid"]: trace_file.nanoseconds(Decimal(e["ts"])) + trace.duration(e)
                       for e in trace.slices if e["name"] == name and e["tid"] != e["pid"]}
                for name in ("left open", "left open inside", "nanosleep")}
        self.assertEqual(len(ends["nanosleep"]), 3)
        for tid, end in ends["nanosleep"].items():
            self.assertLessEqual(end, ends["left open"][tid])
            self.assertLessEqual(end, ends["left open inside"][tid])

    def test_everything(self):
        """All calls, even the shortest: too many at once are counted."""
        for words in (("signals",), ("children",), ("waits", self.folder + "/shard-7")):
            with self.subTest(words[0]):
                shutil.rmtree(self.folder + "/out", ignore_errors=True)
                self.assertTrue(self.calls(self.trace(*words, options=["--osrt=1ns"])))

    def test_not_ours(self):
        """What the tracer calls on the program's threads is not the program's."""
        trace = self.trace("waits", self.folder + "/shard-7", options=["--osrt=1ns"])
        stacks = {e["args"]["stack"]: e["args"]["frames"] for e in trace.slices if "frames" in e.get("args", {})}
        told = [stacks[e["args"]["stack"]] for e in self.calls(trace) if "stack" in e["args"]]
        self.assertGreater(len(told), 50)
        self.assertEqual([frames for frames in told if "unwind" in frames[0] or "libgputrace" in frames[0]], [])

    def test_off(self):
        """Without the option there is nothing of it."""
        self.run_program("waits", self.folder + "/shard-7", options=[])
        trace = trace_file.Trace(trace_file.find(self.folder + "/out")[0])
        self.assertFalse(self.calls(trace))
        exported = subprocess.run(["nm", "-D", "--defined-only", os.path.join(BUILD, "preload", "libgputrace.so")],
                                  capture_output=True, text=True, check=True).stdout
        names = {line.split()[-1].split("@")[0] for line in exported.splitlines()}
        with open(os.path.join(SOURCE, "preload", "osrt", "functions.def"), encoding="utf-8") as file:
            ours = {line[12:-2] for line in file if line.startswith("OS_FUNCTION(")}
        self.assertGreater(len(ours), 90)
        self.assertFalse(names & ours)


if __name__ == "__main__":
    unittest.main()
