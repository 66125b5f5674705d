#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`merge` brings the ranks of a job to one clock, wherever their headers stand."""

import json
import random

import cases
import generate
import reference

SECOND = 1_000_000_000


def header(rank, base):
    return {
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "baseTimeNanoseconds": base,
        "deviceProperties": [{"id": 0, "name": f"GPU of {rank}"}],
    }


def split(members, chooser):
    """The members of a header, some before and some behind the events."""
    before = {key for key in members if chooser.random() < 0.5}
    return (
        {key: members[key] for key in members if key in before},
        {key: members[key] for key in members if key not in before},
    )


def merged(paths):
    """The merged trace, and what was said."""
    out, said = cases.run("merge", *paths)
    return json.loads(out), said


def starts(trace):
    """When the operations of a trace began: ns since 1970 -> how often."""
    base = int(trace.get("baseTimeNanoseconds", 0))
    found = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in reference.KINDS:
            at = base + reference.ns(event["ts"])
            found[at] = found.get(at, 0) + 1
    return found


def labels(trace):
    return {
        event["args"]["rank"]
        for event in trace["traceEvents"]
        if event["name"] == "process_labels" and "rank" in (event.get("args") or {})
    }


def compare(paths, ranks):
    whole, said = merged(paths)
    want = {}
    for path in paths:
        for at, count in starts(reference.load(path)).items():
            want[at] = want.get(at, 0) + count
    assert starts(whole) == want, "the operations are not where they were"
    assert labels(whole) == ranks, labels(whole)
    assert "not aligned" not in said, said
    return whole


def members_behind_the_events():
    """A second apart before, a second apart behind; both ranks keep their numbers."""
    paths = [
        cases.write(
            generate.trace(generate.launches(4), behind=header(rank, generate.BASE + rank * SECOND))
        )
        for rank in (0, 1)
    ]
    whole = compare(paths, {0, 1})
    assert whole["baseTimeNanoseconds"] == generate.BASE, whole.get("baseTimeNanoseconds")
    assert [device["name"] for device in whole["deviceProperties"]] == ["GPU of 0", "GPU of 1"]


def members_anywhere():
    chooser = random.Random(3)
    for _ in range(20):
        paths = []
        for rank in (0, 1, 2):
            before, behind = split(
                header(rank, generate.BASE + chooser.randrange(-SECOND, SECOND) * 1000), chooser
            )
            paths.append(
                cases.write(
                    generate.trace(generate.launches(3), before, behind),
                    chooser.choice(("a.json", "a.json.gz")),
                )
            )
        compare(paths, {0, 1, 2})


def no_base_is_said():
    """Only a file that has none anywhere is reported as not aligned."""
    with_base = cases.write(generate.trace(generate.launches(2), behind=header(0, generate.BASE)))
    without = cases.write(
        generate.trace(generate.launches(2), behind={"distributedInfo": {"rank": 1}})
    )
    said = merged([with_base, without])[1]
    assert "1 file without baseTimeNanoseconds, not aligned" in said, said


def quoted_processes_stay_apart():
    """Numbers in quotes are numbers: two ranks of one pid get two rows."""
    paths = []
    for rank in (0, 1):
        events = [
            dict(event, pid=str(event["pid"]), tid=str(event["tid"]))
            for event in generate.launches(2)
        ]
        paths.append(cases.write(generate.trace(events, header(rank, generate.BASE))))
    whole = compare(paths, {0, 1})
    hosts = {event["pid"] for event in whole["traceEvents"] if event.get("cat") == "cuda_runtime"}
    devices = {event["pid"] for event in whole["traceEvents"] if event.get("cat") == "kernel"}
    assert len(hosts) == 2 and len(devices) == 2, (hosts, devices)


def public_traces():
    """Each public trace alone, and pairs of them."""
    paths = cases.public()
    for path in paths:
        base = reference.load(path).get("baseTimeNanoseconds")
        assert merged([path])[0].get("baseTimeNanoseconds") == base, path
    ranks = [path for path in paths if "two_ranks" in path]
    compare(ranks, {0, 1})


cases.main(
    [
        members_behind_the_events,
        members_anywhere,
        no_base_is_said,
        quoted_processes_stay_apart,
        public_traces,
    ]
)
