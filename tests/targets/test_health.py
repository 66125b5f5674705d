# SPDX-License-Identifier: Apache-2.0
"""--nvml on the simulated device and its NVML: what its sensors show is in the trace, whatever goes wrong with it is
said there, and the program notices nothing.

    test_health.py BUILD SOURCE PROGRAM    PROGRAM: slow_loader.c
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
STEPS = ("40", "10000", "10000")  # 0.8 s


def tool(*words, expect=0):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    if result.returncode != expect:
        raise AssertionError(result.stdout + result.stderr)
    return result.stdout


class Health(unittest.TestCase):
    bare = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.stderr = ""

    def run_program(self, *options, script="", fault="", devices=1, steps=STEPS):
        """The path of the trace. The program's output and status are those without the tracer."""
        path = os.path.join(self.folder, "script")
        with open(path, "w", encoding="ascii") as file:
            file.write(script)
        simulated = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, f"--devices={devices}"]
        environment = dict(os.environ, GPUTRACE_BUILD=BUILD, SIMNVML_SCRIPT=path, SIMNVML_FAULT=fault,
                           **preloading.PATIENT)
        if steps not in self.bare:  # the same for all tests
            bare = subprocess.run([*simulated, PROGRAM, *steps], env=dict(environment, **preloading.without_tracer()),
                                  capture_output=True, text=True, timeout=120, check=False)
            self.bare[steps] = bare.returncode, bare.stdout
        out = os.path.join(self.folder, "out")
        traced = subprocess.run([*simulated, os.path.join(SOURCE, "scripts", "gputrace"), "run", "--symbolize=off", *options,
                                 "--output=" + out, "--", PROGRAM, *steps],
                                env=environment, capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual((traced.returncode, traced.stdout), self.bare[steps], traced.stderr)
        self.stderr = traced.stderr
        path, = (os.path.join(out, name) for name in os.listdir(out) if not name.startswith("."))
        tool("verify", path)
        return path

    def values(self, path):
        """The values of each (device, counter, series), in their order."""
        trace = trace_file.Trace(path)
        found = collections.defaultdict(list)
        for event in trace.events:
            if event["ph"] == "C" and event["name"] != "tracer cost":
                for series, value in event["args"].items():
                    found[event["pid"], event["name"], series].append((event["ts"], value))
        return trace, found

    def notes(self, trace):
        return {event["name"]: event["args"].get("what", "") for event in trace.events
                if event["ph"] == "i" and event.get("cat") == "gputrace"}

    def test_values(self):
        """Each sensor, under its name and in its unit; a change is seen."""
        trace, found = self.values(self.run_program(
            "--nvml=50", script="0 power 250000\n300 power 400000\n300 sm 1200\n300 reasons 4\n0 uncorrected 2\n"
                                "0 sent 7000\n0 link 2000000\n"))
        shown = {key[1:]: [value for _, value in values] for key, values in found.items()}
        self.assertEqual({key[0] for key in found}, {0})
        self.assertEqual(set(shown["power", "W"]), {250, 400})
        self.assertEqual(set(shown["clocks", "SM MHz"]), {1980, 1200})
        self.assertEqual(set(shown["clocks", "memory MHz"]), {2619})
        self.assertEqual(set(shown["temperature", "C"]), {41})
        self.assertEqual(set(shown["utilization", "GPU %"]), {90})
        self.assertEqual(set(shown["utilization", "memory %"]), {35})
        for series, value in {"SM %": 80.25, "occupancy %": 50.25, "tensor %": 40.25, "DRAM %": 30.25}.items():
            self.assertEqual({float(shown_) for shown_ in shown["activity", series]}, {value})
        self.assertEqual(set(shown["throttled", "power limit"]), {0, 1})
        for reason in ("temperature", "power brake", "hardware", "sync boost"):
            self.assertEqual(set(shown["throttled", reason]), {0}, reason)
        self.assertEqual(set(shown["ECC errors", "uncorrected"]), {2})
        self.assertEqual(set(shown["PCIe", "sent MB/s"]), {7})
        for value in shown["NVLink", "sent MB/s"]:
            self.assertAlmostEqual(value, 2048, delta=2048)  # KiB: the two moments are ours
        energy = found[0, "energy", "J"]
        self.assertEqual(sorted(energy), energy)
        self.assertEqual(trace.root["metadata"]["nvml"], "50 per second, driver 580.00")
        self.assertGreater(trace.ledger["nvml_values"], len(energy))
        self.assertEqual(trace.ledger["nvml_values_lost"], 0)

    def test_energy(self):
        """Between its readings the GPU has used what its power says."""
        path = self.run_program("--nvml=50", script="0 power 250000\n300 power 400000\n")
        _, found = self.values(path)
        energy = found[0, "energy", "J"]
        seconds, joules = float(energy[-1][0] - energy[0][0]) / 1e6, float(energy[-1][1] - energy[0][1])
        self.assertTrue(250 * seconds - 1 < joules < 400 * seconds + 1, (seconds, joules))
        tables = json.loads(tool("stats", "--energy", "--report=gpu_health_sum", "--format=json", path))
        total = sum(row["Energy (J)"] for row in tables["gpu_energy_sum"])
        self.assertAlmostEqual(total, joules, places=3)
        health, = tables["gpu_health_sum"]
        self.assertAlmostEqual(health["Energy (J)"], total, places=3)
        self.assertEqual(health["GPU"], "rank 0 GPU 0")

    def test_two_devices(self):
        """By their UUIDs: the second takes 1 W more."""
        _, found = self.values(self.run_program("--nvml=20", devices=2))
        self.assertEqual({value for _, value in found[0, "power", "W"]}, {300})
        self.assertEqual({value for _, value in found[1, "power", "W"]}, {301})

    def test_perfetto(self):
        path = self.run_program("--nvml=20", "--format=perfetto")
        tables = json.loads(tool("stats", "--energy", "--report=gpu_health_sum", "--format=json", path))
        self.assertGreater(sum(row["Energy (J)"] for row in tables["gpu_energy_sum"]), 1)
        self.assertEqual(tables["gpu_health_sum"][0]["Max Power (W)"], 300)
        plain = os.path.join(self.folder, "plain.json")
        tool("convert", path, plain)
        again = json.loads(tool("stats", "--energy", "--report=gpu_health_sum", "--format=json", plain))
        self.assertEqual(again, tables)

    def test_missing_sensors(self):
        """A GPU without an energy counter, NVLink, power of now and GPM: the rest is there."""
        path = self.run_program("--nvml=20", fault="no_energy,no_nvlink,no_instant,no_gpm")
        trace, found = self.values(path)
        self.assertNotIn((0, "energy", "J"), found)
        self.assertNotIn((0, "NVLink", "sent MB/s"), found)
        self.assertNotIn((0, "activity", "SM %"), found)
        self.assertEqual({value for _, value in found[0, "power", "W"]}, {300})
        self.assertEqual(trace.ledger["nvml_values_failed"], 0)
        rows = json.loads(tool("stats", "--energy", "--format=json", path))["gpu_energy_sum"]
        for row in rows:
            self.assertAlmostEqual(row["Power (W)"], 300, places=1)

    def test_lost(self):
        trace, found = self.values(self.run_program("--nvml=50", fault="lost=300"))
        self.assertIn((0, "power", "W"), found)
        self.assertEqual(self.notes(trace)["capture gap"],
                         "power and clocks of GPU 0 are no longer read: NVML returns 15, the GPU is lost")
        self.assertEqual(trace.ledger["nvml_values_failed"], 1)

    def test_no_driver(self):
        trace, found = self.values(self.run_program("--nvml", fault="init=9"))
        self.assertEqual(found, {})
        self.assertEqual(trace.root["metadata"]["nvml"], "off: nvmlInit returns 9")
        self.assertIn("--nvml: power and clocks are not recorded: nvmlInit returns 9", self.stderr)

    def test_without_cupti(self):
        _, found = self.values(path := self.run_program("--nvml", "--mode=hooks"))
        self.assertEqual(found, {})
        why = "without CUPTI it is not known which GPUs are used"
        self.assertEqual(trace_file.Trace(path).root["metadata"]["nvml"], "off: " + why)
        self.assertIn("--nvml: power and clocks are not recorded: " + why, self.stderr)

    def test_xid(self):
        path = self.run_program("--nvml=50", fault="xid=100")
        self.assertEqual(self.notes(self.values(path)[0])["XID"], "79 on GPU 0")
        self.assertIn("XID: 79 on GPU 0", tool("stats", path))

    def test_slow(self):
        """Calls of 50 ms: fewer rounds, and the program ends when it ends."""
        _, found = self.values(self.run_program("--nvml=100", fault="slow=50000"))
        self.assertIn((0, "power", "W"), found)

    def test_hangs(self):
        """A call that never returns keeps back what comes behind it, and nobody else."""
        trace, found = self.values(self.run_program("--nvml=50", fault="hang=200", steps=("90", "10000", "10000")))
        self.assertIn((0, "power", "W"), found)
        self.assertGreaterEqual(sum(event.get("cat", "").startswith("gpu_mem") for event in trace.events), int(STEPS[0]))
        self.assertEqual(trace.ledger["launches_without_record"], 0)
        self.assertEqual(self.notes(trace)["capture gap"],
                         "power and clocks are no longer read: a call of NVML does not return")

    def test_known_late(self):
        """A GPU of which CUPTI tells after the first flush is read soon, whatever the period of flushes is."""
        os.environ["SIMCUDA_FAULT"] = "slow_enable=100000000"
        self.addCleanup(os.environ.pop, "SIMCUDA_FAULT")
        _, found = self.values(self.run_program("--nvml=50", "--flush-period=60000"))
        self.assertGreater(len(found[0, "energy", "J"]), 1)

    def test_off(self):
        trace, found = self.values(self.run_program())
        self.assertEqual(found, {})
        self.assertNotIn("nvml", trace.root["metadata"])
        self.assertEqual(trace.ledger["nvml_values"], 0)

    def test_options(self):
        for word in ("--nvml=101", "--nvml=x", "--nvml="):
            result = subprocess.run([os.path.join(SOURCE, "scripts", "gputrace"), "run", word, "true"],
                                    env=dict(os.environ, GPUTRACE_BUILD=BUILD), capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, (word, result.stderr))
            self.assertIn("--nvml", result.stderr)


if __name__ == "__main__":
    unittest.main()
