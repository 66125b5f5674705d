#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the test logs of some build folders: the log of each failure, why each skipped test was
skipped, the failures once more in short, and as last line "N passed, N failed, N skipped". What a sanitizer wrote into a file of its
own, meson-logs/sanitizer.PID, is a failure. Exit 1 when a test failed or none ran."""
import json
import pathlib
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
LOG_LINES = 200
LINE_BYTES = 2000  # a list that differs may have megabytes
SHORT_BYTES = 160
REASONS = 8
# Of a sanitizer; it also warns of what it cannot follow, such as swapcontext.
FINDINGS = ("ERROR: ", "SUMMARY: ", "runtime error: ", "WARNING: ThreadSanitizer")


def load(folder):
    """The results in the log of one build folder; a folder without one is itself a failure."""
    path = pathlib.Path(folder) / "meson-logs" / "testlog.json"
    if not path.exists():
        return [{"name": "tests", "result": "FAIL", "stdout": f"{path} was not written"}]
    with open(path, encoding="utf-8", errors="replace") as lines:
        results = [json.loads(line) for line in lines if line.strip()]
    for report in sorted(path.parent.glob("sanitizer.*")):
        text = report.read_text(encoding="utf-8", errors="replace")
        if any(word in text for word in FINDINGS):
            results.append({"name": report.name, "result": "FAIL", "stdout": text})
    return results


def show_failure(folder, test):
    print(f"\n== FAILED {folder}: {test['name']} ({test['result']})")
    for stream in ("stdout", "stderr"):
        lines = (test.get(stream) or "").rstrip().splitlines()
        if len(lines) > LOG_LINES:
            print(f"... {len(lines) - LOG_LINES} lines of {stream} left out; all of it is in"
                  f" {folder}/meson-logs/testlog.txt")
        for line in lines[-LOG_LINES:]:
            print("  " + (line if len(line) <= LINE_BYTES else line[:LINE_BYTES] + " ..."))


# What tells a reader which check failed: unittest's and Criterion's.
REASON = re.compile(r"^(FAIL|ERROR): |^\w*(Error|Exception|Exit)\b|^\[(FAIL|----)\] |^(FATAL|SUMMARY): ")


def list_failure(folder, test):
    """In a few lines, so that the end of the output is enough to go on."""
    print(f"failed {folder}: {test['name']} ({test['result']})")
    lines = ((test.get("stdout") or "") + "\n" + (test.get("stderr") or "")).splitlines()
    for line in [line for line in lines if REASON.match(line)][:REASONS]:
        print("  " + line[:SHORT_BYTES])


def show_skip(folder, test):
    lines = ((test.get("stdout") or "") + (test.get("stderr") or "")).strip().splitlines()
    print(f"skipped {folder}: {test['name']}: {lines[-1] if lines else 'no reason given'}")


def main(folders):
    passed = skipped = 0
    failures = []
    for folder in folders:
        for test in load(folder):
            if test["result"] in PASSED:
                passed += 1
            elif test["result"] in SKIPPED:
                skipped += 1
                show_skip(folder, test)
            else:
                failures.append((folder, test))
                show_failure(folder, test)
    for folder, test in failures:
        list_failure(folder, test)
    failed = len(failures)
    if passed + failed == 0:
        print("no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
