# SPDX-License-Identifier: Apache-2.0
"""What the tests of --libraries have in common: a program on the simulated device, under the tracer or alone."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import preloading
import trace_file


# what `sizes unknown` says, the count in the ledger, and the words of `stats --flops`
UNKNOWN = [
    ("unknown descriptor", "library_calls_unknown_descriptor", "with an unknown descriptor"),
    ("freed descriptor", "library_calls_freed_descriptor", "with a freed descriptor"),
    ("out of range", "library_calls_out_of_range", "with sizes out of range"),
    ("unknown version", "library_calls_unknown_version", "of an unknown version"),
]


def check_unknown(test, cli, trace, calls, why):
    """why: of each call, what it says of unknown sizes. The ledger has as many of each cause, and `stats --flops` tells them."""
    test.assertEqual([e["args"].get("sizes unknown") for e in calls], why)
    test.assertEqual([trace.ledger[key] for _, key, _ in UNKNOWN], [why.count(word) for word, _, _ in UNKNOWN])
    test.assertEqual(trace.ledger["library_calls_overflow"], len([e for e in calls if e["args"].get("FLOPs") == "overflow"]))
    said = subprocess.run([cli, "stats", "--flops", trace.path], capture_output=True, text=True, timeout=120, check=False).stderr
    words = [f"{why.count(word)} {words}" for word, _, words in UNKNOWN if word in why]
    line = f"calls of libraries whose sizes are not known: {len([w for w in why if w])}: {', '.join(words)}\n"
    (test.assertIn if words else test.assertNotIn)(line if words else "sizes are not known", said)


class LibraryCase(unittest.TestCase):
    """BUILD, SOURCE, PROGRAM and LIBRARY ("cufft") are set before it runs."""
    build = source = program = library = ""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-library-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def tool(self, *words):
        result = subprocess.run([os.path.join(self.build, "cli", "gputrace-cli"), *words], capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def tracer(self, options):
        """Words in front of the program that trace it."""
        output = self.folder + "/out"
        if not preloading.RUNTIMES:
            return [os.path.join(self.source, "scripts", "gputrace"), "run", "--output=" + output, *options]
        # `gputrace run` finds a library with a sanitizer unfit for what it starts
        libraries = ["libgputrace.so"]
        for option in options:
            if option.startswith("--libraries="):
                libraries += [f"libgputrace-{name}.so" for name in option.split("=")[1].split(",")]
        preload = ":".join(os.path.join(self.build, "preload", name) for name in libraries)
        variables = dict(preloading.PATIENT, GPUTRACE_OUTPUT=output, LD_PRELOAD=preloading.with_tracer(preload))
        for option in options:
            if option == "-q":
                variables["GPUTRACE_QUIET"] = "1"
                continue
            name, value = option[2:].split("=")
            variables["GPUTRACE_" + name.upper().replace("-", "_")] = value
        return ["env", *(f"{name}={value}" for name, value in variables.items())]

    def run_program(self, word, *options, traced=True, cupti="130000", killed=False):
        """What the program said on stdout and stderr."""
        front = self.tracer(options) if traced else []
        result = subprocess.run(
            [os.path.join(self.source, "scripts", "simcuda"), "--build=" + self.build, "--cupti=" + cupti, *front,
             self.program, word],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, GPUTRACE_BUILD=self.build))
        self.assertIn(result.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL) if killed else (0,), result.stderr)
        return result.stdout, result.stderr

    def check_calls(self, trace, library, expected):
        """expected: name, number of kernels, FLOPs, bytes and other arguments of each call and of its kernels."""
        calls = self.calls(trace)
        self.assertEqual([e["name"] for e in calls], [call[0] for call in expected])
        for event, (name, count, flops, size, others) in zip(calls, expected):
            args = event["args"]
            self.assertEqual((args["library"], args.get("FLOPs"), args.get("operand bytes")),
                             (library, flops, size), name)
            self.assertEqual({k: args.get(k) for k in others}, others, name)
            kernels = [e for e in trace.gpu if e["args"].get("call number") == args["call number"]]
            self.assertEqual(len(kernels), count, name)
            for kernel in kernels:
                self.assertEqual(kernel["args"]["library call"], name)
                self.assertEqual({k: kernel["args"].get(k) for k in args}, args, name)

    def trace(self):
        path = trace_file.find(self.folder)[0]
        self.tool("verify", path)
        return trace_file.Trace(path)

    def calls(self, trace):
        return sorted((e for e in trace.slices if e["cat"] == "library"), key=lambda e: e["ts"])

    def check_unknown(self, trace, why, calls=None):
        check_unknown(self, os.path.join(self.build, "cli", "gputrace-cli"), trace, self.calls(trace) if calls is None else calls, why)

    def come_back(self, word):
        """The trace of a run in the other format, converted."""
        self.run_program(word, "--libraries=" + self.library, "--format=perfetto")
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names
                 if name.endswith(".pftrace")]
        self.tool("convert", found[0], self.folder + "/back.pt.trace.json")
        return self.trace()

    def empty(self):
        """Before a second trace."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                os.unlink(os.path.join(folder, name))

    def symbols(self, name):
        return subprocess.run(["nm", "-D", "--defined-only", os.path.join(self.build, "preload", name)],
                              capture_output=True, text=True, check=True).stdout
