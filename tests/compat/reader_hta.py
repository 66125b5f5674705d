#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HolisticTraceAnalysis: its seven core analyses and some more, on every rank; kernels by named range.

HTA drops the work that was launched in the last step, so its counts are compared with those of the
calls before it.
"""

import os
import sys

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else it shortens kernels below 1 us to nothing

from hta.trace_analysis import TraceAnalysis  # noqa: E402

import traces  # noqa: E402


def launched_in_full_steps(events):
    """Correlations of the calls of all steps but the last; of all calls when there are no steps."""
    spans = traces.steps(events)
    last = spans[-1][0] if len(spans) > 1 else float("inf")
    return {e["args"]["correlation"] for e in traces.of(events, "cuda_runtime", "cuda_driver")
            if e["ts"] < last}


def gpu_work(events, *categories):
    kept = launched_in_full_steps(events)
    return [e for e in traces.of(events, *categories) if e["args"]["correlation"] in kept]


def check_times(analysis, truth):
    table = analysis.get_temporal_breakdown(visualize=False)
    assert sorted(table["rank"]) == sorted(truth), table
    assert (table["compute_time(us)"] > 0).all() and (table["idle_time(us)"] >= 0).all(), table
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    assert "COMPUTATION" in set(kinds["kernel_type"]), kinds
    collectives = any(e["name"].startswith("nccl") for _, events in truth.values()
                      for e in traces.of(events, "kernel"))
    assert any(name.startswith("nccl") for name in kernels["name"]) == collectives, kernels
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    assert sorted(overlap["rank"]) == sorted(truth), overlap
    if collectives:  # a share of no communication is no number
        assert overlap["comp_comm_overlap_pctg"].between(0, 100).all(), overlap
    idle, _ = analysis.get_idle_time_breakdown(ranks=sorted(truth), visualize=False)
    wanted = {"host_wait", "kernel_wait"}
    assert (wanted <= set(idle["idle_category"]) if collectives else wanted & set(idle["idle_category"])), idle


def check_launches(analysis, truth):
    stats = analysis.get_cuda_kernel_launch_stats(ranks=sorted(truth), visualize=False)
    queues = analysis.get_queue_length_summary(ranks=sorted(truth))
    for rank, (_, events) in truth.items():
        calls = {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync"}
        names = {e["args"]["correlation"]: e["name"] for e in traces.of(events, "cuda_runtime")}
        linked = [e for e in gpu_work(events, *traces.GPU)
                  if names.get(e["args"]["correlation"]) in calls]
        assert linked and len(stats[rank]) == len(linked), (len(stats[rank]), len(linked))
        assert (stats[rank]["launch_delay"] >= 0).all(), stats[rank]
        streams = {e["args"]["stream"] for e in linked}  # HTA queues what these calls start
        assert set(queues.loc[rank].index) == streams, (queues, streams)


def check_copies(analysis, truth):
    table = analysis.get_memory_bw_summary(ranks=sorted(truth))
    if table is None:
        assert not any(traces.of(events, "gpu_memcpy", "gpu_memset") for _, events in truth.values())
        return
    for rank, (_, events) in truth.items():
        work = gpu_work(events, "gpu_memcpy", "gpu_memset")
        counts = table.loc[rank][("memory_bw_gbps", "count")]
        assert sum(counts) == len(work), (counts, len(work))
        rates = [e["args"]["memory bandwidth (GB/s)"] for e in work if "HtoD" in e["name"]]
        top = table.loc[rank][("memory_bw_gbps", "max")]["Memcpy HtoD"]
        assert abs(top - max(rates)) < 0.001, (top, max(rates))


def around(kernel, shadows):
    """Names of the ranges on the kernel's row that cover it, the innermost one last."""
    row = (kernel["pid"], kernel["tid"])
    covering = [e for e in shadows if (e["pid"], e["tid"]) == row and e["ts"] <= kernel["ts"] < e["ts"] + e["dur"]]
    return [e["name"] for e in sorted(covering, key=lambda e: -e["dur"])]


def check_ranges(analysis, truth):
    """Each kernel is in the innermost range of its row, and that is the one that was open at its launch. The shadow of
    a range that does not nest with its stream's work is on another row: here a kernel that follows at once may be the
    reason. Of two ranges that cross, as one pair here does, the later one may have the longer shadow."""
    for rank, (_, events) in truth.items():
        shadows = traces.of(events, "gpu_user_annotation")
        kernels = [e for e in traces.of(events, "kernel") if "nvtx" in e["args"]]
        if not shadows:
            continue
        table = analysis.get_gpu_kernels_with_user_annotations(rank=rank, shortern_names=False)
        found = dict(zip(table["correlation"], table["s_user_annotation"]))
        rows = {e["args"]["correlation"]: (e["args"]["nvtx"].split(":")[-1], around(e, shadows)) for e in kernels
                if e["args"]["correlation"] in found}
        expected = {key: names[-1] for key, (name, names) in rows.items() if name in names}
        wrong = {key: (name, found[key]) for key, name in expected.items() if name != found[key]}
        crossed = [key for key, name in expected.items() if name != rows[key][0]]
        assert not wrong and len(crossed) <= 1 and len(expected) >= len(found) / 2, (wrong, crossed, expected, found)


def check_host_ranges(analysis, truth):
    """A step that we add to a trace without one is no range of the program."""
    table = analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False)
    names = {e["name"] for _, events in truth.values() for e in traces.of(events, "user_annotation")}
    found = set() if table is None else set(table["name"])
    assert bool(names) == bool(found) and found <= names | {"others"}, (table, names)


def main(folder):
    truth = traces.load(folder)
    analysis = TraceAnalysis(trace_dir=folder)
    assert sorted(analysis.t.get_all_traces()) == sorted(truth), "not every rank was loaded"
    check_times(analysis, truth)
    check_launches(analysis, truth)
    check_copies(analysis, truth)
    check_ranges(analysis, truth)
    check_host_ranges(analysis, truth)
    print(f"HTA: 7 analyses on {len(truth)} ranks")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        main(each)
