#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare gputrace's sums with HolisticTraceAnalysis's own tables: hta_sums.py CLI [FOLDER...]

Each folder holds the traces of one job; without one, those of the public Kineto traces
($GPUTRACE_TEST_DATA, else ../shared/data beside the source tree) that have kernels enough. Exit 77
where HTA (in .venv, see scripts/setup --compat, or for $GPUTRACE_HTA_PYTHON) or the folders are missing. HTA looks only at
work launched in steps by calls that are in the trace, when there are two steps or more; gputrace is given
the same (--filter=step=..., --filter=api=*).
"""
import json
import os
import subprocess
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
SKIPPED = 77
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def gputrace(cli, *words):
    done = subprocess.run([cli, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class Checks:
    """Counts comparisons; prints those that fail."""

    def __init__(self, folder):
        self.folder, self.done, self.failed = os.path.basename(folder), 0, 0

    def near(self, what, ours, theirs, within=0.51):
        self.done += 1
        if abs(ours - theirs) > within:
            self.failed += 1
            print("%s: %s: gputrace %.3f, HTA %.3f" % (self.folder, what, ours, theirs))


def compare(cli, folder):
    from hta.trace_analysis import TraceAnalysis

    checks = Checks(folder)
    with tempfile.TemporaryDirectory() as copy:
        files = {}
        for name in sorted(os.listdir(folder)):
            os.symlink(os.path.join(os.path.abspath(folder), name), os.path.join(copy, name))
        analysis = TraceAnalysis(trace_dir=copy, include_last_profiler_step=True)
        for rank in analysis.t.traces:
            files[rank] = os.path.join(copy, os.path.basename(analysis.t.trace_files[rank]))
        temporal = analysis.get_temporal_breakdown(visualize=False)
        overlap = analysis.get_comm_comp_overlap(visualize=False)
        kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000, duration_ratio=1.0)[1]
        for rank, path in files.items():
            steps = [row for row in gputrace(cli, "stats", "--report=nvtx_sum", "--format=json", path)["nvtx_sum"]
                     if row["Range"].startswith("ProfilerStep#")]
            only = ["--filter=step=ProfilerStep#*", "--filter=api=*"] if len(steps) > 1 else []
            check_kernels(checks, cli, path, only, kernels[kernels["rank"] == rank])
            check_devices(checks, cli, path, only, rank, temporal, overlap)
    print("%s: %d comparisons, %d differ" % (checks.folder, checks.done, checks.failed))
    return checks.failed


def check_kernels(checks, cli, path, only, table):
    """Sums by kernel and copy, in microseconds."""
    ours = {row["Name"]: row for row in
            gputrace(cli, "stats", "--by=kernel", "--format=json", "--top=0", *only, path)["gpu_by_kernel"]}
    for row in table.to_dict("records"):
        if row["name"] == "others":
            continue
        mine = ours.get(row["name"], {"Total Time (ns)": 0, "Max (ns)": 0, "Min (ns)": 0, "Avg (ns)": 0})
        for ours_key, theirs_key in (("Total Time (ns)", "sum (us)"), ("Max (ns)", "max (us)"),
                                     ("Min (ns)", "min (us)"), ("Avg (ns)", "mean (us)")):
            checks.near("%s of %s" % (theirs_key, row["name"][:60]), mine[ours_key] / 1000, row[theirs_key])


def check_devices(checks, cli, path, only, rank, temporal, overlap):
    """Busy, idle and overlap of the rank's device."""
    use = gputrace(cli, "gaps", "--format=json", *only, path)["gpu_devices"]
    if len(use) != 1:
        return
    row = temporal[temporal["rank"] == rank].iloc[0]
    checks.near("wall", use[0]["Wall (ns)"] / 1000, row["kernel_time(us)"])
    # of a choice of operations HTA counts the time of others as idle
    checks.near("idle", (use[0]["Wall (ns)"] - use[0]["Busy (ns)"]) / 1000, row["idle_time(us)"])
    theirs = overlap[overlap["rank"] == rank].iloc[0]["comp_comm_overlap_pctg"]
    if use[0]["Communication (ns)"]:
        checks.near("overlap %", use[0]["Compute And Communication (ns)"] * 100 / use[0]["Communication (ns)"],
                    theirs, 0.02)


def public_folders():
    data = os.environ.get("GPUTRACE_TEST_DATA", os.path.join(os.path.dirname(SOURCE), "shared", "data"))
    return [os.path.join(data, "kineto", name) for name in
            ("two_ranks", "ns", "nccl", "diff_control", "diff_test")]


def main():
    cli = sys.argv[1]
    folders = [folder for folder in sys.argv[2:] or public_folders() if os.path.isdir(folder)]
    other = os.environ.get("GPUTRACE_HTA_PYTHON", os.path.join(SOURCE, ".venv", "bin", "python"))
    try:
        import hta  # noqa: F401
    except ImportError:
        if os.path.exists(other) and other != sys.executable:
            os.execv(other, [other, *sys.argv])
        print("skipped: HolisticTraceAnalysis is not installed")
        return SKIPPED
    if not folders:
        print("skipped: no Kineto traces")
        return SKIPPED
    return int(sum(compare(cli, folder) for folder in folders) > 0)


sys.exit(main())
