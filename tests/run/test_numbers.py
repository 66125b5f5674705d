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

    def table(self, path, word="--report=gpu_health_sum", name="gpu_health_sum"):
        """The rows of a table, from JSON that holds nothing but JSON."""
        return json.loads(self.call("stats", "--format=json", word, path).stdout, parse_constant=self.fail)[name]

    def power(self, *values):
        events = [reading("power", "W", 1000 * i, value) for i, value in enumerate(values)]
        return self.table(self.write([kernel(0, 5000)] + events))

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

    def test_times_that_are_too_far_apart_are_refused(self):
        unit = 1_000_000_000_000_000  # us; 64 bits hold 9.2 of them
        far = {"an end": [kernel(9 * unit, 3 * unit)],
               "a difference": [kernel(-5 * unit, 1), kernel(5 * unit, 1)],
               "the walls of devices": [kernel(ts, 1, device) for device in range(4) for ts in (0, 3.9 * unit)],
               "without an end": [kernel(ts, 1).replace('"X"', '"B"') for ts in (-4 * unit, 4 * unit)]}
        for what, events in far.items():
            for command in ["gaps"], ["stats"], ["report", "--output=" + self.folder + "/r.html"]:
                with self.subTest(what=what, command=command[0]):
                    done = self.call(*command, self.write(events), status=1)
                    self.assertIn("add up to more than 64 bits hold", done.stderr)
                    self.assertEqual(done.stdout, "")

    def test_sums_of_all_traces(self):
        paths = [self.write([kernel(0, 3_900_000_000_000_000)],
                            HEADER.replace('"traceE', '"distributedInfo": {"rank": %d, "world_size": 3}, "traceE' % rank))
                 for rank in range(3)]
        for command in ["stats", "--report=cuda_gpu_kern_sum", "--format=csv"], ["gaps"], ["analyze"], ["ranks"]:
            with self.subTest(command=command[0]):
                done = self.call(*command, *paths, status=1)
                self.assertIn("add up to more than 64 bits hold", done.stderr)
                self.assertEqual(done.stdout, "")
                self.call(*command, paths[0])

    def test_energy_is_one_number_in_any_order(self):
        def joules(counters):
            path = self.write([kernel(0, 5_000_000), *counters])
            rows = self.table(path)
            both = [rows[0]["Energy (J)"], sum(row["Energy (J)"] for row in self.table(path, "--energy", "gpu_energy_sum"))]
            return [round(number, 3) for number in both] + [rows[0]["Avg Power (W)"], rows[0]["Corrected ECC Errors"]]

        steady = [(1000 + 150 * i, 100 + 100 * i) for i in range(6)]
        again = [(value, 100) for value in (1000, 1100, 1200, 100, 200, 300)]
        for values, expected in (steady, [750, 750, 150, 750]), (again, [500, 500, 100, 500]):
            lines = [line for i, (counter, power) in enumerate(values) for line in (
                reading("power", "W", 1_000_000 * i, power), reading("energy", "J", 1_000_000 * i, counter),
                reading("ECC errors", "corrected", 1_000_000 * i, counter))]
            for order in lines, lines[-3:] + lines[:-3], lines[::-1]:
                self.assertEqual(joules(order), expected)

    def test_energy_of_a_counter_that_was_read_once_is_that_of_its_power(self):
        path = self.write([kernel(0, 5_000_000), reading("energy", "J", 0, 7),
                           reading("power", "W", 0, 100), reading("power", "W", 1_000_000, 100)])
        self.assertEqual(self.table(path)[0]["Energy (J)"], 100)
        self.assertEqual(self.table(path, "--energy", "gpu_energy_sum")[0]["Energy (J)"], 100)

    def test_a_counter_that_is_far_away_is_left_out(self):
        rows = self.table(self.write([kernel(0, 5000), *(reading("power", "W", ts, 100) for ts in (
            -9_000_000_000_000_000, 0, 1000, 9_000_000_000_000_000))]))
        self.assertEqual(rows[0]["Read For (s)"], 0.001)


if __name__ == "__main__":
    unittest.main()
