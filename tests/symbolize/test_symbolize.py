# SPDX-License-Identifier: Apache-2.0
"""gputrace symbolize against addr2line, for every address of a function.

    test_symbolize.py CLI LIBRARY STRIPPED_LIBRARY
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CLI, LIBRARY, STRIPPED = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
del sys.argv[1:4]


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)[1]


def addresses(path, function):
    """First byte and size of a function."""
    for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        words = line.split()
        if words[-1] == function and len(words) == 4:
            return int(words[0], 16), int(words[1], 16)
    raise AssertionError(f"no {function} in {path}")


def by_addr2line(path, address):
    """[(function, file, line)], innermost first."""
    lines = subprocess.run(["addr2line", "-f", "-i", "-e", path, hex(address)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    places = (place.split(" (")[0].rsplit(":", 1) for place in lines[1::2])
    return [(name, os.path.basename(file), line)
            for name, (file, line) in zip(lines[::2], places)]


def make_trace(stacks, modules):
    """A closed trace with a kernel for each stack; the second half repeats them by number only."""
    events = []
    for number, frames in enumerate(stacks, 1):
        args = {"launched by": "old", "stack": number, "frames": frames}
        if number == 1:
            args["modules"] = modules
        events.append({"ph": "X", "cat": "kernel", "name": "k \u00e9\"", "pid": 0, "tid": 7,
                       "ts": number, "dur": 1, "args": args})
    for number in range(1, len(stacks) + 1):
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000,
                       "dur": 1, "args": {"launched by": "old", "created by": "old",
                                          "forward by": "old", "stack": number,
                                          "created stack": 1, "forward stack": 1}})
    lines = ",\n".join(json.dumps(event) for event in events)
    return '{"schemaVersion": 1,\n"traceEvents": [\n' + lines + '\n], "ledger": {"a": 1}}\n'


class Symbolize(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gputrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_it(self, text, *options, compress=False):
        path = self.folder / "trace.json"
        path.write_bytes(gzip.compress(text.encode()) if compress else text.encode())
        environment = {key: value for key, value in os.environ.items()
                       if key != "DEBUGINFOD_URLS"}
        return subprocess.run([CLI, "symbolize", *options, str(path)], capture_output=True,
                              env=environment, text=True, check=False, timeout=120)

    def symbolized(self, stacks, modules, **options):
        result = self.run_it(make_trace(stacks, modules), **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["traceEvents"]

    def test_every_address_of_a_function(self):
        start, size = addresses(LIBRARY, "outer")
        offsets = range(start, start + size)
        stacks = [[f"outer ({LIBRARY}+{offset:#x})", "step (/src/train.py:7)"]
                  for offset in offsets]
        for compress in False, True:
            events = self.symbolized(stacks, {LIBRARY: build_id(LIBRARY)}, compress=compress)
            seen = set()
            for event, offset in zip(events, offsets):
                wanted = [f"{name} ({file}:{line})"
                          for name, file, line in by_addr2line(LIBRARY, offset)]
                got = [re.sub(r"\(/.*/", "(", frame) for frame in event["args"]["frames"]]
                self.assertEqual(got, wanted + ["step (train.py:7)"], hex(offset))
                self.assertEqual(event["args"]["launched by"],
                                 " < ".join(wanted + ["step (train.py:7)"]))
                seen.add(len(wanted))
            self.assertTrue({1, 3} <= seen, f"inlined functions of depths {seen} only")

    def test_stubs_of_nvcc_are_left_out(self):
        """What is inlined below them is who launched; further out the same names are the user's."""
        start, size = addresses(LIBRARY, "launch")
        offsets = [offset for offset in range(start, start + size)
                   if by_addr2line(LIBRARY, offset)[0][0].startswith("__device_stub_")]
        self.assertTrue(offsets)
        frame = [f"launch ({LIBRARY}+{offset:#x})" for offset in offsets]
        events = self.symbolized([[text, text] for text in frame], {LIBRARY: build_id(LIBRARY)})
        for event, offset in zip(events, offsets):
            every = [f"{name} ({file}:{line})"
                     for name, file, line in by_addr2line(LIBRARY, offset)]
            self.assertEqual([name.split()[0] for name in every],
                             ["__device_stub__Z6kernelPi", "kernel", "launch"])
            self.assertEqual(event["args"]["launched by"], " < ".join(every[2:] + every))

    def test_the_line_shows_the_users(self):
        """As the tracer chooses its frames: tests/unit/test_launched_by.c."""
        start, _ = addresses(LIBRARY, "touch")
        event = self.symbolized([["/usr/lib/libcublasLt.so.13+0x12", "sum (/usr/lib/libx.so+0x12)",
                                  "void at::f<int>(int) (/usr/lib/libtorch.so+0x12)", f"touch ({LIBRARY}+{start:#x})",
                                  "_call (/venv/site-packages/torch/module.py:9)", "step (/src/train.py:7)"]],
                                {LIBRARY: build_id(LIBRARY)})[0]
        self.assertRegex(event["args"]["launched by"],
                         r"^sum \(libx\.so\) < touch \(inlined\.c:\d+\) < step \(train\.py:7\) < \.\.\.$")

    def test_slices_that_name_the_stack_only(self):
        start, _ = addresses(LIBRARY, "touch")
        events = self.symbolized([[f"touch ({LIBRARY}+{start:#x})"], [f"{LIBRARY}+{start:#x}"]],
                                 {LIBRARY: build_id(LIBRARY)})
        self.assertRegex(events[0]["args"]["frames"][0], r"^touch \(/.*/inlined\.c:\d+\)$")
        self.assertEqual(events[0]["args"]["launched by"], events[2]["args"]["launched by"])
        for key in "created by", "forward by":
            self.assertEqual(events[0]["args"]["launched by"], events[3]["args"][key])
        self.assertRegex(events[1]["args"]["launched by"], r"\.so\+0x[0-9a-f]+ \(inlined\.c:\d+\)$")

    def test_everything_else_stays(self):
        frames = ["f (/no/such/lib.so+0x12)", "/no/such/lib.so+0x12", "odd (+0x", "+0x1", "", "(",
                  "g (/src/a.py:3)", f"h ({LIBRARY}+0xffffffffffffffff)", "[jit]+0x12",
                  f"\"\\ ({LIBRARY}+0x)", f"big ({LIBRARY}+0x12345678901234567)"]
        text = make_trace([frames], {LIBRARY: build_id(LIBRARY), "/no/such/lib.so": "abcdef"})
        result = self.run_it(text)
        self.assertEqual((result.returncode, result.stdout), (0, text), result.stderr)

    def test_what_stands_around_a_program_keeps_its_module(self):
        """With lines libc's code would be the nearest of a program without any, and nobody launches there."""
        start, _ = addresses(LIBRARY, "touch")
        for name in "libc.so.6", "libffi.so.8", "_ctypes.cpython-312.so", "libgputrace-cublas.so":
            module = str(self.folder / name)
            shutil.copy(LIBRARY, module)
            text = make_trace([["run (/opt/app+0x12)", f"touch ({module}+{start:#x})"]],
                              {module: build_id(module)})
            result = self.run_it(text)
            self.assertEqual((result.returncode, result.stdout), (0, text), name)

    def test_a_module_that_was_replaced(self):
        start, _ = addresses(LIBRARY, "touch")
        for wrong in "00" * 20, "", "zz", "ab" * 200:
            text = make_trace([[f"touch ({LIBRARY}+{start:#x})"]], {LIBRARY: wrong})
            result = self.run_it(text)
            self.assertEqual((result.returncode, result.stdout), (0, text))
            self.assertIn("1 module missing", result.stderr)

    def test_debug_file_by_link(self):
        start, _ = addresses(LIBRARY, "touch")
        events = self.symbolized([[f"touch ({STRIPPED}+{start:#x})"]],
                                 {STRIPPED: build_id(STRIPPED)})
        self.assertRegex(events[0]["args"]["launched by"], r"^touch \(inlined\.c:\d+\)$")

    def test_pipe_as_a_module(self):
        """The trace names it: nobody waits for a writer."""
        pipe = self.folder / "libpipe.so"
        os.mkfifo(pipe)
        events = self.symbolized([[f"touch ({pipe}+0x10)"]], {str(pipe): build_id(LIBRARY)})
        self.assertEqual(events[0]["args"]["frames"], [f"touch ({pipe}+0x10)"])

    def test_output_file(self):
        text = make_trace([["f"]], {})
        out = self.folder / "out.json"
        self.assertEqual(self.run_it(text, f"--output={out}").returncode, 0)
        self.assertEqual(out.read_text(encoding="utf-8"), text)
        self.assertEqual(self.run_it(text, f"--output={out}").returncode, 1, "exists")

    def test_wrong_json(self):
        result = self.run_it('{"traceEvents": [\n{"ph": "X", "args": {"stack": 1, ]}\n]}',
                             f"--output={self.folder}/out.json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertFalse((self.folder / "out.json").exists())


if __name__ == "__main__":
    unittest.main()
