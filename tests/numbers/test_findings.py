#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace analyze: each rule over traces made for it, and its numbers over public traces."""

import collections
import random

import cases
import findings_reference as reference_of
import generate
import reference

US = 1000
BIG = 8 * 1024 * 1024


def findings(*words):
    """Rule -> row, and the places."""
    out = cases.tables("analyze", *words)
    return {row["Rule"]: row for row in out["findings"]}, out["finding_places"]


def found(*words):
    return sorted(rule for rule, row in findings(*words)[0].items() if row["State"] == "found")


def write(events, **more):
    return cases.write(generate.trace(events, **more))


def device(major=8):
    return {"deviceProperties": [{"id": 0, "name": "A", "computeMajor": major, "computeMinor": 0}]}


def steady(count, name="gemm", gap=5, dur=95):
    """Kernels behind each other, launched well before they run: nothing to find."""
    events = []
    for i in range(count):
        events.append(generate.call("cudaLaunchKernel", i * 6, 5, i + 1))
        events.append(generate.kernel(f"{name}_{i % 5}", 1000 + i * (gap + dur), dur, i + 1))
    return events


def nothing_to_find():
    rows, _ = findings(write(steady(8)))
    clocks = rows.pop("throttled")
    assert clocks["State"] == "not decidable" and "--nvml" in clocks["Needs"], clocks
    assert {row["State"] for row in rows.values()} == {"clear"}, rows


def calls_that_are_missing():
    """Most of the time the GPU waited for work whose call is not there."""
    events = steady(4)
    for i in range(8):
        events.append(generate.kernel("gemm_1", 3000 + i * 1000, 95, 100 + i))
    rows, _ = findings(write(events))
    for rule in ("slow_loader", "cpu_bound", "tiny_kernels"):
        assert rows[rule]["State"] == "not decidable", rows[rule]
        assert rows[rule]["Needs"] == "the CUDA calls of all GPU work", rows[rule]


def slow_loader():
    """What a PyTorch loop without workers looks like: the iterator's range names the loader."""
    events = []
    for i in range(5):
        at = i * 10_000
        events.append(generate.range_(f"ProfilerStep#{i}", at, 10_000))
        events.append(
            generate.range_("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 8_000)
        )
        events.append(generate.call("cudaLaunchKernel", at + 8_020, 5, i + 1))
        events.append(generate.kernel("gemm", at + 8_030, 900, i + 1))
    rows, places = findings(write(events))
    row = rows["slow_loader"]
    assert row["State"] == "found" and row["Saves At Most (ns)"] == 4 * 8_000 * US, row
    cases.close(row["Saves At Most (% of wall)"], 32_000 * 100 / 40_900, "share", 1e-2)
    (place,) = [p for p in places if p["Rule"] == "slow_loader"]
    assert "DataLoader" in place["Where"] and place["Count"] == 4, place
    assert "in 4 gaps while" in row["Evidence"], row


def loader_by_its_function():
    """The user's own function of a file named loader.py counts, the import system's does not."""
    for name, want in (
        ("/src/loader.py(12): read_block", True),
        ("/src/train.py(12): get_batch", True),
        ("<frozen importlib._bootstrap_external>(700): SourceFileLoader", False),
        ("/src/net.py(12): payload_size", False),
    ):
        events = []
        for i in range(4):
            events.append(generate.function(name, i * 1000, 900))
            events.append(generate.call("cudaLaunchKernel", i * 1000 + 910, 5, i + 1))
            events.append(generate.kernel("gemm", i * 1000 + 920, 50, i + 1))
        rows, _ = findings(write(events))
        assert (rows["slow_loader"]["State"] == "found") == want, (name, rows["slow_loader"])
        assert (rows["cpu_bound"]["State"] == "found") != want, (name, rows["cpu_bound"])


def loader_without_names():
    """Nothing says what the host does: not decidable."""
    events = []
    for i in range(4):
        events.append(generate.call("cudaLaunchKernel", i * 1000 + 910, 5, i + 1))
        events.append(generate.kernel("gemm", i * 1000 + 920, 50, i + 1))
    row = findings(write(events))[0]["slow_loader"]
    assert row["State"] == "not decidable" and "--sample-cpu" in row["Needs"], row
    assert row["Saves At Most (ns)"] is None
    # the tracer's own slice and the steps are no names of the host's work
    events += [generate.range_("ProfilerStep#0", 0, 5000), generate.range_("Flush", 0, 30)]
    events[-1]["cat"] = "overhead"
    assert findings(write(events))[0]["slow_loader"]["State"] == "not decidable"


def loader_before_and_after():
    """What the host was in before, or only came to, is not where it was."""
    for names, want in ((("load_data", "forward"), False), (("forward", "load_data"), False), (("load_data",), True)):
        events = []
        for i in range(6):
            events.append(generate.call("cudaLaunchKernel", i * 1000 + 910, 5, i + 1))
            name = names[i % len(names)]
            events[-1]["args"].update(stack=names.index(name) + 1, frames=[name + " (/src/app.cu:9)", "main (/src/app.cu:40)"])
            events.append(generate.kernel("gemm", i * 1000 + 920, 50, i + 1))
        row = findings(write(events))[0]["slow_loader"]
        assert (row["State"] == "found") == want, (names, row)


def behind():
    """Each launch returns and its kernel runs at once: the GPU waits for the host."""
    events, idle = [], 0
    for i in range(50):
        events.append(generate.call("cudaLaunchKernel", i * 100, 10, i + 1))
        events.append(generate.kernel(f"k{i % 5}", i * 100 + 12, 20, i + 1))
        idle += 80 * (i > 0)
    rows, _ = findings(write(events))
    assert rows["cpu_bound"]["State"] == "found" and rows["cpu_ahead"]["State"] == "clear"
    assert rows["cpu_bound"]["Saves At Most (ns)"] == idle * US, rows["cpu_bound"]


def nested_os_calls(rng, begin, end, depth=0):
    """Calls one after the other between two times, with others inside (handlers of signals)."""
    at = begin
    while True:
        start = at + rng.randint(0, 60)
        stop = start + rng.randint(1, 90)
        if stop > end:
            return
        yield (rng.choice(("read", "poll", "futex_wait")), start, stop)
        if depth < 3:
            yield from nested_os_calls(rng, start, stop, depth + 1)
        at = stop


def blocked():
    """Each microsecond of a gap is that of the call that began last of those that are open, over 40 random threads."""
    for seed in range(40):
        rng = random.Random(seed)
        calls = list(nested_os_calls(rng, 0, 4_000))
        events = [generate.os_call(name, a, b - a) for name, a, b in rng.sample(calls, len(calls))]
        events += [generate.os_call("nanosleep", 0, 4_000, tid=4107)]
        want = collections.Counter()
        for i in range(9):
            at = i * 500
            events += [generate.call("cudaLaunchKernel", at, 10, i + 1), generate.kernel("gemm", at + 10, 40, i + 1)]
            for t in range(at + 50, at + 500 if i < 8 else 0):
                open_now = [call for call in calls if call[1] <= t < call[2]]
                if open_now:
                    want[max(open_now, key=lambda call: (call[1], -call[2]))[0]] += US
        rows, _ = findings(write(events))
        assert rows["blocked"]["State"] == "found", (seed, rows["blocked"])
        assert rows["blocked"]["Saves At Most (ns)"] == sum(want.values()), (seed, rows["blocked"], want)
        causes = cases.tables("gaps", write(events))["gpu_idle_causes"]
        found_of = {row["Where"].split(": ")[1][:-2]: row["Idle Time (ns)"] for row in causes if row["Cause"] == "blocking call"}
        assert found_of == want, (seed, found_of, want)


def blocked_or_not_known():
    """Of a trace without such calls nobody knows, where the host had time for them."""
    events = []
    for i in range(10):
        events += [generate.call("cudaLaunchKernel", i * 100, 10, i + 1), generate.kernel("gemm", i * 100 + 12, 20, i + 1)]
    row = findings(write(events))[0]["blocked"]
    assert row["State"] == "not decidable" and "--osrt" in row["Needs"], row
    row = findings(write(events + [generate.os_call("read", 40, 1, bytes=-5)]))[0]["blocked"]
    assert row["State"] == "clear", row


def ahead():
    """All launches are made before the first kernel ends; a full queue holds the host."""
    events, count = [], 1100
    for i in range(count):
        slow = i > 1040
        events.append(generate.call("cudaLaunchKernel", i * 4 + (i - 1040) * 100 * slow, 90 if slow else 3, i + 1))
        events.append(generate.kernel(f"k{i % 5}", 10 + i * 100, 100, i + 1))
    path = write(events)
    row = findings(path)[0]["cpu_ahead"]
    assert row["State"] == "found" and row["Saves At Most (ns)"] == 0, row
    trace = reference.Trace(path)
    (area, most, first, last) = list(reference_of.queues(trace).values())[0]
    assert f"{area / (last - first):.1f} operations" in row["Evidence"], row
    assert f" {most} at most" in row["Evidence"], row
    assert "calls waited" in row["Evidence"], row


def synchronization():
    """item() in each step: the host waits, and only then prepares the next launch."""
    events = []
    for i in range(6):
        at = i * 1000
        events.append(generate.call("cudaLaunchKernel", at, 5, i + 1))
        events.append(generate.kernel("gemm", at + 10, 400, i + 1))
        events.append(generate.call("cudaStreamSynchronize", at + 20, 395, 0))
    rows, places = findings(write(events))
    row = rows["synchronization"]
    assert row["State"] == "found" and row["Saves At Most (ns)"] == 5 * 395 * US, row
    assert places[0]["Where"].startswith("cudaStreamSynchronize") or len(places) > 1


def wait_that_costs_nothing():
    """The GPU has other work while the host waits."""
    events = steady(40)
    events.append(generate.call("cudaStreamSynchronize", 1500, 20, 0))
    row = findings(write(events))[0]["synchronization"]
    assert row["State"] == "clear", row


def copies():
    """Synchronous, pageable and small ones."""
    events = []
    for i in range(150):
        at = i * 200
        events.append(generate.call("cudaMemcpy", at, 60, 2 * i + 1))
        events.append(
            generate.copy(at + 10, 40, 2 * i + 1, name="Memcpy HtoD (Pageable -> Device)", bytes=4096)
        )
        events.append(generate.call("cudaMemcpyAsync", at + 100, 5, 2 * i + 2))
        events.append(generate.copy(at + 110, 50, 2 * i + 2, bytes=BIG))
    path = write(events)
    rows, _ = findings(path)
    trace = reference.Trace(path)
    assert rows["sync_copies"]["Saves At Most (ns)"] == reference_of.saved_by(
        trace, reference_of.calls_named(trace, reference_of.SYNC_COPY)
    )
    assert rows["pageable_copies"]["Saves At Most (ns)"] == reference_of.pageable_copies(trace)
    assert rows["small_copies"]["Saves At Most (ns)"] == reference_of.small_copies(trace)[0]
    for rule in ("sync_copies", "pageable_copies", "small_copies"):
        assert rows[rule]["State"] == "found", rows[rule]


def copies_without_words():
    """Neither the kind of memory nor the size is in the trace."""
    events = [generate.call("cudaMemcpyAsync", 0, 5, 1), generate.copy(10, 20, 1, name="Memcpy HtoD")]
    rows, _ = findings(write(events + steady(3)))
    for rule in ("pageable_copies", "small_copies"):
        assert rows[rule]["State"] == "not decidable", rows[rule]


def allocation():
    """Of the first half no allocation counts, of the second all do."""
    events = []
    for i in range(20):
        at = i * 1000
        events.append(generate.call("cudaMalloc", at, 300, 0))
        events.append(generate.call("cudaLaunchKernel", at + 310, 5, i + 1))
        events.append(generate.kernel("gemm", at + 320, 400, i + 1))
    path = write(events)
    row = findings(path)[0]["allocation"]
    assert row["State"] == "found", row
    assert row["Saves At Most (ns)"] == 9 * 300 * US, row


def tiny_kernels():
    events = []
    for i in range(100):
        events.append(generate.call("cudaLaunchKernel", i * 20, 10, i + 1))
        events.append(generate.kernel(f"k{i % 5}", i * 20 + 12, 2, i + 1))
    rows, _ = findings(write(events))
    row = rows["tiny_kernels"]
    assert row["State"] == "found", row
    # of each gap the time from the launch's begin to the kernel's
    assert row["Saves At Most (ns)"] == 99 * 12 * US, row
    assert "100 of 100 kernels" in row["Evidence"]


def graphs_have_no_tiny_kernels():
    """One call launches them all: it is longer than each, and saves launches already."""
    events = []
    for i in range(20):
        events.append(generate.call("cudaGraphLaunch", i * 100, 30, i + 1))
        events += [generate.kernel(f"k{k}", i * 100 + 20 + k * 3, 2, i + 1) for k in range(5)]
    row = findings(write(events))[0]["tiny_kernels"]
    assert row["State"] == "clear" and row["Evidence"].startswith("0 of 0 kernels"), row


def attention(softmax, gemm):
    """An eager attention: two matrix products and a softmax between them."""
    events = []
    for i in range(30):
        at = i * 1000
        for k, (name, dur) in enumerate(((gemm, 100), (softmax, 700), (gemm, 100))):
            events.append(generate.call("cudaLaunchKernel", at + k * 6, 5, 3 * i + k + 1))
            events.append(generate.kernel(name, at + 30 + k * 100 + (600 if k == 2 else 0), dur, 3 * i + k + 1))
    return events


SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(float*, float const*, int)"


def hot_softmax_and_fp32():
    path = write(attention(SOFTMAX, "ampere_sgemm_128x64_nn"), before=device())
    rows, places = findings(path)
    assert rows["softmax"]["Saves At Most (ns)"] == 30 * 700 * US, rows["softmax"]
    assert rows["hot_kernel"]["State"] == "found" and "SoftMaxForward" in rows["hot_kernel"]["Evidence"]
    assert rows["fp32_kernels"]["Saves At Most (ns)"] == 30 * 200 * US * 7 // 8, rows["fp32_kernels"]
    assert [p["Where"] for p in places if p["Rule"] == "fp32_kernels"][0].startswith("ampere_sgemm")


def what_is_no_fp32():
    """Tensor cores at work; a device that has none; one that is not known."""
    for name, props, want in (
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", device(), "clear"),
        ("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", device(), "clear"),
        ("ampere_sgemm_128x64_nn", device(6), "clear"),
        ("ampere_sgemm_128x64_nn", None, "not decidable"),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", device(), "found"),
    ):
        row = findings(write(attention(SOFTMAX, name), before=props))[0]["fp32_kernels"]
        assert row["State"] == want, (name, row)


def types_of_a_library():
    """Of kernels of one name those are fp32 whose library does not tell another type."""
    events = attention(SOFTMAX, "ampere_sgemm_128x64_nn")
    for event in (e for e in events if e["cat"] == "kernel" and "sgemm" in e["name"]):
        kind = ("BFloat16", "Float")[event["args"]["correlation"] % 3 == 0]
        event["args"].update({"compute type": "CUBLAS_COMPUTE_32F", "A type": kind, "FLOPs": 1000})
    rows, places = findings(write(events, before=device()))
    assert rows["fp32_kernels"]["Saves At Most (ns)"] == 30 * 100 * US * 7 // 8, rows["fp32_kernels"]
    assert "attention kernels: 30, 3.000 ms" in rows["fp32_kernels"]["Evidence"], rows["fp32_kernels"]
    assert "on tensor cores: 3.000 ms" in rows["fp32_kernels"]["Evidence"], rows["fp32_kernels"]
    assert sum(p["Count"] for p in places if p["Rule"] == "fp32_kernels") == 30, places


def late_rank():
    """Rank 1 comes 100 us late to 16 of 20 all-reduces, rank 0 to the others: each costs what the other waits for it."""
    where = cases.folder()
    for rank in (0, 1):
        events = []
        for i in range(20):
            late = 100 * (rank == (i % 5 != 0))
            events.append(generate.call("cudaLaunchKernel", i * 1000 + late, 5, i + 1))
            events.append(
                generate.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", i * 1000 + 10 + late, 150 - late, i + 1)
            )
        more = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": generate.BASE}
        cases.write(generate.trace(events, before=more), f"rank{rank}.json", where)
    rows, places = findings(where)
    row = rows["late_rank"]
    assert row["State"] == "found" and row["Saves At Most (ns)"] == 20 * 100 * US, row
    (place,) = [p for p in places if p["Rule"] == "late_rank"]
    assert (place["Where"], place["Count"], place["Total Time (ns)"]) == ("rank 1", 16, 16 * 100 * US), place
    row = findings(where + "/rank0.json")[0]["late_rank"]
    assert row["State"] == "not decidable" and "other ranks" in row["Needs"], row


def without_calls():
    """Only GPU work: what needs calls says so."""
    rows, _ = findings(write([generate.kernel("k", i * 100, 10, 0) for i in range(20)]))
    for rule in ("slow_loader", "cpu_bound", "kernel_loading", "blocked", "cpu_ahead", "synchronization", "sync_copies", "allocation", "tiny_kernels"):
        assert rows[rule]["State"] == "not decidable" and "CUDA calls" in rows[rule]["Needs"], rows[rule]


def formats():
    """The same findings in each format; the exit status is 0 with and without findings."""
    path = write(attention(SOFTMAX, "ampere_sgemm_128x64_nn"), before=device())
    text = cases.run("analyze", path)[0]
    csv = cases.run("analyze", "--format=csv", path)[0]
    for rule in found(path):
        assert f"({rule})" in text and f"found,{rule}," in csv, rule
    assert "Nothing found." in cases.run("analyze", write(steady(5)))[0]


def check(path, rule, row, want):
    """A number of a rule that is not the table's own."""
    assert abs(row["Saves At Most (ns)"] - min(want, 1 << 62)) <= 2, (path, rule, row, want)


def public_traces():
    """Every rule's saving over the public traces, one file at a time."""
    seen = set()
    for path in cases.public():
        trace = reference.Trace(path)
        rows, _ = findings(path)
        wall = reference_of.wall(trace)
        starts = reference_of.steps(trace)
        after = reference_of.steady(trace, starts)
        for rule, names in (("synchronization", reference_of.SYNC), ("sync_copies", reference_of.SYNC_COPY)):
            check(path, rule, rows[rule], reference_of.saved_by(trace, reference_of.calls_named(trace, names)))
        calls = [c for c in reference_of.calls_named(trace, reference_of.ALLOCATION) if after and c.start >= after]
        check(path, "allocation", rows["allocation"], reference_of.saved_by(trace, calls))
        names = reference_of.kernels(trace)
        check(path, "hot_kernel", rows["hot_kernel"], max(names.values(), default=0))
        check(path, "softmax", rows["softmax"], sum(ns for n, ns in names.items() if "softmax" in n.lower()))
        if rows["fp32_kernels"]["State"] != "not decidable":
            ns = reference_of.fp32(trace)
            check(path, "fp32_kernels", rows["fp32_kernels"], ns - ns // 8)
        if any(op.kind == "copy" and "bytes" in op.args for op in trace.ops):
            check(path, "small_copies", rows["small_copies"], reference_of.small_copies(trace)[0])
        queues = reference_of.queues(trace).values()
        span = sum(q[3] - q[2] for q in queues)
        mean = sum(q[0] for q in queues) / span if span else 0
        assert rows["cpu_ahead"]["Evidence"].startswith(
            f"{mean:.1f} operations waited in a stream's queue on average, {max(q[1] for q in queues)} at most"
        ), (path, mean, rows["cpu_ahead"])
        for row in rows.values():
            assert not row["Saves At Most (ns)"] or row["Saves At Most (ns)"] <= wall, (path, row)
        check(path, "tiny_kernels", rows["tiny_kernels"], reference_of.before_tiny_kernels(trace))
        loading = rows["slow_loader"]["Saves At Most (ns)"] or 0
        whole = {**rows["cpu_bound"], "Saves At Most (ns)": rows["cpu_bound"]["Saves At Most (ns)"] + loading}
        check(path, "cpu_bound", whole, reference_of.behind(trace))
        seen |= {rule for rule, row in rows.items() if row["State"] == "found"}
    assert {"cpu_bound", "cpu_ahead", "fp32_kernels", "small_copies", "pageable_copies"} <= seen, seen


def public_pageable():
    for path in cases.public():
        trace = reference.Trace(path)
        if len(trace.ops) > 5000:
            continue
        row = findings(path)[0]["pageable_copies"]
        if row["State"] != "not decidable":
            check(path, "pageable_copies", row, reference_of.pageable_copies(trace))


cases.main(
    [
        nothing_to_find,
        calls_that_are_missing,
        slow_loader,
        loader_by_its_function,
        loader_without_names, loader_before_and_after,
        behind,
        ahead,
        synchronization,
        wait_that_costs_nothing,
        copies,
        copies_without_words,
        allocation,
        tiny_kernels,
        graphs_have_no_tiny_kernels,
        hot_softmax_and_fp32,
        what_is_no_fp32,
        types_of_a_library,
        blocked,
        blocked_or_not_known,
        late_rank,
        without_calls,
        formats,
        public_traces,
        public_pageable,
    ]
)
