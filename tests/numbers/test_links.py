#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which call asked for a kernel, where an id stands for several calls, or for none."""

import os
import random

import cases
import generate
import reference


def rows_of(path):
    found = {}
    for row in cases.table("stats", "--report=cuda_kern_exec_sum", "--top=0", path):
        key = (row["PID"], row["TID"], row["DevId"], row["API Name"], row["Kernel Name"])
        found[key] = [
            row["Count"],
            row["QCount"],
            row["TAvg (ns)"],
            row["AAvg (ns)"],
            row["KAvg (ns)"],
        ]
    return found


def compare(path, call_of=None):
    trace = reference.Trace(path)
    want = reference.executions(trace, call_of or trace.call_of)
    got = rows_of(path)
    assert set(got) == set(want), sorted(set(got) ^ set(want), key=str)[:6]
    for key, (count, queued, total, api, kernel) in want.items():
        assert got[key][:2] == [count, queued], (key, got[key], count, queued)
        for have, sum_ in zip(got[key][2:], (total, api, kernel)):
            assert abs(have - sum_ / count) <= 0.051, (
                key,
                have,
                sum_ / count,
            )  # one decimal is printed
    return len(want)


def by_name(path):
    """Kernels are named after the process that launched them."""
    trace = reference.Trace(path)
    owner = {(call.pid, call.correlation): call for call in trace.calls if "aunch" in call.name}

    def call_of(op):
        pid = int(op.name.split("_")[1])
        return owner.get((pid, op.correlation))

    return compare(path, call_of)


def process(pid, first, step, count, latency, ids=1, row=0, session=0):
    """Launches of one process, ids from 1 on as in every other."""
    events = []
    for i in range(count):
        at = first + i * step
        events += [
            generate.call("cudaLaunchKernel", at, 3, ids + i, pid=pid, tid=pid),
            generate.kernel(f"kernel_{pid}_{session}", at + latency, 2, ids + i, pid=row),
        ]
    return events


def processes_after_each_other():
    events = (
        process(4100, 0, 20, 30, 5)
        + process(4200, 10_000, 20, 30, 5)
        + process(4300, 20_000, 20, 20, 5)
    )
    assert by_name(cases.write(generate.trace(events))) == 3


def processes_at_one_time():
    """Launches and kernels of two processes between each other: in order of time."""
    events = process(4100, 0, 50, 40, 10) + process(4200, 7, 50, 40, 10)
    random.Random(5).shuffle(events)
    path = cases.write(generate.trace(events))
    assert by_name(path) == 2
    said = cases.run("stats", path)[0]
    assert "80 GPU operations whose correlation id calls of several processes have, joined by time" in said, said


def a_file_of_several_processes():
    """Beside another file of the rank it has its name, not the number of one of them."""
    two = process(4100, 0, 50, 4, 10) + process(4200, 7, 50, 4, 10, ids=100)
    one = process(4300, 0, 50, 4, 10)
    paths = [cases.write(generate.trace(events)) for events in (two, one)]
    rows = cases.tables("stats", "--report=gpu_queue_sum", *paths)["gpu_queue_sum"]
    names = sorted(next(v for v in row.values() if "stream 7" in str(v)) for row in rows)
    assert names[0].endswith(" of " + os.path.basename(paths[0])) and names[1].endswith(" pid 4300"), names


def rows_of_processes():
    """GPU work on rows of its process: times that mislead do not count."""
    events = process(4100, 0, 50, 40, 30, row=4100) + process(4200, 7, 50, 40, 5, row=4200)
    assert by_name(cases.write(generate.trace(events))) == 2


def the_process_lacks_the_call():
    """Its id occurs in another process, whose call it is not."""
    events = process(4100, 0, 50, 4, 10, row=4100) + process(4200, 7, 50, 4, 10, ids=10, row=4200)
    lost = [
        event
        for event in events
        if (event["pid"], event["args"]["correlation"], event["cat"]) != (4200, 11, "cuda_runtime")
    ]
    lost.append(generate.kernel("kernel_4200_0", 900, 2, 1, pid=4200))
    assert by_name(cases.write(generate.trace(lost))) == 2


def other_calls_of_the_id():
    """An allocation of another process has the id of a launch, a copy that of a kernel."""
    events = process(4100, 10, 50, 20, 10)
    for i in range(20):
        name, at = ("cudaMalloc", 14) if i % 2 else ("cudaMemcpyAsync", 4)
        events.append(generate.call(name, at + i * 50, 2, 1 + i, pid=4200, tid=4200))
        if not i % 2:
            events.append(generate.copy(20 + i * 50, 1, 1 + i, bytes=8))
    assert by_name(cases.write(generate.trace(events))) == 1


def driver_in_runtime():
    """Of two calls in each other the outer one asked for it."""
    events = []
    for i in range(5):
        events += [
            generate.call("cudaLaunchKernel", i * 50, 9, i + 1),
            generate.call("cuLaunchKernel", i * 50 + 2, 5, i + 1, cat="cuda_driver"),
            generate.kernel("k", i * 50 + 20, 5, i + 1),
        ]
    assert compare(cases.write(generate.trace(events))) == 1


def ids_used_again():
    """A second session of one process, whose ids count from 1 again."""
    events = process(4100, 0, 50, 20, 10) + process(4100, 50_000, 50, 20, 10, session=1)
    got = rows_of(cases.write(generate.trace(events)))
    assert [row[:2] for row in got.values()] == [[20, 20]] * 2, got
    assert all(row[2] == 12_000 for row in got.values()), got


def zero_is_no_id():
    events = [
        generate.call("cudaLaunchKernel", 0, 3, 0),
        generate.kernel("k", 10, 5, 0),
        generate.kernel("k", 500, 5, 0),
    ]
    assert rows_of(cases.write(generate.trace(events))) == {}


def ids_far_apart():
    """Numbers that do not count up, and times that 32 bits do not hold: up to days."""
    events = []
    for i in range(40):
        number, at = (1 << 62) - ((i * 7919 % 41) << 40) - i % 3, i * 1_000_000_000
        events += [
            generate.call("cudaLaunchKernel", at, 3 + (i % 7) * 1e11, number, tid=4100 + i % 2),
            generate.kernel(f"k{i % 4}", at + 20, 5 + (i % 5) * 5_000_000, number, tid=7 + i % 3),
        ]
    random.Random(5).shuffle(events)
    assert compare(cases.write(generate.trace(events))) == 4


def quoted_threads():
    """ "25738" is thread 25738."""
    events = [
        dict(event, pid=str(event["pid"]), tid=str(event["tid"]))
        for event in process(25738, 0, 50, 4, 10)
    ]
    got = rows_of(cases.write(generate.trace(events)))
    assert list(got) == [(25738, 25738, 0, "cudaLaunchKernel", "kernel_25738_0")], got


def many_calls_of_one_id():
    """A file made to be expensive is read in no time."""
    events = [generate.call("cudaLaunchKernel", i, 0, 1) for i in range(20_000)]
    events += [generate.kernel("k", i + 0.5, 0, 1, pid=5000 + i) for i in range(20_000)]
    got = rows_of(cases.write(generate.trace(events)))
    assert sum(row[0] for row in got.values()) == 20_000


def public_traces():
    for path in cases.public():
        compare(path)


cases.main(
    [
        processes_after_each_other,
        processes_at_one_time,
        a_file_of_several_processes,
        rows_of_processes,
        the_process_lacks_the_call,
        other_calls_of_the_id,
        driver_in_runtime,
        ids_used_again,
        zero_is_no_id,
        ids_far_apart,
        quoted_threads,
        many_calls_of_one_id,
        public_traces,
    ]
)
