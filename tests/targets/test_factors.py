# SPDX-License-Identifier: Apache-2.0
"""--libraries=cusolver on the simulated libcusolver: factorizations, what cuBLAS does inside, their FLOPs.

    test_factors.py BUILD SOURCE PROGRAM
"""

import json
import os
import sys
import unittest

from library_case import LibraryCase


def lu(m, n):
    """Multiplications, divisions and subtractions of the elimination, one after the other."""
    return sum((m - 1 - i) + 2 * (m - 1 - i) * (n - 1 - i) for i in range(min(m, n)))


# what factors.c calls: name, FLOPs, bytes of the operands, other arguments
CALLS = [
    ("cusolverDnSgetrf", None, 4 * 2000, {"m": 50, "n": 40, "A type": "Float", "compute type": "Float"}),
    ("cusolverDnSgetrs", 3 * 40 * (40 + 39), 4 * (1600 + 120), {"n": 40, "k": 3, "transa": "T"}),
    ("cusolverDnZpotrf", 6 * 364 + 2 * 286, 16 * 78, {"n": 12, "A type": "ComplexDouble", "compute type": "Double"}),
    ("cusolverDnDpotrsBatched", 5 * 2 * 8 * (9 + 7), 5 * 8 * (36 + 16), {"n": 8, "k": 2, "batch count": 5}),
    ("cusolverDnDormqr", 20 * 10 * (60 - 10 + 2) + 20 * 10 * (60 - 10 + 1), 8 * (300 + 600), {"m": 30, "n": 20, "k": 10, "side": "left"}),
    ("cusolverDnXgeqrf", None, 4 * 1500, {"m": 60, "n": 25, "A type": "Float", "compute type": "Float"}),
    ("cusolverDnSgesvd", None, None, {"m": 16, "n": 9, "A type": "Float"}),
    ("cusolverSpDcsrlsvqr", None, None, {"m": 100, "nnz": 700, "A type": "Double"}),
]


def geqrf(m, n):
    """LAPACK Working Note 41, of m > n."""
    return round(n * (n * (.5 - n / 3 + m) + m + 23 / 6) + n * (n * (.5 - n / 3 + m) + 5 / 6))


def getrf(m, n):
    """The same, of m >= n."""
    return round(.5 * n * (n * (m - n / 3 - 1) + m) + 2 / 3 * n + .5 * n * (n * (m - n / 3) - m) + n / 6)


FLOPS = {"cusolverDnSgetrf": getrf(50, 40), "cusolverDnXgeqrf": geqrf(60, 25)}


class Factors(LibraryCase):
    def check(self, trace):
        calls = [e for e in self.calls(trace) if e["args"]["library"] == "cusolver"]
        self.assertEqual([e["name"] for e in calls], [call[0] for call in CALLS])
        for event, (name, flops, size, others) in zip(calls, CALLS):
            args = event["args"]
            self.assertEqual((args.get("FLOPs"), args.get("operand bytes")), (FLOPS.get(name, flops), size), name)
            self.assertEqual({k: args.get(k) for k in others}, others, name)
            kernels = [e for e in trace.gpu if e["args"].get("call number") == args["call number"] and e["args"]["library"] == "cusolver"]
            self.assertTrue(kernels, name)
            for kernel in kernels:
                self.assertEqual({k: kernel["args"].get(k) for k in args}, args, name)

    def test_calls_and_kernels(self):
        said = self.run_program("all", traced=False)
        self.assertEqual(self.run_program("all", "-q", "--libraries=cusolver"), said)
        trace = self.trace()
        self.check(trace)
        (row,) = json.loads(self.tool("stats", "--flops", "--by=rank", "--format=json", trace.path))["gpu_flops_sum"]
        self.assertEqual(row["FLOPs"], sum(FLOPS.get(call[0], call[1]) or 0 for call in CALLS))
        self.assertLess(abs(FLOPS["cusolverDnSgetrf"] - lu(50, 40)), 50)

    def test_perfetto(self):
        self.check(self.come_back("all"))

    def test_cublas_inside(self):
        """What a factorization has cuBLAS do is a part of it, and counted once; numbers are one library's."""
        self.run_program("all", "-q", "--libraries=cublas,cusolver")
        trace = self.trace()
        self.check(trace)
        products = [e for e in self.calls(trace) if e["args"]["library"] == "cublas"]
        self.assertEqual([e["args"].get("FLOPs") for e in products], [None, 2 * 8 ** 3, 2 * 4 * 5 * 6])
        numbers = [e["args"]["call number"] for e in self.calls(trace)]
        self.assertEqual(len(set(numbers)), len(numbers), numbers)
        (row,) = json.loads(self.tool("stats", "--flops", "--by=rank", "--format=json", trace.path))["gpu_flops_sum"]
        self.assertEqual(row["FLOPs"], sum(FLOPS.get(call[0], call[1]) or 0 for call in CALLS) + 2 * 8 ** 3 + 240)
        rows = json.loads(self.tool("stats", "--flops", "--by=kernel", "--format=json", trace.path))["gpu_flops_sum"]
        self.assertEqual(round(sum(row["FLOPs"] for row in rows)), row["FLOPs"])
        inside = [e for e in trace.gpu if e["args"].get("library call") == "cusolverDnSgetrf"]
        self.assertEqual(len(inside), 2, [e["name"] for e in inside])

    def test_wrong_calls(self):
        said = self.run_program("wrong", traced=False)
        self.assertEqual(self.run_program("wrong", "-q", "--libraries=cusolver"), said)
        trace = self.trace()
        calls = [e["args"] for e in self.calls(trace)]
        self.check_unknown(trace, ["out of range", None, None, None, None])
        self.assertEqual([c.get("result") for c in calls], [3, None, None, None, None])
        self.assertEqual([c.get("FLOPs") for c in calls], [None, "overflow", "overflow", None, None])
        self.assertEqual(calls[0]["m"], "-5")

    def test_missing(self):
        said, errors = self.run_program("missing", "--libraries=cusolver")
        self.assertEqual(said, "potrf: 9\n")
        self.assertEqual(errors.count("has no cusolverDnDpotrf: calls of it are refused"), 1, errors)

    def test_versions(self):
        os.environ["SIM_CUSOLVER_MAJOR"] = "13"
        try:
            _, errors = self.run_program("all", "--libraries=cusolver")
        finally:
            del os.environ["SIM_CUSOLVER_MAJOR"]
        self.assertEqual(errors.count("has the version 13, which is not known"), 1, errors)
        calls = self.calls(self.trace())
        self.assertEqual(len(calls), len(CALLS))
        self.assertFalse([e for e in calls if "n" in e["args"] or "FLOPs" in e["args"]])

    def test_not_without_the_option(self):
        self.run_program("all")
        self.assertEqual(self.calls(self.trace()), [])
        for name in ("libgputrace.so", "libgputrace-libraries.so", "libgputrace-cusparse.so"):
            self.assertNotIn(" cusolver", self.symbols(name))


LibraryCase.build, LibraryCase.source, LibraryCase.program = (os.path.realpath(path) for path in sys.argv[1:4])
LibraryCase.library = "cusolver"
del sys.argv[1:4]

if __name__ == "__main__":
    unittest.main()
