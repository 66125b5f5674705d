# SPDX-License-Identifier: Apache-2.0
"""--libraries=cusparse on the simulated libcusparse: descriptors, products, their kernels, their FLOPs.

    test_sparse.py BUILD SOURCE PROGRAM
"""

import json
import os
import sys
import unittest

from library_case import LibraryCase

# what sparse.c calls: name, kernels, FLOPs, bytes of the operands, other arguments
CALLS = [
    ("cusparseSpMV", 1, 2 * 900, 900 * 8 + 101 * 4 + 4 * 180, {"m": 100, "n": 80, "nnz": 900, "A type": "Float", "algorithm": 3, "transa": "N",
                                                                "compute type": "Float", "transb": None}),
    ("cusparseSpMV", 1, 2 * 500, 500 * 12 + 71 * 8 + 8 * 130, {"m": 60, "n": 70, "nnz": 500, "A type": "Double"}),
    ("cusparseSpMV", 1, 8 * 200, 200 * (8 + 16) + 8 * 70, {"m": 30, "n": 40, "nnz": 200, "A type": "ComplexFloat", "compute type": "Float"}),
    ("cusparseSpMV", 1, None, None, {"m": 20, "n": 24, "nnz": None}),
    ("cusparseSpSV_solve", 1, None, None, {"m": 100, "n": 80, "nnz": 900}),
    ("cusparseSpMM", 2, 3 * 2 * 1000 * 32, 1000 * 6 + 65 * 4 + 3 * 2 * 32 * (64 + 128),
     {"m": 128, "n": 32, "k": 64, "batch count": 3, "nnz": 1000, "transa": "T", "transb": "N", "A type": "Half", "algorithm": 6}),
    ("cusparseSDDMM", 1, 2 * 33 * 20, 4 * (200 + 300) + 33 * 8 + 11 * 4, {"m": 10, "n": 15, "k": 20, "nnz": 33}),
    ("cusparseSpGEMM_compute", 1, None, None, {"m": 64, "n": 16, "k": 128, "nnz": 1000}),
    ("cusparseSparseToDense", 1, None, None, {"m": 64, "n": 128, "nnz": 1000, "A type": "Half"}),
    ("cusparseGather", 1, None, None, {"n": 1000, "nnz": 50, "B type": "Float"}),
    ("cusparseSbsrmm", 1, 2 * 20 * 16 * 11, None, {"m": 24, "n": 11, "k": 28, "nnz": 320, "A type": "Float"}),
    ("cusparseDgtsv2StridedBatch", 1, None, None, {"m": 512, "batch count": 9, "A type": "Double"}),
]


class Sparse(LibraryCase):
    def check(self, trace):
        self.check_calls(trace, "cusparse", CALLS)

    def test_calls_and_kernels(self):
        said = self.run_program("all", traced=False)
        self.assertEqual(self.run_program("all", "-q", "--libraries=cusparse"), said)
        trace = self.trace()
        self.check(trace)
        (row,) = json.loads(self.tool("stats", "--flops", "--by=rank", "--format=json", trace.path))["gpu_flops_sum"]
        claimed = [call for call in CALLS if call[2]]
        self.assertEqual((row["FLOPs"], row["Calls"]), (sum(call[2] for call in claimed), len(claimed)))
        rows = json.loads(self.tool("stats", "--flops", "--by=kernel", "--format=json", trace.path))["gpu_flops_sum"]
        sddmm = next(row for row in rows if row["Name"] == "sim_sddmm")
        self.assertEqual((sddmm["FLOPs"], sddmm["Type"], sddmm["FLOP/Byte"]), (1320, "FP32", round(1320 / 2308, 3)))

    def test_perfetto(self):
        self.check(self.come_back("all"))

    def test_wrong_calls(self):
        """Descriptors that are gone, of another kind or none are not asked; what is too large has no FLOPs."""
        said = self.run_program("wrong", traced=False)
        self.assertEqual(self.run_program("wrong", "-q", "--libraries=cusparse"), said)
        trace = self.trace()
        calls = [e["args"] for e in self.calls(trace)]
        self.check_unknown(trace, ["freed descriptor", "unknown descriptor", "unknown descriptor", None, None, None, "out of range", None])
        self.assertEqual([c.get("result") for c in calls], [3, 3, 3, None, None, None, 3, None])
        self.assertEqual([c.get("FLOPs") for c in calls], [None, None, None, "overflow", "overflow", None, None, 24])
        self.assertEqual([c.get("nnz") for c in calls], [None, None, None, str(2 ** 63 - 1), str(2 ** 63 - 1), 10, None, 12])
        self.assertTrue(all("m" not in c for c in calls[:3]), calls[:3])

    def test_versions(self):
        """One that nobody knows: one line, and calls without sizes."""
        for version, known in (("11", True), ("13", False), ("10", False)):
            with self.subTest(version):
                os.environ["SIM_CUSPARSE_MAJOR"] = version
                try:
                    _, errors = self.run_program("all", "--libraries=cusparse")
                finally:
                    del os.environ["SIM_CUSPARSE_MAJOR"]
                self.assertEqual(errors.count(f"has the version {version}, which is not known"), 0 if known else 1, errors)
                calls = self.calls(self.trace())
                self.assertEqual([e["name"] for e in calls], [call[0] for call in CALLS])
                self.assertEqual(len([e for e in calls if "m" in e["args"]]), 11 if known else 0)
                self.empty()

    def test_missing(self):
        said, errors = self.run_program("missing", "--libraries=cusparse")
        self.assertIn("preprocess: 10\ncuCtxSynchronize: 0\n", said)
        self.assertEqual(errors.count("has no cusparseSpMM_preprocess: calls of it are refused"), 1, errors)

    def test_many_descriptors(self):
        """More than are kept: some calls have no sizes, none has another's."""
        self.run_program("many", "--libraries=cusparse", "--ring-size=16M")
        calls = [e["args"] for e in self.calls(self.trace())]
        self.assertEqual(len(calls), 9001)
        self.assertLessEqual({c.get("nnz") for c in calls[:-1]}, {2, None})
        self.assertGreater(len([c for c in calls if c.get("nnz") == 2]), 6000)
        self.assertEqual((calls[-1]["m"], calls[-1]["nnz"]), (5, 7))

    def test_not_without_the_option(self):
        self.run_program("all")
        self.assertEqual(self.calls(self.trace()), [])
        for name in ("libgputrace.so", "libgputrace-libraries.so", "libgputrace-cusolver.so"):
            self.assertNotIn(" cusparse", self.symbols(name))


LibraryCase.build, LibraryCase.source, LibraryCase.program = (os.path.realpath(path) for path in sys.argv[1:4])
LibraryCase.library = "cusparse"
del sys.argv[1:4]

if __name__ == "__main__":
    unittest.main()
