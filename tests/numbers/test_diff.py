#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace diff: its numbers against a second computation, and what a gate must and must not
find. How often it is wrong is measured by diff_bars.py."""

import csv
import gzip
import json
import os
import random
import re
import statistics

import cases
import diff_reference
import diff_traces

SLOWER, UNSURE = 3, 4


def made(name="t.json", where=None, rank=None, seed=1, **how):
    """A generated trace. how: arguments of diff_traces.steps_of."""
    how = {"kernels": 20, "steps": 10, **how}
    path = os.path.join(where or cases.folder(), name)
    return diff_traces.write(path, diff_traces.steps_of(random.Random(seed), **how), rank)


def gate(percent, *inputs, expect=0, says=""):
    """Standard error of a gate."""
    said = cases.run("diff", f"--gate={percent}%", *inputs, expect=expect)[1]
    assert re.search(says, said), (says, said)
    return said


def names(kernels=20, **other):
    """Names of kernels; other: k7="..." replaces that of kernel 7."""
    return [other.get(f"k{k}", f"kernel_{chr(97 + k % 26)}{k}") for k in range(kernels)]


def rows(*inputs, table="kernels"):
    return {
        row.get("Operation") or row.get("Measure") or row.get("Rank"): row
        for row in cases.tables("diff", *inputs)[table]
    }


def the_same_numbers():
    """Intervals, noise, smallest change and verdicts of every row."""
    for seed, noise in enumerate(("own", "common", "drift", "often")):
        for steps, kernels in ((10, 20), (30, 12), (4, 40)):
            a = made(seed=seed, noise=noise, steps=steps, kernels=kernels)
            b = made(seed=seed + 100, noise=noise, steps=steps, kernels=kernels, slow={3: 1.2})
            compared = diff_reference.compare([a], [b])
            got = cases.tables("diff", a, b)
            assert set(got) == set(compared), (set(got), set(compared))
            for table, want in compared.items():
                title = {"overview": "Measure", "kernels": "Operation", "calls": "Call"}[table]
                assert {row[title] for row in got[table]} == set(want)
                for row in got[table]:
                    check_row(row, want[row[title]], (seed, noise, steps, table, row[title]))


def is_bounded(row):
    return (1 + row.high) / (1 + row.low) <= 100


def check_row(row, want, what):
    for column, value, places in (
        ("A (ns)", want.mean[0], 1),
        ("B (ns)", want.mean[1], 1),
        ("Low (%)", want.low * 100 if is_bounded(want) else None, 1),
        ("High (%)", want.high * 100 if is_bounded(want) else None, 1),
        ("Noise (%)", want.noise * 100, 1),
        ("Could Have Shown (%)", want.could * 100 if want.could <= 9 else None, 1),
    ):
        if value is None:
            assert row[column] is None, (what, column, row[column])
            continue
        near = 0.0501 + 1e-5 * abs(value)
        assert abs(row[column] - value) <= near, (what, column, row[column], value, places)
    assert row["Verdict"] == want.verdict, (what, row, want.verdict)


def a_slow_first_step_hides_nothing():
    for first in (1.5, 3, 10):
        a, b = made(seed=1, first=first), made(seed=2, first=first, slow={5: 3})
        gate(5, a, b, expect=SLOWER, says=r"kernel_f5: .*\(\+(19|20|21)\d\.\d %\)")
        gate(5, a, made(seed=3, first=first))
        out = cases.run("diff", a, b)[0]
        assert "Left out of A: ProfilerStep#0, warm-up (kernels took x" in out, out


def a_slow_step_in_the_middle_is_named():
    lines = diff_traces.steps_of(random.Random(4), 20, 12)
    slow = [
        re.sub(r'"dur":([\d.]+)', lambda m: f'"dur":{float(m[1]) * 3:.3f}', line)
        if '"cat":"kernel"' in line and 100 < int(re.search(r'"correlation":(\d+)', line)[1]) <= 120
        else line
        for line in lines
    ]
    b = diff_traces.write(os.path.join(cases.folder(), "b.json"), slow)
    out = cases.run("diff", made(seed=5, steps=12), b)[0]
    assert "Left out of B: ProfilerStep#5, an outlier (kernels took x3.0" in out, out
    gate(5, made(seed=5, steps=12), b)


def renamed_kernels():
    """Another template argument, another number, another name at the same place."""
    for old, new, how in (
        ("void gemm<float, 128>(float*)", "void gemm<float, 64>(float*)", "same base name"),
        ("sm80_gemm_128x64", "sm90_gemm_64x64", "same name but for its numbers"),
        ("gemm", "matmul", "same place on the stream"),
    ):
        a = made(seed=1, names=names(k7=old))
        gate(2, a, made(seed=2, names=names(k7=new)))
        b = made(seed=3, names=names(k7=new), slow={7: 1.5})
        gate(2, a, b, expect=SLOWER, says=re.escape(new[:20]))
        row = rows(a, b)[new]
        assert row["Verdict"] == "slower" and row["Matched With"] == f"{old} ({how})", row
        assert "Matched: " in cases.run("diff", a, b)[0]
    # other types and numbers, but the same functor; another functor is another kernel
    add, mul = ("void vec<%d, ns::%s<%s>, Array<char*, 3> >(int)" % words for words in ((4, "Add", "float"), (8, "Mul", "float")))
    half = "void vec<8, ns::Add<c10::Half>, Array<char*, 3> >(int)"
    table = rows(made(seed=1, names=names(k3=add, k9="matmul")), made(seed=2, names=names(k3="relu", k9=mul, k12=half)))
    assert table[half]["Matched With"] == f"{add} (same base name)", table[half]
    table = rows(made(seed=1, names=names(k3=add, k9="matmul")), made(seed=2, names=names(k3="relu", k9=mul)))
    assert table[mul]["Matched With"] == "matmul (same place on the stream)", table[mul]
    # what has no match is compared as a whole
    a = made(seed=1, names=names(k7="gemm"))
    out = gate(
        2,
        a,
        made(seed=2, names=names(k7="x", k8="y", k6="z"), slow={6: 1.5, 7: 1.5, 8: 1.5}),
        expect=SLOWER,
    )
    assert "kernel" in out or re.search(r"\b[xyz]:", out), out


def new_and_gone_kernels():
    a = made(seed=1, kernels=20)
    more = made(seed=2, kernels=24)
    gate(2, a, more, expect=SLOWER, says="only B has")
    gate(2, more, a, expect=UNSURE, says=r"\d+\.\d % of A's GPU time is in kernels that B does not")


def no_work():
    a = made()
    empty = cases.write({"traceEvents": []})
    gate(5, a, empty, expect=UNSURE, says="no verdict: B has no GPU work")
    gate(5, empty, a, expect=UNSURE, says="no verdict: A has no GPU work")


def ranks(seed, count=8, without=None, slow=None, **how):
    folder = cases.folder()
    for rank in range(count):
        if rank != without:
            scale = 1.25 if rank == slow else 1.0
            made(f"r{rank}.json", folder, rank, seed * 100 + rank, scale=scale, **how)
    return folder


def of_eight_ranks():
    a = ranks(1)
    gate(5, a, ranks(2))
    gate(5, a, ranks(3, slow=6), expect=SLOWER)
    table = rows(a, ranks(3, slow=6), table="ranks")
    slow = [name for name, row in table.items() if row["Verdict"] == "slower"]
    assert slow == ["rank 6: GPU work without communication"], slow
    gate(5, a, ranks(4, without=5), expect=UNSURE, says="no verdict: rank 5 has no GPU work in B")


def fewer_steps():
    gate(5, made(steps=30), made(steps=3, seed=2), expect=UNSURE, says="A has 30 steps a rank, B only 3")
    gate(5, made(steps=41), made(steps=20, seed=2), expect=UNSURE, says="A has 41 steps a rank, B only 20")
    gate(5, made(steps=40), made(steps=20, seed=2))
    gate(5, made(steps=10), made(steps=30, seed=2))
    none = [
        line for line in diff_traces.steps_of(random.Random(1), 20, 10) if "ProfilerStep" not in line
    ]
    b = diff_traces.write(os.path.join(cases.folder(), "b.json"), none)
    gate(5, made(), b, expect=UNSURE, says="A has steps .*, B has none")


def chosen_steps():
    """--filter: by number, several of one key, a window of time; a line where none is left."""
    lines = diff_traces.steps_of(random.Random(1), 20, 8)
    a, b = made(steps=8), diff_traces.write(os.path.join(cases.folder(), "b.json"), lines)
    steps = [json.loads(line) for line in lines if "ProfilerStep" in line]
    first = min(json.loads(line)["ts"] for line in lines if '"ts"' in line and '"X"' in line)
    windows = [f"time={(e['ts'] - first - 1)}us..{e['ts'] - first + 1}us" for e in (steps[2], steps[5])]
    for filters, count in (
        (["step=3"], 1),
        (["step=ProfilerStep#3"], 1),
        (["step=ProfilerStep#3", "step=5", "step=6"], 3),
        (windows, 2),
        (["step=ProfilerStep#[01]", *windows], 0),
        (["step=ProfilerStep#[0-3]", *windows], 1),
    ):
        out = cases.run("diff", *(f"--filter={each}" for each in filters), a, b)[0]
        found = re.findall(r"\((\d+) (step|trace)s?\)", out)
        assert found == [(str(count or 1), "step" if count else "trace")] * 2, (filters, out)
        for side in "AB":
            said = f"--filter leaves no step of {side}: what is compared are no steps." in out
            assert said == (not count), (filters, out)


def thin_evidence():
    gate(5, made(steps=1), made(steps=1, seed=2), expect=UNSURE, says="the noise is not known")
    said = gate(2, made(steps=3), made(steps=3, seed=2), expect=UNSURE, says="too thin")
    could = float(re.search(r"below (\d+\.\d) %", said)[1])
    assert 10 < could < 40, said
    out = cases.run("diff", made(steps=3), made(steps=3, seed=2))[0]
    assert f"Could have shown changes of {could} % or more in the kernels that" in out, out


def slow_steps_that_are_left_out():
    """Three of 30 steps take three times as long: one of them would be a disturbance."""
    for count, code in ((1, 0), (3, UNSURE)):
        slow = {7 * i + 5: 3.0 for i in range(count)}
        lines = diff_traces.steps_of(random.Random(8), 20, 30, slow_steps=slow)
        b = diff_traces.write(os.path.join(cases.folder(), "b.json"), lines)
        gate(5, made(steps=30), b, expect=code, says="3 steps are left out of B, 0 of A" if code else "")


def several_runs():
    """Runs differ by 3 % each: steps alone take that for a change."""
    chooser = random.Random(7)

    def side(count, slow=None):
        return [
            made(seed=chooser.random(), scale=1 + 0.03 * chooser.gauss(0, 1), slow=slow)
            for _ in range(count)
        ]

    for _ in range(5):
        assert gate_code(2, *side(4), "--", *side(4)) != SLOWER
    a, b = side(4), side(4, slow={5: 1.3})
    gate(2, *a, "--", *b, expect=SLOWER, says="kernel_f5: ")
    out = cases.run("diff", *a, "--", *b)[0]
    found = re.search(r"Noise of a kernel: (\d+\.\d) % from step to step, (\d+\.\d) % from run", out)
    assert 2.5 < float(found[1]) < 3.5 and 1.5 < float(found[2]) < 6, out
    assert "(4 runs, 40 steps)" in out, out
    cases.run("diff", *a, *b, expect=2)
    cases.run("diff", *a, "--", expect=2)
    cases.run("diff", *a, "--", *b, "--", *b, expect=2)
    assert cases.run("diff", "--", a[0], b[0]) == cases.run("diff", a[0], b[0])
    assert cases.run("diff", a[0], "--", b[0], "--top=1") == cases.run("diff", "--top=1", a[0], b[0])


def not_bounded():
    """Two steps a side, one call twice as long in one of them: an interval of a factor of more than ten is none."""
    a, b = (made(seed=seed, steps=2, slow_steps={1: 3.0}) for seed in (1, 2))
    out = cases.run("diff", a, b)[0]
    assert "not bounded" in out and not re.search(r"[-+]\d{5,}\.\d", out), out
    assert "Could have shown not even a tenfold time of the kernels" in out, out
    for row in cases.tables("diff", a, b)["kernels"]:
        assert row["Low (%)"] is None and row["High (%)"] is None and row["Could Have Shown (%)"] is None, row


def grown(path, name):
    """By how much the line through a kernel's durations ends above its start, %: least squares."""
    with open(path, encoding="utf-8") as file:
        ys = [e["dur"] for e in json.load(file)["traceEvents"] if e["name"] == name]
    slope, mean = statistics.linear_regression(range(len(ys)), ys).slope, statistics.fmean(ys)
    half = slope * (len(ys) - 1) / 2
    return ((mean + half) / (mean - half) - 1) * 100


def steadily_slower():
    """A kernel that takes longer from step to step is named, and no gate below its growth passes."""
    for kernels, steps, ramp, code in ((20, 10, 2.0, UNSURE), (3, 30, 1.3, UNSURE), (3, 30, 1.03, 0), (20, 30, 1.5, SLOWER)):
        a = made(seed=1, kernels=kernels, steps=steps)
        b = made(seed=2, kernels=kernels, steps=steps, ramp={2: ramp})
        gate(5, a, b, expect=code, says="kernel_c2 takes steadily longer within B" if code == UNSURE else "")
        out = " ".join(cases.run("diff", a, b)[0].split())
        found = re.search(r"kernel_c2 takes steadily longer within B: ([-+][\d.]+) % from the first to the last step \(in A ([-+][\d.]+) %\)", out)
        assert bool(found) == (code != 0), out
        for path, text in zip((b, a), found.groups() if found else ()):
            assert abs(grown(path, "kernel_c2") - float(text)) < 0.06, (text, grown(path, "kernel_c2"))
    a, b = made(seed=1), made(seed=2, ramp={2: 2.0})
    assert "kernel_c2 takes steadily shorter" in cases.run("diff", a, made(seed=3, ramp={2: 0.5}))[0]
    assert "steadily" not in cases.run("diff", made(seed=3, ramp={2: 2.0}), b)[0]  # A does the same
    runs = [made(seed=seed, ramp={2: 2.0}) for seed in (4, 5)]
    out = cases.run("diff", a, made(seed=6), "--", *runs)[0]
    assert "kernel_c2 takes steadily longer within B" in out, out
    for noise in ("own", "common", "tails", "skewed", "spikes", "modes"):
        out = cases.run("diff", made(seed=7, steps=30, noise=noise), made(seed=8, steps=30, noise=noise))[0]
        assert "steadily" not in out, (noise, out)


def undecided():
    """All is 10 % slower, in runs that differ by 2 %: three a side cannot tell, and do not pass."""

    def side(chooser, scale):
        return [made(seed=chooser.random(), scale=scale + 0.02 * chooser.gauss(0, 1)) for _ in range(3)]

    for seed in (2, 4, 10):
        chooser = random.Random(seed)
        assert gate_code(2, *side(chooser, 1.0), "--", *side(chooser, 1.0)) == 0, seed
        a, b = side(chooser, 1.0), side(chooser, 1.1)
        gate(2, *a, "--", *b, expect=UNSURE, says=r"perhaps slower, .*: .* \+\d+\.\d % \(95 % interval")


def thinned(seed, keep, **how):
    """Kernel 4 occurs in some steps only, kernel 9 three times a step."""
    lines = []
    for line in diff_traces.steps_of(random.Random(seed), 20, 20, calls=False, **how):
        step = (int((re.search(r'"correlation":(\d+)', line) or [0, 1])[1]) - 1) // 20
        if "kernel_e4" in line and not keep(step):
            continue
        lines.append(line)
        if "kernel_j9" in line:
            lines += [re.sub(r'"dur":[\d.]+', f'"dur":{1 + i}.500', line) for i in range(2)]
    return diff_traces.write(os.path.join(cases.folder(), "t.json"), lines)


def in_some_steps():
    a = thinned(1, lambda step: step % 5 == 0)
    gate(2, a, thinned(2, lambda step: step % 5 == 0))
    b = thinned(3, lambda step: step % 5 == 0, slow={4: 2.0})
    gate(2, a, b, expect=SLOWER, says="kernel_e4")
    row = rows(a, b)["kernel_j9"]
    assert row["Instances A"] == 60 and row["Samples A"] == 20, row


def without_steps():
    def trace(seed, steps=40, **how):
        lines = diff_traces.steps_of(random.Random(seed), 20, steps, **how)
        kept = [line for line in lines if "ProfilerStep" not in line]
        return diff_traces.write(os.path.join(cases.folder(), "t.json"), kept)

    a = trace(1)
    gate(2, a, trace(2))
    gate(2, a, trace(3, slow={5: 1.1}), expect=SLOWER, says="kernel_f5")
    gate(2, a, trace(4, steps=48, scale=1 / 1.2))  # windows of one length: more work of a faster program
    gate(2, a, trace(5, steps=32, scale=1.25), expect=SLOWER, says=r"kernel_\w+: .*\(\+2\d\.\d %\)")
    out = cases.run("diff", a, trace(6, steps=80))[0]
    assert "B has 2.00 times as many operations as A" in out, out
    assert "slower" not in out and "faster" not in out, out
    assert "from part to part of the trace" in cases.run("diff", a, a)[0]


def two_readings_without_steps():
    """Most kernels are twice as often, one is not: either can be the work, so a change has to be one by both."""

    def trace(seed, kernels, each=lambda k: 1, idle=0.0, slow=None):
        rng, lines, at = random.Random(seed), [], 0.0
        for _ in range(40):
            for k in range(kernels):
                for _ in range(each(k)):
                    dur = diff_traces.base(k) * (1 + 0.03 * rng.gauss(0, 1)) * (slow or {}).get(k, 1.0)
                    lines.append(f'{{"ph":"X","cat":"kernel","name":"kernel_{k}","pid":0,"tid":7,"ts":{at:.3f},'
                                 f'"dur":{dur:.3f},"args":{{"device":0,"stream":7}}}}')
                    at += dur + 5
            at += idle
        return diff_traces.write(os.path.join(cases.folder(), "t.json"), lines)

    a = trace(1, 3)
    for slow, k1 in ((None, 1), ({1: 1.4}, 1), ({1: 1.4}, 3)):  # 1.5 and 1.05 times the work with it, by 2: 0.7 and 2.1
        b = trace(2, 3, lambda k, k1=k1: k1 if k == 1 else 2, slow=slow)
        found = rows(a, b)["kernel_1"]["Verdict"]
        assert found == ("slower" if k1 == 3 else "cannot tell"), (slow, k1, found)
        says = "kernel_1: " if k1 == 3 else "2.00 times as many operations of most kernels, but 40 of kernel_1 where A has 40"
        gate(5, a, b, expect=SLOWER if k1 == 3 else UNSURE, says=says)
    runs = [trace(seed, 3) for seed in (11, 12, 13)] + ["--"]
    runs += [trace(seed, 3, lambda k: 1 if k == 1 else 2, slow={1: 1.4}) for seed in (14, 15, 16)]
    assert {row["Verdict"] for row in rows(*runs, table="overview").values()} == {"cannot tell"}, rows(*runs, table="overview")
    fewer = trace(3, 3, lambda k: 2 if k == 1 else 1)
    gate(5, trace(4, 3, lambda k: 2), fewer, expect=UNSURE, says="0.50 times as many")
    idle = diff_traces.base(0) + diff_traces.base(1) + diff_traces.base(2)
    gate(5, a, trace(5, 3, idle=idle), expect=UNSURE, says="perhaps slower: the time from first to last GPU operation")
    gate(5, a, trace(6, 3, idle=idle / 100))
    gate(5, a, trace(7, 3, lambda k: 2))


def notes_beside_tables_for_programs():
    lines = diff_traces.steps_of(random.Random(8), 20, 30, slow_steps={5: 3.0})
    b = diff_traces.write(os.path.join(cases.folder(), "b.json"), lines)
    for form in ("json", "csv"):
        said = cases.run("diff", f"--format={form}", made(steps=30), b)[1]
        assert "Left out of B: ProfilerStep#5, an outlier" in said and "Could have shown" in said, said


def graphs_as_a_whole_on_one_side():
    """The same kernels, as one slice of a graph's launch in B."""
    lines = diff_traces.steps_of(random.Random(3), 20, 10)
    whole = [line.replace('"cat":"kernel"', '"cat":"gpu_graph"') if "kernel_f5" in line else line for line in lines]
    b = diff_traces.write(os.path.join(cases.folder(), "b.json"), whole)
    said = gate(2, made(), b, expect=UNSURE, says="B has the launches of graphs .--graphs=whole., A their nodes")
    assert len(said.splitlines()) == 1, said


def forms():
    a, b = made(seed=1), made(seed=2, slow={5: 1.5})
    got = cases.tables("diff", a, b)
    text = cases.run("diff", "--format=csv", a, b)[0].split("\n\n")
    assert len(text) == len(got)
    for block, table in zip(text, got.values()):
        for row, want in zip(csv.DictReader(block.splitlines()), table):
            assert list(row) == list(want), (row, want)
            for key, value in want.items():
                assert row[key] == ("" if value is None else str(value)), (key, row[key], value)
    markdown = cases.run("diff", "--format=markdown", a, b)[0]
    assert "| slower |" in markdown and "| 95 % interval |" in markdown, markdown


def halves(path):
    """The steps of a public trace in two halves, or None."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    found = sorted(
        {
            (float(e["ts"]), float(e["ts"]) + float(e["dur"]))
            for e in events
            if str(e.get("name", "")).startswith("ProfilerStep") and e.get("cat") == "user_annotation"
        }
    )
    if len(found) < 4:
        return None
    cut = found[len(found) // 2][0]
    parts = [
        [e for e in events if e.get("ph") == "M" or ("ts" in e and (float(e["ts"]) < cut) == first)]
        for first in (True, False)
    ]
    return [cases.write({"schemaVersion": 1, "traceEvents": part}) for part in parts]


def public_traces():
    alarms = compared = 0
    for path in cases.public():
        code_of = [gate_code(0, path, path)]
        assert code_of == [0] or code_of == [UNSURE], (path, code_of)
        out = cases.run("diff", "--format=csv", "--top=0", path, path)[0]
        assert not re.search(r"^(slower|faster|new|gone)", out, re.M), path
        parts = halves(path)
        if parts:
            compared += 1
            alarms += gate_code(10, *parts) == SLOWER
    print(f"# halves of {compared} traces compared, {alarms} slower by more than 10 %", flush=True)


def gate_code(percent, *inputs):
    return next(
        code for code in (0, UNSURE, SLOWER) if code == code_of("diff", f"--gate={percent}%", *inputs)
    )


def code_of(*words):
    return cases.subprocess.run([cases.CLI, *words], capture_output=True, check=False).returncode


cases.main(
    [
        the_same_numbers,
        a_slow_first_step_hides_nothing,
        a_slow_step_in_the_middle_is_named,
        renamed_kernels,
        new_and_gone_kernels,
        no_work,
        of_eight_ranks,
        fewer_steps,
        chosen_steps,
        thin_evidence,
        slow_steps_that_are_left_out,
        several_runs,
        not_bounded,
        steadily_slower,
        undecided,
        in_some_steps,
        without_steps,
        two_readings_without_steps,
        notes_beside_tables_for_programs,
        graphs_as_a_whole_on_one_side,
        forms,
        public_traces,
    ]
)
