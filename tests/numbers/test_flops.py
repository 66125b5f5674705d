# SPDX-License-Identifier: Apache-2.0
"""stats --flops: sums by an independent computation, PyTorch's formulas of with_flops."""

import bisect
import collections
import gzip
import json

import cases
import generate

CHIP = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108}
# name, shapes, types of the inputs; durations of its kernels; FLOPs, bytes
OPERATORS = [
    ("aten::addmm", [[8], [4, 16], [16, 8], [], []], "c10::Half", [3000, 1000], 2 * 4 * 16 * 8, 2 * (64 + 128 + 32)),
    ("aten::addmm", [[1024], [2048, 4096], [4096, 1024]], "c10::Half", [90000], 2 * 2048 * 4096 * 1024,
     2 * (2048 * 4096 + 4096 * 1024 + 2048 * 1024)),
    ("aten::mm", [[5, 6], [6, 7]], "float", [2000], 2 * 5 * 6 * 7, 4 * (30 + 42 + 35)),
    ("aten::bmm", [[9, 5, 6], [9, 6, 7]], "double", [2000], 9 * 2 * 5 * 6 * 7, 9 * 8 * (30 + 42 + 35)),
    ("aten::baddbmm", [[9, 5, 7], [9, 5, 6], [9, 6, 7]], "c10::BFloat16", [2000], 9 * 2 * 5 * 6 * 7, 9 * 2 * (30 + 42 + 35)),
    ("aten::mm", [[2 ** 32, 2 ** 32], [2 ** 32, 1]], "double", [2000], None, None),  # too many
    ("aten::add", [[5, 6], [5, 6]], "float", [2000], None, None),
    ("aten::mm", [[5, 6], [7, 7]], "float", [2000], None, None),
    ("aten::mm", [[5, 6]], "float", [2000], None, None),
]
PEAKS = {"c10::Half": 312e12, "double": 19.5e12, "c10::BFloat16": 312e12}


def synthetic():
    events, time, correlation = [], 1000.0, 1
    for name, shapes, kind, kernels, _, _ in OPERATORS:
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 9, "tid": 9, "ts": time, "dur": 20.0,
                       "args": {"Input Dims": shapes, "Input type": [kind for _ in shapes]}})
        for i, ns in enumerate(kernels):
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": time + 2 + 4 * i,
                           "dur": 2.0, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": f"k{correlation}", "pid": 0, "tid": 7, "ts": time + 30 + 100 * i,
                           "dur": ns / 1000, "args": {"correlation": correlation, "device": 0, "stream": 7}})
            correlation += 1
        time += 300.0
    return {"schemaVersion": 1, "deviceProperties": [CHIP], "traceEvents": events}


def flops_of(path, by):
    return {row["Name"]: row for row in cases.tables("stats", "--flops", f"--by={by}", "--top=0", path)["gpu_flops_sum"]}


def test_sums():
    rows = flops_of(cases.write(synthetic()), "op")
    expected = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for name, _, kind, kernels, flops, size in OPERATORS:
        if flops is None:
            continue
        for i, value in enumerate((flops, sum(kernels), size, 1, flops / PEAKS[kind] * 1e9 if kind in PEAKS else None)):
            expected[name][i] = None if value is None else expected[name][i] + value
    assert rows.keys() == expected.keys(), rows
    for name, (flops, ns, size, calls, least) in expected.items():
        row = rows[name]
        assert (row["FLOPs"], row["Total Time (ns)"], row["Calls"]) == (flops, ns, calls), row
        cases.close(row["TFLOP/s"], flops / ns / 1e3, name, 0.01 + 0.001 / (flops / ns / 1e3))
        cases.close(row["FLOP/Byte"], flops / size, name, 0.001)
        if least is None:
            assert row["Of Peak (%)"] is None, row
        else:
            cases.close(row["Of Peak (%)"], least / ns * 100, name, 0.01 + 0.1 / (least / ns * 100))
    assert (rows["aten::addmm"]["Type"], rows["aten::mm"]["Type"], rows["aten::bmm"]["Type"]) == ("FP16", "-", "FP64")


def test_shares_of_kernels():
    """The FLOPs of a call are its kernels', by their durations; a filter takes none of the others'."""
    path = cases.write(synthetic())
    rows = flops_of(path, "kernel")
    assert (rows["k1"]["FLOPs"], rows["k2"]["FLOPs"]) == (768, 256), rows
    filtered = cases.tables("stats", "--flops", "--filter=kernel=k2", "--by=kernel", path)["gpu_flops_sum"]
    assert [(row["Name"], row["FLOPs"]) for row in filtered] == [("k2", 256)], filtered


def test_calls_that_failed():
    """Their kernels were written before the call returned, with what it would have computed."""
    events = []
    for number, result in ((1, 0), (2, 13), (3, -1)):
        call = {"library": "cublas", "call number": number, **({"result": result} if result else {})}
        events.append({"ph": "X", "cat": "library", "name": "cublasSgemm", "pid": 9, "tid": 9, "ts": 1000.0 * number, "dur": 20.0, "args": call})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1000.0 * number + 2,
                       "dur": 2.0, "args": {"correlation": number}})
        events.append({"ph": "X", "cat": "kernel", "name": f"k{number}", "pid": 0, "tid": 7, "ts": 1000.0 * number + 30, "dur": 1.0,
                       "args": {"correlation": number, "device": 0, "stream": 7, "library": "cublas", "library call": "cublasSgemm",
                                "compute type": "CUBLAS_COMPUTE_32F", "FLOPs": 2000, "call number": number}})
    trace = {"schemaVersion": 1, "deviceProperties": [CHIP], "traceEvents": events}
    path = cases.write(trace)
    assert {name: row["FLOPs"] for name, row in flops_of(path, "kernel").items()} == {"k1": 2000}
    trace["traceEvents"] = events[3:]
    said = cases.run("stats", "--flops", cases.write(trace))[1]
    assert "calls of libraries that failed" in said and "records it" not in said, said
    said = cases.run("stats", "--flops", "--filter=kernel=nomatch", path)[1]
    assert "nothing in the traces passes" in said and "records it" not in said, said


def test_more_than_the_peak_is_said():
    """addmm at 190 TFLOP/s is below the peak of FP16; ten times as fast it is above."""
    trace = synthetic()
    assert "above the device's peak" not in cases.run("stats", "--flops", "--by=op", cases.write(trace))[1]
    for event in trace["traceEvents"]:
        event["dur"] /= 10 if event["cat"] == "kernel" else 1
    said = cases.run("stats", "--flops", "--by=op", cases.write(trace))[1]
    assert "1 row is above the device's peak, which cannot be" in said, said


def test_no_remedy_that_was_taken():
    events = [generate.kernel("a", 1000, 100, 1)]
    for options, was_on in (("output=/tmp/cu libraries=nccl", False), ("quiet=yes libraries=nccl,cublas", True), ("", False)):
        said = cases.run("stats", "--flops", cases.write(generate.trace(events, {"metadata": {"options": options}})))[1]
        assert ("though --libraries was on" in said, "--libraries=cublas" in said) == (was_on, not was_on), said


def test_what_is_left_out_is_said():
    path = cases.write(synthetic())
    said = cases.run("stats", "--flops", path)[1]
    assert "not in the table: 1 operator or kernel of more FLOPs than fit into 63 bits" in said, said
    trace = synthetic()
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] != "cpu_op"]
    said = cases.run("stats", "--flops", cases.write(trace))[1]
    assert "it is not known what these kernels compute" in said, said


def product_of(name, shapes):
    """FLOPs of an operator as torch/csrc/profiler/util.cpp counts them, or None."""
    first = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0, "aten::baddbmm": 1}.get(name)
    if first is None or len(shapes) < first + 2:
        return None
    a, b = shapes[first:first + 2]
    flops = 2
    for size in a[:-1] + b[1 if len(a) == 3 else 0:]:
        flops *= size
    return flops


def public_sums(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
    operators = collections.defaultdict(list)
    for event in events:
        if event["cat"] == "cpu_op":
            operators[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event))
    for of_thread in operators.values():
        of_thread.sort(key=lambda o: (o[0], -o[1]))
    launches = {e["args"]["correlation"]: e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")}
    sums = collections.defaultdict(lambda: [0, set(), 0])
    for kernel in (e for e in events if e["cat"] == "kernel"):
        launch = launches.get(kernel["args"]["correlation"])
        of_thread = operators[launch["tid"]] if launch else []
        at = bisect.bisect_right(of_thread, launch["ts"], key=lambda o: o[0]) - 1 if launch else -1
        while at >= 0 and of_thread[at][1] < launch["ts"]:
            at -= 1
        event = of_thread[at][2] if at >= 0 else {"name": "", "args": {}}
        flops = product_of(event["name"], event["args"].get("Input Dims", []))
        if flops is not None:
            entry = sums[event["name"]]
            entry[0] += flops if (launch["tid"], at) not in entry[1] else 0
            entry[1].add((launch["tid"], at))
            entry[2] += round(kernel["dur"] * 1000)
    return {name: (flops, len(calls), ns) for name, (flops, calls, ns) in sums.items()}


def test_public_traces():
    """A training step of PyTorch with the shapes of its operators."""
    checked = 0
    for path in cases.public():
        if "diff_" not in path:
            continue
        rows = flops_of(path, "op")
        found = {name: (row["FLOPs"], row["Calls"], row["Total Time (ns)"]) for name, row in rows.items()}
        assert found == public_sums(path), (path, found, public_sums(path))
        checked += len(found)
    assert checked, "no products"


cases.main([test_sums, test_calls_that_failed, test_shares_of_kernels, test_more_than_the_peak_is_said, test_no_remedy_that_was_taken,
            test_what_is_left_out_is_said, test_public_traces])
