#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace stats --energy` and the report gpu_health_sum against a second computation: each operation by itself,
in the pieces of time between any two moments at which something changes."""

import random

import cases
import generate


def counter(name, series, ts, value, device=0):
    return {"ph": "C", "cat": "gputrace", "name": name, "pid": device, "tid": 0, "ts": ts, "args": {series: value}}


class Case:
    """One process with one to three devices: operations that overlap, and readings that are not in step with them."""

    def __init__(self, seed, power_only=False):
        dice = random.Random(seed)
        self.power_only = power_only
        self.ops, self.energy, self.power, events = {}, {}, {}, []
        for device in range(dice.randint(1, 3)):
            at = 1000.0
            self.ops[device] = []
            for _ in range(dice.randint(5, 60)):
                at += dice.choice([0, 0.5, 3, 40])
                duration = dice.choice([0.25, 2, 17, 90])
                name = f"kernel_{dice.randint(0, 3)}"
                self.ops[device].append((at, at + duration, name))
                event = generate.kernel(name, at, duration, len(events) + 1, pid=device)
                event["args"]["device"] = device
                events.append(event)
                at += dice.choice([0, duration])
            ts, joules, watts = 990.0 + dice.random() * 30, 500.0, 100.0
            self.energy[device], self.power[device] = [], []
            while ts < at + dice.randint(-40, 40):
                self.energy[device].append((ts, joules))
                self.power[device].append((ts, watts))
                events.append(counter("power", "W", ts, watts, device))
                if not power_only:
                    events.append(counter("energy", "J", ts, joules, device))
                step = dice.randint(4, 25)
                joules = round(joules + watts * step / 1e6, 9)
                ts, watts = ts + step, float(dice.randint(80, 700))
        dice.shuffle(events)
        self.path = cases.write(generate.trace(sorted(events, key=lambda event: event["ts"])))


def pieces(ops, begin, end):
    """(length, names that run) of each piece from @begin to @end in which nothing changes."""
    cuts = sorted({begin, end, *(t for op in ops for t in op[:2] if begin < t < end)})
    return [(b - a, [name for start, stop, name in ops if start <= a and stop >= b]) for a, b in zip(cuts, cuts[1:])]


def expected(case):
    """Joules, how much less or more it may be, and the part that was measured, by name."""
    rows = {}
    for device, ops in case.ops.items():
        readings = case.energy[device]
        most = max((watts for _, watts in case.power[device]), default=0)
        for (begin, first), (end, second) in zip(readings, readings[1:]):
            joules, whole, parts = second - first, end - begin, {}
            for length, names in pieces(ops, begin, end):
                for name in names or ["(GPU idle)"]:
                    parts[name] = parts.get(name, 0) + length / (len(names) or 1)
            limit = max(most * whole / 1e6, joules)
            for name, time in parts.items():
                row = rows.setdefault(name, [0, 0, 0])
                own = joules * time / whole
                row[0] += own
                row[1] += own - max(0, joules - limit * (1 - time / whole))
                row[2] += min(joules, limit * time / whole) - own
    return rows


def near(got, wanted):
    assert abs(got - wanted) <= 1e-6 + 1e-4 * abs(wanted), (got, wanted)


def check(case):
    rows = {row["Name"]: row for row in cases.tables("stats", "--energy", case.path)["gpu_energy_sum"]}
    wanted = expected(case)
    for name, (joules, below, above) in wanted.items():
        near(rows[name]["Energy (J)"], joules)
        near(rows[name]["Error (J)"], max(below, above))
    total = sum(joules for joules, _, _ in wanted.values())
    for device, ops in case.ops.items():
        if len(case.energy[device]) > 1:
            total -= case.energy[device][-1][1] - case.energy[device][0][1]
    near(total, 0)  # all of it is shared out
    for name in set(rows) - set(wanted):
        near(rows[name]["Energy (J)"], 0)
    for name, row in rows.items():
        if name != "(GPU idle)":
            ops = [op for device, all_ops in case.ops.items() if len(case.energy[device]) > 1
                   for op in all_ops if op[2] == name]
            assert row["Instances"] == len(ops), (name, row, len(ops))


def energy_counter():
    for seed in range(25):
        check(Case(seed))


def power_alone():
    """A GPU without an energy counter: its power is summed."""
    for seed in range(100, 115):
        check(Case(seed, power_only=True))


def filter_shares_with_what_it_leaves_out():
    """Work that --filter leaves out has used its part all the same."""
    events = [generate.kernel("a", 1000, 100, 1), generate.kernel("b", 1000, 100, 2),
              counter("energy", "J", 1000, 10), counter("energy", "J", 1100, 12)]
    path = cases.write(generate.trace(events))
    events.append(counter("energy", "J", 1200, 13))  # idle: not what the filter asks for
    path = cases.write(generate.trace(events))
    (row,) = cases.tables("stats", "--energy", "--filter=kernel=a", path)["gpu_energy_sum"]
    assert row["Name"] == "a", row
    near(row["Energy (J)"], 1)


def filter_without_kernels():
    path = cases.write(generate.trace([generate.kernel("a", 1000, 10, 1), counter("energy", "J", 990, 1), counter("energy", "J", 1100, 2)]))
    said = cases.run("stats", "--energy", "--filter=kernel=nomatch", path)[1]
    assert "nothing in the traces passes" in said and "--nvml" not in said, said


def no_readings():
    path = cases.write(generate.trace([generate.kernel("a", 1000, 100, 1)]))
    assert cases.tables("stats", "--energy", path)["gpu_energy_sum"] == []
    out, error = cases.run("stats", "--energy", path)
    assert "gputrace run --nvml records them" in error, (out, error)
    for state, said in (("off: no libnvidia-ml.so.1", "--nvml was off: no libnvidia-ml.so.1"),
                        ("50 per second, driver 580.00", "too few readings of power and clocks, though --nvml was on (50 per")):
        trace = generate.trace([generate.kernel("a", 1000, 100, 1)], before={"metadata": {"nvml": state}})
        error = cases.run("stats", "--energy", cases.write(trace))[1]
        assert said in error and "records them" not in error, error


def others_counters():
    """Counters of that name of another tool are not ours, and a series that is no number is none."""
    events = [generate.kernel("a", 1000, 100, 1), counter("energy", "J", 1000, "many"),
              dict(counter("energy", "J", 1000, 1), cat="other"), dict(counter("energy", "J", 1100, 9), cat="other"),
              dict(counter("energy", "J", 1100, 9), pid=-4), dict(counter("energy", "J", 1100, 9), pid=1 << 40)]
    assert cases.tables("stats", "--energy", cases.write(generate.trace(events)))["gpu_energy_sum"] == []


def counter_falls():
    """The driver was loaded again meanwhile."""
    events = [generate.kernel("a", 1000, 300, 1)]
    events += [counter("energy", "J", 1000 + 100 * i, joules) for i, joules in enumerate((50, 52, 1, 2))]
    rows = cases.tables("stats", "--energy", cases.write(generate.trace(events)))["gpu_energy_sum"]
    near(sum(row["Energy (J)"] for row in rows), 4)


def health():
    events = [generate.kernel("a", 1000, 1000, 1)]
    for ts, clock, limit in ((1000, 1980, 0), (1250, 1500, 1), (1500, 1980, 0)):
        events += [counter("clocks", "SM MHz", ts, clock), counter("throttled", "power limit", ts, limit)]
    events += [counter("throttled", "temperature", 1000, 0), counter("temperature", "C", 1100, 77),
               counter("energy", "J", 1000, 5), counter("energy", "J", 2000, 5.5), counter("power", "W", 1000, 700),
               counter("utilization", "GPU %", 2400, 50),
               counter("ECC errors", "uncorrected", 1000, 3), counter("ECC errors", "uncorrected", 1900, 5)]
    (row,) = cases.tables("stats", "--report=gpu_health_sum", cases.write(generate.trace(events)))["gpu_health_sum"]
    near(row["Energy (J)"], 0.5)
    near(row["Avg Power (W)"], 500)
    near(row["Avg SM Clock (MHz)"], (1980 * 1150 + 1500 * 250) / 1400)
    assert row["Throttled"] == "power limit 18 %", row
    assert row["Uncorrected ECC Errors"] == 2 and row["Max Temperature (C)"] == 77, row
    assert row["Corrected ECC Errors"] is None, row


def throttled(reasons, clocks, work):
    """The rule over one device: (ts, reason, value), (ts, MHz), (ts, duration); µs."""
    events = [generate.kernel("gemm", ts, dur, i + 1) for i, (ts, dur) in enumerate(work)]
    events += [counter("throttled", reason, ts, value) for ts, reason, value in reasons]
    events += [counter("clocks", "SM MHz", ts, clock) for ts, clock in clocks]
    rows = cases.tables("analyze", cases.write(generate.trace(events)))["findings"]
    return {row["Rule"]: row for row in rows}["throttled"]


def rule_throttled():
    # throttled from 1200 to 1600, of that work from 1250 to 1500: at 1500 MHz up to 1300, then at 1000 MHz
    row = throttled([(1000, "power limit", 0), (1000, "temperature", 0), (1200, "power limit", 1), (1400, "temperature", 1),
                     (1500, "power limit", 0), (1600, "temperature", 0), (2000, "temperature", 0)],
                    [(1000, 2000), (1200, 1500), (1300, 1000), (1600, 2000)], [(1000, 100), (1250, 250), (1700, 300)])
    assert row["State"] == "found", row
    near(row["Saves At Most (ns)"], (50 * (1 - 0.75) + 200 * (1 - 0.5)) * 1000)
    assert "for 38.5 % of the time" in row["Evidence"] and "1100 MHz then, 2000 MHz at most" in row["Evidence"], row
    assert "power limit 30 %, temperature 20 %" in row["Evidence"], row


def rule_throttled_without_work():
    """Clocks that are low while there is nothing to do cost nothing."""
    row = throttled([(1000, "power limit", 1), (1200, "power limit", 0)], [(1000, 500), (1200, 2000)], [(1200, 500)])
    assert row["State"] == "clear" and row["Saves At Most (ns)"] == 0, row
    row = throttled([(1000, "power limit", 0)], [], [(1000, 500)])
    assert row["State"] == "clear" and "Nothing kept" in row["Evidence"], row


def clocks_in_diff():
    def side(clock):
        events = [generate.kernel("gemm", 1000 + 100 * i, 50, i + 1) for i in range(8)]
        events += [counter("clocks", "SM MHz", 1000, clock), counter("clocks", "SM MHz", 1800, clock)]
        return cases.write(generate.trace(events))

    assert "was 2000 MHz on average in A, 1500 MHz in B (-25.0 %)" in "".join(cases.run("diff", side(2000), side(1500)))
    assert "MHz" not in "".join(cases.run("diff", side(2000), side(1990)))


def throttled_in_diff_and_gaps():
    """A cause of what is slower, by its reason; no idle time."""
    def side(values):
        events = [generate.kernel("gemm", 1000 + 100 * i, 50, i + 1) for i in range(8)]
        events += [counter("throttled", "power limit", 1000 + 200 * i, value) for i, value in enumerate(values)]
        events += [counter("throttled", "temperature", 1000, 0), counter("temperature", "C", 1800, 70)]
        return cases.write(generate.trace(events))

    calm, hot = side([0, 0, 0, 0, 0]), side([0, 1, 1, 0, 0])
    said = "".join(cases.run("diff", calm, hot))
    assert "Throttled by power limit for 0 % of the time in A, 50 % in B" in said, said
    assert "temperature for" not in said and "Throttled" not in "".join(cases.run("diff", calm, calm)), said
    said = cases.run("gaps", "--min=1ns", hot)[0]
    assert "throttled: the clocks of rank 0 GPU 0 were kept down (power limit 50 %)." in said, said
    assert "throttled" not in cases.run("gaps", "--min=1ns", calm)[0]


cases.main([energy_counter, power_alone, filter_without_kernels, filter_shares_with_what_it_leaves_out, no_readings, others_counters, counter_falls, health,
            rule_throttled, rule_throttled_without_work, clocks_in_diff,
            throttled_in_diff_and_gaps])
