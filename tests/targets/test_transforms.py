# SPDX-License-Identifier: Apache-2.0
"""--libraries=cufft on the simulated libcufft: plans, what executes them, their kernels, their FLOPs.

    test_transforms.py BUILD SOURCE PROGRAM
"""

import json
import math
import os
import sys
import unittest

from library_case import LibraryCase


def flops(sizes, batch=1, real=False):
    """As FFTW counts."""
    points = math.prod(sizes)
    return round((2.5 if real else 5) * points * batch * math.log2(points))


# what transforms.c executes: name, sizes, FLOPs, bytes of both sides, other arguments
CALLS = [
    ("cufftExecC2C", (1000,), 7, flops([1000], 7), 2 * 8 * 7000, ("ComplexFloat", "ComplexFloat", "Float", "forward")),
    ("cufftExecC2C", (1000,), 7, flops([1000], 7), 2 * 8 * 7000, ("ComplexFloat", "ComplexFloat", "Float", "inverse")),
    ("cufftExecR2C", (30, 17), 1, flops([30, 17], real=True), 4 * 510 + 8 * 30 * 9, ("Float", "ComplexFloat", "Float", "forward")),
    ("cufftExecZ2Z", (8, 16, 32), 1, 5 * 4096 * 12, 2 * 16 * 4096, ("ComplexDouble", "ComplexDouble", "Double", "inverse")),
    ("cufftExecZ2D", (12, 10), 5, flops([12, 10], 5, True), 5 * (16 * 12 * 6 + 8 * 120), ("ComplexDouble", "Double", "Double", "inverse")),
    ("cufftExecD2Z", (3,), 1, flops([3], real=True), 8 * 3 + 16 * 2, ("Double", "ComplexDouble", "Double", "forward")),
    ("cufftExecC2R", (5, 11), 1, flops([5, 11], real=True), 8 * 5 * 6 + 4 * 55, ("ComplexFloat", "Float", "Float", "inverse")),
    ("cufftExecC2C", (2, 2, 2), 1, 5 * 8 * 3, 2 * 8 * 8, ("ComplexFloat", "ComplexFloat", "Float", "forward")),
    ("cufftExecC2C", (4, 6, 9), 2, flops([4, 6, 9], 2), 2 * 2 * 8 * 216, ("ComplexFloat", "ComplexFloat", "Float", "forward")),
    ("cufftXtExec", (4,), 1, 5 * 4 * 2, 2 * 4 * 4, ("ComplexHalf", "ComplexHalf", "Half", "inverse")),
]
PLANS = ["cufftPlan1d", "cufftPlan2d", "cufftPlan3d", "cufftPlanMany", "cufftMakePlan1d", "cufftMakePlan2d", "cufftMakePlan3d",
         "cufftMakePlanMany64", "cufftXtMakePlanMany"]


class Transforms(LibraryCase):
    def check(self, trace):
        calls = self.calls(trace)
        self.assertTrue(all(e["args"]["library"] == "cufft" and "result" not in e["args"] for e in calls))
        plans = [e for e in calls if "Plan" in e["name"]]
        self.assertEqual([e["name"] for e in plans], PLANS)
        self.assertFalse([e for e in plans if "FLOPs" in e["args"] or "nx" not in e["args"]])
        executed = [e for e in calls if "Exec" in e["name"]]
        self.assertEqual([e["name"] for e in executed], [call[0] for call in CALLS])
        for event, (name, sizes, batch, count, size, others) in zip(executed, CALLS):
            args = event["args"]
            self.assertEqual(tuple(args[k] for k in ("nx", "ny", "nz") if k in args), sizes, name)
            self.assertEqual((args["FLOPs"], args["operand bytes"], args.get("batch count", 1)), (count, size, batch), name)
            self.assertEqual(tuple(args[k] for k in ("A type", "C type", "compute type", "direction")), others, name)
            kernels = [e for e in trace.gpu if e["args"].get("call number") == args["call number"]]
            self.assertEqual(len(kernels), len(sizes), name)
            for kernel in kernels:
                self.assertEqual(kernel["args"]["library call"], name)
                self.assertEqual({k: kernel["args"].get(k) for k in args}, args, name)
                self.assertGreaterEqual(trace.start(kernel), trace.start(event))

    def test_calls_and_kernels(self):
        said = self.run_program("all", traced=False)
        self.assertEqual(self.run_program("all", "-q", "--libraries=cufft"), said)
        trace = self.trace()
        self.check(trace)
        (row,) = json.loads(self.tool("stats", "--flops", "--by=rank", "--format=json", trace.path))["gpu_flops_sum"]
        self.assertEqual((row["FLOPs"], row["Calls"], row["Kernels"]),
                         (sum(call[3] for call in CALLS), len(CALLS), sum(len(call[1]) for call in CALLS)))
        self.assertEqual(row["Type"], "several")
        self.assertAlmostEqual(row["FLOP/Byte"], sum(call[3] for call in CALLS) / sum(call[4] for call in CALLS), delta=0.01)

    def test_perfetto(self):
        self.check(self.come_back("all"))

    def test_wrong_calls(self):
        """Results are the library's; a plan that is not known has no sizes, what is too large no FLOPs."""
        said = self.run_program("wrong", traced=False)
        self.assertIn("cufftExecC2C: 1\n", said[0])
        self.assertEqual(self.run_program("wrong", "-q", "--libraries=cufft"), said)
        trace = self.trace()
        calls = [e for e in self.calls(trace) if e["name"] != "cufftCreate"]
        self.assertEqual([e["args"].get("result") for e in calls],
                         [8, 4, 1, 8, None, 3, None, None, None, None, None, None, None, None, 1])
        self.check_unknown(trace, ["out of range", None, "unknown descriptor", "out of range"] + [None] * 10 + ["freed descriptor"], calls)
        executed = [e["args"] for e in calls if "Exec" in e["name"]]
        self.assertEqual([e.get("nx") for e in executed], [None, 16, 16, 1 << 40, str(1 << 57), 4, None])
        self.assertEqual([e.get("FLOPs") for e in executed], [None, None, 320, "overflow", "overflow", 40, None])
        self.assertEqual(calls[0]["args"]["nx"], "-5")
        self.assertNotIn("direction", executed[2])

    def test_version_that_is_not_known(self):
        """One line, and calls without sizes."""
        os.environ["SIM_CUFFT_MAJOR"] = "14"
        try:
            said, errors = self.run_program("all", "--libraries=cufft")
        finally:
            del os.environ["SIM_CUFFT_MAJOR"]
        self.assertEqual(said, self.run_program("all", traced=False)[0])
        self.assertEqual(errors.count("libcufft of this process has the version 14, which is not known"), 1, errors)
        calls = self.calls(self.trace())
        self.assertTrue(calls)
        self.assertFalse([e for e in calls if "FLOPs" in e["args"] or {"m", "n", "nx"} & e["args"].keys()])

    def test_old_library(self):
        """One without cufftXt: one line for each function that is called, and the program goes on."""
        said, errors = self.run_program("wrong", "--libraries=cufft", cupti="18")
        self.assertIn("cufftXtMakePlanMany: 16\ncufftXtExec: 16\ncufftDestroy: 0\ncufftExecC2C: 1\ncuCtxSynchronize: 0\n", said)
        self.assertEqual(errors.count("has no cufftXtMakePlanMany: calls of it are refused"), 1, errors)

    def test_many_plans(self):
        """More than are kept: some have no sizes, none has another's."""
        self.run_program("plans", "--libraries=cufft", "--ring-size=16M")
        executed = [e["args"].get("nx") for e in self.calls(self.trace()) if "Exec" in e["name"]]
        self.assertEqual(len(executed), 5001)
        self.assertLessEqual(set(executed[:-1]), {2, None})
        self.assertGreater(executed.count(2), 3900)
        self.assertEqual(executed[-1], 256)

    def test_not_without_the_option(self):
        self.run_program("all")
        trace = self.trace()
        self.assertEqual(self.calls(trace), [])
        for name in ("libgputrace.so", "libgputrace-libraries.so", "libgputrace-cublas.so"):
            self.assertNotIn(" cufft", self.symbols(name))


LibraryCase.build, LibraryCase.source, LibraryCase.program = (os.path.realpath(path) for path in sys.argv[1:4])
LibraryCase.library = "cufft"
del sys.argv[1:4]

if __name__ == "__main__":
    unittest.main()
