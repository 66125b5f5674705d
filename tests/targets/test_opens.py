# SPDX-License-Identifier: Apache-2.0
"""--osrt and dlopen: its calls, and that what they find is what they find without us.

    test_opens.py BUILD SOURCE PROGRAM
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
CC = shutil.which(os.environ.get("CC", "cc").split()[-1]) or shutil.which("gcc") or shutil.which("clang")
OPENS = "#include <dlfcn.h>\nvoid *gt_open(const char *name)\n{\n\tvoid *handle = dlopen(name, RTLD_NOW);\n\t__asm__ volatile(\"\" : \"+r\"(handle));\n\treturn handle;\n}\n"
SLOW = ("#include <time.h>\n__attribute__((constructor)) static void begin(void)\n"
        "{\n\tstruct timespec time = {0, 20000000};\n\tnanosleep(&time, 0);\n}\n")
# of the standard library; one of them is a file of its own
MODULES = ("_ctypes_test", "xxlimited", "_lsprof", "resource", "_json")


@unittest.skipIf(preloading.RUNTIMES, "a sanitizer interposes dlopen itself")
@unittest.skipUnless(CC, "no C compiler")
class Opens(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-opens-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(self.folder + "/near")

    def library(self, name, text, *words):
        path = os.path.join(self.folder, name)
        subprocess.run([CC, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", path, *words, "-ldl"], input=text, text=True, check=True,
                       timeout=120)
        return path

    def run_program(self, *words, options=None, program=(PROGRAM,), preload=""):
        run = [] if options is None else [os.path.join(SOURCE, "scripts", "gputrace"), "run", "-q", "--output=" + self.folder + "/out", *options]
        return subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *run, *program, *words], capture_output=True, text=True, timeout=120,
            check=True, stdin=subprocess.DEVNULL, env=dict(os.environ, GPUTRACE_BUILD=BUILD, LD_PRELOAD=preload)).stdout

    def opened(self, *words, **more):
        """The calls in the trace; what the program says is the same without us."""
        said = self.run_program(*words, **more)
        self.assertEqual(self.run_program(*words, options=["--osrt=1us"], **more), said)
        path = trace_file.find(self.folder + "/out")[0]
        subprocess.run([CLI, "verify", path], check=True, capture_output=True, timeout=120)
        self.trace = trace_file.Trace(path)
        shutil.rmtree(self.folder + "/out")
        return said, sorted((e for e in self.trace.slices if e["cat"] == "osrt" and e["name"] == "dlopen"), key=lambda e: e["ts"])

    def test_by_path(self):
        """From the program: the time, the path, the place; what constructors do is inside. What cannot be opened, too."""
        slow, none, odd = self.library("slow.so", SLOW), self.folder + "/none.so", self.folder + "/odd.so"
        with open(odd, "w", encoding="utf-8") as file:
            file.write("no library")
        said, calls = self.opened(slow, none, odd)
        self.assertIn(f"{none}: cannot open shared object file: No such file or directory\n", said)
        self.assertEqual([(e["args"]["file"], e["args"]["result"]) for e in calls], [(slow, 0), (none, -1), (odd, -1)])
        self.assertGreaterEqual(self.trace.duration(calls[0]), 20000000)
        nap, = [e for e in self.trace.slices if e["name"] == "nanosleep" and self.trace.start(calls[0]) <= self.trace.start(e)]
        self.assertLessEqual(self.trace.start(nap) + self.trace.duration(nap), self.trace.start(calls[0]) + self.trace.duration(calls[0]))
        stacks = {e["args"]["stack"]: e["args"]["frames"] for e in self.trace.slices if "frames" in e.get("args", {})}
        self.assertEqual(trace_file.frame_function(stacks[calls[0]["args"]["stack"]][0]), "open_here")

    def test_runpath(self):
        """A name is searched where the object of the caller says, and $ORIGIN is its folder."""
        near = self.library("near/near.so", SLOW)
        host = self.library("host.so", OPENS, "-Wl,-rpath,$ORIGIN/near", "-Wl,--enable-new-dtags")
        for name in ("near.so", "$ORIGIN/near/near.so"):
            with self.subTest(name):
                said, calls = self.opened(host, name, "@" + name)
                self.assertEqual([": opened" in line for line in said.splitlines()[::2]], [True, False, True], said)
                self.assertEqual([e["args"]["file"] for e in calls], [host])
        self.assertTrue(os.path.exists(near))

    def test_by_path_from_a_library(self):
        """From one that is there from the beginning, and one that has been opened; what is opened has no RPATH from them."""
        self.library("near/libnear.so", SLOW, "-Wl,-soname,libnear.so")
        slow, host = self.library("slow.so", SLOW), self.library("host.so", OPENS, "-Wl,-rpath,$ORIGIN/near", "-Wl,--disable-new-dtags")
        plug = self.library("plug.so", SLOW, "-Wl,--no-as-needed", "-L" + self.folder + "/near", "-l:libnear.so")
        for words, preload in (((f"@{plug}", f"@{slow}"), host), ((host, f"@{plug}", f"@{slow}"), "")):
            said, calls = self.opened(*words, preload=preload)
            self.assertIn(f"{plug}: libnear.so: cannot open shared object file", said)
            self.assertEqual([e["args"]["file"] for e in calls], [word.lstrip("@") for word in words])
            self.assertEqual([e["args"]["result"] for e in calls][-2:], [-1, 0])

    def test_another_namespace(self):
        """Our function, called from there: it must not open into the program's."""
        host = self.library("host.so", OPENS.replace("gt_open(const char *name)", "gt_open(const char *name, void *(*dlopen)(const char *, int))"))
        slow = self.library("slow.so", SLOW)
        said, calls = self.opened("+" + host, "@" + slow)
        self.assertEqual(said.splitlines()[::2], [f"+{host}: opened", f"@{slow}: opened, not here"])
        self.assertEqual(calls, [])

    def test_python(self):
        """An extension module, and the line that imports it."""
        origins = {name: getattr(importlib.util.find_spec(name), "origin", None) or "" for name in MODULES}
        names = [name for name, origin in origins.items() if origin.endswith(".so")]
        if not names:
            self.skipTest("this Python has its modules inside")
        program, first = self.folder + "/imports.py", os.path.join(SOURCE, "tests", "targets", "os_calls_modules.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"import runpy, sys\nsys.argv[1:] = ['0']\nrunpy.run_path({first!r})\nimport {names[0]}\n")
        _, calls = self.opened(program=(sys.executable, program))
        mine = [e for e in calls if os.path.realpath(e["args"]["file"]) == os.path.realpath(origins[names[0]])]
        self.assertEqual(len(mine), 1, calls)
        stacks = {e["args"]["stack"]: e["args"]["frames"] for e in self.trace.slices if "frames" in e.get("args", {})}
        self.assertTrue([frame for frame in stacks[mine[0]["args"]["stack"]] if f"({program}:4)" in frame], stacks)


if __name__ == "__main__":
    unittest.main()
