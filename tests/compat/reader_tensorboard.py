#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_tb_profiler's data layer: workers by file name, views, kernel table, step times."""

import os
import sys

from torch_tb_profiler import io
from torch_tb_profiler.profiler.loader import RunLoader

import traces


def check_worker(profile, events):
    views = {view.display_name for view in profile.views}
    assert {"Overview", "Kernel", "Trace"} <= views, views
    rows = profile.kernel_table["data"]["rows"]
    names = {e["name"] for e in traces.of(events, "kernel")}
    assert {row[0] for row in rows} == names, (rows, names)
    step = profile.overview["performance"][0]
    spans = traces.steps(events) or [traces.extent(events)]
    mean = sum(end - start for start, end in spans) / len(spans)
    assert abs(step["value"] - mean) < max(mean / 2, 1), (step["value"], mean)
    rows = profile.overview["steps"]["rows"]
    assert 0 < len(rows) <= len(spans), (rows, spans)  # it may leave out the last ones
    parts = {part["name"]: part["value"] for part in step["children"]}
    assert abs(sum(parts.values()) - step["value"]) <= len(parts), (parts, step)
    assert parts["Kernel"] > 0 or mean < 10, (parts, step, mean)  # whole us; a short step may end before its kernel
    # 0.4.3 knows calls as category "runtime" only, which Kineto no longer writes either
    assert profile.has_kernel
    assert profile.has_memcpy_or_memset == bool(traces.of(events, "gpu_memcpy", "gpu_memset"))


def main(folder):
    truth = traces.load(folder)
    cache = os.path.join(os.path.dirname(folder), "cache")
    run = RunLoader(os.path.basename(folder), folder, io.Cache(cache)).load()
    workers = {os.path.basename(path).split(".")[0]: events for path, events in truth.values()}
    assert set(run.workers) == set(workers), (run.workers, set(workers))
    for (worker, _), profile in run.profiles.items():
        if worker in workers:
            check_worker(profile, workers[worker])
    print(f"torch_tb_profiler: {len(workers)} workers, all views")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        main(each)
