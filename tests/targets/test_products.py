# SPDX-License-Identifier: Apache-2.0
"""--libraries=cublas on the simulated libcublas: the calls, their kernels, their FLOPs.

    test_products.py BUILD SOURCE PROGRAM
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file
from library_case import check_unknown

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
CUBLAS = os.path.join(BUILD, "preload", "libgputrace-cublas.so")
# what products.c calls: name, sizes, FLOPs, bytes of the operands, other arguments
CALLS = [
    ("cublasSgemm", {"m": 10, "n": 20, "k": 30}, 2 * 10 * 20 * 30, 4 * (300 + 600 + 200),
     {"transa": "N", "transb": "T", "A type": "Float", "compute type": "CUBLAS_COMPUTE_32F"}),
    ("cublasDgemm", {"m": 10, "n": 20, "k": 5000}, 2 * 10 * 20 * 5000, 8 * (50000 + 100000 + 200),
     {"C type": "Double", "compute type": "CUBLAS_COMPUTE_64F"}),
    ("cublasCgemm", {"m": 4, "n": 5, "k": 6}, 8 * 4 * 5 * 6, 8 * (24 + 30 + 20), {"transa": "C", "B type": "ComplexFloat"}),
    ("cublasSgemm_64", {"m": 7, "n": 8, "k": 9}, 2 * 7 * 8 * 9, 4 * (63 + 72 + 56), {}),
    ("cublasSgemmEx", {"m": 16, "n": 16, "k": 16}, 2 * 16 ** 3, 256 * (2 + 2 + 4), {"A type": "BFloat16", "C type": "Float"}),
    ("cublasGemmEx", {"m": 64, "n": 32, "k": 16}, 2 * 64 * 32 * 16, 2 * (1024 + 512 + 2048),
     {"algorithm": 103, "A type": "Half", "compute type": "CUBLAS_COMPUTE_32F"}),
    ("cublasSgemmBatched", {"m": 3, "n": 4, "k": 5, "batch count": 6}, 6 * 2 * 60, 6 * 4 * (15 + 20 + 12), {}),
    ("cublasSgemmStridedBatched", {"m": 3, "n": 4, "k": 5, "batch count": 7}, 7 * 2 * 60, 4 * (15 + 7 * 20 + 7 * 12), {}),
    ("cublasGemmStridedBatchedEx", {"m": 8, "n": 8, "k": 8, "batch count": 9}, 9 * 2 * 512, 9 * 64 * (1 + 1 + 4),
     {"algorithm": "default", "A type": "Char", "C type": "Int", "compute type": "CUBLAS_COMPUTE_32I"}),
    ("cublasSgemv", {"m": 10, "n": 20}, 2 * 10 * 20, 4 * (200 + 10 + 20), {"transa": "T"}),
    ("cublasDger", {"m": 10, "n": 20}, 2 * 10 * 20, 8 * (10 + 20 + 200), {}),
    ("cublasSsymv", {"n": 11}, 2 * 11 * 11, 4 * (66 + 11 + 11), {}),
    ("cublasDtrsv", {"n": 12}, 12 * 12, 8 * (78 + 12), {}),
    ("cublasSsymm", {"m": 10, "n": 20}, 2 * 10 * 20 * 20, 4 * (210 + 200 + 200), {"side": "right"}),
    ("cublasSsyrk", {"n": 9, "k": 4}, 4 * 9 * 10, 4 * (36 + 45), {}),
    ("cublasDsyr2k", {"n": 9, "k": 4}, 2 * 4 * 9 * 9 + 9, 8 * (36 + 36 + 45), {}),
    ("cublasStrsm", {"m": 6, "n": 5}, 5 * 6 * 6, 4 * (21 + 30), {"side": "left"}),
    ("cublasCtrsm", {"m": 6, "n": 5}, 6 * (6 * 15 + 2 * 10), 8 * (15 + 30), {"side": "right"}),
    ("cublasDtrmm", {"m": 6, "n": 5}, 5 * 6 * 6, 8 * (21 + 30 + 30), {}),
    ("cublasSgemm", {"m": 32, "n": 32, "k": 32}, 2 * 32 ** 3, 4 * 3 * 1024, {"compute type": "CUBLAS_COMPUTE_32F_FAST_TF32"}),
]
# the same of its products of cuBLASLt
LT_CALLS = [
    ("cublasLtMatmul", {"m": 1536, "n": 2048, "k": 512}, 2 * 1536 * 2048 * 512, 2 * 512 * (1536 + 2048) + 2 * 1536 * 2048,
     {"transa": "T", "transb": "N", "A type": "BFloat16", "C type": "BFloat16", "compute type": "CUBLAS_COMPUTE_32F",
      "epilogue": "CUBLASLT_EPILOGUE_BIAS", "algorithm": None}),
    ("cublasLtMatmul", {"m": 10, "n": 20, "k": 30}, 2 * 10 * 20 * 30, 4 * (300 + 600 + 200),
     {"transa": "N", "transb": "T", "compute type": "CUBLAS_COMPUTE_32F_FAST_TF32", "epilogue": None}),
    ("cublasLtMatmul", {"m": 7, "n": 8, "k": 9}, 2 * 7 * 8 * 9, 2 * (63 + 72) + 4 * 56,
     {"A type": "Half", "C type": "Float", "epilogue": "CUBLASLT_EPILOGUE_GELU_AUX_BIAS"}),
    ("cublasLtMatmul", {"m": 3, "n": 4, "k": 5, "batch count": 6}, 6 * 8 * 60, 6 * 8 * (15 + 20 + 12),
     {"transa": "C", "B type": "ComplexFloat"}),
    ("cublasLtMatmul", {"m": 3, "n": 4, "k": 5, "batch count": 7}, 7 * 2 * 60, 4 * (15 + 7 * 20 + 7 * 12),
     {"epilogue": "CUBLASLT_EPILOGUE_BGRADA"}),
    ("cublasLtMatmul", {"m": 16, "n": 32, "k": 64}, 2 * 16 * 32 * 64, 1024 + 2048 + 1024,
     {"A type": "Float8_e4m3fn", "B type": "Float8_e5m2", "C type": "BFloat16", "epilogue": None}),
]


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout + result.stderr


def tracer(output, options):
    """Words in front of the program that trace it."""
    if not preloading.RUNTIMES:
        return [os.path.join(SOURCE, "scripts", "gputrace"), "run", "--output=" + output, *options]
    # `gputrace run` finds a library with a sanitizer unfit for what it starts
    libraries = [os.path.join(BUILD, "preload", "libgputrace.so")] + ([CUBLAS] if "--libraries=cublas" in options else [])
    variables = dict(preloading.PATIENT, GPUTRACE_OUTPUT=output, LD_PRELOAD=preloading.with_tracer(":".join(libraries)))
    for option in options:
        if option == "-q":
            variables["GPUTRACE_QUIET"] = "1"
            continue
        name, value = option[2:].split("=")
        variables["GPUTRACE_" + name.upper().replace("-", "_")] = value
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


class Products(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-products-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, word, *options, traced=True, cupti="130000", killed=False):
        """What the program said on stdout and stderr."""
        front = tracer(self.folder + "/out", options) if traced else []
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--cupti=" + cupti, *front, PROGRAM, word],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, GPUTRACE_BUILD=BUILD))
        self.assertIn(result.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL) if killed else (0,), result.stderr)
        return result.stdout, result.stderr

    def trace(self):
        path = trace_file.find(self.folder)[0]
        code, said = tool("verify", path)
        self.assertEqual(code, 0, said)
        return trace_file.Trace(path)

    @staticmethod
    def calls(trace):
        return sorted((e for e in trace.slices if e["cat"] == "library"), key=lambda e: e["ts"])

    def check(self, trace, expected=None):
        expected = expected or CALLS
        calls = self.calls(trace)
        self.assertEqual([e["name"] for e in calls], [call[0] for call in expected])
        for number, (event, (name, sizes, flops, size, others)) in enumerate(zip(calls, expected), 1):
            args = event["args"]
            self.assertEqual({k: args[k] for k in ("m", "n", "k", "batch count") if k in args}, sizes, name)
            self.assertEqual((args["library"], args["FLOPs"], args["operand bytes"], args["call number"]),
                             ("cublas", flops, size, number), name)
            self.assertEqual({k: args.get(k) for k in others}, others, name)
            self.assertNotIn("result", args)
            kernels = [e for e in trace.gpu if e["args"].get("call number") == number]
            self.assertEqual(len(kernels), 2 if sizes.get("k", 0) > 4096 else 1, name)
            for kernel in kernels:
                self.assertEqual(kernel["args"]["library call"], name)
                self.assertEqual({k: kernel["args"].get(k) for k in args}, args, name)
                self.assertGreaterEqual(trace.start(kernel), trace.start(event))
        split = sum(call[1].get("k", 0) > 4096 for call in expected)
        self.assertEqual(len(trace.gpu), len(expected) + split)

    def test_calls_and_kernels(self):
        said = self.run_program("all", traced=False)
        self.assertEqual(self.run_program("all", "-q", "--libraries=cublas"), said)
        self.check(self.trace())

    def test_lt(self):
        """Sizes, operations, types and epilogues from descriptors, in both memory orders."""
        said = self.run_program("lt", traced=False)
        self.assertEqual(self.run_program("lt", "-q", "--libraries=cublas"), said)
        self.check(self.trace(), LT_CALLS)

    def test_lt_flops(self):
        self.run_program("lt", "--libraries=cublas")
        code, said = tool("stats", "--flops", "--by=rank", "--format=json", self.trace().path)
        self.assertEqual(code, 0, said)
        (row,) = json.loads(said)["gpu_flops_sum"]
        self.assertEqual((row["FLOPs"], row["Calls"], row["Kernels"]),
                         (sum(call[2] for call in LT_CALLS), len(LT_CALLS), len(LT_CALLS)))

    def test_lt_inside_a_call(self):
        """cublasGemmStridedBatchedEx goes through cublasLtMatmul: one call, whose kernel it is."""
        self.run_program("all", "--libraries=cublas")
        trace = self.trace()
        (kernel,) = [e for e in trace.gpu if e["name"] == "sim_cublasLtMatmul"]
        self.assertEqual(kernel["args"]["library call"], "cublasGemmStridedBatchedEx")
        self.assertEqual(kernel["args"]["FLOPs"], 9 * 2 * 512)
        self.assertNotIn("cublasLtMatmul", [e["name"] for e in self.calls(trace)])

    def test_lt_wrong_calls(self):
        """No descriptor is read where the library would read none; grouped sizes are not claimed."""
        said = self.run_program("lt-wrong", traced=False)
        self.assertEqual(said[0].count("cublasLtMatmul: 7\n"), 3)
        self.assertEqual(self.run_program("lt-wrong", "-q", "--libraries=cublas"), said)
        trace = self.trace()
        calls = [e["args"] for e in self.calls(trace)]
        self.assertEqual([c.get("result") for c in calls], [1, 7, 7, None, None, 7])
        self.assertEqual([c.get("FLOPs") for c in calls], [None, None, None, None, 2 * 10 * 20 * 30, None])
        self.assertEqual([c.get("m") for c in calls], [None, None, 10, None, 10, None])
        self.assertTrue(all("operand bytes" not in c for c in calls[:4]), calls)
        self.assertEqual([c.get("compute type") for c in calls[3:5]], ["CUBLAS_COMPUTE_32F_FAST_TF32"] * 2)
        check_unknown(self, CLI, trace, self.calls(trace),
                      ["unknown descriptor", "unknown descriptor", None, None, None, "freed descriptor"])

    def test_perfetto(self):
        """The same calls and kernels come back from the other format."""
        for word, calls in (("all", None), ("lt", LT_CALLS)):
            with self.subTest(word):
                self.come_back(word, calls)

    def come_back(self, word, calls):
        shutil.rmtree(self.folder)
        os.mkdir(self.folder)
        self.run_program(word, "--libraries=cublas", "--format=perfetto")
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names
                 if name.endswith(".pftrace")]
        code, said = tool("convert", found[0], self.folder + "/back.pt.trace.json")
        self.assertEqual(code, 0, said)
        self.check(self.trace(), calls)

    def test_killed(self):
        """Repair has every call, and no number twice."""
        self.run_program("killed", "--libraries=cublas", "--spool=on", "--flush-period=60000", killed=True)
        tool("repair", self.folder + "/out")  # without `gputrace run` nobody has yet
        trace = self.trace()
        calls = [e["args"] for e in self.calls(trace)]
        self.assertEqual([c["FLOPs"] for c in calls], [2 * 10 * 20 * 30] * 505)
        self.assertEqual(len({c["call number"] for c in calls}), 505)
        kernels = [e["args"]["call number"] for e in trace.gpu if "library call" in e["args"]]
        self.assertGreaterEqual(len(trace.gpu), 500)
        self.assertEqual(len(kernels), len(trace.gpu))  # also of calls that had been written before the kill
        self.assertEqual(len(kernels), len({*kernels} & {c["call number"] for c in calls}))

    def test_flight_recorder(self):
        """What it has kept is what would have been written."""
        self.run_program("all", "--libraries=cublas", "--flight-recorder=30s,16M", "--dump-at-exit=always")
        self.check(self.trace())

    def test_flops(self):
        """The table has all of them, once, at the rate of the kernels."""
        self.run_program("all", "--libraries=cublas")
        trace = self.trace()
        code, said = tool("stats", "--flops", "--by=rank", "--format=json", trace.path)
        self.assertEqual(code, 0, said)
        (row,) = json.loads(said)["gpu_flops_sum"]
        flops, ns = sum(call[2] for call in CALLS), sum(trace.duration(e) for e in trace.gpu)
        self.assertEqual((row["FLOPs"], row["Total Time (ns)"], row["Calls"], row["Kernels"], row["Type"]),
                         (flops, ns, len(CALLS), len(CALLS) + 1, "several"))
        self.assertAlmostEqual(row["TFLOP/s"], flops / ns / 1e3, delta=0.001)
        code, said = tool("stats", "--flops", "--format=json", "--top=0", trace.path)
        self.assertEqual(code, 0, said)
        rows = {row["Name"]: row for row in json.loads(said)["gpu_flops_sum"]}
        double = [rows["sim_cublasDgemm_v2"], rows["splitKreduce_kernel"]]
        self.assertEqual(sum(row["FLOPs"] for row in double), 2000000)
        # NVIDIA H200: 132 SMs, 128 FMA of FP64 in a clock of 1980 MHz
        rate = 2000000 / sum(row["Total Time (ns)"] for row in double) * 1e9
        self.assertAlmostEqual(double[0]["Of Peak (%)"], rate / (132 * 256 * 1.98e9) * 100, delta=0.1)

    def test_wrong_calls(self):
        """Results are the library's; what failed or is too large has no FLOPs."""
        said = self.run_program("wrong", traced=False)
        self.assertIn("cublasSgemm: 7\n", said[0])
        self.assertEqual(self.run_program("wrong", "-q", "--libraries=cublas"), said)
        trace = self.trace()
        calls = [e["args"] for e in self.calls(trace)]
        check_unknown(self, CLI, trace, self.calls(trace), [None, "out of range", None, None, None, None])
        self.assertEqual([c.get("result") for c in calls], [1, 7, None, None, None, None])
        self.assertEqual([c.get("FLOPs") for c in calls], [None, None, None, None, "overflow", 2 ** 51])
        self.assertEqual((calls[1]["m"], calls[2]["m"]), ("-5", 0))
        self.assertTrue({"transa", "A type", "B type", "C type", "compute type"}.isdisjoint(calls[3]), calls[3])
        self.assertEqual(calls[3]["algorithm"], 12345)

    @unittest.skipIf(preloading.RUNTIMES, "a sanitizer keeps stacks of its own")
    def test_left_by_longjmp(self):
        """A call that has no end is over when the next one begins: that, and its kernel, are recorded."""
        said = self.run_program("left", traced=False)
        self.assertEqual(self.run_program("left", "-q", "--libraries=cublas"), said)
        trace = self.trace()
        calls = self.calls(trace)
        self.assertEqual([(e["name"], e["args"].get("FLOPs"), e["args"].get("result")) for e in calls],
                         [("cublasSgemm", None, -1)] + [("cublasDgemm", 2 * 4 ** 3, None)] * 3)
        self.assertEqual([e["args"]["library call"] for e in trace.gpu], ["cublasDgemm"] * 3)
        self.assertLessEqual(trace.start(calls[0]) + trace.duration(calls[0]), trace.start(calls[1]))

    @unittest.skipIf(preloading.RUNTIMES, "a sanitizer interposes dlopen itself")
    def test_with_osrt(self):
        """What the interposer has the loader do is not the program's."""
        self.run_program("all", "-q", "--libraries=cublas", "--osrt=1ns")
        trace = self.trace()
        self.check(trace)
        self.assertEqual([e["args"] for e in trace.slices if e["name"] == "dlopen" and "libcublas" in e["args"].get("file", "")], [])

    def test_library_that_is_loaded_again(self):
        """It may be unloaded, with a plug-in, and come back elsewhere: calls go where it is, and leave no error of the loader."""
        cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not cc or preloading.RUNTIMES:
            self.skipTest("no C compiler, or a sanitizer")
        for name, text, words in (
                ("libcublas.so.13", "int cublasGetProperty(int t, int *v) { *v = t ? 0 : 13; return 0; }\nint cublasSgemm_v2(void) { return 5; }\n",
                 ("-Wl,-soname,libcublas.so.13",)),
                ("plug.so", "int cublasSgemm_v2(void *, ...);\n"
                 "char *dlerror(void);\nint call(void) { dlerror(); int r = cublasSgemm_v2(0, 0, 0, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L); "
                 "return dlerror() ? -1 : r; }\n",
                 ("-L" + self.folder, "-l:libcublas.so.13", "-Wl,--disable-new-dtags,-rpath," + self.folder))):
            subprocess.run([cc, "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(self.folder, name), *words], input=text, text=True,
                           check=True, timeout=120)
        host = ("import ctypes, mmap, sys, _ctypes\nkeep = []\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\n"
                "for i in range(3):\n    plug = ctypes.CDLL(sys.argv[1])\n    print(plug.call(), flush=True)\n    _ctypes.dlclose(plug._handle)\n"
                "    keep += [mmap.mmap(-1, 65536) for j in range(200)]\n")
        run = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD]
        for front in ([], tracer(self.folder + "/out", ["-q", "--libraries=cublas"])):
            result = subprocess.run([*run, *front, sys.executable, "-c", host, self.folder + "/plug.so"], capture_output=True, text=True, timeout=120,
                                    check=False, stdin=subprocess.DEVNULL, env=dict(os.environ, GPUTRACE_BUILD=BUILD))
            self.assertEqual((result.returncode, result.stdout), (0, "5\n" * 3), result.stderr)

    def test_whose_library_it_is(self):
        """Each plug-in's own: of another version, under another name, linked into it; also where one lies that was closed."""
        cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not cc or preloading.RUNTIMES:
            self.skipTest("no C compiler, or a sanitizer")

        def build(name, text, *words):
            subprocess.run([cc, "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(self.folder, name), *words], input=text, text=True, check=True,
                           timeout=120)

        multiply = "int cublasSgemm_v2() { return %d; }\n"
        call = "int cublasSgemm_v2();\nint call(void) { return cublasSgemm_v2(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); }\n"
        for number, library in (12, "libcublas.so.12"), (13, "libcublas.so.13"), (99, "libcublas-8c0ffee.so.13"):
            build(library, multiply % number + "int cublasGetProperty(int t, int *v) { *v = t ? 0 : 13; return 0; }\n", "-Wl,-soname," + library)
            build(f"{number}.so", call, "-L" + self.folder, "-l:" + library, "-Wl,--disable-new-dtags,-rpath," + self.folder)
        build("77.so", multiply % 77 + call)
        host = ("import ctypes, os, sys, _ctypes\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\n"
                "load = lambda n: ctypes.CDLL(sys.argv[1] + f'/{n}.so')\n"
                "for n in 12, 13, 77, 99, 77, 12, 13:\n    plug = load(n)\n    print(plug.call(), end=' ')\n    _ctypes.dlclose(plug._handle)\n"
                "    print('77.so' in open('/proc/self/maps').read(), end=' ')\n"
                "both = [load(n) for n in (12, 13, 99, 77)]\nprint([plug.call() for plug in both * 3], flush=True)\n")
        run = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD]
        for front in ([], tracer(self.folder + "/out", ["-q", "--libraries=cublas"])):
            result = subprocess.run([*run, *front, sys.executable, "-c", host, self.folder], capture_output=True, text=True, timeout=120,
                                    check=False, stdin=subprocess.DEVNULL, env=dict(os.environ, GPUTRACE_BUILD=BUILD))
            said = "".join(f"{n} False " for n in (12, 13, 77, 99, 77, 12, 13)) + str([12, 13, 99, 77] * 3) + "\n"
            self.assertEqual((result.returncode, result.stdout), (0, said), result.stderr)

    def test_version_that_is_not_known(self):
        """One line, and calls without sizes."""
        os.environ["SIM_CUBLAS_MAJOR"] = "14"
        try:
            said, errors = self.run_program("all", "--libraries=cublas")
        finally:
            del os.environ["SIM_CUBLAS_MAJOR"]
        self.assertEqual(said, self.run_program("all", traced=False)[0])
        self.assertEqual(errors.count("libcublas of this process has the version 14, which is not known"), 1, errors)
        trace = self.trace()
        calls = self.calls(trace)
        self.assertTrue(calls)
        self.assertFalse([e for e in calls if "FLOPs" in e["args"] or {"m", "n", "nx"} & e["args"].keys()])
        check_unknown(self, CLI, trace, calls, ["unknown version"] * len(calls))

    def test_old_library(self):
        """A cuBLAS without functions of 64 bits: one line for each that is called, and the program goes on."""
        said, errors = self.run_program("wrong", "--libraries=cublas", cupti="18")
        self.assertEqual([line for line in said.splitlines() if "_64" in line], ["cublasSgemm_64: 15"] * 2)
        self.assertIn("cublasDestroy: 0", said)
        self.assertEqual(errors.count("has no cublasSgemm_v2_64: calls of it are refused"), 1, errors)

    def test_threads(self):
        """Each kernel has the sizes of its own thread's call."""
        self.run_program("threads", "--libraries=cublas")
        trace = self.trace()
        calls = {e["args"]["call number"]: e for e in self.calls(trace)}
        self.assertEqual(len(calls), 200)
        self.assertEqual({(e["tid"], e["args"]["m"]) for e in calls.values()}.__len__(), 2)
        launches = {e["args"]["correlation"]: e["tid"] for e in trace.calls}
        for kernel in trace.gpu:
            call = calls.pop(kernel["args"]["call number"])
            self.assertEqual((kernel["args"]["m"], launches[kernel["args"]["correlation"]]), (call["args"]["m"], call["tid"]))
        self.assertEqual(calls, {})

    def test_not_without_the_option(self):
        """No call, and no symbol that a program could find."""
        self.run_program("all")
        trace = self.trace()
        self.assertEqual(self.calls(trace), [])
        self.assertFalse([e for e in trace.gpu if "FLOPs" in e["args"]])
        for name in ("libgputrace.so", "libgputrace-libraries.so"):
            symbols = subprocess.run(["nm", "-D", "--defined-only", os.path.join(BUILD, "preload", name)],
                                     capture_output=True, text=True, check=True).stdout
            self.assertNotIn(" cublas", symbols)


if __name__ == "__main__":
    unittest.main()
