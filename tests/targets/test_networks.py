# SPDX-License-Identifier: Apache-2.0
"""--libraries=cudnn on the simulated libcudnn: convolutions, graphs, their kernels, their FLOPs.

    test_networks.py BUILD SOURCE PROGRAM
"""

import json
import os
import sys
import unittest

import preloading
from library_case import LibraryCase

CONVOLUTION = 2 * (8 * 128 * 28 * 53) * (32 * 3 * 5)
SIDES = 2 * (8 * 64 * 56 * 57 + 128 * 32 * 15 + 8 * 128 * 28 * 53)
SHAPES = {"input": "8x64x56x57", "filter": "128x32x3x5", "output": "8x128x28x53", "padding": "1x2", "stride": "2x1",
          "dilation": "1x2", "groups": "2", "A type": "Half", "compute type": "Float"}
SMALL = {"input": "4x16x10x10", "filter": "32x16x3x3", "output": "4x32x10x10", "padding": "1x1", "A type": "BFloat16"}
# what networks.c calls: name, kernels, FLOPs, bytes of the operands, other arguments
CALLS = [
    ("cudnnConvolutionForward", 2, CONVOLUTION, SIDES, dict(SHAPES, algorithm=1)),
    ("cudnnConvolutionBackwardData", 1, CONVOLUTION, SIDES, dict(SHAPES, algorithm=1)),
    ("cudnnConvolutionBackwardFilter", 1, 2 * (3 * 6 * 5 * 4) * (2 * 6), 4 * (432 + 36 + 360),
     {"input": "1x2x6x6x6", "filter": "3x2x1x2x3", "output": "1x3x6x5x4", "padding": "0x0x0", "groups": None,
      "compute type": "Float", "C type": "Float"}),
    ("cudnnSoftmaxForward", 1, None, None, {"input": "8x64x56x57", "A type": "Half", "filter": None}),
    ("cudnnBatchNormalizationForwardInference", 1, None, None, {"input": "1x2x6x6x6"}),
    ("cudnnBackendExecute", 1, 2 * (4 * 32 * 100) * (16 * 9), 2 * (6400 + 4608 + 12800), dict(SMALL, operations="conv+pointwise")),
    ("cudnnBackendExecute", 1, 2 * (4 * 32 * 81) * (16 * 9), 2 * (6400 + 4608 + 10368), {"input": None, "operations": "conv"}),
    ("cudnnBackendExecute", 1, 2 * 2 * (16 * 100 * 120 * 64), 2 * 16 * (2 * 100 * 64 + 2 * 120 * 64),
     {"m": 100, "n": 120, "k": 64, "batch count": 16, "operations": "matmul+pointwise+reduction+matmul", "A type": "Half"}),
]


class Networks(LibraryCase):
    def check(self, trace):
        self.check_calls(trace, "cudnn", CALLS)

    def test_calls_and_kernels(self):
        said = self.run_program("all", traced=False)
        self.assertEqual(self.run_program("all", "-q", "--libraries=cudnn"), said)
        trace = self.trace()
        self.check(trace)
        (row,) = json.loads(self.tool("stats", "--flops", "--by=rank", "--format=json", trace.path))["gpu_flops_sum"]
        claimed = [call for call in CALLS if call[2]]
        self.assertEqual((row["FLOPs"], row["Calls"]), (sum(call[2] for call in claimed), len(claimed)))

    def test_perfetto(self):
        self.check(self.come_back("all"))

    def test_wrong_calls(self):
        """No descriptor is read where there is none; what does not fit, or is not known, is not claimed."""
        said = self.run_program("wrong", traced=False)
        self.assertEqual(self.run_program("wrong", "-q", "--libraries=cudnn"), said)
        trace = self.trace()
        calls = [e["args"] for e in self.calls(trace)]
        unknown = "unknown descriptor"
        self.check_unknown(trace, [unknown, None, "out of range", unknown, unknown, unknown, None, None, "freed descriptor", "freed descriptor"])
        self.assertEqual([c.get("result") for c in calls], [1001, None, None, None, None, 1001, None, None, None, None])
        self.assertEqual([c.get("FLOPs") for c in calls], [None, "overflow", None, None, None, None, None, None, None, None])
        self.assertEqual([c.get("operations") for c in calls[-4:-2]], ["matmul", "conv"])
        self.assertTrue(all("input" not in c and "m" not in c for c in calls[-4:]), calls[-4:])
        self.assertTrue(all("operand bytes" not in c for c in calls), calls)

    def test_versions(self):
        """One whose descriptors nobody knows: one line, and calls without sizes."""
        for version, known in (("8907", True), ("100100", False), ("7600", False)):
            with self.subTest(version):
                os.environ["SIM_CUDNN_VERSION"] = version
                try:
                    _, errors = self.run_program("all", "--libraries=cudnn")
                finally:
                    del os.environ["SIM_CUDNN_VERSION"]
                self.assertEqual(errors.count(f"has the version {version}, which is not known"), 0 if known else 1, errors)
                calls = self.calls(self.trace())
                self.assertEqual([e["name"] for e in calls], [call[0] for call in CALLS])
                self.assertEqual(len([e for e in calls if "FLOPs" in e["args"]]), 6 if known else 0)
                self.empty()

    @unittest.skipIf(preloading.RUNTIMES, "Python has no sanitizer")
    def test_missing_functions(self):
        """Without a cuDNN: each function is named once, and refused."""
        self.program = sys.executable
        with open(self.folder + "/calls.py", "w", encoding="utf-8") as file:
            file.write("import ctypes\nctypes.CDLL('libcuda.so.1').cuInit(0)\nhere, made = ctypes.CDLL(None), ctypes.c_void_p()\nfor i in range(2):\n"
                       "    print(here.cudnnBackendCreateDescriptor(0, ctypes.byref(made)), here.cudnnBackendDestroyDescriptor(made))\n")
        said, errors = self.run_program(self.folder + "/calls.py", "--libraries=cudnn")
        self.assertEqual(said, "3000 3000\n" * 2)
        for name in ("cudnnBackendCreateDescriptor", "cudnnBackendDestroyDescriptor"):
            self.assertEqual(errors.count(f"has no {name}: calls of it are refused"), 1, errors)

    def test_not_without_the_option(self):
        self.run_program("all")
        self.assertEqual(self.calls(self.trace()), [])
        for name in ("libgputrace.so", "libgputrace-libraries.so", "libgputrace-cublas.so", "libgputrace-cufft.so"):
            self.assertNotIn(" cudnn", self.symbols(name))


LibraryCase.build, LibraryCase.source, LibraryCase.program = (os.path.realpath(path) for path in sys.argv[1:4])
LibraryCase.library = "cudnn"
del sys.argv[1:4]

if __name__ == "__main__":
    unittest.main()
