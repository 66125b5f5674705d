# SPDX-License-Identifier: Apache-2.0
"""Source lines in stats, gaps, stacks, analyze and report without another command: those that gputrace symbolize writes.

    test_lines.py CLI LIBRARY STRIPPED_LIBRARY BAD_READER
"""
import csv
import gzip
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

CLI, LIBRARY, STRIPPED, BAD_READER = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:5])
del sys.argv[1:5]
COMMANDS = (("stats", "--by=line", "--format=csv"), ("stats", "--by=function", "--format=csv"),
            ("stats", "--by=stack", "--format=csv"), ("stats", "--by=line", "--frame=innermost", "--format=json"),
            ("gaps", "--format=csv"), ("stacks",), ("analyze",), ("report", "--output=-", "--title=trace"))


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)[1]


def addresses(path, function):
    """The addresses of a function's bytes."""
    for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if words[-1] == function and len(words) == 4:
            return range(int(words[0], 16), int(words[0], 16) + int(words[1], 16))
    raise AssertionError(f"no {function} in {path}")


def trace_of(stacks, modules):
    """A launch and a kernel of 4 us for each stack, with gaps between them."""
    events = []
    for i, frames in enumerate(stacks, 1):
        args = {"correlation": i, "stack": i, "frames": frames}
        if i == 1:
            args["modules"] = modules
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": i * 10,
                       "dur": 1, "args": args})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i * 10 + 2, "dur": 4,
                       "args": {"device": 0, "stream": 7, "correlation": i, "stack": i}})
    return json.dumps({"traceEvents": events})


def debug_sections(path):
    """(start, size) of the sections with DWARF."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return [(int(start, 16), int(size, 16)) for start, size in
            re.findall(r"\.debug_\w+ +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text)]


class Lines(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gputrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_it(self, *words, **variables):
        environment = {key: value for key, value in os.environ.items() if key not in ("DEBUGINFOD_URLS", "COLUMNS")}
        result = subprocess.run([CLI, *map(str, words)], capture_output=True, env={**environment, **variables}, text=True,
                                check=False, timeout=120, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def write(self, stacks, modules, name="trace.json"):
        path = self.folder / name
        path.write_text(trace_of(stacks, modules), encoding="utf-8")
        return path

    def lines(self, path, *options, **variables):
        """{line: ns} and what was said."""
        result = self.run_it("stats", "--by=line", "--format=csv", *options, path, **variables)
        rows = {row["Name"]: int(row["Total Time (ns)"]) for row in csv.DictReader(io.StringIO(result.stdout))
                if int(row["Total Time (ns)"])}
        return rows, result.stderr

    def every_stack(self):
        return [[f"{function} ({LIBRARY}+{offset:#x})", "step (/src/train.py:7)", f"main ({STRIPPED}+{offset:#x})",
                 "start (/lib/libc.so.6+0x12)"]
                for function in ("outer", "launch", "touch") for offset in addresses(LIBRARY, function)]

    def test_the_lines_are_those_of_symbolize(self):
        trace = self.write(self.every_stack(), {LIBRARY: build_id(LIBRARY), STRIPPED: build_id(STRIPPED),
                                                "/lib/libc.so.6": build_id(LIBRARY)})
        symbolized = self.folder / "symbolized.json"
        self.run_it("symbolize", f"--output={symbolized}", trace)
        for command in COMMANDS:
            with self.subTest(command=command):
                now = self.run_it(*command, trace).stdout
                other = self.run_it(*command, "--symbolize=off", symbolized).stdout
                self.assertEqual(now, other.replace(symbolized.name, trace.name))
                self.assertNotEqual(now, self.run_it(*command, "--symbolize=off", trace).stdout)
                self.assertIn("innermost" if "--by=function" in command else "inlined.c:", now)
        with self.subTest(command="diff"):
            now = self.run_it("diff", "--format=csv", trace, trace).stdout
            self.assertEqual(now, self.run_it("diff", "--format=csv", "--symbolize=off", symbolized, symbolized).stdout)
            self.assertNotEqual(now, self.run_it("diff", "--format=csv", "--symbolize=off", trace, trace).stdout)

    def test_without_frames_nothing_is_read(self):
        crash = self.folder / "crash.so"
        shutil.copy(LIBRARY, crash)
        trace = self.write([[f"touch ({crash}+{addresses(LIBRARY, 'touch')[0]:#x})"]], {str(crash): build_id(LIBRARY)})
        for words in (), ("--by=kernel",), ("--report=all",), ("--by=line", "--symbolize=off"):
            result = self.run_it("stats", *words, trace, LD_PRELOAD=BAD_READER, ASAN_OPTIONS="verify_asan_link_order=0")
            self.assertNotIn("debug information cannot", result.stderr)

    def test_other_files_under_the_name(self):
        """What a trace names is a stranger's word: it is read if it is the file that was loaded."""
        offset = addresses(LIBRARY, "touch")[0]
        here = {name: self.folder / name for name in ("pipe", "folder", "link", "large", "text", "gone")}
        os.mkfifo(here["pipe"])
        here["folder"].mkdir()
        here["link"].symlink_to(LIBRARY)
        shutil.copy(LIBRARY, here["large"])
        os.truncate(here["large"], 5 << 30)
        here["text"].write_text("no ELF file", encoding="utf-8")
        paths = [*here.values(), pathlib.Path("/dev/zero"), pathlib.Path("/proc/self/mem")]
        for path in paths:
            with self.subTest(path=path.name):
                rows, said = self.lines(self.write([[f"touch ({path}+{offset:#x})"]], {str(path): build_id(LIBRARY)}))
                found = any("inlined.c" in line for line in rows)
                self.assertEqual((found, said), (path.name == "link", ""))
        rows, _ = self.lines(self.write([[f"touch ({LIBRARY}+{offset:#x})"]], {LIBRARY: "00" * 20}))
        self.assertEqual(list(rows), [f"touch ({LIBRARY}+{offset:#x})"])

    def test_two_files_of_one_name(self):
        """Which of them a frame is of is not told."""
        frame = f"touch ({LIBRARY}+{addresses(LIBRARY, 'touch')[0]:#x})"
        trace = json.loads(trace_of([[frame], [frame]], {LIBRARY: build_id(LIBRARY)}))
        trace["traceEvents"][2]["args"]["modules"] = {LIBRARY: "00" * 20}
        path = self.folder / "two.json"
        path.write_text(json.dumps(trace), encoding="utf-8")
        self.assertEqual(list(self.lines(path)[0]), [frame])

    def test_damaged_debug_information(self):
        """The positions may be lost or wrong, the times are not."""
        stacks = self.every_stack()
        sections = debug_sections(LIBRARY)
        self.assertTrue(sections)
        intact = pathlib.Path(LIBRARY).read_bytes()
        damaged = self.folder / "damaged.so"
        trace = self.write([[frame.replace(LIBRARY, str(damaged)) for frame in stack] for stack in stacks],
                           {str(damaged): build_id(LIBRARY)})
        for seed in range(40):
            chance, data = random.Random(seed), bytearray(intact)
            for start, size in sections:
                for _ in range(chance.choice((0, 1, 8, 64))):
                    data[start + chance.randrange(size)] = chance.choice((0, 0x7f, 0xff, chance.randrange(256)))
            damaged.write_bytes(data)
            with self.subTest(seed=seed):
                rows, _ = self.lines(trace)
                self.assertEqual(sum(rows.values()), 4000 * len(stacks))
        damaged.write_bytes(intact[:len(intact) // 2])
        self.assertEqual(sum(self.lines(trace)[0].values()), 4000 * len(stacks))

    def test_a_reader_that_crashes(self):
        """One line says so; other modules keep their lines."""
        offset = addresses(LIBRARY, "touch")[0]
        crash = self.folder / "crash.so"
        shutil.copy(LIBRARY, crash)
        trace = self.write([[f"a ({crash}+{offset:#x})"], [f"b ({LIBRARY}+{offset:#x})"], [f"c ({crash}+{offset + 1:#x})"],
                            [f"d ({STRIPPED}+{offset:#x})"]],
                           {str(crash): build_id(LIBRARY), LIBRARY: build_id(LIBRARY), STRIPPED: build_id(STRIPPED)})
        rows, said = self.lines(trace, LD_PRELOAD=BAD_READER, ASAN_OPTIONS="verify_asan_link_order=0")
        self.assertEqual(said, f"gputrace: {crash}: its debug information cannot be read; its frames have no source lines\n")
        lines = sorted(re.sub(r"^/.*/", "", line) for line in rows)
        self.assertEqual([line[:2] for line in lines if line.endswith(")")], ["a ", "c "])
        self.assertEqual(rows[next(line for line in rows if "inlined.c:" in line)], 8000)

    def in_place(self, *paths, status=0, **variables):
        environment = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
        result = subprocess.run([CLI, "symbolize", "--in-place", *map(str, paths)], capture_output=True, text=True,
                                env={**environment, **variables}, check=False, timeout=120)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_in_place(self):
        modules = {LIBRARY: build_id(LIBRARY), STRIPPED: build_id(STRIPPED)}
        first, second = self.write(self.every_stack(), modules), self.write(self.every_stack()[:9], modules, "second.json")
        none = self.write([["main (/no/such+0x12)"]], {"/no/such": "00" * 20}, "none.json")
        first.chmod(0o640)
        before = none.stat()
        wanted = [self.run_it("symbolize", path).stdout for path in (first, second)]
        said = self.in_place(first, none, second).splitlines()
        self.assertEqual(len(said), 3, said)
        self.assertEqual([first.read_text(encoding="utf-8"), second.read_text(encoding="utf-8")], wanted)
        self.assertEqual(first.stat().st_mode & 0o777, 0o640)
        self.assertEqual((none.stat().st_ino, none.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.assertEqual(self.names(), ["none.json", "second.json", "trace.json"])
        self.assertEqual(self.in_place("--quiet", first), "")
        self.assertEqual(first.read_text(encoding="utf-8"), wanted[0])

    def test_in_place_packed(self):
        """A gzip file stays one, of one member."""
        trace = self.write(self.every_stack(), {LIBRARY: build_id(LIBRARY), STRIPPED: build_id(STRIPPED)})
        wanted = self.run_it("symbolize", trace).stdout
        packed = self.folder / "packed.json.gz"
        packed.write_bytes(gzip.compress(trace.read_bytes()))
        self.assertIn("got one", self.in_place(packed))
        data = zlib.decompressobj(wbits=31)
        self.assertEqual(data.decompress(packed.read_bytes()).decode(), wanted)
        self.assertTrue(data.eof and not data.unused_data)
        self.assertEqual(self.names(), ["packed.json.gz", "trace.json"])

    def test_in_place_too_large(self):
        """One line at once, not after 20 seconds of reading."""
        large = self.folder / "large.json"
        large.write_bytes(self.write([["a (/no/such+0x1)"]], {"/no/such": "00" * 20}).read_bytes())
        os.truncate(large, 40 << 30)
        began = time.monotonic()
        said = self.in_place(large, status=1)
        self.assertLess(time.monotonic() - began, 10)
        self.assertRegex(said, r"^gputrace: .*large.json: 42.9 GB of JSON are too many [^\n]*; it stays as it is\n$")
        self.assertEqual(self.names(), ["large.json", "trace.json"])

    def test_in_place_pftrace(self):
        trace = self.folder / "x.pftrace"
        trace.write_bytes(bytes.fromhex("0a025001"))
        self.assertIn("a .pftrace, which has no place", self.in_place(trace, status=1))

    def test_in_place_too_little_room(self):
        """The reason is the room, not the trace."""
        trace = self.write([[f"a ({LIBRARY}+{addresses(LIBRARY, 'touch')[0]:#x})"]], {str(LIBRARY): build_id(LIBRARY)})
        packed = self.folder / "packed.json.gz"
        packed.write_bytes(gzip.compress(trace.read_bytes()))
        for path in (trace, packed):
            with self.subTest(path=path.name):
                before = path.read_bytes()
                said = subprocess.run(["prlimit", "--fsize=100", CLI, "symbolize", "--in-place", path], text=True,
                                      capture_output=True, check=False).stderr
                self.assertEqual(said, f"gputrace: {path}: File too large; it stays as it is\n")
                self.assertEqual(path.read_bytes(), before)

    def test_in_place_or_not_at_all(self):
        crash = self.folder / "crash.so"
        shutil.copy(LIBRARY, crash)
        trace = self.write([[f"a ({crash}+{addresses(LIBRARY, 'touch')[0]:#x})"]], {str(crash): build_id(LIBRARY)})
        cut = self.folder / "cut.json"
        cut.write_text("no JSON", encoding="utf-8")
        link = self.folder / "link.json"
        link.symlink_to(trace)
        before = trace.read_bytes()
        bad = {"LD_PRELOAD": BAD_READER, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        gone = self.folder / "gone.json"
        self.assertEqual(self.in_place(gone, status=1, **bad), f"gputrace: {gone}: No such file or directory\n")
        said = self.in_place(self.folder, status=1, **bad)  # the link is one of its traces
        self.assertIn("link.json", said)
        for path in (trace, cut, link):
            with self.subTest(path=path.name):
                said = self.in_place(path, status=1, **bad)
                self.assertTrue(said.startswith(f"gputrace: {path}: ") and said.endswith("; it stays as it is\n"), said)
        self.assertEqual(trace.read_bytes(), before)
        self.assertEqual(self.names(), ["crash.so", "cut.json", "link.json", "trace.json"])
        self.in_place(f"--output={self.folder}/other.json", trace, status=2)


if __name__ == "__main__":
    unittest.main()
