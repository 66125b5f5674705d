#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the test logs of some build folders: the log of each failure, why each skipped test was
skipped, and as last line "N passed, N failed, N skipped". What a sanitizer wrote into a file of its
own, meson-logs/sanitizer.PID, is a failure. Exit 1 when a test failed or none ran."""
import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
LOG_LINES = 200
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
            print("  " + line)


def show_skip(folder, test):
    lines = ((test.get("stdout") or "") + (test.get("stderr") or "")).strip().splitlines()
    print(f"skipped {folder}: {test['name']}: {lines[-1] if lines else 'no reason given'}")


def main(folders):
    passed = failed = skipped = 0
    for folder in folders:
        for test in load(folder):
            if test["result"] in PASSED:
                passed += 1
            elif test["result"] in SKIPPED:
                skipped += 1
                show_skip(folder, test)
            else:
                failed += 1
                show_failure(folder, test)
    if passed + failed == 0:
        print("no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
