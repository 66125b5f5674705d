#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/test_summary.py on test logs made here: the counts, the failure's log, the exit status."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SUMMARY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test_summary.py"


def summarise(*logs, report=""):
    """Runs the script on one build folder per log; None stands for a folder without a log."""
    with tempfile.TemporaryDirectory() as top:
        folders = []
        for number, log in enumerate(logs):
            folder = pathlib.Path(top) / f"build{number}"
            (folder / "meson-logs").mkdir(parents=True)
            if report:
                (folder / "meson-logs" / "sanitizer.17").write_text(report, encoding="utf-8")
            if log is not None:
                text = "".join(json.dumps(test) + "\n" for test in log)
                (folder / "meson-logs" / "testlog.json").write_text(text, encoding="utf-8")
            folders.append(str(folder))
        return subprocess.run([sys.executable, str(SUMMARY), *folders], capture_output=True,
                              text=True, check=False)


class TestSummary(unittest.TestCase):
    def test_sums_over_builds(self):
        done = summarise([{"name": "a", "result": "OK"}, {"name": "b", "result": "SKIP"}],
                         [{"name": "a", "result": "OK"}])
        self.assertEqual(done.stdout.splitlines()[-1], "2 passed, 0 failed, 1 skipped")
        self.assertEqual(done.returncode, 0)

    def test_report_of_a_sanitizer_is_a_failure(self):
        done = summarise([{"name": "a", "result": "OK"}], report="WARNING: ThreadSanitizer: data race\n")
        self.assertIn("data race", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(done.returncode, 1)

    def test_warning_of_a_sanitizer_is_none(self):
        done = summarise([{"name": "a", "result": "OK"}], report="==1==WARNING: ASan ignores it\n")
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 0 skipped")

    def test_failure_shows_its_log(self):
        done = summarise([{"name": "a", "result": "OK"},
                          {"name": "b", "result": "FAIL", "stdout": "out 1\n", "stderr": "err 2\n"}])
        self.assertIn("out 1", done.stdout)
        self.assertIn("err 2", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(done.returncode, 1)

    def test_failures_come_again_in_short_at_the_end(self):
        log = "..F\nFAIL: test_one (__main__.T.test_one)\nTraceback\nAssertionError: " + "y" * 100000 + "\n"
        done = summarise([{"name": "b", "result": "FAIL", "stderr": log}, {"name": "a", "result": "OK"}])
        *_, name, test, reason, last = done.stdout.splitlines()
        self.assertTrue(name.startswith("failed ") and name.endswith(": b (FAIL)"), name)
        self.assertEqual(test, "  FAIL: test_one (__main__.T.test_one)")
        self.assertEqual(reason[:21], "  AssertionError: yyy")
        self.assertLess(len(reason), 200)
        self.assertEqual(last, "1 passed, 1 failed, 0 skipped")

    def test_every_bad_result_is_a_failure(self):
        for result in ("TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS", "a new word"):
            done = summarise([{"name": "a", "result": result}])
            self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped", result)
            self.assertEqual(done.returncode, 1, result)

    def test_missing_log_is_a_failure(self):
        done = summarise([{"name": "a", "result": "OK"}], None)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 1 failed, 0 skipped")

    def test_no_test_is_a_failure(self):
        self.assertEqual(summarise([]).returncode, 1)
        self.assertEqual(summarise([{"name": "a", "result": "SKIP"}]).returncode, 1)


if __name__ == "__main__":
    unittest.main()
