#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a hostile file: those that no double and no sum of 64 bits holds, and readings in any order."""
import json
import os
import subprocess
import tempfile
import unittest

from harness import CLI

HEADER = '{"schemaVersion": 1, "metadata": {"gputrace_version": "0.1.0"}, "traceEvents": [\n'


def kernel(ts, dur, device=0):
    return '{"ph":"X","cat":"kernel","name":"k","pid":%d,"tid":7,"ts":%s,"dur":%s,"args":{"device":%d,"stream":7}}' % (
        device, ts, dur, device)


def reading(name, series, ts, value):
    return '{"ph":"C","cat":"gputrace","name":"%s","pid":0,"tid":0,"ts":%s,"args":{"%s":%s}}' % (name, ts, series, value)


class Numbers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gputrace-numbers-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.files = 0

    def write(self, events, header=HEADER):
        self.files += 1
        path = os.path.join(self.folder, "%d.json" % self.files)
        with open(path, "w", encoding="utf-8") as file:
            file.write(header + ",\n".join(events) + "\n]}\n")
        return path

    def call(self, *words, status=0):
        done = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def table(self, path, *words):
        """The rows of one table, from JSON that holds nothing but JSON."""
        text = self.call("stats", "--format=json", *words, path).stdout
        tables = json.loads(text, parse_constant=self.fail)
        return next(rows for rows in tables.values() if isinstance(rows, list))

    def power(self, *values):
        events = [reading("power", "W", 1000 * i, value) for i, value in enumerate(values)]
        return self.table(self.write([kernel(0, 5000)] + events), "--report=gpu_health_sum")

    def test_what_no_double_holds_is_no_reading(self):
        for value in "1e309", "-1e400", "1e999999":
            with self.subTest(value=value):
                rows = self.power(100, value, 100)
                self.assertEqual((rows[0]["Max Power (W)"], rows[0]["Avg Power (W)"]), (100, 100))
                done = self.call("stats", "--report=gpu_health_sum", self.write([kernel(0, 5), reading("power", "W", 0, value)]))
                self.assertIn("no readings of power", done.stderr)

    def test_what_is_large_is_not_cut(self):
        for value in "1e100", "1e308", "123e60":
            with self.subTest(value=value):
                found = self.power(value, value)[0]["Max Power (W)"]
                self.assertAlmostEqual(found / float(value), 1, places=12)

    def test_a_sum_that_no_double_holds_is_absent(self):
        self.assertIsNone(self.power("1.7e308", "1.7e308", "1.7e308")[0]["Avg Power (W)"])


if __name__ == "__main__":
    unittest.main()
